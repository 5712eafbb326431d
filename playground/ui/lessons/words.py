"""How the lessons' views say things: the words of one experiment, and what is recent of its curves."""

from collections.abc import Callable, Sequence

from playground.text import say

Word = Callable[..., str]
YES_NO = ("yes", "no")


def words(lang: str, experiment: str) -> Word:
    """The sentences of one experiment, by name."""
    return lambda name, **values: say(lang, f"lesson_{experiment}.{name}", **values)


def recent(values: Sequence[float], steps: int) -> float:
    """The mean of the last steps: one batch is luck."""
    return sum(values[-steps:]) / len(values[-steps:])


def yes(true: bool) -> str:
    return "yes" if true else "no"
