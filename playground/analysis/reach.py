"""How far switches reach: which places of the stream they can change, by the wiring alone, and what they did change.

A place is where `analysis.stream` reads: the embedding, then after each sublayer, 2L + 1 in all, for every token.
"""

import torch
from torch import Tensor

from playground.gpt.ablation import Ablation
from playground.gpt.config import GPTConfig
from playground.gpt.trace import Trace

from . import stream
from .heads import forbidden

LEAST = 1e-12  # a stream shorter than this is not divided by


def reach(ablation: Ablation, config: GPTConfig, tokens: int) -> Tensor:
    """Whether a place may differ from the run with nothing off: where it does not, no number can be another.

    What is changed stays so in the residual stream, and at the next attention every token that sees it changes too. The
    feed-forward takes each token on its own.

    Shapes: (2L + 1, T), bool
    """
    changed = torch.full((tokens,), ablation.positions)
    places = [changed]
    for layer in range(config.n_layers):
        changed = changed | seen_by(changed, ablation) | attention_changes(ablation, layer, tokens)
        places.append(changed)
        changed = changed | (layer in ablation.feed_forward)
        places.append(changed)
    return torch.stack(places)


def seen_by(changed: Tensor, ablation: Ablation) -> Tensor:
    """The tokens that see one of the changed. Shapes: (T,) -> (T,), bool"""
    return changed.any().expand_as(changed) if ablation.causal_mask else changed.cumsum(0) > 0


def attention_changes(ablation: Ablation, layer: int, tokens: int) -> Tensor:
    """The tokens to which this attention sublayer adds something else though everything before it is as usual.

    A part that is off changes every token, the first included: as a mean it hands on 0 there. Weights over a single key
    are 1 whatever the scale, and a token that sees all others anyway loses nothing to hide with the mask.

    Shapes: (T,), bool
    """
    if layer in ablation.attention or ablation.heads_off(layer) or ablation.norms or ablation.residuals:
        return torch.ones(tokens, dtype=torch.bool)
    position = torch.arange(tokens)
    changed = torch.zeros(tokens, dtype=torch.bool)
    if ablation.scaling:
        changed |= (position > 0) | (ablation.causal_mask and tokens > 1)
    if ablation.causal_mask:
        changed |= position < tokens - 1
    for head in {head for head, _, _ in ablation.edges_off(layer)}:
        for query, _ in forbidden(ablation, layer, head, tokens):
            changed[query] = True
    return changed


def relative_changes(run: Trace, base: Trace) -> Tensor:
    """How far the stream's vectors moved from the run with nothing off: |after - before| / |before|.

    Shapes: (2L + 1, T)
    """
    pairs = zip(stream(run), stream(base), strict=True)
    return torch.stack([(x - usual).norm(dim=-1) / usual.norm(dim=-1).clamp(min=LEAST) for (_, x), (_, usual) in pairs])
