"""One click measures what forty would: the same numbers, and it stops when nobody asks for more."""

from threading import Lock

import pytest
import torch

import fixture
from playground.analysis import kl_divergence
from playground.analysis.sweep import parts, resume, sweep
from playground.gpt.ablation import NOTHING_OFF, Ablation, parse
from playground.gpt.tokenizer import tokenizer
from playground.models import Model
from playground.runs import Request, Runs

IDS = torch.tensor([[1, 5, 2, 2, 9, 0, 7]])


as_zero_or_mean = pytest.mark.parametrize("mean", [False, True], ids=["zero", "mean"])


@as_zero_or_mean
def test_the_parts_are_every_sublayer_and_every_head_once(mean):
    words = [[ablation.words() for ablation in row] for row in parts(fixture.SMALL, mean)]
    how = ["mean"] * mean
    assert words == [
        [[f"attention.{layer}", *how], [f"feed_forward.{layer}", *how],
         [f"head.{layer}.0", *how], [f"head.{layer}.1", *how]]
        for layer in range(3)
    ]  # fmt: skip


@as_zero_or_mean
@pytest.mark.parametrize("position", [0, 3, 6])
@pytest.mark.parametrize("token", [0, 9])
def test_the_numbers_are_those_of_switching_by_hand(small, position, token, mean):
    trace = small.trace(IDS).row(0)
    effects = list(sweep(small, trace, position, token, mean))
    assert len(effects) == 3 * (2 + 2)
    for effect in effects:
        by_hand = small.trace(IDS, parse([effect.word, *["mean"] * mean], 3, 2)).row(0).logits[position]
        usual = trace.logits[position]
        assert effect.kl == pytest.approx(float(kl_divergence(usual, by_hand)), abs=1e-9)
        assert effect.logit_change == pytest.approx(float(by_hand[token] - usual[token]), abs=1e-9)


def test_O_ABL_06_a_head_of_fix_a(fix_a):
    trace = fix_a.trace(torch.tensor([fixture.PROMPT])).row(0)
    found = {effect.word: effect for effect in sweep(fix_a, trace, 3, 0)}
    assert found["head.1.0"].logit_change == pytest.approx(-0.701581 - float(trace.logits[3, 0]), abs=1e-5)
    assert found["attention.0"].logit_change == pytest.approx(0.960474 - float(trace.logits[3, 0]), abs=1e-5)


def test_nothing_is_measured_before_it_is_asked_for(small):
    asked = []
    block = type(small.blocks[0])
    usual = block.forward

    def forward(self, x, ablation, cache, traced):
        asked.append(ablation)
        return usual(self, x, ablation, cache, traced)

    trace = small.trace(IDS).row(0)
    block.forward = forward
    try:
        effects = sweep(small, trace, 6, 0)
        next(effects)
        assert asked == [Ablation(attention=frozenset({0}))] * 3
        effects.close()
        assert len(asked) == 3
    finally:
        block.forward = usual


def test_between_two_pieces_others_have_their_passes(fix_a):
    runs = Runs(lambda _: Model("fix_a", fix_a, tokenizer("gpt2")))
    lock: Lock = runs._lock
    request = Request("fix_a", "Hello, I am")

    def work():
        for _ in range(3):
            assert lock.locked()
            yield 1

    for _ in runs.in_turn(work()):
        assert not lock.locked()
        runs(request)
    assert not lock.locked()


def test_work_that_fails_leaves_the_way_free(fix_a):
    runs = Runs(lambda _: Model("fix_a", fix_a, tokenizer("gpt2")))

    def work():
        yield 1
        raise RuntimeError("broken")

    pieces = runs.in_turn(work())
    next(pieces)
    with pytest.raises(RuntimeError, match="broken"):
        next(pieces)
    assert not runs._lock.locked()
    assert runs(Request("fix_a", "Hello")).trace.logits.shape == (1, 50257)


def test_a_sweep_that_rests_leaves_the_thread_as_it_was(small):
    effects = sweep(small, small.trace(IDS).row(0), 3, 7)
    next(effects)
    assert not torch.is_inference_mode_enabled()


def test_with_nothing_off_nothing_would_change(small):
    trace = small.trace(IDS).row(0)
    for layer in range(3):
        logits = resume(small, trace.blocks[layer].before[None], layer, NOTHING_OFF)
        torch.testing.assert_close(logits, trace.logits[-1])
