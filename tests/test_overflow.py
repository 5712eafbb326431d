"""Numbers that float32 cannot hold are a refusal, not a picture of them."""

import pytest
import torch

from playground.errors import NotFinite
from playground.gpt.config import GPTConfig
from playground.gpt.generate import generate
from playground.gpt.model import GPTModel
from playground.gpt.sampling import Sampling
from playground.gpt.tokenizer import tokenizer
from playground.models import Model
from playground.runs import Request, Runs


@pytest.fixture(scope="module")
def overflowing() -> GPTModel:
    model = GPTModel(GPTConfig(vocab_size=4096, context_length=8, emb_dim=8, n_heads=2, n_layers=1)).eval()
    with torch.no_grad():
        model.token_embedding.weight.fill_(3e38)
    return model.requires_grad_(False)


def test_a_run_that_overflows_is_refused(overflowing):
    runs = Runs(lambda _: Model("overflowing", overflowing, tokenizer("storyteller")))
    with pytest.raises(NotFinite):
        runs(Request("overflowing", "a"))


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0)])
def test_nothing_is_drawn_from_chances_that_are_none(overflowing, sampling):
    with pytest.raises(NotFinite):
        next(generate(overflowing, [1, 2], 1, sampling))
