"""The page as a visitor meets it: one server for all tests, which offers FIX-A beside the usual models."""

import logging
import os
import socket
import sys
import tempfile
from functools import cache, partial
from pathlib import Path

from huggingface_hub import constants

import fixture
from playground.limits import DEFAULTS
from playground.models import Models
from playground.runs import Runs
from playground.ui.page import build  # imports gradio, after it was told not to call home
from playground.ui.serve import closed, forget, found, queueing, settings

OWN = "fix_a"  # how the server names FIX-A


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


def proxies_aside() -> None:
    """Whatever proxy this computer uses, the tests' own server is asked directly."""
    for name in ("NO_PROXY", "no_proxy"):
        os.environ[name] = "127.0.0.1,localhost"


class Noted(logging.Handler):
    """Keeps what the page's log calls an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


class Server:
    """A running page, and the models and runs behind it."""

    def __init__(self, folder: Path) -> None:
        self.faults = Noted()
        logging.getLogger("playground").addHandler(self.faults)
        self.models = Models(own=str(fixture.write(folder / OWN)))
        self.runs = Runs(self.models.get)
        page = build(self.models, self.runs, "storyteller", "en")
        page.queue(**queueing(DEFAULTS))
        _, url, _ = page.launch(
            server_name="127.0.0.1", server_port=free_port(), prevent_thread_lock=True, quiet=True,
            **settings(None, DEFAULTS, lambda: found(self.models), partial(forget, page)),
        )  # fmt: skip
        self.page, self.url = page, url.rstrip("/")

    @property
    def idle(self) -> bool:
        """Whether no handler runs or waits to run."""
        queue = self.page._queue
        return not any(queue.active_jobs) and len(queue) == 0


@cache
def server() -> Server:
    """Started when first asked for, and there until the tests end. The hub's cache is empty and nobody is asked."""
    proxies_aside()
    folder = Path(tempfile.mkdtemp())
    constants.HF_HUB_CACHE = str(folder / "hub")
    constants.HF_HUB_OFFLINE = True
    return Server(folder)


def end() -> None:
    """Close the page, where one was opened, as an operator does."""
    if server.cache_info().currsize and not closed(server().page, seconds=30):
        # Not an error, which would hide those of the tests.
        sys.stderr.write("The server still computes: Python may abort.\n")
