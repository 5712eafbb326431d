"""Many at once: who leaves stops, short work does not wait for long, a line has an end, a class is served."""

import asyncio
import time
from contextlib import suppress
from itertools import pairwise

import httpx
import pytest

import serving
from playground.limits import DEFAULTS
from playground.runs import Request, read
from playground.ui.lessons import training
from tests.scripted import Scripted

GROW = {"text": "en", "size": "medium", "steps": 1_000}  # a minute of work, unless it is stopped
PROMPT = "Once upon a time, there was a little fox"


def as_visitors(visit):
    """Run `visit(open)` where `open()` opens one more page."""

    async def all_of_it():
        url = serving.server().url
        async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False, limits=MANY) as http:
            config = (await http.get("/config")).json()
            came = []

            async def opened():
                visitor = Scripted(http, config)
                came.append(visitor)
                await visitor.arrive()
                return visitor

            try:
                async with asyncio.timeout(60):  # a training that never begins is waited for no longer
                    await visit(opened)
            finally:
                for each in came:
                    await each.leave()

    asyncio.run(all_of_it())


MANY = httpx.Limits(max_connections=None)


def train(visitor):
    return asyncio.create_task(visitor.fire("lessons", "begin", {"asked": 1, "part": "grow", "values": GROW}))


async def abandon(work):
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work


async def write(visitor, count):
    """The next tokens of a text just read, one by one, and the seconds each took."""
    view, written, waits = visitor.shown("player"), [], []
    for known in range(view["start"] + len(view["labels"]), view["start"] + len(view["labels"]) + count):
        begun = time.monotonic()
        await visitor.fire("player", "need_attention", {"text": view["text"], "from": known, "count": 1})
        written += visitor.shown("player")["labels"]
        waits.append(time.monotonic() - begun)
    return written, waits


@pytest.fixture
def pieces(monkeypatch):
    """When each piece of a training was done."""
    times, kept = [], training.keep
    monkeypatch.setattr(training, "keep", lambda *what: (times.append(time.monotonic()), kept(*what)))
    return times


def test_O_CON_02_a_page_that_is_closed_trains_no_further_and_the_next_is_served_at_once(pieces):
    async def visit(opened):
        leaving, next_one = await opened(), await opened()
        work = train(leaving)
        while len(pieces) < 5:
            await asyncio.sleep(0.05)
        await abandon(work)
        await leaving.leave()
        gone = time.monotonic()
        await next_one.fire("run", "click")
        assert time.monotonic() - gone < 2
        await asyncio.sleep(2.5)
        slowest = max(later - earlier for earlier, later in pairwise(pieces))
        assert pieces[-1] < gone + 1 + slowest

    as_visitors(visit)


def test_O_CON_03_short_work_does_not_wait_for_long(pieces):
    async def visit(opened):
        busy, other = await opened(), await opened()
        work = train(busy)
        while len(pieces) < 3:
            await asyncio.sleep(0.05)
        begun = time.monotonic()
        await other.fire("bars", "ask", {"text": " was", "at": 5})
        asked = time.monotonic()
        await other.fire("run", "click")
        await write(other, 1)
        written = time.monotonic()
        assert not work.done()
        await abandon(work)
        assert asked - begun <= 1
        assert written - asked <= 3

    as_visitors(visit)


def test_O_CON_04_a_line_that_is_full_is_said_to_be_full(monkeypatch):
    """Beyond those being answered and those that wait nobody is taken, and whoever was taken is answered."""

    async def visit(opened):
        server, visitor = serving.server(), await opened()
        handler = next(each for each in visitor.config["dependencies"] if each["api_name"] == "attention")
        body = {"fn_index": handler["id"], "data": [PROMPT]}
        with server.runs._lock:
            taken = []
            for number in range(DEFAULTS.at_once + DEFAULTS.queue + 5):
                answer = await visitor.http.post("/gradio_api/queue/join", json={**body, "session_hash": f"{number}"})
                taken.append(answer.status_code)
                while sum(job is not None for job in server.page._queue.active_jobs) < min(
                    len(taken), DEFAULTS.at_once
                ):
                    await asyncio.sleep(0.02)
        assert set(taken) == {200, 503}
        assert taken.count(503) == 5
        assert "full" in answer.text
        while not server.idle:
            await asyncio.sleep(0.02)
        await visitor.fire("run", "click")

    as_visitors(visit)


def test_O_CON_07_a_class_presses_run_together_and_one_more_comes():
    """Thirty pages, five tokens each: everybody gets what she alone would get.

    How long a page takes to come meanwhile, tests/load.py measures, whose server has a process of its own.
    """
    model, made = serving.server().models.get("storyteller"), ()
    for _ in range(5):
        alone = read(model, Request(model.name, PROMPT, made), DEFAULTS)
        made = (*made, int(alone.trace.logits[-1].argmax()))
    expected = [model.tokenizer.label(token) for token in made]

    async def visit(opened):
        async def pupil(visitor):
            visitor.fill("prompt", PROMPT)
            await visitor.fire("run", "click")
            written, waits = await write(visitor, 5)
            assert written == expected
            return waits

        pupils = await asyncio.gather(*(opened() for _ in range(30)))
        *told, _ = await asyncio.gather(*map(pupil, pupils), opened())
        waits = [each for mine in told for each in mine]
        assert sorted(waits)[int(0.95 * len(waits))] <= 30

    as_visitors(visit)
