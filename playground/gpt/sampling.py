"""From the model's scores to the next token, every stage kept so that pictures show the numbers used."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from playground.errors import NotANumber, OutOfRange

LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE = 0.01, 100.0
LOWEST_TOP_P = 1e-6


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to choose. `temperature` 0 takes the best token (greedy); `top_k`, `top_p` None keep the whole vocabulary.

    Raises: NotANumber, OutOfRange
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        for name in ("temperature", "top_p"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise NotANumber(name=name, value=value)
        if self.temperature != 0 and not LOWEST_TEMPERATURE <= self.temperature <= HIGHEST_TEMPERATURE:
            raise OutOfRange(
                name="temperature", value=self.temperature, low=LOWEST_TEMPERATURE, high=HIGHEST_TEMPERATURE
            )
        if self.top_k is not None and self.top_k < 1:
            raise OutOfRange(name="top_k", value=self.top_k, low=1, high="V")
        if self.top_p is not None and not LOWEST_TOP_P <= self.top_p <= 1:
            raise OutOfRange(name="top_p", value=self.top_p, low=LOWEST_TOP_P, high=1)


GREEDY = Sampling()


@dataclass(frozen=True, slots=True)
class Stages:
    """One choice, stage by stage. Shapes: each (V,); the last three sum to 1."""

    logits: Tensor
    softmax: Tensor  # of logits / temperature over the whole vocabulary; of the plain logits when greedy
    after_top_k: Tensor  # all but the k likeliest set to 0, the rest scaled to sum to 1
    after_top_p: Tensor  # likewise the smallest set holding p: what the token is drawn from


def stages(logits: Tensor, sampling: Sampling) -> Stages:
    """Temperature, then top-k, then top-p; ties go to the lowest id.

    Shapes: logits (V,)
    Source: Fan et al. 2018 (top-k), Holtzman et al. 2020 (top-p)
    """
    if sampling.temperature == 0:
        chosen = torch.zeros_like(logits)
        chosen[logits.argmax()] = 1
        return Stages(logits, logits.softmax(-1), chosen, chosen)
    softmax = (logits / sampling.temperature).softmax(-1)
    order = softmax.argsort(descending=True, stable=True)
    ordered = softmax[order]
    if sampling.top_k is not None:
        ordered[sampling.top_k :] = 0
    ordered = ordered / ordered.sum()
    after_top_k = torch.empty_like(ordered).scatter(0, order, ordered)
    if sampling.top_p is not None:
        ahead = ordered.cumsum(-1) - ordered  # probability held by better tokens
        ordered = torch.where(ahead < sampling.top_p, ordered, 0)
        ordered = ordered / ordered.sum()
    return Stages(logits, softmax, after_top_k, torch.empty_like(ordered).scatter(0, order, ordered))


def choose(staged: Stages, sampling: Sampling, seed: int, place: int) -> int:
    """The id of the token for place `place` of the text.

    Chance depends on the seed and the place alone, so that stepping, going back and writing on at once agree.
    """
    if sampling.temperature == 0:
        return int(staged.logits.argmax())
    rng = torch.Generator().manual_seed(seed * 2**20 + place)
    return int(torch.multinomial(staged.after_top_p, 1, generator=rng))
