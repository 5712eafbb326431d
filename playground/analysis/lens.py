"""The logit lens: what the model would answer if the stream went to the head already there.

Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from playground.gpt.ablation import Ablation
from playground.gpt.model import GPTModel
from playground.gpt.trace import Trace

from . import stream, top_tokens

ROWS = 64  # positions measured at once: what is held beside one place's logits stays small


@dataclass(frozen=True, slots=True)
class Lens:
    """The answer at each place of the stream, for every token. Shapes: (2L + 1, T) each, but `chosen` (T,)."""

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
    logits: Tensor = (normed @ gpt.token_embedding.weight.T)[0]
    return logits


def next_tokens(ids: Sequence[int], trace: Trace) -> Tensor:
    """What follows each token: the next one of the text, and after the last the model's first choice. Shapes: (T,)"""
    return torch.cat([torch.tensor(ids[1:], dtype=torch.long), top_tokens(trace.logits[-1:].cpu(), 1).ids[0]])


def logit_lens(gpt: GPTModel, ids: Sequence[int], ablation: Ablation, trace: Trace) -> Lens:
    """Measure one place after the other, so that (2L + 1, T, V) never exists. The last is the model's own answer."""
    chosen = next_tokens(ids, trace).to(trace.logits.device)
    places, measured = [], []
    with torch.inference_mode():
        for name, x in stream(trace):
            logits = place_logits(gpt, x, ablation)
            pieces = zip(logits.split(ROWS), trace.logits.split(ROWS), chosen.split(ROWS), strict=True)
            columns = zip(*(_measure(*piece) for piece in pieces), strict=True)
            places.append(name)
            measured.append([torch.cat(column) for column in columns])
    top, probability, entropy, kl, rank = (torch.stack(rows) for rows in zip(*measured, strict=True))
    return Lens(tuple(places), chosen, top, probability, entropy, kl, rank)


def position_lens(gpt: GPTModel, ids: Sequence[int], ablation: Ablation, trace: Trace, position: int) -> Lens:
    """The column of one position, at all places at once. Shapes: as if the text had this one token, T = 1"""
    chosen = next_tokens(ids, trace).to(trace.logits.device)[position : position + 1]
    places = dict(stream(trace))
    with torch.inference_mode():
        x = torch.stack([x[position] for x in places.values()])  # (2L + 1, C)
        logits, final = place_logits(gpt, x, ablation), trace.logits[position]
        measured = _measure(logits, final.expand_as(logits), chosen.expand(len(x)))
    return Lens(tuple(places), chosen, *(each[:, None] for each in measured))


def _measure(logits: Tensor, final: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
    """Top, probability, entropy, KL, rank. Shapes: logits and final (T, V), chosen (T,) -> (T,) each"""
    top = logits.argmax(-1)  # the lowest id of equals
    log_q, log_p = logits.log_softmax(-1), final.log_softmax(-1)
    q = log_q.exp()
    entropy = -(q * log_q).sum(-1)
    kl = (log_p.exp() * (log_p - log_q)).sum(-1).clamp(min=0)
    own = logits.gather(-1, chosen[:, None])
    lower = torch.arange(logits.size(-1), device=logits.device) < chosen[:, None]
    rank = 1 + (logits > own).sum(-1) + ((logits == own) & lower).sum(-1)
    return top, q.gather(-1, top[:, None])[:, 0], entropy, kl, rank
