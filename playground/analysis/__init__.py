"""Numbers read off a Trace of one text (no B axis). Tensors in, tensors out; nothing is rounded."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from playground.gpt.trace import NormTrace, Trace


@dataclass(frozen=True, slots=True)
class Moments:
    """Of each token's vector, over its C features. Shapes: (T,) each. `std` divides by C, as LayerNorm does."""

    mean: Tensor
    std: Tensor


STAGES = ("before", "normalised", "after")  # of a LayerNorm


@dataclass(frozen=True, slots=True)
class NormStatistics:
    """One LayerNorm: its input, that input with mean 0 and variance 1, and after scale and shift."""

    layer: int | None  # None for the final one
    name: str  # norm_1, norm_2 or final_norm
    before: Moments
    normalised: Moments
    after: Moments


def moments(x: Tensor) -> Moments:
    """Mean and standard deviation of each token's vector. Shapes: x (T, C) -> (T,) each"""
    return Moments(x.mean(-1), x.var(-1, correction=0).sqrt())


def norm_statistics(trace: Trace) -> list[NormStatistics]:
    """Every LayerNorm in the order computed: two a block, and the final one, 2L + 1 in all."""

    def measure(layer: int | None, name: str, before: Tensor, norm: NormTrace) -> NormStatistics:
        return NormStatistics(layer, name, moments(before), moments(norm.normalised), moments(norm.after))

    measured = []
    for layer, block in enumerate(trace.blocks):
        measured.append(measure(layer, "norm_1", block.before, block.norm_1))
        measured.append(measure(layer, "norm_2", block.middle, block.norm_2))
    return [*measured, measure(None, "final_norm", trace.blocks[-1].after, trace.final_norm)]


def stream(trace: Trace) -> Iterator[tuple[str, Tensor]]:
    """The residual stream (T, C) where it enters the blocks and after each sublayer: 2L + 1 places."""
    yield "embedding", trace.blocks[0].before
    for layer, block in enumerate(trace.blocks):
        yield f"attention.{layer}", block.middle
        yield f"feed_forward.{layer}", block.after


def stream_norms(trace: Trace) -> Tensor:
    """How long the stream's vectors are. Shapes: (2L + 1, T)"""
    return torch.stack([x.norm(dim=-1) for _, x in stream(trace)])


def contribution_norms(trace: Trace) -> Tensor:
    """How long the vector is that each sublayer adds. Shapes: (2L, T)"""
    added = [out for block in trace.blocks for out in (block.attention.out, block.feed_forward.out)]
    return torch.stack([out.norm(dim=-1) for out in added])


def residual_difference(trace: Trace, layer: int | None = None) -> float:
    """Largest |output - input| of one block, or of all of them together: exactly 0 once every sublayer there is off."""
    blocks = trace.blocks if layer is None else trace.blocks[layer : layer + 1]
    return float((blocks[-1].after - blocks[0].before).abs().max())


def kl_divergence(before: Tensor, after: Tensor) -> Tensor:
    """How much is lost by believing `after` where `before` is true: sum p · log(p / q).

    Shapes: logits (..., V) twice -> (...,)
    Units:  nats
    Source: Kullback & Leibler 1951, eq. 2.4
    """
    log_p, log_q = before.double().log_softmax(-1), after.double().log_softmax(-1)
    return (log_p.exp() * (log_p - log_q)).sum(-1).clamp(min=0)


@dataclass(frozen=True, slots=True)
class Top:
    """The k likeliest next tokens at every position, best first, ties to the lowest id. Shapes: (T, k) each."""

    ids: Tensor
    probabilities: Tensor
    logits: Tensor


def top_tokens(logits: Tensor, k: int) -> Top:
    """Softmax over the whole vocabulary first, trimming after. Shapes: logits (T, V)"""
    ids = best_ids(logits, min(k, logits.size(-1)))
    return Top(ids, logits.softmax(-1).gather(-1, ids), logits.gather(-1, ids))


def best_ids(logits: Tensor, k: int) -> Tensor:
    """What sorting every row whole would put first, without sorting 50,257 scores. Shapes: (T, V) -> (T, k)"""
    ids = logits.topk(k).indices.sort(-1).values  # topk breaks ties as it likes: order by id, then by score
    ids = ids.gather(-1, logits.gather(-1, ids).argsort(dim=-1, descending=True, stable=True))
    tied = (logits >= logits.gather(-1, ids[:, -1:])).sum(-1) > k  # others score as high as the last one taken
    ids[tied] = logits[tied].argsort(dim=-1, descending=True, stable=True)[:, :k]
    return ids


def rank(logits: Tensor, token: int) -> int:
    """How many tokens stand before `token`, plus one; ties to the lowest id. Shapes: logits (V,)"""
    row = logits.numpy(force=True)  # which counts ten times as fast as torch
    return 1 + int(np.count_nonzero(row > row[token]) + np.count_nonzero(row[:token] == row[token]))


def likeliest(logits: Tensor) -> Tensor:
    """The first token of each row; of equals the lowest id. Shapes: (T, V) -> (T,)"""
    return torch.from_numpy(logits.numpy(force=True).argmax(-1)).to(logits.device)  # ten times as fast as torch


@dataclass(frozen=True, slots=True)
class HeadScores:
    """What kind of looking a head does, as shares of its weight, 0 to 1. Shapes: (H,) each."""

    previous: Tensor  # on the token just before, over queries that have one
    first: Tensor  # on the first token, over queries that are not it
    itself: Tensor  # on the query's own token


def head_scores(weights: Tensor) -> HeadScores:
    """How much each head looks at the token before, at the first and at itself, on average.

    A text of one token has no previous and no first to look back at: 0.

    Shapes: weights (H, T, T) -> (H,) each
    """
    if weights.size(-1) == 1:
        zero = weights.new_zeros(weights.size(0))
        return HeadScores(zero, zero, weights[:, 0, 0])
    return HeadScores(
        previous=weights.diagonal(-1, -2, -1).mean(-1),
        first=weights[:, 1:, 0].mean(-1),
        itself=weights.diagonal(0, -2, -1).mean(-1),
    )
