"""What a head's weights are like: how spread out, how much on which token, and the mean over the heads."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import adaptive_max_pool2d

from playground.gpt.ablation import Ablation

from . import head_scores


@dataclass(frozen=True, slots=True)
class HeadMeasures:
    """Heads in numbers. Shapes: (H,) each. Units: entropy in nats, the others are shares of the weight, 0 to 1."""

    entropy: Tensor  # mean over the queries that have a choice: all but the first
    previous: Tensor  # on the token just before
    first: Tensor  # on the first token, over queries that are not it
    induction: Tensor | None  # on what followed the query's own token earlier; None where no token comes back


def head_measures(weights: Tensor, ids: Sequence[int]) -> HeadMeasures:
    """Each head in four numbers. Shapes: weights (H, T, T), T ids"""
    spread, scores = entropy(weights), head_scores(weights)
    choosing = spread[:, 1:] if spread.size(1) > 1 else spread
    return HeadMeasures(choosing.mean(1), scores.previous, scores.first, induction(weights, ids))


def entropy(weights: Tensor) -> Tensor:
    """How evenly a query spreads its looks: -sum p · log p, from 0 (one token) to log of how many it sees.

    Shapes: weights (..., T, T) -> (..., T)
    Units:  nats
    Source: Shannon 1948, section 6
    """
    return torch.xlogy(weights, weights).sum(-1).abs()  # a sum of what is 0 or negative, and no -0


def induction(weights: Tensor, ids: Sequence[int]) -> Tensor | None:
    """Mean weight on the tokens that came right after an earlier copy of the query's token.

    Over the queries that have such a token before them; None when there are none.

    Shapes: weights (H, T, T), T ids -> (H,)
    Source: Olsson et al. 2022, "In-context learning and induction heads", prefix matching
    """
    text = torch.tensor(ids)
    copies = (text[:, None] == text[None, :]).tril(-1)  # [query, j]: j < query is the same token
    follows = copies.roll(1, 1).tril(-1)  # [query, j]: the token before j is; j itself lies before the query
    follows[:, 0] = False
    queries = follows.any(1)
    return (weights * follows).sum(-1)[:, queries].mean(1) if queries.any() else None


def hide_first(weights: Tensor) -> Tensor:
    """What is left without the first token, as shares of 1; NaN where a query looks at nothing else.

    Shapes: weights (..., T, T) -> (..., T, T), the first column NaN
    """
    rest = weights.clone()
    rest[..., 0] = 0
    rest = rest / rest.sum(-1, keepdim=True)  # 0 / 0 is NaN
    rest[..., 0] = torch.nan
    return rest


def small(weights: Tensor, most: int) -> Tensor:
    """Pictures of at most `most` cells a side, each cell the largest weight it stands for: thin lines stay.

    Shapes: weights (H, T, T) -> (H, n, n), n = min(T, most)
    """
    return weights if weights.size(-1) <= most else adaptive_max_pool2d(weights[None], most)[0]


def visible(ablation: Ablation, layer: int, head: int, tokens: int) -> Tensor:
    """Which keys a query may look at, by position: the mask as the model applied it. Shapes: (T, T)"""
    seen = torch.ones(tokens, tokens, dtype=torch.bool)
    if not ablation.causal_mask:
        seen = seen.tril()
    for query, key in forbidden(ablation, layer, head, tokens):
        seen[query, key] = False
    return seen


def forbidden(ablation: Ablation, layer: int, head: int, tokens: int) -> list[tuple[int, int]]:
    """The (query, key) edges of one head that are forbidden and would else be looked along."""
    edges = [(query, key) for at, query, key in ablation.edges_off(layer) if at == head and max(query, key) < tokens]
    return [(query, key) for query, key in edges if key <= query or ablation.causal_mask]
