"""How thoroughly to measure, and on what."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from playground.gpt.config import PRESETS, GPTConfig

from .rows import Row

GPT2 = replace(PRESETS["gpt2"], end_of_text=None)


@dataclass(frozen=True, slots=True)
class How:
    """Sizes as the targets name them; the tests make them tiny. Units: tokens"""

    config: GPTConfig = GPT2
    rounds: int = 5
    prompts: tuple[int, ...] = (16, 512)
    new: int = 64  # to write after each prompt
    lengths: tuple[int, ...] = (128, 1024)  # of texts to see everything of
    lens: int = 128
    swept: int = 64
    drawn: int = 128
    steps: int = 50  # in the browser


QUICK = How(rounds=2, steps=12)
Measure = Callable[[How], list[Row]]
