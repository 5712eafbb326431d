"""From gibberish to words: a small GPT, trained from nothing while one watches, that writes letter by letter."""

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from playground.errors import TextTooShort
from playground.gpt.config import GPTConfig
from playground.gpt.data import Rows
from playground.gpt.generate import generate
from playground.gpt.model import GPTModel
from playground.gpt.sampling import Sampling
from playground.gpt.tokenizer import tokenizer_for
from playground.gpt.train import Recipe, initialise, optimizer_for, train

from .lesson import Choice, Experiment, Lesson, Number, Progress, Seed, Text
from .story_forms import stories

BYTES = 256  # the vocabulary: GPT-2's first 256 tokens are the single bytes, so that any text can be read
CONTEXT = 128
SIZES = {"small": (2, 64, 2), "medium": (3, 96, 3), "large": (4, 128, 4)}  # layers, width, heads
STORIES = {"en": 200_000, "zh": 60_000}  # characters of them
HELD_OUT = 0.1  # share of the text, at its end, that is never trained on
LEAST, LONGEST = 600, 20_000  # bytes, and characters, of a visitor's own text
STRIDE = 16  # a row may begin at every so many bytes
CHECKPOINTS = (0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1)  # shares of the steps; the beginning is the liveliest
WRITTEN = 110  # tokens of a sample
OPENING = 8  # characters of the visitor's own text with which a sample begins
OPENINGS = {"en": "Once upon", "zh": "从前"}
HOW = Sampling(temperature=0.7)


@dataclass(frozen=True, slots=True)
class Stage:
    """The model at one checkpoint. Units: nats per token"""

    step: int
    held_out: float  # loss on the part of the text that is never trained on
    written: str  # how it goes on from the opening


@dataclass(frozen=True, slots=True)
class Levels:
    """What who knows only so much must pay per token of the held-out text, at least. Units: nats"""

    nothing: float  # all tokens equally likely
    letters: float  # how frequent each is
    pairs: float  # how frequent each is after the one before


@dataclass(frozen=True, slots=True)
class Grown:
    """How a training has gone so far. Units: nats per token"""

    losses: tuple[float, ...]  # of every step, before its update
    stages: tuple[Stage, ...]
    levels: Levels
    parameters: int
    steps: int  # in all


def config_of(size: str) -> GPTConfig:
    layers, width, heads = SIZES[size]
    return GPTConfig(BYTES, CONTEXT, width, heads, layers)


def parts(text: str) -> tuple[Tensor, Tensor]:
    """A text as tokens: what is trained on, and what is held out. Raises: TextTooShort"""
    ids = torch.tensor(tokenizer_for(BYTES).encode(text), dtype=torch.int32)
    if len(ids) < LEAST:
        raise TextTooShort(found=len(ids), least=LEAST)
    first = len(ids) - max(round(HELD_OUT * len(ids)), CONTEXT + 1)
    return ids[:first], ids[first:]


def rows(ids: Tensor, stride: int) -> Rows:
    """Rows of CONTEXT tokens that begin every `stride` tokens. Shapes: ids (N,)"""
    return Rows(ids, torch.arange(0, len(ids) - CONTEXT, stride), CONTEXT)


def levels(ids: Tensor) -> Levels:
    """Entropies of a text: of a token, and of a token given the one before.

    Shapes: ids (N,)
    Source: Shannon 1951, "Prediction and entropy of printed English", F_0, F_1 and F_2
    """
    pairs = ids[:-1].long() * BYTES + ids[1:].long()
    return Levels(math.log(BYTES), entropy(ids), entropy(pairs) - entropy(ids[:-1]))


def entropy(values: Tensor) -> float:
    """Of how often each value occurs. Units: nats"""
    share = values.unique(return_counts=True)[1].double() / len(values)
    return float(-(share * share.log()).sum())


@torch.inference_mode()
def loss_on(model: GPTModel, text: Rows) -> float:
    """Mean over up to 32 rows spread through the text. Units: nats per token"""
    picked = torch.linspace(0, text.starts.numel() - 1, min(32, text.starts.numel())).long()
    inputs, targets = text.batch(picked)
    return float(F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()))


def write(model: GPTModel, opening: str, seed: int) -> str:
    tokenizer = tokenizer_for(BYTES)
    ids = tokenizer.encode(opening)
    made = generate(model, ids, WRITTEN, HOW, seed=seed)
    return tokenizer.decode([*ids, *(step.token for step in made)])


def grow(text: str, mine: str, size: str, steps: int, seed: int) -> Iterator[Progress]:
    """Train on our stories (`text` names their language) or on a text of the visitor's own.

    At every checkpoint comes a copy of the model as it then is. Raises: TextTooShort
    """
    own = text == "mine"
    trained_on, held_out = parts(mine if own else stories("zh" if text == "zh" else "en", STORIES[text], seed))
    opening, unseen = mine[:OPENING] if own else OPENINGS[text], rows(held_out, CONTEXT)
    model = initialise(GPTModel(config_of(size)), seed)
    recipe = Recipe(steps, batch=16, learning_rate=4e-3, warmup=min(20, steps), seed=seed)
    at = {round(share * steps) for share in CHECKPOINTS}
    losses: list[float] = []
    stages: list[Stage] = []
    about = levels(held_out), model.config.n_parameters, steps

    def reached(step: int) -> Progress:
        """A checkpoint."""
        kept = copy.deepcopy(model).requires_grad_(False).eval()
        stages.append(Stage(step, loss_on(kept, unseen), write(kept, opening, seed)))
        return Progress(step, steps, Grown(tuple(losses), tuple(stages), *about), kept)

    yield reached(0)
    for done in train(model, rows(trained_on, STRIDE), recipe, optimizer_for(model, recipe)):
        losses.append(float(done.loss))
        if done.step in at:
            yield reached(done.step)
        else:
            yield Progress(done.step, steps, Grown(tuple(losses), tuple(stages), *about))


LESSON = Lesson(
    "gibberish",
    (
        Experiment(
            "grow",
            (
                Choice("text", "en", ("en", "zh", "mine")),
                Text("mine", stories("en", 1_200, seed=1).strip(), LONGEST, empty=True),
                Choice("size", "medium", tuple(SIZES)),
                Number("steps", 300, 20, 1_000, 20),
                Seed("seed"),
            ),
            grow,
            trains=True,
        ),
    ),
)
