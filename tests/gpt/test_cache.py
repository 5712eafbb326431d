"""Reading a text in pieces, with what was read kept, gives the same answers as reading it at once."""

import pytest
import torch
from torch.testing import assert_close

import fixture
from playground.errors import CacheWithoutMask, ContextFull
from playground.gpt.ablation import Ablation
from playground.gpt.cache import KVCache

IDS = torch.tensor([[1, 5, 2, 2, 9, 0, 7], [4, 4, 8, 10, 3, 6, 1]])


@pytest.mark.parametrize("ablation", fixture.WITH_MASK, ids=fixture.shown)
@pytest.mark.parametrize("pieces", [[7], [1] * 7, [3, 4], [4, 1, 2], [6, 1]], ids=str)
def test_any_cut_gives_the_same_logits(small, ablation, pieces):
    cache = KVCache(small.config, 7, batch=2, dtype=torch.float64)
    parts = [small(piece, ablation, cache) for piece in IDS.split(pieces, 1)]
    assert cache.length == 7
    assert_close(torch.cat(parts, 1), small(IDS, ablation), rtol=0, atol=1e-12)


def test_O_COR_10_writing_with_a_cache_is_writing_without(fix_a):
    cache, ids = KVCache(fix_a.config, 16), list(fixture.PROMPT)
    unread = ids
    for _ in range(12):
        fast = fix_a(torch.tensor([unread]), cache=cache)[0, -1]
        slow = fix_a(torch.tensor([ids]))[0, -1]
        assert_close(fast, slow, rtol=0, atol=1e-4)
        assert int(fast.argmax()) == int(slow.argmax())
        unread = [int(fast.argmax())]
        ids = ids + unread


def test_a_cache_without_the_causal_mask_is_refused(small):
    with pytest.raises(CacheWithoutMask):
        small(IDS, Ablation(causal_mask=True), KVCache(small.config, 7, batch=2, dtype=torch.float64))


def test_cached_tokens_count_towards_the_context(small):
    cache = KVCache(small.config, 20, batch=2, dtype=torch.float64)
    small(IDS, cache=cache)
    small(IDS, cache=cache)
    with pytest.raises(ContextFull) as refused:
        small(IDS, cache=cache)
    assert refused.value.values == {"tokens": 21, "limit": 16}
    assert cache.length == 14
