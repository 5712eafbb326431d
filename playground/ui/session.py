"""One visitor's page: the request it shows now."""

from threading import Lock
from typing import Any

from playground.runs import Request


class Session:
    """Held by gr.State, a copy for each visitor. Answers may finish in another order than they were asked for:

    what a visitor decides (`request = ...`) always counts; a token written meanwhile counts only if it belongs
    to the text that is still there (`move`).
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.work: object | None = None  # the long work that is wanted; it stops when something else stands here
        self._lock = Lock()

    def __deepcopy__(self, memo: Any) -> "Session":
        return Session(self.request)

    def move(self, old: Request, new: Request) -> bool:
        """Replace `old` by `new`, unless something else has replaced it already."""
        with self._lock:
            if self.request != old:
                return False
            self.request = new
            return True
