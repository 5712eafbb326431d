"""From a language model to an assistant: pre-training, supervised fine-tuning, a reward model, and PPO.

On a scale that really runs: storyteller answers questions, and ends its stories happily. The steps are Ouyang et al.
2022's; what people wrote and preferred there, word lists of ours put together here.
"""

from collections.abc import Iterator

from .fine_tuning import FORMS, pretrained, tune
from .lesson import Choice, Experiment, Lesson, Number, Progress, Seed, Text
from .policy import BETAS, JUDGES, Goal, improve
from .reward_model import BEGINNING, LABELS, score, shipped, shipped_head, train_reward

RATES = {"gentle": 3e-4, "rough": 1e-3}


def sft(pairs: str, rate: str, steps: float, seed: int) -> Iterator[Progress]:
    return tune(int(pairs), RATES[rate], int(steps), seed)


def reward(labels: str, steps: float, seed: int) -> Iterator[Progress]:
    return train_reward(labels, int(steps), seed)


def policy(judge: str, leash: str, steps: float, seed: int) -> Iterator[Progress]:
    return improve(Goal(judge, BETAS[leash], shipped_head()), int(steps), seed)


LESSON = Lesson(
    "assistant",
    (
        Experiment("pretrained", (Choice("form", "question", FORMS),), pretrained),
        Experiment(
            "sft",
            (
                Choice("pairs", "256", ("8", "32", "256")),
                Choice("rate", "gentle", tuple(RATES)),
                Number("steps", 40, 4, 80, 4),
                Seed("seed"),
            ),
            sft,
            trains=True,
        ),
        Experiment(
            "reward",
            (Choice("labels", "happy", LABELS), Number("steps", 40, 4, 80, 4), Seed("seed")),
            reward,
            trains=True,
        ),
        Experiment(
            "score", (Text("text", f"{BEGINNING} Tom was very sad. Mom hugged Tom and they had fun.", 160),), score
        ),
        Experiment(
            "policy",
            (
                Choice("judge", "model", JUDGES),
                Choice("leash", "long", tuple(BETAS)),
                Number("steps", 40, 2, 80, 2),
                Seed("seed"),
            ),
            policy,
            trains=True,
        ),
        Experiment("leash", (), shipped),
    ),
)
