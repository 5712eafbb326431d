"""Who wrote this token: its logit as a sum over everything that was added to the residual stream.

Source: direct logit attribution, Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
"""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from playground.errors import AttributionWithoutResiduals
from playground.gpt.ablation import Ablation
from playground.gpt.model import GPTModel, TransformerBlock, switched_off
from playground.gpt.trace import Trace


@dataclass(frozen=True, slots=True)
class Attribution:
    """Parts of the logit of one token at every position, in float64. Units: logits; what is zeroed is exactly 0."""

    token: Tensor  # (T,) from the token embedding
    position: Tensor  # (T,) from the position embedding
    heads: Tensor  # (L, H, T)
    bias: Tensor  # (L, T) from the attention's output bias
    feed_forward: Tensor  # (L, T) with its bias
    shift: Tensor  # (T,) from the final LayerNorm's shift
    logits: Tensor  # (T,) what the model computed, not a sum of these

    @property
    def attention(self) -> Tensor:
        """All heads of a layer and its bias. Shapes: (L, T)"""
        return self.heads.sum(1) + self.bias

    @property
    def steps(self) -> Tensor:
        """In the order added: token, position, attention and feed-forward of each layer, shift. Shapes: (2L + 3, T)"""
        sublayers = torch.stack([self.attention, self.feed_forward], dim=1).flatten(0, 1)
        return torch.cat([self.token[None], self.position[None], sublayers, self.shift[None]])

    @property
    def total(self) -> Tensor:
        """What must be the logits. Shapes: (T,)"""
        return self.steps.sum(0)


def attribute(gpt: GPTModel, targets: Tensor, ablation: Ablation, trace: Trace) -> Attribution:
    """Split the logit of token targets[t], as scored at position t.

    The final LayerNorm divides by sqrt(variance + eps) of the whole stream: that one number is taken as measured in
    this run. What is left is linear, so that centring the direction centres every part.

    Shapes: targets (T,)
    Raises: AttributionWithoutResiduals, for then the sublayers are not added to one another.
    """
    if ablation.residuals:
        raise AttributionWithoutResiduals()
    with torch.inference_mode():
        reads = gpt.token_embedding.weight[targets].double()  # (T, C)
        shift = torch.zeros(len(targets), dtype=torch.float64)
        if not ablation.norms:
            shift = reads @ gpt.final_norm.shift.double()
            reads = reads * gpt.final_norm.scale.double()
            reads = reads - reads.mean(-1, keepdim=True)
            variance = trace.blocks[-1].after.double().var(-1, correction=0, keepdim=True)
            reads = reads / torch.sqrt(variance + gpt.final_norm.eps)

        def read(x: Tensor) -> Tensor:  # (T, C) -> (T,)
            return (reads * x.double()).sum(-1)

        layers = range(len(trace.blocks))
        biases = [projection(gpt, layer).bias.double().expand_as(reads) for layer in layers]
        return Attribution(
            token=read(trace.tokens),
            position=torch.zeros_like(shift) if ablation.positions else read(trace.positions),
            heads=torch.stack([_heads(gpt, layer, reads, ablation, trace) for layer in layers]),
            bias=torch.stack([read(_handed_on(bias, layer, ablation)) for layer, bias in enumerate(biases)]),
            feed_forward=torch.stack([read(block.feed_forward.out) for block in trace.blocks]),
            shift=shift,
            logits=trace.logits.gather(-1, targets[:, None])[:, 0].double(),
        )


def projection(gpt: GPTModel, layer: int) -> nn.Linear:
    """What joins the heads of a layer: head h owns columns h·D to (h + 1)·D of its weight."""
    return cast(TransformerBlock, gpt.blocks[layer]).attention.out


def _handed_on(part: Tensor, layer: int, ablation: Ablation) -> Tensor:
    """What a part of an attention's output becomes when that attention is off. Shapes: (..., T, C) -> (..., T, C)"""
    return switched_off(part, ablation) if layer in ablation.attention else part


def _heads(gpt: GPTModel, layer: int, reads: Tensor, ablation: Ablation, trace: Trace) -> Tensor:
    """Each head's part, without ever making its (T, C) output. Shapes: reads (T, C) -> (H, T)"""
    mixed = _handed_on(trace.blocks[layer].attention.mixed.double(), layer, ablation)  # (H, T, D)
    H, T, D = mixed.shape
    back = (reads @ projection(gpt, layer).weight.double()).view(T, H, D).transpose(0, 1)  # (H, T, D)
    return (back * mixed).sum(-1)
