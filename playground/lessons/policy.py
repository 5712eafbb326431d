"""Reinforcement learning on rewards: the model writes, what it wrote is judged, and it does more of what was liked.

Proximal policy optimization (PPO, Schulman et al. 2017) on a leash: a penalty per token for leaving the model it began
as (Ouyang et al. 2022). Where they train a second network to foresee rewards (the value function), ours takes the mean
over the batch as what was to be expected. Axes as in playground.gpt.trace, with P for the tokens of a prompt and N for
those written after it; a text that ends early is `written` no further.
"""

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from playground.gpt.cache import KVCache
from playground.gpt.model import GPTModel
from playground.gpt.train import Recipe, optimizer_for, take_step

from .bundled import storyteller, words
from .fine_tuning import trainable
from .lesson import Progress
from .little_stories import HAPPY_WORDS, SAD_WORDS, facts
from .reward_model import Head, rewards

JUDGES = ("model", "words")  # the reward model, and the count of words
BETAS = {"none": 0.0, "long": 0.05, "short": 0.2}  # of the leashes on offer
NEW_TOKENS = 20
BATCH = 16  # stories of one step
EPOCHS = 2  # times that each is learned from
HALF = 8  # stories of one update
CLIP = 0.2  # Schulman et al. 2017, table 3
RATE = 1e-4
HELD_OUT = 16  # beginnings never trained on, of new words
LOOK = 5  # steps between two looks at the held-out beginnings
TOGETHER = 5  # tokens written in one piece of work
SEED_APART = 1_000_003  # of a training's own random numbers and those of the stories before and after


@dataclass(frozen=True, slots=True)
class Written:
    """Stories: their prompts and what a model wrote. Shapes: ids (B, P + N), written (B, N) bool"""

    ids: Tensor
    written: Tensor  # up to the end of text, that token included

    @property
    def P(self) -> int:
        return self.ids.size(1) - self.written.size(1)

    def text(self, row: int) -> str:
        """What was written, without the prompt and the token that ends a text."""
        tokens = self.ids[row, self.P :][self.written[row]].tolist()
        return words().decode([token for token in tokens if token != words().end_of_text])


def write(model: GPTModel, prompts: Tensor, count: int, seed: int) -> Iterator[Written]:
    """Let a model write after equally long prompts, each token drawn by its probability; every token is a yield.

    Shapes: prompts (B, P)
    """
    rng, cache = torch.Generator().manual_seed(seed), KVCache(model.config, prompts.size(1) + count, len(prompts))
    ids, unread = prompts, prompts
    written = torch.ones(len(prompts), 0, dtype=torch.bool)
    going = torch.ones(len(prompts), 1, dtype=torch.bool)
    for _ in range(count):
        with torch.no_grad():
            probabilities = model(unread, cache=cache)[:, -1].softmax(-1)  # (B, V)
        unread = torch.multinomial(probabilities, 1, generator=rng)  # (B, 1)
        ids, written = torch.cat([ids, unread], 1), torch.cat([written, going], 1)
        going = going & (unread != model.config.end_of_text)
        yield Written(ids, written)


def log_probabilities(model: GPTModel, story: Written) -> Tensor:
    """log P(token | all before it) of the tokens that were written. Shapes: (B, N)"""
    logits = model(story.ids[:, :-1])[:, story.P - 1 :]  # (B, N, V)
    return of_written(logits, story)


def of_written(logits: Tensor, story: Written) -> Tensor:
    """Shapes: (B, N, V) -> (B, N)"""
    return torch.take_along_dim(logits.log_softmax(-1), story.ids[:, story.P :, None], -1)[..., 0]


def leashed(reward: Tensor, policy: Tensor, reference: Tensor, written: Tensor, beta: float) -> Tensor:
    """What each token earns: -β (log π - log π_ref), and the last one the reward of the whole text too.

    Shapes: reward (B,); policy and reference, log probabilities, and written (B, N) -> (B, N)
    Source: Ouyang et al. 2022, eq. 2 without the pre-training term; Ziegler et al. 2019, eq. 2
    """
    earned = -beta * (policy - reference) * written
    last = written.sum(1) - 1
    earned[torch.arange(len(earned)), last] += reward
    return earned


def advantages(earned: Tensor, written: Tensor) -> Tensor:
    """How much more a story earned from each token on than the batch did on average there, in standard deviations.

    Shapes: (B, N), (B, N) -> (B, N)
    """
    to_come = earned.flip(1).cumsum(1).flip(1)
    expected = (to_come * written).sum(0) / written.sum(0).clamp(min=1)  # (N,)
    more = (to_come - expected) * written
    return more / (more[written].std() + 1e-6)


def clipped_objective(new: Tensor, old: Tensor, advantage: Tensor, clip: float = CLIP) -> Tensor:
    """min(ratio · A, clip(ratio, 1 - ε, 1 + ε) · A): nothing is gained by going further than that in one batch.

    Shapes: log probabilities and advantages (...) -> (...)
    Source: Schulman et al. 2017, eq. 7
    """
    ratio = (new - old).exp()
    return torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)


def is_clipped(new: Tensor, old: Tensor, advantage: Tensor, clip: float = CLIP) -> Tensor:
    """Where the clipped term is the smaller one: whoever goes on that way gains nothing. Shapes: as above"""
    ratio = (new - old).exp()
    return torch.where(advantage > 0, ratio > 1 + clip, ratio < 1 - clip)


def count_words(text: str) -> int:
    """Happy words less sad ones."""
    found = re.findall(r"[a-z]+", text.lower())
    return sum(word in HAPPY_WORDS for word in found) - sum(word in SAD_WORDS for word in found)


@dataclass(frozen=True, slots=True)
class Goal:
    """What a training is after."""

    judge: str  # one of JUDGES
    beta: float  # of the leash
    head: Head  # of the reward model


@dataclass(frozen=True, slots=True)
class Judged:
    """Stories with what judges and the model of the beginning say about them."""

    story: Written
    reference: Tensor  # (B, N) log probabilities under the model that training began with
    by: dict[str, Tensor]  # (B,) rewards


@torch.no_grad()
def judge(story: Written, head: Head) -> Judged:
    """One pass of storyteller tells both: how likely the text was before training, and its reward."""
    trace = storyteller().trace(story.ids)
    reference = of_written(trace.logits[:, story.P - 1 : -1], story)
    ended = (story.ids[:, story.P :] == words().end_of_text) & story.written
    last = story.P - 1 + (story.written & ~ended).sum(1)  # the token before the end of text, as when it was trained
    states = trace.final_norm.after[torch.arange(len(last)), last]  # (B, C)
    counted = torch.tensor([float(count_words(story.text(row))) for row in range(len(last))])
    return Judged(story, reference, {"model": rewards(states, head), "words": counted})


def diversity(story: Written) -> float:
    """Share of different words among all that were written in one story; the mean over stories."""
    told = [re.findall(r"[a-z]+", story.text(row).lower()) for row in range(len(story.ids))]
    return sum(len(set(each)) / len(each) for each in told if each) / max(1, sum(map(bool, told)))


# The training.


@dataclass(frozen=True, slots=True)
class Stories:
    """What a model makes of beginnings never trained on, always by the same random numbers."""

    texts: tuple[str, ...]
    rewards: dict[str, float]  # the mean
    diversity: float


@dataclass(frozen=True, slots=True)
class Improved:
    """How a policy's training went so far; each of the lists has a number for every step."""

    steps: int
    judge: str
    beta: float
    rewards: tuple[float, ...] = ()  # mean over the batch, as written before the step's updates
    kl: tuple[float, ...] = ()  # log π - log π_ref of whole stories, the mean; nats
    clipped: tuple[float, ...] = ()  # share of tokens that pulled no more at the step's last update
    beginnings: tuple[str, ...] = ()
    before: Stories | None = None
    after: Stories | None = None


def beginnings(count: int, seed: int, new: bool = False) -> list[str]:
    return [fact.loss for fact in facts(count, seed, "words" if new else "taught")]


def as_rows(prompts: list[str]) -> Tensor:
    """Equally long prompts. Shapes: (B, P)"""
    return torch.tensor([words().encode(each) for each in prompts])


def improve(goal: Goal, steps: int, seed: int) -> Iterator[Progress]:
    """Train a copy of storyteller by PPO; what lies between two Progresses is a piece of a step."""
    policy, prompts = trainable(), beginnings(HELD_OUT, seed, new=True)
    optimizer = optimizer_for(policy, Recipe(steps, learning_rate=RATE, weight_decay=0.0))
    found = Improved(steps, goal.judge, goal.beta, beginnings=tuple(prompts))
    story = yield from stories(policy, as_rows(prompts), seed, Progress(0, steps, found))
    found = replace(found, before=summary(story, goal.head))
    for step in range(steps):
        of_step = SEED_APART * (seed + 1) + step
        now = Progress(step, steps, found)
        story = yield from stories(policy, as_rows(beginnings(BATCH, of_step)), of_step, now)
        reward, kl, clipped = yield from learn(policy, optimizer, story, goal, now)
        found = replace(found, rewards=(*found.rewards, reward), kl=(*found.kl, kl), clipped=(*found.clipped, clipped))
        if step % LOOK == LOOK - 1 or step == steps - 1:
            story = yield from stories(policy, as_rows(prompts), seed, Progress(step, steps, found))
            found = replace(found, after=summary(story, goal.head))
    yield Progress(steps, steps, found)


def stories(policy: GPTModel, prompts: Tensor, seed: int, now: Progress) -> Generator[Progress, None, Written]:
    """Write whole stories, a few tokens to a piece."""
    story = Written(prompts, torch.ones(len(prompts), 0, dtype=torch.bool))
    for story in write(policy, prompts, NEW_TOKENS, seed):
        if story.written.size(1) % TOGETHER == 0:
            yield now
    return story


def learn(
    policy: GPTModel, optimizer: torch.optim.Optimizer, story: Written, goal: Goal, now: Progress
) -> Generator[Progress, None, tuple[float, float, float]]:
    """Judge a batch of stories and learn from it; the mean reward, the mean KL and the share of tokens clipped."""
    judged = judge(story, goal.head)
    yield now
    with torch.no_grad():
        old = log_probabilities(policy, story)
    reward, apart = judged.by[goal.judge], (old - judged.reference) * story.written
    advantage = advantages(leashed(reward, old, judged.reference, story.written, goal.beta), story.written)
    for _ in range(EPOCHS):
        for some in torch.arange(BATCH).split(HALF):
            part = Written(story.ids[some], story.written[some])
            new = log_probabilities(policy, part)
            objective = clipped_objective(new, old[some], advantage[some])[part.written].mean()
            take_step(policy, optimizer, -objective, RATE)
            held = is_clipped(new.detach(), old[some], advantage[some])[part.written]
            yield now
    return float(reward.mean()), float(apart.sum(1).mean()), float(held.float().mean())


def summary(story: Written, head: Head) -> Stories:
    judged = judge(story, head)
    means = {name: float(each.mean()) for name, each in judged.by.items()}
    return Stories(tuple(map(story.text, range(len(story.ids)))), means, diversity(story))
