"""Switch every sublayer and every head off alone, and measure how much the answer at one position changes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from playground.gpt.ablation import NOTHING_OFF, Ablation
from playground.gpt.config import GPTConfig
from playground.gpt.model import GPTModel, TransformerBlock, switched_off
from playground.gpt.trace import BlockTrace, Trace

from . import kl_divergence
from .lens import place_logits

TOGETHER = 1536  # tokens read at once: more would be no faster, and others would wait longer between two pieces


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


def sweep(model: GPTModel, trace: Trace, position: int, token: int, mean: bool = False) -> Iterator[list[Effect]]:
    """Measure the parts row by row, L · (2 + H) of them: piece by piece, each when it is asked for.

    A piece is what one block takes; those that finish nothing are empty. `trace` is of one text with nothing off.
    """
    before = trace.logits[position]
    for found in answers(model, trace, position, [part for row in parts(model.config, mean) for part in row]):
        with torch.inference_mode():
            effects = [effect(part, before, after, token) for part, after in found]
        yield effects


def effect(part: Ablation, before: Tensor, after: Tensor, token: int) -> Effect:
    """Shapes: before and after (V,)"""
    return Effect(part.words()[0], float(kl_divergence(before, after)), float(after[token] - before[token]))


def answers(
    model: GPTModel, trace: Trace, position: int, off: Sequence[Ablation]
) -> Iterator[list[tuple[Ablation, Tensor]]]:
    """The logits (V,) at `position` with each single part off, in the order of `off`, which goes by layers.

    Nothing before the part that is off changes and no later token matters. So each starts from what `trace` holds of
    its own layer, up to `position`, and joins the others there: one batch goes through the layers, and grows.
    """
    texts = max(1, TOGETHER // (position + 1))
    for first in range(0, len(off), texts):
        yield from _wave(model, trace, position + 1, off[first : first + texts])


def _wave(
    model: GPTModel, trace: Trace, tokens: int, off: Sequence[Ablation]
) -> Iterator[list[tuple[Ablation, Tensor]]]:
    """A few parts in one batch; a piece for each layer, and the answers at the end."""
    x = trace.blocks[0].before.new_empty(0, tokens, model.config.emb_dim)  # (N, T, C), N parts so far
    for layer in range(layer_of(off[0]), model.config.n_layers):
        block = model.blocks[layer]
        assert isinstance(block, TransformerBlock)
        with torch.inference_mode():
            if len(x):
                x, _ = block(x, NOTHING_OFF, None, traced=False)
            here = [part for part in off if layer_of(part) == layer]
            if here:
                x = torch.cat([x, leaving(block, trace.blocks[layer], tokens, here)])
        if layer < model.config.n_layers - 1:
            yield []
    with torch.inference_mode():
        logits = place_logits(model, x[:, -1], NOTHING_OFF)  # (N, V)
    yield list(zip(off, logits, strict=True))


def layer_of(part: Ablation) -> int:
    """The layer of the single part that is off."""
    (layer,) = {*part.attention, *part.feed_forward, *(layer for layer, _ in part.heads)}
    return layer


def leaving(block: TransformerBlock, record: BlockTrace, tokens: int, off: Sequence[Ablation]) -> Tensor:
    """What leaves a block with each of its parts off alone, computed from what was there with everything on.

    Shapes: record without B -> (N, T, C), of N parts and the first T = `tokens`
    """
    mixed = record.attention.mixed[None, :, :tokens]
    attended = [block.attention.hand_on(mixed, part)[1] for part in off]
    middle = torch.cat([record.before[None, :tokens] + out for out in attended])
    normed, _ = block.norm_2(middle, NOTHING_OFF, traced=False)
    thought, _ = block.feed_forward(normed, NOTHING_OFF, traced=False)
    for i, part in enumerate(off):
        if part.feed_forward:
            thought[i] = switched_off(thought[i], part)
    after: Tensor = middle + thought
    return after
