"""One visitor's page: the request it shows now, and how its tokens were chosen."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from playground.gpt.sampling import GREEDY, Sampling
from playground.lessons.lesson import Progress
from playground.runs import Request


@dataclass(frozen=True, slots=True)
class Choice:
    """How the next token is chosen, as the sampling controls say."""

    sampling: Sampling = GREEDY
    seed: int = 0


@dataclass(slots=True)
class Training:
    """A lesson's training, which waits where it was stopped until it is resumed or another takes its place."""

    part: str  # the experiment, and what its controls were set to
    values: Mapping[str, Any]
    work: Generator[Progress]
    key: str  # in the names of its models: nobody guesses it
    last: Progress | None = None
    seconds: float = 0.0  # it has run
    models: dict[int, str] = field(default_factory=dict)  # step -> the name under which the model of then is lent

    @property
    def over(self) -> bool:
        return self.last is not None and self.last.done >= self.last.total


class Session:
    """Held by gr.State, a copy for each visitor.

    Answers may finish in another order than they were asked for: what a visitor decides counts, one decision after the
    other (`deciding` is held from reading the old request to putting the new one); a token written meanwhile counts
    only if it belongs to the text that is still there (`move`).
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.choice = Choice()  # of the token written last
        self.arrived = False  # whether its page has said what its address asks for
        self.wanted: str | None = None  # the model that was asked for last
        self.beside: Request | None = None  # another prompt it is compared with, as far as that is written
        self.work: object | None = None  # the long work that is wanted; it stops when something else stands here
        self.training: Training | None = None
        self.deciding = Lock()
        self._lock = Lock()

    def __deepcopy__(self, memo: Any) -> "Session":
        return Session(self.request)

    def put(self, request: Request, choice: Choice) -> None:
        with self._lock:
            self.request, self.choice = request, choice

    def move(self, old: Request, new: Request, choice: Choice) -> bool:
        """Replace `old` by `new`, one token longer by `choice`, unless something else has replaced it already."""
        with self._lock:
            if self.request is not old:  # an equal one is another, when a visitor has begun anew
                return False
            self.request, self.choice = new, choice
            return True
