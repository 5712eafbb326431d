"""Longer than ever trained on: small GPTs that differ only in how they know positions, trained short, read long.

Press et al. 2022 asked this of large models ("Train short, test long"); here the answer takes minutes.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache as once
from pathlib import Path
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from playground.errors import NotAChoice
from playground.gpt.ablation import NOTHING_OFF, Ablation
from playground.gpt.cache import KVCache
from playground.gpt.config import GPTConfig
from playground.gpt.data import Rows
from playground.gpt.model import GPTModel, MultiHeadAttention
from playground.gpt.train import Recipe, initialise, optimizer_for, train

from . import date_forms
from .characters import VOCABULARY, losses_by_position, rows
from .lesson import Choice, Experiment, Lesson, Number, Progress, Seed
from .position_encodings import alibi, rope, sinusoidal

Kind = Literal["none", "learned", "sinusoidal", "rope", "alibi"]
KINDS: tuple[Kind, ...] = ("none", "learned", "sinusoidal", "rope", "alibi")
IN_THE_STREAM = ("learned", "sinusoidal")  # added to the token vectors; the rest act inside attention, or not at all
LONGER = 4  # read up to so many times the length trained on
RESULTS = Path(__file__).parents[2] / "assets" / "lessons" / "extrapolation" / "results.json"


class PositionedAttention(MultiHeadAttention):
    """Our causal attention, with RoPE or ALiBi if asked for."""

    def __init__(self, config: GPTConfig, layer: int, kind: Kind) -> None:
        super().__init__(config, layer)
        self.kind = kind

    def forward(self, x: Tensor, ablation: Ablation, cache: KVCache | None, traced: bool) -> tuple[Tensor, None]:
        B, T, C = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)  # each (B, H, T, D)
        if self.kind == "rope":
            q, k = (rope(each, torch.arange(T)) for each in (q, k))
        added = torch.full((T, T), -torch.inf).triu(1)  # nothing at what may be seen, minus infinity ahead
        if self.kind == "alibi":
            added = alibi(self.n_heads, T).float()  # (H, T, T)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=added)  # softmax(q·k / sqrt(D) + added) v
        return self.out(mixed.transpose(1, 2).reshape(B, T, C)), None


class PositionedGPT(GPTModel):
    """Our GPT with another way to know positions; `context_length` is the longest text read, not trained on."""

    def __init__(self, config: GPTConfig, kind: Kind, seed: int = 0) -> None:
        super().__init__(config)
        self.kind = kind
        for layer, block in enumerate(self.blocks):
            block.attention = PositionedAttention(config, layer, kind)
        initialise(self, seed)
        if kind == "sinusoidal":  # fixed, and as long as the token vectors begin; ten times longer trained worse
            table = 0.02 * 2**0.5 * sinusoidal(torch.arange(config.context_length), config.emb_dim).float()
            self.position_embedding.weight = nn.Parameter(table, requires_grad=False)

    def forward(self, ids: Tensor, ablation: Ablation = NOTHING_OFF, cache: KVCache | None = None) -> Tensor:
        if cache is not None or ablation != NOTHING_OFF:
            raise NotImplementedError("the lesson's model has neither switches nor a cache")
        return super().forward(ids, NOTHING_OFF if self.kind in IN_THE_STREAM else Ablation(positions=True))


@dataclass(frozen=True, slots=True)
class Setting:
    """Sizes of one experiment; the live one is smaller than the shipped one."""

    length: int  # trained on so many characters
    width: int
    layers: int
    steps: int
    batch: int
    evaluated: int  # rows from which the losses by position come
    learning_rate: float = 5e-3
    seed: int = 0

    @property
    def config(self) -> GPTConfig:
        return GPTConfig(VOCABULARY, LONGER * self.length, self.width, self.width // 16, self.layers)


SHIPPED = Setting(length=64, width=64, layers=2, steps=450, batch=48, evaluated=1024)
LIVE = Setting(length=32, width=32, layers=1, steps=150, batch=32, evaluated=192)


@dataclass(frozen=True, slots=True)
class TrainedStep:
    """One step of training one kind; the last one of a kind holds what came out."""

    kind: Kind
    step: int
    loss: float  # nats per character
    by_position: Tensor | None = None  # (LONGER * length,), held-out loss of every position


def experiment(setting: Setting, text: Rows, unseen: Rows, kinds: Sequence[str] = KINDS) -> Iterator[TrainedStep]:
    """Train each kind on rows of `length`, read rows four times as long; stop by not asking for more.

    `text` must be cut into rows of `setting.length`, `unseen` into rows of LONGER times that.
    Raises: NotAChoice for a kind there is not
    """
    for kind in kinds:
        if kind not in KINDS:
            raise NotAChoice(name="kind", value=kind, choices=", ".join(KINDS))
    for kind in KINDS:
        if kind in kinds:
            yield from _one(setting, text, unseen, kind)


def _one(setting: Setting, text: Rows, unseen: Rows, kind: Kind) -> Iterator[TrainedStep]:
    model = PositionedGPT(setting.config, kind, setting.seed)
    recipe = Recipe(setting.steps, setting.batch, setting.learning_rate, warmup=30, seed=setting.seed)
    for done in train(model, text, recipe, optimizer_for(model, recipe)):
        if done.step < setting.steps:
            yield TrainedStep(kind, done.step, float(done.loss))
        else:
            yield TrainedStep(kind, done.step, float(done.loss), losses_by_position(model, unseen, setting.evaluated))


def by_multiple(by_position: Sequence[float] | Tensor) -> list[float]:
    """Mean loss within the first, second, third and fourth length. Units: nats per character"""
    return torch.as_tensor(by_position, dtype=torch.float64).view(LONGER, -1).mean(1).tolist()


# The experiments.


@dataclass(frozen=True, slots=True)
class Extrapolated:
    """Held-out losses by position, of every kind that is done. Units: nats per character"""

    length: int  # trained on so many characters
    losses: dict[Kind, list[float]]
    smooth: int  # positions of which a mean is shown
    training: tuple[Kind, int, float] | None = None  # what is being trained now: kind, step, loss


def of_shipped(smooth: int) -> Extrapolated:
    results = shipped()
    return Extrapolated(results["setting"]["length"], results["losses"], smooth)


def live(steps: int, seed: int) -> Iterator[Progress]:
    """The experiment made smaller, on lines of dates: all kinds, one after the other."""
    setting = replace(LIVE, steps=steps, seed=seed)
    text = rows(date_forms.lines(4000, seed), setting.length)
    unseen = rows(date_forms.lines(1000, seed, held_out=True), LONGER * setting.length)
    losses: dict[Kind, list[float]] = {}
    for done, step in enumerate(experiment(setting, text, unseen), 1):
        if step.by_position is not None:
            losses[step.kind] = step.by_position.tolist()
        now = step.kind, step.step, step.loss
        yield Progress(done, steps * len(KINDS), Extrapolated(setting.length, dict(losses), 8, now))


@once
def shipped() -> dict[str, Any]:
    """The results in assets: `command`, `setting` and, by kind, `losses` of every position."""
    results: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
    return results


LESSON = Lesson(
    "extrapolation",
    (
        Experiment("longer", (Choice("smooth", "8", ("1", "8", "64")),), lambda smooth: of_shipped(int(smooth))),
        Experiment("longer_live", (Number("steps", 150, 10, 300, 10), Seed("seed")), live, trains=True),
    ),
)
