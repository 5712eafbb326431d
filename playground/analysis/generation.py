"""What writing looks like from inside: the keys and values that are kept, and how sure the model is at each step."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from playground.gpt.config import GPTConfig, forward_flops
from playground.gpt.costs import cache_bytes_per_token
from playground.gpt.trace import Trace

Kept = Literal["key", "value"]


def cached_norms(trace: Trace, kept: Kept) -> Tensor:
    """The length of what each layer keeps of each token: its heads' keys, or values, joined.

    Shapes: -> (L, T)
    """
    records = [block.attention for block in trace.blocks]
    heads = torch.stack([record.key if kept == "key" else record.value for record in records])  # (L, H, T, D)
    return heads.square().sum((1, 3)).sqrt()


@dataclass(frozen=True, slots=True)
class StepCost:
    """Reading one more token after `past` others. Units: FLOPs of matrix products; bytes in float32"""

    with_cache: int  # only the new token is read
    without: int  # the whole text is read again, and the next token asked of its end alone
    held: int  # by the cache afterwards


def step_cost(config: GPTConfig, past: int) -> StepCost:
    """What the cache saves at one step, and what it costs to hold."""
    cached, again = forward_flops(config, 1, past), forward_flops(config, past + 1)
    return StepCost(cached.total, again.total - again.head + cached.head, cache_bytes_per_token(config) * (past + 1))


def entropies(logits: Tensor) -> Tensor:
    """How open the next token is: -sum p · log p. Shapes: (T, V) -> (T,). Units: nats. Source: Shannon 1948"""
    log_p = logits.double().log_softmax(-1)
    return -(log_p.exp() * log_p).sum(-1)


def surprises(logits: Tensor, ids: Tensor) -> Tensor:
    """How unexpected each token was where it came: -log p of it; the first token was not predicted by anything.

    Shapes: logits (T, V), ids (T,) -> (T - 1,), for tokens 1 to T - 1
    Units:  nats
    """
    log_p = logits[:-1].double().log_softmax(-1)
    return -log_p.gather(-1, ids[1:, None])[:, 0]
