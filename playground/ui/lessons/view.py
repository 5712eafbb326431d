"""How an experiment of a lesson is shown: texts, pictures, a formula beside the code for it, and questions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from playground.lessons.lesson import Experiment
from playground.text import say
from playground.ui.html import Picture

COMMON = ("yes", "no", "same")  # choices that many questions have; their words are in lesson.toml


class Asked(NamedTuple):
    """What is asked before it can be answered: `Question(*asked, right, values)` knows."""

    name: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """Predict, then reveal. Its words, in lesson_<experiment>.toml, are found by its name:

    `<name>` asks, `<name>_<choice>` are the choices (but for COMMON ones), `<name>_why` explains.
    """

    name: str  # begins as Asked does
    choices: tuple[str, ...]
    right: str  # one of the choices: as just computed, never a constant
    values: Mapping[str, str] = field(default_factory=dict)  # the numbers in the question and in the explanation


@dataclass(frozen=True, slots=True)
class Stage:
    """What a model in training was able to do at one step."""

    step: int
    told: str
    written: str


@dataclass(frozen=True, slots=True)
class Samples:
    """A table of texts, such as what a model wrote; whatever stands in them is shown as text."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]  # as long as `columns`, each begins with what the row is about


@dataclass(frozen=True, slots=True)
class Shown:
    """What an experiment found, in one language."""

    pictures: Mapping[str, Picture]  # by a name that no other picture of any lesson has
    questions: Sequence[Question]
    samples: Sequence[Samples] = ()  # above the pictures
    stages: Sequence[Stage] = ()  # of a training, to go back and forth through


@dataclass(frozen=True, slots=True)
class View:
    """`draw(found, lang)` shows what `experiment.run` found.

    `formula` is a file of assets/formulas; `code` is what to show beside it, each with the assignments to mark. What
    trains `asks` before it is started: whoever has seen the end cannot predict it.
    """

    experiment: Experiment
    draw: Callable[[Any, str], Shown]
    formula: str
    code: tuple[tuple[Callable[..., Any], tuple[str, ...]], ...]
    asks: tuple[Asked, ...] = ()
    parameters: Callable[..., int] | None = None  # how many a training moves, where the controls decide it


def asked_words(lang: str, experiment: str, question: Asked | Question, **values: str) -> dict[str, Any]:
    """A question as the page receives it, without its answer."""
    name = question.name
    choices = [
        [
            choice,
            say(lang, f"lesson.{choice}") if choice in COMMON else say(lang, f"lesson_{experiment}.{name}_{choice}"),
        ]
        for choice in question.choices
    ]
    return {"name": name, "asks": say(lang, f"lesson_{experiment}.{name}", **values), "choices": choices}


def question_words(lang: str, experiment: str, question: Question) -> dict[str, Any]:
    """The same with its answer, and why it is that."""
    return {
        **asked_words(lang, experiment, question, **question.values),
        "right": question.right,
        "why": say(lang, f"lesson_{experiment}.{question.name}_why", **question.values),
    }
