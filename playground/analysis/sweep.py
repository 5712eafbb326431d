"""Switch every sublayer and every head off alone, and measure how much the answer at one position changes."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from playground.gpt.ablation import Ablation
from playground.gpt.config import GPTConfig
from playground.gpt.model import GPTModel
from playground.gpt.trace import Trace

from . import kl_divergence


@dataclass(frozen=True, slots=True)
class Effect:
    """What is lost at one position when one part is off."""

    word: str  # the part, as Ablation.words names it
    kl: float  # nats, from the answer with nothing off
    logit_change: float  # of one chosen token: after - before


def parts(config: GPTConfig, mean: bool = False) -> list[list[Ablation]]:
    """What is off, as zero or its mean: a row for each layer, its attention, feed-forward, then each of its heads."""
    return [
        [
            Ablation(attention=frozenset({layer}), mean=mean),
            Ablation(feed_forward=frozenset({layer}), mean=mean),
            *(Ablation(heads=frozenset({(layer, head)}), mean=mean) for head in range(config.n_heads)),
        ]
        for layer in range(config.n_layers)
    ]


def sweep(model: GPTModel, trace: Trace, position: int, token: int, mean: bool = False) -> Iterator[Effect]:
    """Measure the parts one after the other, row by row: L · (2 + H) of them, each when it is asked for.

    Nothing before the part that is off changes and no later token matters: each pass starts from what `trace` (of one
    text, nothing off) holds as entering that layer, and reads up to `position` only.
    """
    before = trace.logits[position]
    for layer, row in enumerate(parts(model.config, mean)):
        entering = trace.blocks[layer].before[None, : position + 1]
        for ablation in row:
            with torch.inference_mode():
                after = resume(model, entering, layer, ablation)
                change = float(after[token] - before[token])
            yield Effect(ablation.words()[0], float(kl_divergence(before, after)), change)


def resume(model: GPTModel, x: Tensor, layer: int, ablation: Ablation) -> Tensor:
    """The rest of a pass, from what enters `layer` on: the logits after the last token.

    Shapes: x (1, T, C) -> (V,)
    """
    for block in model.blocks[layer:]:
        x, _ = block(x, ablation, None, traced=False)
    normed, _ = model.final_norm(x[:, -1], ablation, traced=False)
    logits: Tensor = (normed @ model.token_embedding.weight.T)[0]
    return logits
