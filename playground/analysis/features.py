"""The features of one LayerNorm: how a token's values are distributed, which stand out, what scale and shift do."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from playground.gpt.model import GPTModel
from playground.gpt.trace import NormTrace, Trace


@dataclass(frozen=True, slots=True)
class NormSite:
    """One LayerNorm with everything that goes through it. Shapes: (T, C) three times, then (C,) twice."""

    layer: int | None  # None for the final one
    name: str  # norm_1, norm_2 or final_norm
    before: Tensor
    normalised: Tensor
    after: Tensor
    scale: Tensor
    shift: Tensor


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many features lie between one edge and the next, each token on its own.

    Shapes: edges (T, bins + 1), counts (T, bins); a row of counts sums to C
    """

    edges: Tensor
    counts: Tensor


def norm_site(gpt: GPTModel, trace: Trace, which: int) -> NormSite:
    """LayerNorm number `which` in the order computed: two a block, then the final one; beyond it, the final one."""
    layer, half = divmod(which, 2)
    if layer >= len(trace.blocks):
        return _site(None, "final_norm", gpt.final_norm, trace.blocks[-1].after, trace.final_norm)
    block, modules = trace.blocks[layer], gpt.blocks[layer]
    if half == 0:
        return _site(layer, "norm_1", modules.norm_1, block.before, block.norm_1)
    return _site(layer, "norm_2", modules.norm_2, block.middle, block.norm_2)


def _site(layer: int | None, name: str, norm: Any, before: Tensor, seen: NormTrace) -> NormSite:
    return NormSite(layer, name, before, seen.normalised, seen.after, norm.scale.detach(), norm.shift.detach())


def histogram(x: Tensor, bins: int) -> Histogram:
    """Count each token's values in bins of equal width from its smallest to its largest, that one included.

    A token whose values are all alike has its only full bin in the middle of a range of width 1.

    Shapes: x (T, C)
    """
    low, high = x.double().aminmax(dim=-1, keepdim=True)
    alike = low == high
    low, high = torch.where(alike, low - 0.5, low), torch.where(alike, high + 0.5, high)
    edges = low + (high - low) * torch.linspace(0, 1, bins + 1, dtype=torch.float64)  # (T, bins + 1)
    edges[:, -1:] = high
    place = torch.searchsorted(edges[:, 1:-1].contiguous(), x.double().contiguous(), right=True)  # (T, C)
    counts = torch.zeros(len(x), bins, dtype=torch.int64).scatter_add_(1, place, torch.ones_like(place))
    return Histogram(edges, counts)


def standing_out(x: Tensor, k: int) -> Tensor:
    """The k features furthest from 0, furthest first, ties to the lowest index.

    Shapes: x (T, C) -> (T, min(k, C))
    """
    return x.abs().argsort(dim=-1, descending=True, stable=True)[:, :k]
