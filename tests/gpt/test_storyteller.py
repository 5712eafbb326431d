"""The bundled model is the one that its card describes."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from playground.gpt.checkpoints import load
from playground.gpt.config import PRESETS
from playground.gpt.generate import generate
from playground.gpt.model import GPTModel
from playground.gpt.tokenizer import tokenizer, tokenizer_for

FOLDER = Path(__file__).parents[2] / "assets" / "models" / "storyteller"
WORDS = tokenizer("storyteller")
STORY = (
    "Once upon a time, there was a little girl named Lily. She loved to play in the park with her friends. One day, "
    "she saw a big dog with a red ball. The dog was sad because it had lost its friend. They walked to the lake."
)


@pytest.fixture(scope="module")
def model() -> GPTModel:
    return load(FOLDER)


def attention(model: GPTModel, ids: Tensor) -> Tensor:
    """Weights of all heads. Shapes: ids (B, T) -> (L, H, B, T, T)"""
    with torch.inference_mode():
        blocks = model.trace(ids).blocks
    return torch.stack([block.attention.weights.transpose(0, 1) for block in blocks])


def random_twice(length: int = 50) -> Tensor:
    """Rows of random tokens, said twice: what follows can be known only by looking at the first time."""
    once = torch.randint(0, WORDS.vocab_size - 1, (4, length), generator=torch.Generator().manual_seed(0))
    return torch.cat([once, once], 1)


def test_it_has_the_size_that_the_card_says(model):
    assert sum(weights.numel() for weights in model.parameters()) == PRESETS["storyteller"].n_parameters == 3_505_152
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= 10_000_000
    assert "3,505,152" in (FOLDER / "README.md").read_text("utf-8")


def test_it_reads_with_its_own_vocabulary(model):
    assert tokenizer_for(model.config.vocab_size) is WORDS
    assert model.config.end_of_text == WORDS.end_of_text == 4095
    assert model.config.context_length == 256


def test_a_head_looks_back_one_token(model):
    for ids in (random_twice(), torch.tensor([WORDS.encode(STORY)])):
        looks_back = attention(model, ids).diagonal(-1, 3, 4).mean((2, 3))  # (L, H)
        assert looks_back.max() > 0.5
        assert divmod(int(looks_back.argmax()), 6) == (4, 2)


def test_a_head_does_induction(model):
    length = 50
    weights = attention(model, random_twice(length))
    copies = weights.diagonal(1 - length, 3, 4)[..., 1:].mean((2, 3))  # (L, H), on the token after the earlier copy
    assert copies.max() > 0.3
    assert divmod(int(copies.argmax()), 6) == (5, 5)


def test_it_predicts_the_second_time_far_better_than_the_first(model):
    ids = random_twice()
    with torch.inference_mode():
        surprise = -model(ids)[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None])  # (B, T - 1, 1)
    assert surprise[:, 50:].mean() < surprise[:, :49].mean() / 2


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (
            "The big dog was sad because",
            " he had no friends to play with. He wanted to play with his ball, but he was too small to play with."
            " He looked around and saw a big tree with a hole in it. He",
        ),
        (
            "There was a boy named Tim. He had a red ball.",
            " He liked to play with it. One day, Tim saw a big red ball in the park. He wanted to play with it."
            "\nTim kicked the ball very hard. The ball went far away",
        ),
    ],
    ids=["dog", "Tim"],
)
def test_it_tells_the_stories_of_the_card(model, prompt, expected):
    told = WORDS.decode([step.token for step in generate(model, WORDS.encode(prompt), 40)])
    assert told == expected
    card = " ".join((FOLDER / "README.md").read_text("utf-8").split())
    assert " ".join(f"**{prompt}**{expected}".split()) in card
