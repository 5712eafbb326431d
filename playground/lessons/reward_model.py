"""A reward model: a number for a text, learned from which of two texts somebody liked better.

Ours is storyteller, left as it is, with one row of weights on the last hidden state; it reads story endings. Axes as in
playground.gpt.trace.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from playground.errors import TextEmpty

from .bundled import storyteller, words
from .lesson import Progress
from .little_stories import NEW_HAPPY, NEW_SAD, Preference, facts, preferences

LABELS = ("happy", "noisy", "sad")  # what the labeller likes, and one who likes happy endings but is careless
NOISE = 0.25  # share of pairs that the careless one turns around
BATCH = 8  # pairs of one step
HELD_OUT = 32  # pairs never trained on
CHECKS = 8
RATE = 2e-3
RESULTS = Path(__file__).parents[2] / "assets" / "lessons" / "assistant" / "results.json"


@torch.no_grad()
def hidden_states(texts: Sequence[str]) -> Tensor:
    """What storyteller holds at the last token of each text, after the final LayerNorm. Shapes: (B, C)"""
    end = words().end_of_text
    assert end is not None
    ids = [words().encode(text) for text in texts]
    T = max(map(len, ids))
    padded = torch.tensor([each + [end] * (T - len(each)) for each in ids])  # what comes later is not seen
    states = storyteller().trace(padded).final_norm.after  # (B, T, C)
    return states[range(len(ids)), [len(each) - 1 for each in ids]]


def preference_loss(chosen: Tensor, rejected: Tensor) -> Tensor:
    """-log σ(r(chosen) - r(rejected)), the mean over pairs: only differences of rewards mean anything.

    Shapes: (B,), (B,) -> ()
    Units: nats per pair
    Source: Ouyang et al. 2022, eq. 1, for two answers; Christiano et al. 2017, eq. 1; Bradley & Terry 1952
    """
    return -F.logsigmoid(chosen - rejected).mean()


def labelled(pairs: Sequence[Preference], labels: str, rng: torch.Generator) -> list[Preference]:
    """The pairs as somebody labels them: liking happy endings, careless now and then, or liking sad ones."""
    turned = {"happy": 0.0, "noisy": NOISE, "sad": 1.0}[labels]
    return [
        Preference(pair.rejected, pair.chosen) if turn < turned else pair
        for pair, turn in zip(pairs, torch.rand(len(pairs), generator=rng).tolist(), strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Ending:
    """A story ending with words never trained on, and its reward."""

    text: str
    happy: bool
    reward: float


@dataclass(frozen=True, slots=True)
class Trained:
    """How the training of a reward model went so far. Units: losses in nats per pair"""

    steps: int
    labels: str
    losses: tuple[float, ...] = ()
    checked: tuple[int, ...] = ()  # after how many steps
    right: tuple[float, ...] = ()  # share of held-out pairs whose happy ending had the higher reward then
    endings: tuple[Ending, ...] = ()
    head: Tensor | None = None  # (C,)


def train_reward(labels: str, steps: int, seed: int) -> Iterator[Progress]:
    """Train the row of weights on fresh pairs at every step; held-out pairs end in other words, about other things."""
    found, rng = Trained(steps, labels), torch.Generator().manual_seed(seed)
    unseen, kept = preferences(HELD_OUT, seed, new=True), []
    for first in range(0, HELD_OUT, BATCH):
        kept.append(states_of(unseen[first : first + BATCH]))
        yield Progress(0, steps, found)
    held_out = torch.cat(kept, 1)  # (2, HELD_OUT, C)
    fact = facts(1, seed, "words")[0]
    endings = [(each.format(name=fact.name), each in NEW_HAPPY) for each in (*NEW_HAPPY, *NEW_SAD)]
    shown = hidden_states([f"{fact.loss} {text}" for text, _ in endings])  # (E, C)
    yield Progress(0, steps, found)
    head = torch.zeros(shown.size(1), requires_grad=True)
    optimizer = torch.optim.AdamW([head], lr=RATE, weight_decay=0.01)
    pairs = labelled(preferences(BATCH * steps, seed), labels, rng)
    for step in range(1, steps + 1):
        chosen, rejected = states_of(pairs[BATCH * (step - 1) : BATCH * step]) @ head  # (B,) each
        loss = preference_loss(chosen, rejected)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found = replace(found, losses=(*found.losses, float(loss.detach())))
        if step % max(1, steps // CHECKS) == 0 or step == steps:
            found = looked_at(head.detach(), found, held_out, shown, endings)
        yield Progress(step, steps, found)


def states_of(pairs: Sequence[Preference]) -> Tensor:
    """Shapes: (2, B, C), the chosen first"""
    states = hidden_states([*(pair.chosen for pair in pairs), *(pair.rejected for pair in pairs)])
    return states.view(2, len(pairs), -1)


def looked_at(
    head: Tensor, found: Trained, held_out: Tensor, shown: Tensor, endings: Sequence[tuple[str, bool]]
) -> Trained:
    chosen, rejected = held_out @ head
    rewards = (shown @ head - torch.cat([chosen, rejected]).mean()).tolist()
    return replace(
        found,
        checked=(*found.checked, len(found.losses)),
        right=(*found.right, float((chosen > rejected).float().mean())),
        endings=tuple(Ending(*each, reward) for each, reward in zip(endings, rewards, strict=True)),
        head=head.clone(),
    )


# The reward model that comes with the playground.


@cache
def shipped() -> dict[str, Any]:
    """What `run_assistant` made: `command`, `reward_model` and `policies`."""
    results: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
    return results


@dataclass(frozen=True, slots=True)
class Head:
    """What a reward model adds to storyteller."""

    weights: Tensor  # (C,)
    bias: float  # held-out endings have mean 0 with it

    @classmethod
    def of(cls, model: dict[str, Any]) -> "Head":
        """As `run_assistant` writes it."""
        return cls(torch.tensor(model["head"]), model["bias"])


def shipped_head() -> Head:
    return Head.of(shipped()["reward_model"])


def rewards(states: Tensor, head: Head) -> Tensor:
    """r = w · h + b, of texts of which storyteller holds such states at the last token. Shapes: (..., C) -> (...)"""
    return states @ head.weights + head.bias


@dataclass(frozen=True, slots=True)
class Scored:
    """A text's reward if it ended after each of its tokens, and the rewards of two that say no. Shapes: (T,)"""

    labels: tuple[str, ...]
    rewards: Tensor
    denials: dict[str, float]  # by text


BEGINNING = "Tom was in the park. Tom lost a red ball."
DENIALS = ("Tom was not happy.", "Tom was not sad.")


@torch.no_grad()
def score(text: str) -> Scored:
    """Raises: TextEmpty"""
    ids = words().encode(text)
    if not ids:
        raise TextEmpty()
    head = shipped_head()
    states = storyteller().trace(torch.tensor([ids])).final_norm.after[0]  # (T, C)
    denials = rewards(hidden_states([f"{BEGINNING} {each}" for each in DENIALS]), head).tolist()
    labels = tuple(words().label(token) for token in ids)
    return Scored(labels, rewards(states, head), dict(zip(DENIALS, denials, strict=True)))
