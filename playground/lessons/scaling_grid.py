"""A grid of small GPTs, each size trained on each amount of text: the points that a scaling law is fitted to."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from playground.gpt.config import GPTConfig
from playground.gpt.data import Rows
from playground.gpt.model import GPTModel
from playground.gpt.train import Recipe, initialise, optimizer_for, train

from .characters import VOCABULARY, losses_by_position

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


SHIPPED = Grid(((16, 1), (24, 2), (40, 2), (64, 2), (96, 3)), (2**18, 2**19, 2**20, 2**21), 64, 16, 512)
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
class Progress:
    """One step of the whole grid; `point` comes with the last step of each model."""

    done: int  # steps, over all models
    total: int
    loss: float
    point: Point | None = None


def learning_rate(width: int) -> float:
    """Wider models want smaller steps: 0.01 at width 16, by the inverse root."""
    return 0.04 / width**0.5


def sweep(grid: Grid, text: Rows, unseen: Rows) -> Iterator[Progress]:
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
                yield Progress(done, grid.total_steps, loss, point)


@cache
def shipped() -> dict[str, Any]:
    """The results in assets: `command` and `points`, each with the fields of Point."""
    results: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
    return results


def shipped_points() -> list[Point]:
    return [Point(**point) for point in shipped()["points"]]
