"""What the server tells its operator: one JSON object a line on stderr, and never a word of a prompt."""

import json
import logging
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import TracebackType

from playground.errors import PlaygroundError

OURS = logging.getLogger("playground")
TOO_CHATTY = ("httpx",)  # Gradio asks itself whether it is there
WITH_THEIR_OWN = ("uvicorn", "uvicorn.error", "uvicorn.access")  # lines, which are none of JSON


class Lines(logging.Formatter):
    """A JSON object a line, without anything that a visitor typed.

    Ours as they are told; of what a library says its words, and where an exception came from but not what it says.
    """

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        told = getattr(record, "told", None)
        if told is None:
            told = {"event": "said", "by": record.name, "level": record.levelname, "text": record.getMessage()}
            if record.exc_info and record.exc_info[0]:
                told |= fallen(record.exc_info[0], record.exc_info[2])
        return json.dumps({"time": when, **told}, ensure_ascii=False, default=str)


def fallen(kind: type[BaseException], at: TracebackType | None) -> dict[str, object]:
    """What was raised, and the places it passed."""
    places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(at)]
    return {"error": kind.__name__, "at": places}


def begin() -> None:
    """Send every line of this process to stderr as JSON. A library has to warn to be heard."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    OURS.setLevel(logging.INFO)
    logging.captureWarnings(True)
    threading.excepthook = lambda ended: tell("said", **fallen(ended.exc_type, ended.exc_traceback))
    for name in TOO_CHATTY:
        logging.getLogger(name).setLevel(logging.ERROR)
    for name in WITH_THEIR_OWN:
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True


def tell(event: str, **values: object) -> None:
    """One line. Nothing that a visitor wrote may be among `values`."""
    OURS.info(event, extra={"told": {"event": event, **values}})


def fault(error: BaseException) -> None:
    """What nobody foresaw: where it happened, without its message, which may quote a visitor."""
    told = {"event": "fault", **fallen(type(error), error.__traceback__)}
    OURS.error(type(error).__name__, extra={"told": told})


@contextmanager
def timed(event: str, **values: object) -> Iterator[dict[str, object]]:
    """Tell, once it is over, how long what is done inside took and how it ended; more values may be put in."""
    begun, found = time.perf_counter(), dict(values)
    found["outcome"] = "ok"
    try:
        yield found
    except BaseException as error:
        found["outcome"] = outcome(error)
        raise
    finally:
        tell(event, **found, seconds=round(time.perf_counter() - begun, 4))


def outcome(error: BaseException) -> str:
    """A refusal by the name of its sentence, a visitor who left, or the class of what was not foreseen."""
    if isinstance(error, PlaygroundError):
        return error.key.removeprefix("errors.")
    return "left" if isinstance(error, GeneratorExit) else type(error).__name__
