"""Reading a text in pieces, with what was read kept, gives the same answers as reading it at once."""

import pytest
import torch
from torch.func import functional_call
from torch.testing import assert_close

import fixture
from playground.errors import CacheUnusable, ContextFull
from playground.gpt.ablation import Ablation
from playground.gpt.cache import KVCache

IDS = torch.tensor([[1, 5, 2, 2, 9, 0, 7], [4, 4, 8, 10, 3, 6, 1]])


@pytest.mark.parametrize("ablation", fixture.CACHED, ids=fixture.shown)
@pytest.mark.parametrize("pieces", [[7], [1] * 7, [3, 4], [4, 1, 2], [6, 1]], ids=str)
def test_any_cut_gives_the_same_logits(small, ablation, pieces):
    cache = KVCache(small.config, 7, batch=2, dtype=torch.float64)
    parts = [small(piece, ablation, cache) for piece in IDS.split(pieces, 1)]
    assert cache.length == 7
    assert_close(torch.cat(parts, 1), small(IDS, ablation), rtol=0, atol=1e-12)


@pytest.mark.parametrize("ablation", fixture.CACHED, ids=fixture.shown)
def test_the_next_logits_are_the_last_of_all(small, ablation):
    cache = KVCache(small.config, 7, batch=2, dtype=torch.float64)
    small.next_logits(IDS[:, :4], ablation, cache)
    assert_close(small.next_logits(IDS[:, 4:], ablation, cache), small(IDS, ablation)[:, -1], rtol=0, atol=1e-12)
    assert_close(small.next_logits(IDS, ablation), small(IDS, ablation)[:, -1], rtol=0, atol=1e-12)


def test_O_COR_10_writing_with_a_cache_is_writing_without(fix_a):
    cache, ids = KVCache(fix_a.config, 16), list(fixture.PROMPT)
    unread = ids
    shifted = fix_a.position_embedding.weight.roll(-1, 0)  # the mistake: positions from 1
    logits = functional_call(fix_a, {"position_embedding.weight": shifted}, (torch.tensor([ids]),))
    assert int(logits[0, -1].argmax()) == 7962
    for _ in range(12):
        fast = fix_a(torch.tensor([unread]), cache=cache)[0, -1]
        slow = fix_a(torch.tensor([ids]))[0, -1]
        assert_close(fast, slow, rtol=0, atol=1e-4)
        assert int(fast.argmax()) == int(slow.argmax())
        unread = [int(fast.argmax())]
        ids = ids + unread


UNCACHED = [
    (Ablation(causal_mask=True), "causal_mask"),
    (Ablation(attention=frozenset({1}), mean=True), "mean"),
    (Ablation(heads=frozenset({(2, 1)}), mean=True, norms=True), "mean"),
    (Ablation(feed_forward=frozenset({0}), causal_mask=True, mean=True), "causal_mask"),
]


@pytest.mark.parametrize(("ablation", "switch"), UNCACHED, ids=fixture.shown)
def test_a_cache_that_holds_too_little_is_refused_by_the_name_of_the_switch(small, ablation, switch):
    assert ablation.uncached == switch
    with pytest.raises(CacheUnusable) as refused:
        small(IDS, ablation, KVCache(small.config, 7, batch=2, dtype=torch.float64))
    assert refused.value.values == {"switch": switch}


def test_a_mean_that_replaces_nothing_needs_no_other_way_of_reading(small):
    cache = KVCache(small.config, 7, batch=2, dtype=torch.float64)
    assert_close(small(IDS, Ablation(mean=True), cache), small(IDS))


def test_cached_tokens_count_towards_the_context(small):
    cache = KVCache(small.config, 20, batch=2, dtype=torch.float64)
    small(IDS, cache=cache)
    small(IDS, cache=cache)
    with pytest.raises(ContextFull) as refused:
        small(IDS, cache=cache)
    assert refused.value.values == {"tokens": 21, "limit": 16}
    assert cache.length == 14
