"""Identities that must hold for a run, measured on that very run.

Numbers that two roads reach by adding in another order differ by rounding. A road may lose ROUNDING units in the last
place of the largest number added; where the very same operation is done again, nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from playground.gpt.ablation import Ablation
from playground.gpt.extend import held
from playground.gpt.model import GPTModel, TransformerBlock, earlier_mean
from playground.gpt.trace import NormTrace, Trace

from . import residual_difference
from .attribution import attribute, projection
from .lens import next_tokens, place_logits

ROUNDING = 100  # units in the last place: 1.2e-5 of the largest number in float32; sums of 768 products lose about 30
ADDS_UP = 1e-4  # of the largest part: float64 sums of what float32 computed through every layer
FUSED = 128  # tokens, the first ones: this check repeats the attention of every layer
CACHED = 4  # tokens, the last ones: this check reads them again, one by one


@dataclass(frozen=True, slots=True)
class Proof:
    """One identity: its error where it fares worst, and what rounding may do there. Units: as what is compared."""

    name: str
    error: float = 0.0
    tolerance: float = 0.0
    unless: str | None = None  # the switch that abolishes the identity, or `sublayers` while some are still on

    @property
    def applies(self) -> bool:
        return self.unless is None

    @property
    def holds(self) -> bool:
        """Never of an error that is no number, nor of what does not apply."""
        return self.applies and self.error <= self.tolerance


Gap = tuple[float, float]  # error, tolerance


def prove(gpt: GPTModel, ids: Sequence[int], ablation: Ablation, trace: Trace) -> list[Proof]:
    """Every identity of one run; `trace` is of the text `ids` under `ablation`. In one fixed order, see the texts."""
    sublayers = Ablation.all_sublayers(len(trace.blocks))
    some_on = not (ablation.attention >= sublayers.attention and ablation.feed_forward >= sublayers.feed_forward)
    off = {name: name for name in ("causal_mask", "norms", "residuals") if getattr(ablation, name)}
    mask, norms, residuals = off.get("causal_mask"), off.get("norms"), off.get("residuals")
    mean = "mean" if ablation.averages else None

    def proof(name: str, gaps: Callable[[], Iterator[Gap]], unless: str | None = None) -> Proof:
        return Proof(name, unless=unless) if unless else Proof(name, *worst(gaps()))

    with torch.inference_mode():
        return [
            proof("rows", lambda: rows(trace)),
            proof("ahead", lambda: ahead(trace), mask),
            proof("heads", lambda: heads(gpt, ablation, trace)),
            proof("middle", lambda: middle(trace), residuals),
            proof("after", lambda: after(trace), residuals),
            proof("normalised", lambda: normalised(trace, gpt.final_norm.eps), norms),
            proof("lens", lambda: lens(gpt, ablation, trace)),
            proof("cached", lambda: cached(gpt, ids, ablation, trace), ablation.uncached),
            proof("fused", lambda: fused(gpt, ablation, trace)),
            proof("attribution", lambda: attribution(gpt, ids, ablation, trace), residuals),
            proof("identity", lambda: identity(trace), residuals or mean or ("sublayers" if some_on else None)),
        ]


def worst(gaps: Iterator[Gap]) -> Gap:
    """The one that misses most of what it may miss; one that is no number is worst of all."""
    return max(gaps, key=lambda gap: float("inf") if gap[0] != gap[0] else gap[0] / max(gap[1], 1e-300))


def gap(found: Tensor, expected: Tensor, largest: float | None = None) -> Gap:
    """The difference, and what rounding may do to numbers up to `largest`, by default those compared."""
    if largest is None:
        largest = max(float(found.abs().max()), float(expected.abs().max()))
    return float((found - expected).abs().max()), ROUNDING * torch.finfo(found.dtype).eps * largest


def exact(found: Tensor, expected: Tensor) -> Gap:
    return float((found - expected).abs().max()), 0.0


def rows(trace: Trace) -> Iterator[Gap]:
    """Attention rows sum to 1."""
    for block in trace.blocks:
        sums = block.attention.weights.sum(-1)
        yield gap(sums, torch.ones_like(sums))


def ahead(trace: Trace) -> Iterator[Gap]:
    """No weight lies above the diagonal: softmax makes -inf exactly 0."""
    for block in trace.blocks:
        above = block.attention.weights.triu(1)
        yield exact(above, torch.zeros_like(above))


def heads(gpt: GPTModel, ablation: Ablation, trace: Trace) -> Iterator[Gap]:
    """What each head adds through its own columns, and the bias, are the attention's output, or its mean when off."""
    for layer, block in enumerate(trace.blocks):
        mixed, out = block.attention.mixed, block.attention.out
        off = layer in ablation.attention
        if off and not ablation.mean:
            yield exact(out, torch.zeros_like(out))
            continue
        join = projection(gpt, layer)
        total, largest = join.bias.expand_as(out), float(join.bias.abs().max())
        for head, columns in enumerate(join.weight.split(mixed.size(-1), dim=1)):
            part = mixed[head] @ columns.T  # (T, C)
            total, largest = total + part, max(largest, float(part.abs().max()))
        yield gap(earlier_mean(total) if off else total, out, largest)


def middle(trace: Trace) -> Iterator[Gap]:
    """Added once more, number by number: the same bits."""
    for block in trace.blocks:
        yield exact(block.before + block.attention.out, block.middle)


def after(trace: Trace) -> Iterator[Gap]:
    for block in trace.blocks:
        yield exact(block.middle + block.feed_forward.out, block.after)


def normalised(trace: Trace, eps: float) -> Iterator[Gap]:
    """Mean 0 and variance v / (v + eps), where v was the variance before."""
    for block in trace.blocks:
        yield from _one_norm(block.before, block.norm_1, eps)
        yield from _one_norm(block.middle, block.norm_2, eps)
    yield from _one_norm(trace.blocks[-1].after, trace.final_norm, eps)


def _one_norm(x: Tensor, norm: NormTrace, eps: float) -> Iterator[Gap]:
    """The mean is taken away from x before the division, so that rounding counts in units of x / std."""
    variance = x.var(-1, correction=0)
    size = x.abs().amax(-1) / torch.sqrt(variance + eps)
    mean, spread = norm.normalised.mean(-1), norm.normalised.var(-1, correction=0)
    largest = max(1.0, float(size.max()))
    yield gap(mean, torch.zeros_like(mean), largest)
    yield gap(spread, variance / (variance + eps), largest)


def lens(gpt: GPTModel, ablation: Ablation, trace: Trace) -> Iterator[Gap]:
    """The lens at the last place shows the model's own logits."""
    yield gap(place_logits(gpt, trace.blocks[-1].after, ablation), trace.logits)


def cached(gpt: GPTModel, ids: Sequence[int], ablation: Ablation, trace: Trace) -> Iterator[Gap]:
    """The last tokens as the whole text read at once has them; then read one by one, with this run's keys and values.

    The run itself may have grown token by token, hence it too is compared with the text read at once.
    """
    text = torch.tensor([ids], device=trace.logits.device)
    uncached = gpt(text, ablation)[0]
    largest = float(uncached.abs().max()) * unscaled(gpt, ablation)
    known = len(ids) - min(CACHED, len(ids))
    yield gap(trace.logits[known:], uncached[known:], largest)
    cache = held(gpt, trace, known, len(ids))
    for i in range(known, len(ids)):
        yield gap(gpt(text[:, i : i + 1], ablation, cache)[0, 0], uncached[i], largest)


def fused(gpt: GPTModel, ablation: Ablation, trace: Trace) -> Iterator[Gap]:
    """The attention of writing, which never holds the weights, gives what the one that shows them gave."""
    for module, recorded in zip(gpt.blocks, trace.blocks, strict=True):
        block = cast(TransformerBlock, module)
        seen = slice(None if ablation.causal_mask else FUSED)  # without the mask a token needs all of the others
        out = block.attention(recorded.norm_1.after[None, seen], ablation, None, traced=False)[0][0]
        expected = recorded.attention.out[seen]
        yield gap(out, expected, float(expected.abs().max()) * unscaled(gpt, ablation))


def unscaled(gpt: GPTModel, ablation: Ablation) -> float:
    """Without the division, scores are sqrt(D) times as large, and so is what their rounding does to the weights."""
    return gpt.config.head_dim**0.5 if ablation.scaling else 1.0


def attribution(gpt: GPTModel, ids: Sequence[int], ablation: Ablation, trace: Trace) -> Iterator[Gap]:
    """The bars of the token chosen at each position add up to its logit."""
    found = attribute(gpt, next_tokens(ids, trace), ablation, trace)
    parts = torch.cat([found.heads.flatten(0, 1), found.steps, found.logits[None]])
    yield float((found.total - found.logits).abs().max()), ADDS_UP * float(parts.abs().max())


def identity(trace: Trace) -> Iterator[Gap]:
    """With every sublayer zeroed, what leaves the last block is what entered the first."""
    yield residual_difference(trace), 0.0
