"""One head, step by step: from query times key to what each token looked at adds to the residual stream."""

from dataclasses import dataclass

import torch
from torch import Tensor

from playground.gpt.ablation import Ablation
from playground.gpt.model import GPTModel, switched_off
from playground.gpt.trace import Trace

from .heads import visible


@dataclass(frozen=True, slots=True)
class Unfolded:
    """Row = query, column = key, in the order computed. Shapes: (T, T) each."""

    dots: Tensor  # q·k
    scaled: Tensor  # the scores: q·k / sqrt(D)
    masked: Tensor  # NaN where the query may not look
    weights: Tensor  # after softmax
    mixed: Tensor  # length of weight · value: what the key gives to the head
    written: Tensor  # length of the same after the output projection: what the key adds to the stream by this head


def unfold(trace: Trace, model: GPTModel, ablation: Ablation, layer: int, head: int) -> Unfolded:
    """One head, from q·k to what it writes, stage by stage. Shapes: trace of one text (no B axis)"""
    attention = trace.blocks[layer].attention
    scores, weights = attention.scores[head], attention.weights[head]
    seen = visible(ablation, layer, head, scores.size(0))
    values = attention.value[head]
    return Unfolded(
        dots=attention.query[head] @ attention.key[head].T,
        scaled=scores,
        masked=scores.masked_fill(~seen, torch.nan),
        weights=weights,
        mixed=weights * values.norm(dim=-1),
        written=handed_on(weights, ablation, layer, head) * projected(values, model, layer, head).norm(dim=-1),
    )


def handed_on(weights: Tensor, ablation: Ablation, layer: int, head: int) -> Tensor:
    """The weights with which values reach the stream: none, or the mean of earlier queries', where that is off.

    Shapes: weights (T, T) -> (T, T)
    """
    for off in ((layer, head) in ablation.heads, layer in ablation.attention):
        weights = switched_off(weights, ablation) if off else weights
    return weights


def projected(values: Tensor, model: GPTModel, layer: int, head: int) -> Tensor:
    """A head's values through its slice of the output projection. Shapes: values (T, D) -> (T, C)"""
    D = values.size(-1)
    out = model.get_parameter(f"blocks.{layer}.attention.out.weight")
    return values @ out[:, head * D : (head + 1) * D].T
