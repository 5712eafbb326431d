"""Lesson 1: what LayerNorm does to one token's vector, and why it is not BatchNorm."""

from dataclasses import dataclass

import torch
from torch import Tensor

from .lesson import Experiment, Flag, Lesson, Number, Numbers


@dataclass(frozen=True, slots=True)
class Normed:
    """One vector on its way through LayerNorm. Shapes: (C,) each, mean and variance a number"""

    x: Tensor
    mean: Tensor
    variance: Tensor
    normalised: Tensor
    after: Tensor


def layer_norm(x: Tensor, scale: float, shift: float, eps: float, biased: bool) -> Normed:
    """Subtract the mean, divide by the standard deviation, then scale and shift.

    Shapes: x (C,)
    Source: Ba et al. 2016, eq. 4; GPT-2 divides the sum of squares by C (biased), torch.var by C - 1.
    """
    mean = x.mean()
    variance = (x - mean).square().sum() / (len(x) if biased else len(x) - 1)
    normalised = (x - mean) / torch.sqrt(variance + eps)
    return Normed(x, mean, variance, normalised, scale * normalised + shift)


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector normalised as asked, and the same with one thing different."""

    shown: Normed
    doubled: Normed  # every value twice as large
    flat: Normed  # every value the same
    over_count: Normed  # the variance over C
    over_one_less: Normed  # and over C - 1
    eps: float
    biased: bool


def vector(values: tuple[float, ...], scale: float, shift: float, log_eps: float, biased: bool) -> Vector:
    x, eps = torch.tensor(values, dtype=torch.float64), 10.0**log_eps

    def normed(x: Tensor, biased: bool = biased) -> Normed:
        return layer_norm(x, scale, shift, eps, biased)

    changed = normed(x), normed(2 * x), normed(torch.full_like(x, 3)), normed(x, True), normed(x, False)
    return Vector(*changed, eps, biased)


LESSON = Lesson(
    "layer_norm",
    (
        Experiment(
            "vector",
            (
                Numbers("values", (2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0), -10, 10, 0.5),
                Number("scale", 1, -3, 3, 0.1),
                Number("shift", 0, -3, 3, 0.1),
                Number("log_eps", -5, -8, 2, 1),
                Flag("biased", True),
            ),
            vector,
        ),
    ),
)
