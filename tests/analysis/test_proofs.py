"""Every identity holds for every run, says when a switch abolishes it, and alone turns red when it is broken."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

import fixture
from playground.analysis.attribution import projection
from playground.analysis.lens import next_tokens
from playground.analysis.proofs import Proof, prove
from playground.gpt.ablation import NOTHING_OFF, Ablation
from playground.gpt.model import GPTModel
from playground.gpt.trace import Trace

IDS = [*fixture.PROMPT, 262, 11, 716, 314]
ALL_OFF = Ablation.all_sublayers(3)
NAMES = [
    "rows", "ahead", "heads", "middle", "after", "normalised", "lens", "cached", "fused", "attribution", "identity",
]  # fmt: skip
UNLESS = {
    "causal_mask": {"ahead", "cached"},
    "norms": {"normalised"},
    "residuals": {"middle", "after", "attribution", "identity"},
}


def read(gpt: GPTModel, ids: list[int], ablation: Ablation = NOTHING_OFF) -> Trace:
    with torch.inference_mode():
        return gpt.trace(torch.tensor([ids]), ablation).row(0)


def red(proofs: list[Proof]) -> set[str]:
    return {proof.name for proof in proofs if proof.applies and not proof.holds}


@pytest.mark.parametrize("ablation", fixture.ABLATIONS, ids=fixture.shown)
@pytest.mark.parametrize("double", [False, True], ids=["float32", "float64"])
def test_every_identity_holds_under_every_ablation_or_says_which_switch_abolishes_it(small, ablation, double):
    gpt = small if double else fixture.random_model(fixture.SMALL)
    ids = [1, 5, 2, 2, 9, 0, 7]
    proofs = prove(gpt, ids, ablation, read(gpt, ids, ablation))
    assert [proof.name for proof in proofs] == NAMES
    assert red(proofs) == set()
    expected = {name: switch for switch, names in UNLESS.items() if getattr(ablation, switch) for name in names}
    if ablation.averages:
        expected = {"cached": "mean", "identity": "mean"} | expected
    elif ablation != ALL_OFF:
        expected.setdefault("identity", "sublayers")
    assert {proof.name: proof.unless for proof in proofs if not proof.applies} == expected


def test_nine_identities_and_the_attribution_hold_on_a_plain_run(fix_a):
    proofs = prove(fix_a, IDS, NOTHING_OFF, read(fix_a, IDS))
    assert [proof.name for proof in proofs if proof.holds] == NAMES[:-1]


def test_with_every_sublayer_off_output_is_input_exactly(fix_a):
    proof = prove(fix_a, IDS, ALL_OFF, read(fix_a, IDS, ALL_OFF))[-1]
    assert (proof.name, proof.holds, proof.error, proof.tolerance) == ("identity", True, 0.0, 0.0)


def test_a_single_token_is_a_run_too(fix_a):
    assert red(prove(fix_a, [262], NOTHING_OFF, read(fix_a, [262]))) == set()


# Each broken, all others left whole: nothing but the one named turns red.


def block(trace: Trace, layer: int, **changed: Any) -> Trace:
    blocks = list(trace.blocks)
    blocks[layer] = replace(blocks[layer], **changed)
    return replace(trace, blocks=tuple(blocks))


def attention(trace: Trace, layer: int, **changed: Any) -> Trace:
    return block(trace, layer, attention=replace(trace.blocks[layer].attention, **changed))


def nudged(x: torch.Tensor, *places: tuple[tuple[Any, ...], float]) -> torch.Tensor:
    x = x.clone()
    for place, by in places:
        x[place] += by
    return x


def unseen(gpt: GPTModel, trace: Trace) -> torch.Tensor:
    """A change of head (1, 0) at position 2 that the token chosen there does not notice: only the sum does."""
    token = next_tokens(IDS, trace)[2]
    reads = gpt.token_embedding.weight[token] * gpt.final_norm.scale
    toward = (reads - reads.mean()) @ projection(gpt, 1).weight[:, :4]  # (D,)
    change = torch.tensor([1.0, -2.0, 3.0, -4.0])
    return 0.01 * (change - toward * (change @ toward) / (toward @ toward))


def broken_heads(gpt: GPTModel, trace: Trace) -> Trace:
    mixed = trace.blocks[1].attention.mixed
    return attention(trace, 1, mixed=nudged(mixed, ((0, 2), unseen(gpt, trace))))


def broken_lens(_: GPTModel, trace: Trace) -> Trace:
    """A logit of the first position that belongs to no token chosen there, and that no cached step reads again."""
    other = (int(next_tokens(IDS, trace)[0]) + 1) % trace.logits.size(-1)
    return replace(trace, logits=nudged(trace.logits, ((0, other), 0.01)))


BREAKS: dict[str, Callable[[GPTModel, Trace], Trace]] = {
    "rows": lambda _, t: attention(t, 2, weights=nudged(t.blocks[2].attention.weights, ((1, 3, 0), 0.01))),
    "ahead": lambda _, t: attention(
        t, 0, weights=nudged(t.blocks[0].attention.weights, ((0, 1, 0), -0.01), ((0, 1, 2), 0.01))
    ),
    "heads": broken_heads,
    "middle": lambda _, t: block(t, 1, before=nudged(t.blocks[1].before, ((2, 3), 0.001))),
    "after": lambda _, t: block(t, 0, after=nudged(t.blocks[0].after, ((2, 3), 0.001))),
    "normalised": lambda _, t: block(
        t, 1, norm_2=replace(t.blocks[1].norm_2, normalised=nudged(t.blocks[1].norm_2.normalised, ((2,), 0.001)))
    ),
    "lens": broken_lens,
    "cached": lambda _, t: attention(t, 1, key=nudged(t.blocks[1].attention.key, ((0, 1), 0.5))),
    "fused": lambda _, t: block(
        t, 2, norm_1=replace(t.blocks[2].norm_1, after=nudged(t.blocks[2].norm_1.after, ((3, 1), 0.1)))
    ),
    "attribution": lambda _, t: replace(t, tokens=nudged(t.tokens, ((2, 3), 0.1))),
}


@pytest.mark.parametrize("name", NAMES[:-1])
def test_a_broken_trace_turns_exactly_that_identity_red(fix_a, name):
    with torch.inference_mode():
        broken = BREAKS[name](fix_a, read(fix_a, IDS))
    assert red(prove(fix_a, IDS, NOTHING_OFF, broken)) == {name}


def test_a_stream_that_moves_though_everything_is_off_turns_the_residual_identity_red(fix_a):
    """Moved evenly between two blocks: LayerNorm does not notice, and within each block the sums are right."""
    trace = read(fix_a, IDS, ALL_OFF)
    with torch.inference_mode():
        for layer in (1, 2):
            moved = {name: getattr(trace.blocks[layer], name) + 0.5 for name in ("before", "middle", "after")}
            trace = block(trace, layer, **moved)
    proofs = prove(fix_a, IDS, ALL_OFF, trace)
    assert red(proofs) == {"identity"}
    assert proofs[-1].error == pytest.approx(0.5, abs=1e-6)


def test_a_zeroed_attention_that_still_adds_something_is_red(fix_a):
    off = Ablation(attention=frozenset({1}))
    trace = read(fix_a, IDS, off)
    with torch.inference_mode():
        leaked = attention(trace, 1, out=projection(fix_a, 1).bias.expand(len(IDS), -1))
    assert "heads" in red(prove(fix_a, IDS, off, leaked))


def test_an_attention_off_by_its_mean_must_be_the_mean_of_its_heads_parts(fix_a):
    off = Ablation(attention=frozenset({1}), mean=True)
    trace = read(fix_a, IDS, off)
    assert red(prove(fix_a, IDS, off, trace)) == set()
    with torch.inference_mode():
        zeroed = attention(trace, 1, out=torch.zeros_like(trace.blocks[1].attention.out))
    assert "heads" in red(prove(fix_a, IDS, off, zeroed))


def test_what_is_no_number_never_holds(fix_a):
    assert not Proof("rows", math.nan, 1.0).holds
    trace = read(fix_a, IDS)
    with torch.inference_mode():
        broken = attention(trace, 0, weights=trace.blocks[0].attention.weights * math.nan)
    assert {"rows", "ahead"} <= red(prove(fix_a, IDS, NOTHING_OFF, broken))


def test_what_does_not_apply_neither_holds_nor_fails():
    proof = Proof("ahead", unless="causal_mask")
    assert not proof.applies
    assert not proof.holds


def test_the_error_is_as_large_as_the_break(fix_a):
    with torch.inference_mode():
        broken = BREAKS["rows"](fix_a, read(fix_a, IDS))
    assert prove(fix_a, IDS, NOTHING_OFF, broken)[0].error == pytest.approx(0.01, abs=1e-6)
