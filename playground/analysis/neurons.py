"""The neurons of one feed-forward: which are on, what each writes into the stream, and which tokens that favours."""

from dataclasses import dataclass

import torch
from torch import Tensor

from playground.gpt.model import FeedForward, gelu


def share_on(hidden: Tensor) -> Tensor:
    """Share of neurons whose value before GELU is above 0. Shapes: hidden (T, F) -> (T,), each 0 to 1"""
    return (hidden > 0).double().mean(-1)


def written_norms(feed_forward: FeedForward, active: Tensor) -> Tensor:
    """Length of the vector that each neuron adds to the output: |activation| · ‖its column of `narrow`‖.

    Shapes: active (T, F) -> (T, F)
    Units:  L2 norm
    """
    lengths: Tensor = feed_forward.narrow.weight.norm(dim=0)  # (F,)
    return active.abs() * lengths


def strongest(written: Tensor, k: int) -> Tensor:
    """The k neurons that write the longest vectors, longest first, ties to the lowest index.

    Shapes: written (T, F) -> (T, min(k, F))
    """
    return written.argsort(dim=-1, descending=True, stable=True)[:, :k]


@dataclass(frozen=True, slots=True)
class Promoted:
    """The tokens that a vector favours, most first, and by how much. Shapes: (..., k) each"""

    ids: Tensor
    logits: Tensor


def promoted(feed_forward: FeedForward, active: Tensor, neurons: Tensor, table: Tensor, k: int) -> Promoted:
    """Read what each neuron writes directly by the token table: the vector times every token's embedding.

    A direct reading, no prediction: the final LayerNorm is left out, and so is what later layers make of the vector.

    Shapes: active (T, F), neurons (T, n), table (V, C) -> (T, n, k)
    Units:  logits, as if the vector alone met the output head
    Source: Geva et al. 2022, section 3
    """
    columns = feed_forward.narrow.weight.T[neurons]  # (T, n, C)
    logits = (active.gather(-1, neurons)[..., None] * columns) @ table.T  # (T, n, V)
    top = logits.topk(min(k, len(table)), dim=-1)
    return Promoted(top.indices, top.values)


def gelu_curve(low: float, high: float, points: int = 201) -> tuple[Tensor, Tensor]:
    """The model's own GELU from low to high. Shapes: (points,) twice, x and y"""
    x = torch.linspace(low, high, points, dtype=torch.float64)
    return x, gelu(x)
