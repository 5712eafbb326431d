"""Every line is one JSON object, and nobody's prompt is in any."""

import json
import logging
import sys

import pytest

from playground import log
from playground.errors import PromptTooLong


@pytest.fixture
def told(caplog):
    """The lines told since, as read by whoever reads the log."""
    caplog.set_level(logging.INFO, log.OURS.name)
    caplog.handler.setFormatter(log.Lines())
    return lambda: [json.loads(caplog.handler.format(record)) for record in caplog.records]


def test_a_line_says_when_and_what(told):
    log.tell("start", model="storyteller", limits={"PLAYGROUND_QUEUE": 9}, note="two\nlines 狐")
    (line,) = told()
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "event": "start",
        "model": "storyteller",
        "limits": {"PLAYGROUND_QUEUE": 9},
        "note": "two\nlines 狐",
    }


@pytest.mark.parametrize(
    ("raised", "outcome"),
    [
        (None, "ok"),
        (PromptTooLong(characters=9, limit=8, prompt="canary"), "prompt_too_long"),
        (GeneratorExit(), "left"),
        (ZeroDivisionError("canary"), "ZeroDivisionError"),
    ],
    ids=["done", "refused", "left", "not foreseen"],
)
def test_it_says_how_long_a_thing_took_and_how_it_ended(told, raised, outcome):
    def work():
        with log.timed("run", model="a") as line:
            line["model"] = "b"
            if raised:
                raise raised

    if raised:
        with pytest.raises(type(raised)):
            work()
    else:
        work()
    (line,) = told()
    assert (line["event"], line["model"], line["outcome"]) == ("run", "b", outcome)
    assert 0 <= line["seconds"] < 5
    assert "canary" not in json.dumps(line)


def test_what_a_library_says_is_one_line_too_without_what_its_exception_says():
    try:
        raise ValueError("canary\nprompt")
    except ValueError:
        record = logging.LogRecord("asyncio", logging.ERROR, "", 0, "it %s\nbroke", ("all",), sys.exc_info())
    written = log.Lines().format(record)
    assert "\n" not in written
    line = json.loads(written)
    assert (line["event"], line["by"], line["level"], line["text"]) == ("said", "asyncio", "ERROR", "it all\nbroke")
    assert line["error"] == "ValueError"
    assert "test_log.py" in line["at"][0]
    assert "canary" not in written
