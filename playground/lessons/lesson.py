"""What a lesson is: experiments that one turns by their controls, each a function of their values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from playground.gpt.model import GPTModel


@dataclass(frozen=True, slots=True)
class Number:
    """A number from `low` to `high`; whole where `step` is."""

    name: str
    value: float
    low: float
    high: float
    step: float


@dataclass(frozen=True, slots=True)
class Numbers:
    """A vector, each of whose numbers is dragged from `low` to `high`."""

    name: str
    value: tuple[float, ...]
    low: float
    high: float
    step: float


@dataclass(frozen=True, slots=True)
class Choice:
    """One of `choices`, each named by a word."""

    name: str
    value: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Flag:
    """On or off."""

    name: str
    value: bool


@dataclass(frozen=True, slots=True)
class Seed:
    """Which random numbers; the page offers to draw others. A whole number from 0 to `high`."""

    name: str
    value: int = 0
    high: int = 9_999


@dataclass(frozen=True, slots=True)
class Text:
    """What a visitor writes, from one character up to `longest`; or nothing, where it may be `empty`."""

    name: str
    value: str
    longest: int
    empty: bool = False


Control = Number | Numbers | Choice | Flag | Seed | Text


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an experiment that takes a while has come, and what it has found so far."""

    done: int
    total: int
    found: Any
    model: GPTModel | None = None  # one that is ready at this moment, for the whole page to look through


@dataclass(frozen=True, slots=True)
class Experiment:
    """`run(**values of the controls)` returns what was found, or, where it `trains`, yields Progress again and again.

    What trains runs only when a visitor starts it, piece by piece: a piece is what lies between two Progresses, during
    which other visitors wait. Keep it far below a second; few of them are drawn. One of its controls is a Number
    `steps`, whose least value makes it short.
    """

    name: str  # no two lessons have experiments of one name
    controls: tuple[Control, ...]
    run: Callable[..., Any]
    trains: bool = False


@dataclass(frozen=True, slots=True)
class Lesson:
    """Experiments in the order to try them, one of them on screen at a time."""

    name: str
    experiments: tuple[Experiment, ...]
