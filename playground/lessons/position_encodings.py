"""Positions as sines, as rotations, as a bias: the formulas that several lessons share."""

import torch
from torch import Tensor

DOUBLE = torch.float64


def angles(positions: Tensor, width: int) -> Tensor:
    """Of every position and pair of features. Shapes: positions (P,) -> (P, width / 2)"""
    pairs = torch.arange(0, width, 2, dtype=DOUBLE)
    return positions[:, None].to(DOUBLE) / 10_000 ** (pairs / width)


def sinusoidal(positions: Tensor, width: int) -> Tensor:
    """Sine in the even features, cosine in the odd ones.

    Shapes: positions (P,) -> (P, width)
    Source: Vaswani et al. 2017, section 3.5
    """
    turned = angles(positions, width)
    return torch.stack([turned.sin(), turned.cos()], -1).flatten(-2)


def rope(x: Tensor, positions: Tensor) -> Tensor:
    """Turn each pair of features by an angle that grows with the position, so that q·k knows only distances.

    Shapes: x (..., T, D), positions (T,) -> (..., T, D)
    Source: Su et al. 2021, eq. 34; neighbours form a pair, as there
    """
    sine, cosine = (of(angles(positions, x.size(-1))).to(x.dtype) for of in (torch.sin, torch.cos))
    even, odd = x[..., ::2], x[..., 1::2]
    turned = even * cosine - odd * sine, even * sine + odd * cosine
    return torch.stack(turned, -1).flatten(-2)


def slopes(n_heads: int) -> Tensor:
    """ALiBi: how much each head takes off a score for every step back: 2^(-8/H), 2^(-16/H), ..., 2^-8.

    Source: Press et al. 2022, section 3
    """
    return torch.exp2(-8 * torch.arange(1, n_heads + 1, dtype=DOUBLE) / n_heads)


def alibi(n_heads: int, tokens: int) -> Tensor:
    """What is added to the scores of every head; a token that is not seen yet has minus infinity.

    Shapes: -> (H, T, T)
    """
    back = torch.arange(tokens)[:, None] - torch.arange(tokens)  # i - j
    bias = -slopes(n_heads)[:, None, None] * back
    return bias.masked_fill(back < 0, -torch.inf)
