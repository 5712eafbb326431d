"""GELU beside ReLU, units that die, and why the feed-forward widens by 4."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from playground.gpt.config import GPTConfig
from playground.gpt.model import gelu

from .lesson import Choice, Experiment, Lesson, Number, Progress, Seed

Activation = Callable[[Tensor], Tensor]
ACTIVATIONS = ("gelu", "tanh", "relu")


def gelu_exact(x: Tensor) -> Tensor:
    """x · P(Z <= x) for a standard normal Z. Source: Hendrycks & Gimpel 2016, section 2"""
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


BY_NAME: dict[str, Activation] = {"gelu": gelu_exact, "tanh": gelu, "relu": F.relu}


def gradient(of: Activation, x: Tensor) -> Tensor:
    """The derivative at every x."""
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(of(x).sum(), x)
    return slope


# The curves.


@dataclass(frozen=True, slots=True)
class Curves:
    """Each activation over x, and at one x. Shapes: (n,) each"""

    x: Tensor
    values: dict[str, Tensor]
    slopes: dict[str, Tensor]
    at: float
    value_at: dict[str, float]
    slope_at: dict[str, float]
    apart: float  # exact and tanh GELU, at most
    lowest: float  # where GELU has its minimum


def curves(at: float) -> Curves:
    x, here = torch.linspace(-4, 4, 1601, dtype=torch.float64), torch.tensor([at], dtype=torch.float64)
    values = {name: of(x) for name, of in BY_NAME.items()}
    return Curves(
        x=x,
        values=values,
        slopes={name: gradient(of, x) for name, of in BY_NAME.items()},
        at=at,
        value_at={name: float(of(here)) for name, of in BY_NAME.items()},
        slope_at={name: float(gradient(of, here)) for name, of in BY_NAME.items()},
        apart=float((values["gelu"] - values["tanh"]).abs().max()),
        lowest=float(x[values["gelu"].argmin()]),
    )


# Units that die.

UNITS, EXAMPLES = 64, 256
FLAT = 1e-3  # a unit whose slope is smaller than this at every example learns nothing to speak of


@dataclass(frozen=True, slots=True)
class Trained:
    """One network on its way: losses and the share of dead units after so many steps. Shapes: lists of equal length"""

    loss: list[float]
    dead: list[float]
    silent: Tensor  # (UNITS,) whether each unit is dead now
    revived: int  # units that were dead at some time, and are not now


@dataclass(frozen=True, slots=True)
class DeadUnits:
    steps: list[int]
    by: dict[str, Trained]


def examples(seed: int) -> tuple[Tensor, Tensor]:
    """Points of the plane and what a network shall make of them: a wave. Shapes: (n, 2) and (n, 1)"""
    rng = torch.Generator().manual_seed(seed)
    x = torch.rand(EXAMPLES, 2, generator=rng) * 4 - 2
    return x, torch.sin(2 * x[:, :1]) * torch.cos(x[:, 1:])


def is_dead(of: Activation, layer: nn.Linear, x: Tensor) -> Tensor:
    """Units whose derivative is nearly 0 for every example, so that no example moves their weights. Shapes: (UNITS,)"""
    return (gradient(of, layer(x)).abs() < FLAT).all(0)


def network(seed: int) -> tuple[nn.Linear, nn.Linear]:
    """Two layers, the same for every activation."""
    rng = torch.Generator().manual_seed(seed)
    first, last = nn.Linear(2, UNITS), nn.Linear(UNITS, 1)
    for layer in (first, last):
        for weights in (layer.weight, layer.bias):
            nn.init.normal_(weights, std=layer.in_features**-0.5, generator=rng)
    return first, last


def descend(of: Activation, x: Tensor, y: Tensor, learning_rate: float, seed: int) -> Iterator[tuple[float, Tensor]]:
    """Gradient descent on all examples at once: before each step the loss, and which units are dead."""
    first, last = network(seed)
    parameters = [*first.parameters(), *last.parameters()]
    while True:
        with torch.enable_grad():
            loss = (last(of(first(x))) - y).square().mean()
            gradients = torch.autograd.grad(loss, parameters)
        yield float(loss.detach()), is_dead(of, first, x)
        with torch.no_grad():
            for weights, slope in zip(parameters, gradients, strict=True):
                weights.sub_(learning_rate * slope / max(1.0, float(slope.norm())))  # never further than the rate


def dead_units(learning_rate: float, steps: int, seed: int) -> Iterator[Progress]:
    """The same network, data and steps with ReLU and with GELU."""
    x, y = examples(seed)
    made = {name: Record(descend(BY_NAME[name], x, y, learning_rate, seed)) for name in ("relu", "gelu")}
    for step in range(steps + 1):
        for record in made.values():
            record.step()
        found = {name: record.so_far() for name, record in made.items()}
        yield Progress(step, steps, DeadUnits(list(range(step + 1)), found))


class Record:
    """What a descent has shown so far."""

    def __init__(self, descent: Iterator[tuple[float, Tensor]]) -> None:
        self.descent = descent
        self.loss: list[float] = []
        self.dead: list[float] = []
        self.silent = self.ever = torch.zeros(UNITS, dtype=torch.bool)

    def step(self) -> None:
        loss, self.silent = next(self.descent)
        self.ever = self.ever | self.silent
        self.loss.append(loss)
        self.dead.append(float(self.silent.float().mean()))

    def so_far(self) -> Trained:
        return Trained(list(self.loss), list(self.dead), self.silent, int((self.ever & ~self.silent).sum()))


# Widening.

FACTORS = (1, 2, 4, 8)
FITTED = 2048  # vectors that the readout is fitted to, and as many that it is tried on


@dataclass(frozen=True, slots=True)
class Widths:
    """The error of fitting a target from hidden layers of growing width, with GELU and without."""

    factors: tuple[int, ...]
    bent: list[float]  # mean squared error on new vectors, relative to the target's variance
    straight: list[float]  # without an activation
    chosen: int
    feed_forward: int  # parameters at the chosen factor
    attention: int
    gpt2: tuple[int, int]  # parameters of GPT-2's feed-forward and attention, one block


def readout_error(features: Tensor, target: Tensor) -> float:
    """Fit a linear readout to the first half, measure it on the second. Shapes: features (n, F), target (n, 1)"""
    with_one = torch.cat([features, torch.ones(len(features), 1, dtype=features.dtype)], 1)
    fit, new = with_one.chunk(2)
    known, wanted = target.chunk(2)
    gram = fit.T @ fit + 1e-6 * len(fit) * torch.eye(fit.size(1), dtype=fit.dtype)
    solved = torch.linalg.solve(gram, fit.T @ known)
    return float((new @ solved - wanted).square().mean() / wanted.var(correction=0))


def parameters(width: int, hidden: int) -> tuple[int, int]:
    """Weights and biases of a block's feed-forward and of its attention."""
    return 2 * width * hidden + hidden + width, 4 * width * width + 4 * width


def widths(width: int, factor: int, seed: int) -> Widths:
    rng = torch.Generator().manual_seed(seed)
    x = torch.randn(2 * FITTED, width, generator=rng, dtype=torch.float64)
    ways = torch.randn(width, 3, generator=rng, dtype=torch.float64) / width**0.5
    target = (x @ ways).tanh().prod(1, keepdim=True) + (x @ ways[:, :1]).cos()
    table = torch.randn(width, max(FACTORS) * width, generator=rng, dtype=torch.float64) * (2 / width) ** 0.5
    hidden = [x @ table[:, : each * width] for each in FACTORS]
    gpt2 = GPTConfig()
    return Widths(
        factors=FACTORS,
        bent=[readout_error(gelu(each), target) for each in hidden],
        straight=[readout_error(each, target) for each in hidden],
        chosen=factor,
        feed_forward=parameters(width, factor * width)[0],
        attention=parameters(width, factor * width)[1],
        gpt2=parameters(gpt2.emb_dim, gpt2.hidden_dim),
    )


def widen(width: str, factor: str, seed: int) -> Widths:
    return widths(int(width), int(factor), seed)


RATES = {"gentle": 0.05, "bold": 0.5, "reckless": 2.0}


def die(rate: str, steps: int, seed: int) -> Iterator[Progress]:
    return dead_units(RATES[rate], steps, seed)


LESSON = Lesson(
    "feed_forward",
    (
        Experiment("activation", (Number("at", -1, -4, 4, 0.1),), curves),
        Experiment(
            "dead_units",
            (Choice("rate", "bold", tuple(RATES)), Number("steps", 300, 10, 1000, 10), Seed("seed")),
            die,
            trains=True,
        ),
        Experiment(
            "widen",
            (Choice("width", "16", ("8", "12", "16")), Choice("factor", "4", ("1", "2", "4", "8")), Seed("seed")),
            widen,
        ),
    ),
)
