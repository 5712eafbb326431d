"""The logit lens: what the model would answer if the stream went to the head already there.

Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from playground.gpt.ablation import Ablation
from playground.gpt.model import GPTModel, token_scores
from playground.gpt.trace import Trace

from . import likeliest, rank, stream, top_tokens

TOGETHER = 128  # tokens multiplied by the vocabulary at once: fewer would take longer, more would keep others waiting
ROWS = 16  # positions measured at once: so many rows of scores stay in the processor's cache


@dataclass(frozen=True, slots=True)
class Lens:
    """The answer at places of the stream, for every token; at 2L + 1 of them, N of a lens that still grows.

    Shapes: (N, T) each, but `chosen` (T,)
    """

    places: tuple[str, ...]
    chosen: Tensor  # the token that really comes next in the text; after the last, the likeliest
    top: Tensor  # the likeliest token there
    probability: Tensor  # of `top`
    entropy: Tensor  # nats
    kl: Tensor  # nats lost by believing this answer where the final one is true
    rank: Tensor  # of `chosen`: 1 is on top


def place_logits(gpt: GPTModel, x: Tensor, ablation: Ablation) -> Tensor:
    """Read the stream as the last block's output is read: the final LayerNorm with x's own statistics, then the head.

    Shapes: x (T, C) -> (T, V)
    """
    normed, _ = gpt.final_norm(x[None], ablation, traced=False)
    return token_scores(normed[0], gpt.token_embedding.weight)


def next_tokens(ids: Sequence[int], trace: Trace) -> Tensor:
    """What follows each token: the next one of the text, and after the last the model's first choice. Shapes: (T,)"""
    return torch.cat([torch.tensor(ids[1:], dtype=torch.long), top_tokens(trace.logits[-1:].cpu(), 1).ids[0]])


def logit_lens(gpt: GPTModel, ids: Sequence[int], ablation: Ablation, trace: Trace) -> Lens:
    """Every place, in the order computed. The last is the model's own answer."""
    return joined([*place_lenses(gpt, ids, ablation, trace)], trace)


def place_lenses(gpt: GPTModel, ids: Sequence[int], ablation: Ablation, trace: Trace, known: int = 0) -> Iterator[Lens]:
    """A few places after the other, each when asked for, so that (2L + 1, T, V) never exists; not those `known`.

    The model's own answer comes first, which is in the trace; then where blocks begin and end; then the places between
    attention and feed-forward: who waits sees the coarse picture early.
    """
    with torch.inference_mode():
        chosen = next_tokens(ids, trace).to(trace.logits.device)
        final = _answers(trace.logits)
    (last, _), *others = coarse_first(trace)
    if known == 0:
        with torch.inference_mode():
            yield Lens((last,), chosen, *_rows(trace.logits, final, chosen))
    few = max(1, TOGETHER // len(chosen))
    for i in range(max(0, known - 1), len(others), few):
        names, streams = zip(*others[i : i + few], strict=True)
        with torch.inference_mode():
            measured = _rows(place_logits(gpt, torch.cat(streams), ablation), final, chosen)
        yield Lens(names, chosen, *measured)


def coarse_first(trace: Trace) -> list[tuple[str, Tensor]]:
    """The places of the stream: what leaves the last block, what enters each block, then what leaves each attention."""
    places = [*stream(trace)]
    return [places[-1], *places[:-1:2], *places[1::2]]


def joined(lenses: Sequence[Lens], trace: Trace) -> Lens:
    """Several places of one text as one lens, in the order computed."""
    found = [name for each in lenses for name in each.places]
    order = [found.index(name) for name, _ in stream(trace) if name in found]
    columns = zip(*((each.top, each.probability, each.entropy, each.kl, each.rank) for each in lenses), strict=True)
    return Lens(tuple(found[i] for i in order), lenses[0].chosen, *(torch.cat(rows)[order] for rows in columns))


def position_lens(gpt: GPTModel, ids: Sequence[int], ablation: Ablation, trace: Trace, position: int) -> Lens:
    """The column of one position, at all places at once. Shapes: as if the text had this one token, T = 1"""
    chosen = next_tokens(ids, trace).to(trace.logits.device)[position : position + 1]
    places = dict(stream(trace))
    with torch.inference_mode():
        *before, _ = (x[position] for x in places.values())
        final = trace.logits[position : position + 1]
        logits = place_logits(gpt, torch.stack(before), ablation)  # (2L, V)
        p, sure = _answers(final)
        others = _measure(logits, p.expand_as(logits), sure.expand(len(logits)), chosen.expand(len(logits)))
        own = _measure(final, p, sure, chosen)  # by itself, in the very order of `sure`: its KL is exactly 0
    return Lens(tuple(places), chosen, *(torch.cat(pair)[:, None] for pair in zip(others, own, strict=True)))


def _answers(logits: Tensor) -> tuple[Tensor, Tensor]:
    """The model's own answers: p, and the sum of p · log p. Shapes: (T, V) -> (T, V), (T,)"""
    p, sure = [], []
    for piece in logits.split(ROWS):
        shifted, weight, total = _softmax(piece, likeliest(piece))
        p.append(weight / total[:, None])
        sure.append(torch.linalg.vecdot(p[-1], shifted) - total.log())
    return torch.cat(p), torch.cat(sure)


def _softmax(logits: Tensor, top: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """log p = shifted - log total, and p = weight / total. Shapes: (T, V), (T,) -> (T, V) twice, (T,)"""
    shifted = logits - logits.gather(-1, top[:, None])
    weight = shifted.exp()
    return shifted, weight, weight.sum(-1)


def _rows(logits: Tensor, final: tuple[Tensor, Tensor], chosen: Tensor) -> list[Tensor]:
    """The rows of N places, measured in pieces; `final` is what `_answers` says of the model's own.

    Shapes: logits (N · T, V), chosen (T,) -> (N, T) each
    """
    pieces = [
        _measure(*piece)
        for place in logits.split(len(chosen))
        for piece in zip(*(each.split(ROWS) for each in (place, *final, chosen)), strict=True)
    ]
    return [torch.cat(column).view(-1, len(chosen)) for column in zip(*pieces, strict=True)]


def _measure(logits: Tensor, p: Tensor, sure: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
    """Top, probability, entropy, KL, rank. Shapes: logits and p (T, V), `sure` and chosen (T,) -> (T,) each"""
    top = likeliest(logits)
    shifted, weight, total = _softmax(logits, top)
    entropy = total.log() - torch.linalg.vecdot(weight, shifted) / total
    kl = (sure - (torch.linalg.vecdot(p, shifted) - total.log())).clamp(min=0)  # the sum of p · (log p - log q)
    ranks = [rank(row, token) for row, token in zip(logits, chosen.tolist(), strict=True)]
    return top, 1 / total, entropy, kl, torch.tensor(ranks, device=logits.device)
