"""The bundled model, where a lesson looks at a real one."""

from functools import cache
from pathlib import Path

from playground.gpt.checkpoints import load
from playground.gpt.model import GPTModel
from playground.gpt.tokenizer import Tokenizer, tokenizer

FOLDER = Path(__file__).parents[2] / "assets" / "models" / "storyteller"


@cache
def storyteller() -> GPTModel:
    return load(FOLDER)


@cache
def words() -> Tokenizer:
    return tokenizer("storyteller")
