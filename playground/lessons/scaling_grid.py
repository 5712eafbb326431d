"""A grid of small GPTs, each size trained on each amount of text: the points that a scaling law is fitted to."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from playground.gpt.config import GPTConfig
from playground.gpt.data import Rows
from playground.gpt.model import GPTModel
from playground.gpt.train import Recipe, initialise, optimizer_for, train

from . import date_forms
from .characters import VOCABULARY, losses_by_position, rows
from .lesson import Choice, Experiment, Lesson, Number, Progress, Seed
from .scaling import BESIROGLU, GPUS, HOFFMANN, Budget, Cost, Fit, Law, PowerLaw, cost, fit, power_law, rule_of_twenty

RESULTS = Path(__file__).parents[2] / "assets" / "lessons" / "scaling" / "results.json"


@dataclass(frozen=True, slots=True)
class Grid:
    """Sizes as (width, layers) and amounts of text in characters, each read once."""

    sizes: tuple[tuple[int, int], ...]
    amounts: tuple[int, ...]
    length: int  # characters of a row
    batch: int  # rows of a step
    evaluated: int  # rows from which a held-out loss comes
    seed: int = 0

    def config(self, width: int, layers: int) -> GPTConfig:
        return GPTConfig(VOCABULARY, self.length, width, width // 8, layers)

    def steps(self, amount: int) -> int:
        return amount // (self.length * self.batch)

    @property
    def total_steps(self) -> int:
        return len(self.sizes) * sum(map(self.steps, self.amounts))


SHIPPED = Grid(((8, 1), (16, 1), (24, 2), (40, 2), (64, 2)), (2**18, 2**19, 2**20, 2**21), 64, 16, 512)
# After 256 steps a model has hardly found out what a text is, a large one least of all: no law holds there yet.
SETTLED = 2**19
LIVE = Grid(((8, 1), (16, 1), (32, 1)), (2**14, 2**15, 2**16), 32, 16, 128)


@dataclass(frozen=True, slots=True)
class Point:
    """One trained model. N leaves the tables of tokens and positions out, as Kaplan's."""

    width: int
    layers: int
    parameters: int
    tokens: int
    loss: float  # held-out, nats per character


@dataclass(frozen=True, slots=True)
class GridStep:
    """One step of the whole grid; `point` comes with the last step of each model."""

    done: int  # steps, over all models
    total: int
    loss: float
    point: Point | None = None


def learning_rate(width: int) -> float:
    """Wider models want smaller steps: 0.01 at width 16, by the inverse root."""
    return 0.04 / math.sqrt(width)


def sweep(grid: Grid, text: Rows, unseen: Rows) -> Iterator[GridStep]:
    """Train every model of the grid, small ones first; stop by not asking for more."""
    done = 0
    for width, layers in grid.sizes:
        for amount in grid.amounts:
            config, steps = grid.config(width, layers), grid.steps(amount)
            model = initialise(GPTModel(config), grid.seed)
            recipe = Recipe(steps, grid.batch, learning_rate(width), warmup=min(50, steps // 8), seed=grid.seed)
            for step in train(model, text, recipe, optimizer_for(model, recipe)):
                done += 1
                last = step.step == steps
                loss = float(losses_by_position(model, unseen, grid.evaluated).mean()) if last else float(step.loss)
                parameters = config.n_layers * config.n_block_parameters
                point = Point(width, layers, parameters, amount, loss) if last else None
                yield GridStep(done, grid.total_steps, loss, point)


@cache
def shipped() -> dict[str, Any]:
    """The results in assets: `command` and `points`, each with the fields of Point."""
    results: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
    return results


def shipped_points() -> list[Point]:
    return [Point(**point) for point in shipped()["points"]]


# The experiments.


@dataclass(frozen=True, slots=True)
class Fitted:
    """Points of a grid and the laws through them, None where they are too few."""

    points: list[Point]
    law: Fit | None = None
    by_parameters: PowerLaw | None = None  # a straight line through the models with the most data
    by_tokens: PowerLaw | None = None  # and through the amounts, for the largest model
    least: int = 0  # characters that a model must have read to be fitted
    training: tuple[int, int, int, float] | None = None  # width, characters, step of all, loss: what is trained now


def fitted(points: list[Point], least: int = 0) -> Fitted:
    """Laws through the models that read at least so many characters."""
    shown, points = points, [point for point in points if point.tokens >= least]
    law = by_parameters = by_tokens = None
    if points:
        most, largest = max(p.tokens for p in points), max(p.parameters for p in points)
        with_most, of_largest = [p for p in points if p.tokens == most], [p for p in points if p.parameters == largest]
        if len(with_most) > 2:
            by_parameters = power_law([p.parameters for p in with_most], [p.loss for p in with_most])
        if len(of_largest) > 2:
            by_tokens = power_law([p.tokens for p in of_largest], [p.loss for p in of_largest])
    if len(points) > 5:
        law = fit([p.parameters for p in points], [p.tokens for p in points], [p.loss for p in points])
    return Fitted(shown, law, by_parameters, by_tokens, least)


@cache
def of_shipped() -> Fitted:
    return fitted(shipped_points(), SETTLED)


def live(steps: int, seed: int) -> Iterator[Progress]:
    """A grid of nine models on lines of dates, the smallest amount read in so many steps."""
    amounts = tuple(steps * LIVE.length * LIVE.batch * times for times in (1, 2, 4))
    grid = replace(LIVE, amounts=amounts, seed=seed)
    text = rows(date_forms.lines(max(amounts) // 20, seed), grid.length)
    unseen = rows(date_forms.lines(400, seed, held_out=True), grid.length)
    points: list[Point] = []
    sizes = [(width, amount) for width, _ in grid.sizes for amount in grid.amounts]
    for step in sweep(grid, text, unseen):
        width, amount = sizes[min(len(points), len(sizes) - 1)]
        if step.point is not None:
            points.append(step.point)
        last = step.done == step.total
        shown = fitted(list(points)) if last else Fitted(list(points), training=(width, amount, step.done, step.loss))
        yield Progress(step.done, step.total, shown)


@dataclass(frozen=True, slots=True)
class Calculated:
    """A training planned: its cost, what the same FLOPs could buy, and losses by the published law."""

    asked: Budget
    gpu: str
    utilisation: float
    cost: Cost
    best: Budget  # by the law of Hoffmann et al.
    refitted: Budget  # by the same law as fitted again
    rule: Budget  # 20 tokens per parameter
    sizes: list[float]  # parameters, at the same FLOPs
    losses: dict[str, list[float]]  # by law
    loss: float  # of what was asked, by Hoffmann's law


def calculate(log_parameters: float, log_tokens: float, gpu: str, utilisation: float) -> Calculated:
    asked = Budget(10.0**log_parameters, 10.0**log_tokens)
    costs = cost(*asked, gpu, utilisation / 100)
    laws: dict[str, Law] = {"hoffmann": HOFFMANN, "besiroglu": BESIROGLU}
    sizes = [asked.parameters * 10 ** (i / 20) for i in range(-50, 51)]
    losses = {name: [law.loss(n, costs.flops / (6 * n)) for n in sizes] for name, law in laws.items()}
    best, refitted = (law.optimum(costs.flops) for law in laws.values())
    rule = rule_of_twenty(costs.flops)
    return Calculated(asked, gpu, utilisation, costs, best, refitted, rule, sizes, losses, HOFFMANN.loss(*asked))


LESSON = Lesson(
    "scaling",
    (
        Experiment(
            "grid", (Choice("over", "parameters", ("parameters", "tokens")),), lambda over: (of_shipped(), over)
        ),
        Experiment(
            "calculator",
            (
                Number("log_parameters", 11.243, 6, 13, 0.001),  # GPT-3: 175 billion
                Number("log_tokens", 11.477, 6, 14, 0.001),  # 300 billion
                Choice("gpu", "a100", tuple(GPUS)),
                Number("utilisation", 40, 1, 100, 1),
            ),
            calculate,
        ),
        Experiment("small_grid", (Number("steps", 32, 4, 64, 4), Seed("seed")), live, trains=True),
    ),
)
