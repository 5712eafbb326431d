"""One click measures what forty would: the same numbers, and it stops when nobody asks for more."""

from threading import Lock

import pytest
import torch

import fixture
from playground.analysis import kl_divergence
from playground.analysis import sweep as module
from playground.analysis.sweep import Effect, answers, parts, sweep
from playground.gpt.ablation import parse
from playground.gpt.tokenizer import tokenizer
from playground.models import Model
from playground.runs import Request, Runs

IDS = torch.tensor([[1, 5, 2, 2, 9, 0, 7]])


def measured(*asked) -> list[Effect]:
    return [effect for piece in sweep(*asked) for effect in piece]


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
@pytest.mark.parametrize("together", [1, 20, 1000], ids=["one text at once", "some", "all"])
def test_the_numbers_are_those_of_switching_by_hand(small, position, token, mean, together, monkeypatch):
    monkeypatch.setattr(module, "TOGETHER", together)
    trace = small.trace(IDS).row(0)
    effects = measured(small, trace, position, token, mean)
    words = [ablation.words()[0] for row in parts(fixture.SMALL) for ablation in row]
    assert [effect.word for effect in effects] == words
    for effect in effects:
        by_hand = small.trace(IDS, parse([effect.word, *["mean"] * mean], 3, 2)).row(0).logits[position]
        usual = trace.logits[position]
        assert effect.kl == pytest.approx(float(kl_divergence(usual, by_hand)), abs=1e-9)
        assert effect.logit_change == pytest.approx(float(by_hand[token] - usual[token]), abs=1e-9)


def test_O_ABL_06_a_head_of_fix_a(fix_a):
    trace = fix_a.trace(torch.tensor([fixture.PROMPT])).row(0)
    found = {effect.word: effect for effect in measured(fix_a, trace, 3, 0)}
    assert found["head.1.0"].logit_change == pytest.approx(-0.701581 - float(trace.logits[3, 0]), abs=1e-5)
    assert found["attention.0"].logit_change == pytest.approx(0.960474 - float(trace.logits[3, 0]), abs=1e-5)


def test_nothing_is_measured_before_it_is_asked_for_and_a_piece_is_one_block(small, monkeypatch):
    monkeypatch.setattr(module, "TOGETHER", 14)  # two texts of seven tokens
    read = []
    block = type(small.blocks[0])
    usual = block.forward

    def forward(self, x, ablation, cache, traced):
        read.append(len(x))
        return usual(self, x, ablation, cache, traced)

    trace = small.trace(IDS).row(0)
    monkeypatch.setattr(block, "forward", forward)
    effects = sweep(small, trace, 6, 0)
    assert next(effects) == []  # both parts of layer 0 have left it; no block was read whole
    assert read == []
    assert next(effects) == []
    assert read == [2]
    assert [effect.word for effect in next(effects)] == ["attention.0", "feed_forward.0"]
    assert read == [2, 2]
    effects.close()
    assert read == [2, 2]


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


def test_each_part_starts_where_it_departs(small, monkeypatch):
    """Of three layers the last one's parts read no block whole, those before it one each, the first one's two."""
    texts = []
    block = type(small.blocks[0])
    usual = block.forward

    def forward(self, x, ablation, cache, traced):
        texts.append(len(x))
        return usual(self, x, ablation, cache, traced)

    trace = small.trace(IDS).row(0)
    monkeypatch.setattr(block, "forward", forward)
    sublayers = [ablation for row in parts(fixture.SMALL) for ablation in row[:2]]
    found = [part for piece in answers(small, trace, 6, sublayers) for part, _ in piece]
    assert found == sublayers
    assert texts == [2, 4]
