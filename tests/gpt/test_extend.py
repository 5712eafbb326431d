"""A text read in two goes is the text read in one."""

import pytest
import torch
from torch.testing import assert_close

import fixture
from playground.errors import ContextFull
from playground.gpt.config import PRESETS
from playground.gpt.extend import extend

IDS = [1, 5, 2, 2, 9, 0, 7]


def traced(model, ids):
    return model.trace(torch.tensor([ids])).row(0)


@pytest.mark.parametrize("known", [1, 3, 6])
def test_a_text_read_in_two_goes_is_the_text_read_in_one(small, known):
    longer = extend(small, traced(small, IDS[:known]), IDS[known:])
    for (path, value, _), (_, right, _) in zip(longer.tensors(), traced(small, IDS).tensors(), strict=True):
        assert_close(value, right, rtol=0, atol=1e-12, msg=lambda said, at=path: f"{at}: {said}")


def test_token_after_token_no_error_grows(fix_a):
    longer = traced(fix_a, IDS[:1])
    for token in IDS[1:]:
        longer = extend(fix_a, longer, [token])
    assert_close(longer.logits, fix_a(torch.tensor([IDS]))[0], rtol=0, atol=1e-5)


def test_what_was_known_stays_as_it_was(small):
    begun = traced(small, IDS[:4])
    before = [value.clone() for _, value, _ in begun.tensors()]
    extend(small, begun, IDS[4:])
    assert all(value.equal(was) for (_, value, _), was in zip(begun.tensors(), before, strict=True))


def test_it_holds_no_more_than_the_formula_tells():
    model = fixture.random_model(PRESETS["tiny"])
    longer = extend(model, traced(model, IDS[:6]), IDS[6:])
    assert longer.n_bytes() == PRESETS["tiny"].trace_bytes(7)


def test_the_context_has_an_end(small):
    full = [0] * small.config.context_length
    with pytest.raises(ContextFull):
        extend(small, traced(small, full), [1])
