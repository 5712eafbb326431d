"""Pre-training alone does not answer questions; a few hundred answered ones later it does.

Ouyang et al. 2022 call the second step supervised fine-tuning (SFT): the same loss as ever, on answers that people
wrote. Axes as in playground.gpt.trace.
"""

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from playground.gpt.cache import KVCache
from playground.gpt.generate import generate
from playground.gpt.model import GPTModel
from playground.gpt.train import Recipe, learning_rate, optimizer_for, take_step

from .bundled import storyteller, words
from .lesson import Progress
from .little_stories import KINDS, Kind, Pair, facts, pairs

Form = Literal["question", "examples", "sentence"]
FORMS: tuple[Form, ...] = ("question", "examples", "sentence")
PRETRAINING = 229_000_000  # tokens, see assets/models/storyteller/README.md
LONGEST_ANSWER = 10  # tokens
EXAMPLES = 2  # answered questions shown before the one that is asked
OF_A_KIND = 4  # questions of each kind, for the pre-trained model
HELD_OUT = 24  # questions of each sort, for the fine-tuned one
SORTS: tuple[Literal["combinations", "words"], ...] = ("combinations", "words")
BATCH = 8
CHECKS = 8  # how often a training is looked at


def trainable() -> GPTModel:
    """A copy of storyteller that may be changed. Dropout stays off, so that one seed gives one result."""
    return deepcopy(storyteller()).requires_grad_(True).eval()


@dataclass(frozen=True, slots=True)
class Rows:
    """Texts as the model reads them. Shapes: (B, T) each"""

    ids: Tensor
    answer: Tensor  # bool, the tokens of answers: what the loss looks at


def rows(some: Sequence[Pair]) -> Rows:
    """Questions, each with its answer and the token that ends a text; what pads the shorter ones is no answer."""
    end = words().end_of_text
    assert end is not None
    texts = [(words().encode(each.prompt), [*words().encode(each.answer), end]) for each in some]
    T = max(len(asks) + len(answer) for asks, answer in texts)
    ids = [asks + answer + [end] * (T - len(asks) - len(answer)) for asks, answer in texts]
    places = torch.arange(T)
    begins = torch.tensor([[len(asks)] for asks, _ in texts])
    ends = torch.tensor([[len(asks) + len(answer)] for asks, answer in texts])
    return Rows(torch.tensor(ids), (places >= begins) & (places < ends))


def answer_loss(model: GPTModel, rows: Rows) -> Tensor:
    """-log P(answer token | all before it), the mean over answer tokens; the question is read but not learned.

    Shapes: ()
    Units: nats per answer token
    Source: Ouyang et al. 2022, section 3.5: the loss of pre-training, on what people wrote
    """
    logits = model(rows.ids[:, :-1])  # (B, T - 1, V)
    wanted = rows.answer[:, 1:]
    return F.cross_entropy(logits[wanted], rows.ids[:, 1:][wanted])


@torch.no_grad()
def exact(model: GPTModel, rows: Rows) -> Tensor:
    """Whether the greedy answer is the right one to the last token, the end of text included.

    It is if every token is the likeliest after those before it, so one pass over the right answers tells.
    Shapes: (B,)
    """
    best = model(rows.ids[:, :-1]).argmax(-1)  # (B, T - 1)
    right: Tensor = ((best == rows.ids[:, 1:]) | ~rows.answer[:, 1:]).all(1)
    return right


def says(model: GPTModel, prompt: str, longest: int = LONGEST_ANSWER) -> str:
    """What a model writes after a prompt, the likeliest token each time, up to the end of text."""
    tokens = [step.token for step in generate(model, words().encode(prompt), longest)]
    return words().decode([token for token in tokens if token != words().end_of_text])


# Before: the model as pre-training left it.


@dataclass(frozen=True, slots=True)
class Asked:
    """What the pre-trained model wrote after one prompt."""

    pair: Pair
    prompt: str
    wrote: str
    right: bool  # the word asked for stands in its first sentence
    stopped: bool


@dataclass(frozen=True, slots=True)
class Pretrained:
    """The pre-trained model's answers to one form of prompt, and its loss on the right ones. Units: nats per token"""

    form: Form
    asked: tuple[Asked, ...]
    answers: float  # loss of the right answers
    facts: float  # loss of the facts before them

    def share(self, kind: Kind) -> float:
        of_kind = [each.right for each in self.asked if each.pair.kind == kind]
        return sum(of_kind) / len(of_kind)


def prompt_for(form: Form, asked: Pair, shown: Sequence[Pair]) -> str:
    """The question alone, after answered ones, or as a sentence to be completed."""
    if form == "sentence":
        return asked.begun
    examples = "".join(f"{each.prompt}{each.answer}\n" for each in shown)
    return (examples if form == "examples" else "") + asked.prompt


@torch.no_grad()
def greedy(model: GPTModel, prompts: Tensor, count: int) -> Tensor:
    """The likeliest next tokens of equally long prompts, all at once. Shapes: (B, T) -> (B, count)"""
    cache, unread, written = KVCache(model.config, prompts.size(1) + count, len(prompts)), prompts, []
    for _ in range(count):
        unread = model(unread, cache=cache)[:, -1].argmax(-1, keepdim=True)  # (B, 1)
        written.append(unread)
    return torch.cat(written, 1)


def asked_of(form: Form, some: Sequence[Pair]) -> list[Asked]:
    """Ask questions of one kind."""
    shown = pairs(facts(len(KINDS), 1))[:EXAMPLES]
    prompts = [prompt_for(form, each, shown) for each in some]
    written = greedy(storyteller(), torch.tensor([words().encode(each) for each in prompts]), LONGEST_ANSWER)
    asked = []
    for pair, prompt, tokens in zip(some, prompts, written.tolist(), strict=True):
        end = tokens.index(words().end_of_text) if words().end_of_text in tokens else len(tokens)
        wrote = words().decode(tokens[:end])
        right = pair.word in re.findall(r"\w+", re.split(r"[.!?\n]", wrote)[0])
        asked.append(Asked(pair, prompt, wrote, right, end < len(tokens)))
    return asked


@cache
def pretrained(form: Form) -> Pretrained:
    """What pre-training alone makes of questions that no model of ours was trained on."""
    some = pairs(facts(OF_A_KIND * len(KINDS), 0, "combinations"))
    asked = [each for kind in KINDS for each in asked_of(form, [one for one in some if one.kind == kind])]
    return Pretrained(form, tuple(asked), *losses(tuple(some)))


@cache
@torch.no_grad()
def losses(some: tuple[Pair, ...]) -> tuple[float, float]:
    """The pre-trained model's loss of right answers, and of the facts before the questions. Units: nats per token"""
    told = rows(some)
    fact = torch.arange(told.ids.size(1)) < len(words().encode(some[0].fact.text))  # (T,); all are equally long
    before = Rows(told.ids, fact.expand_as(told.ids))
    return float(answer_loss(storyteller(), told)), float(answer_loss(storyteller(), before))


# Supervised fine-tuning.


@dataclass(frozen=True, slots=True)
class Answered:
    """A question of new words, and what was answered before the training and by now."""

    pair: Pair
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Tuned:
    """How a fine-tuning went so far. Units: losses in nats per answer token"""

    steps: int
    pairs: int  # different ones to learn from
    losses: tuple[float, ...] = ()  # of every step
    checked: tuple[int, ...] = ()  # after how many steps held-out questions were asked
    combinations: tuple[float, ...] = ()  # share right then, taught words in new combinations
    words: tuple[float, ...] = ()  # share right then, of words that no training question has
    tokens: int = 0  # read by the training
    answered: tuple[Answered, ...] = ()


def tune(taught: int, rate: float, steps: int, seed: int) -> Iterator[Progress]:
    """Fine-tune a copy of storyteller on so many answered questions, and ask it others again and again."""
    model, found = trainable(), Tuned(steps, taught)
    recipe = Recipe(steps, BATCH, rate, warmup=min(10, steps // 2), weight_decay=0.0, seed=seed)
    optimizer, all_rows = optimizer_for(model, recipe), rows(pairs(facts(taught, seed)))
    unseen = [rows(pairs(facts(HELD_OUT, seed, sort))) for sort in SORTS]
    asked, before = pairs(facts(len(KINDS), seed + 1, "words")), list[str]()
    for each in asked:
        before.append(says(model, each.prompt))
        yield Progress(0, steps, found)
    found = replace(found, answered=tuple(map(Answered, asked, before, before)))
    rng = torch.Generator().manual_seed(seed)
    for step in range(1, steps + 1):
        picked = torch.randint(len(all_rows.ids), (BATCH,), generator=rng)
        batch = Rows(all_rows.ids[picked], all_rows.answer[picked])
        loss = answer_loss(model, batch)
        take_step(model, optimizer, loss, learning_rate(recipe, step - 1), recipe.clip)
        found = replace(found, losses=(*found.losses, float(loss.detach())), tokens=found.tokens + batch.ids.numel())
        yield Progress(step - 1, steps, found)
        if step % max(1, steps // CHECKS) == 0 or step == steps:
            for piece in looked_at(model, found, unseen):
                found = piece
                yield Progress(step - 1, steps, found)
    yield Progress(steps, steps, found)


def looked_at(model: GPTModel, found: Tuned, unseen: Sequence[Rows]) -> Iterator[Tuned]:
    """Ask the held-out questions, then those that are shown, one piece of work after the other."""
    shares = []
    for each in unseen:
        shares.append(float(exact(model, each).float().mean()))
        yield found
    found = replace(
        found,
        checked=(*found.checked, len(found.losses)),
        combinations=(*found.combinations, shares[0]),
        words=(*found.words, shares[1]),
    )
    for i, one in enumerate(found.answered):
        now = replace(one, after=says(model, one.pair.prompt))
        found = replace(found, answered=(*found.answered[:i], now, *found.answered[i + 1 :]))
        yield found
