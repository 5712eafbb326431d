"""What the cache holds and saves, and how unexpected each token was: against the slow, obvious sums."""

import math

import pytest
import torch

from playground.analysis.generation import cached_norms, entropies, step_cost, surprises
from playground.gpt.cache import KVCache
from playground.gpt.config import PRESETS, GPTConfig
from playground.gpt.model import GPTModel

CONFIG = GPTConfig(vocab_size=50, context_length=16, emb_dim=12, n_heads=3, n_layers=2)
IDS = [3, 1, 4, 1, 5]


@pytest.fixture(scope="module")
def model() -> GPTModel:
    torch.manual_seed(0)
    return GPTModel(CONFIG).eval().requires_grad_(False)


@pytest.mark.parametrize(("kept", "row"), [("key", 0), ("value", 1)])
def test_the_lengths_are_those_of_what_a_cache_holds(model, kept, row):
    cache = KVCache(CONFIG, len(IDS))
    model(torch.tensor([IDS]), cache=cache)
    held = cache._store[:, row, 0]  # (L, H, T, D)
    expected = [[float(held[layer, :, t].norm()) for t in range(len(IDS))] for layer in range(2)]
    torch.testing.assert_close(cached_norms(model.trace(torch.tensor([IDS])).row(0), kept), torch.tensor(expected))


@pytest.mark.parametrize("name", ["storyteller", "gpt2"])
@pytest.mark.parametrize("past", [0, 1, 29])
def test_a_step_costs_the_difference_of_two_readings(name, past):
    config = PRESETS[name]
    cost, shorter = step_cost(config, past), step_cost(config, past - 1) if past else None
    assert cost.held == (past + 1) * 2 * config.n_layers * config.emb_dim * 4
    assert cost.with_cache <= cost.without
    if shorter is None:
        assert cost.with_cache == cost.without
    else:
        assert cost.held - shorter.held == 8 * config.n_layers * config.emb_dim


def test_without_a_cache_every_token_is_read_and_the_last_alone_is_asked_what_comes_next():
    """Each matrix as it stands in the network, by hand: storyteller's 12 · 192² weights a block, 4,096 words."""
    saved = step_cost(PRESETS["storyteller"], 63)
    blocks, scores = 6 * 2 * 12 * 192**2, 6 * 4 * 192 * 64
    head = 2 * 192 * 4096
    assert saved.with_cache == blocks + scores + head
    assert saved.without == 64 * (blocks + scores) + head
    assert round(saved.without / saved.with_cache) == 50


def test_the_entropy_of_even_chances_is_their_logarithm():
    assert entropies(torch.zeros(2, 50)).tolist() == pytest.approx([math.log(50)] * 2)
    assert float(entropies(torch.tensor([[1e4, 0.0]]))[0]) == pytest.approx(0)


def test_the_mean_surprise_is_the_loss(model):
    ids = torch.tensor(IDS)
    logits = model(ids[None])[0]
    loss = torch.nn.functional.cross_entropy(logits[:-1], ids[1:])
    assert float(surprises(logits, ids).mean()) == pytest.approx(float(loss), rel=1e-6)
