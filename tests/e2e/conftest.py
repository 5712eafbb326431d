"""A browser, a person with a page open, and the promise that the page asks nobody else and makes no error."""

from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

import browser
import serving
from e2e.visitor import BEFORE_GOING, Visitor

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]  # fmt: skip
LANGUAGES = ("zh", "en")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = browser.find()
    if path is None:
        pytest.fail("no Chromium: `python -m tests` installs one")
    serving.proxies_aside()
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(params=LANGUAGES)
def lang(request) -> str:
    return request.param


Visit = Callable[..., Visitor]
Idle = dict[str, list[Visitor]]  # pages nobody is in front of, by what their browser was told


@pytest.fixture(scope="session")
def idle(chromium) -> Iterator[Idle]:
    """A page that was open before opens again in half the time: its browser has read Gradio and plotly.js."""
    idle: Idle = defaultdict(list)
    yield idle
    for visitors in idle.values():
        for visitor in visitors:
            visitor.context.close()


def arrival(chromium: Browser, idle: Idle, visitors: list[Visitor]) -> Visit:
    url = serving.server().url

    def arrive(lang="en", query="", width=1280, height=900, in_address=True, toured=True, **context) -> Visitor:
        settings = {"locale": "en-US", "reduced_motion": "reduce", **context}
        kind = repr((toured, sorted(settings.items())))
        visitor = idle[kind].pop() if idle[kind] else Visitor(chromium.new_context(**settings), url, kind, toured)
        visitors.append(visitor)
        visitor.sit_down(lang, width, height)
        visitor.open(query, in_address)
        return visitor

    return arrive


def content(visitor: Visitor) -> None:
    """Nobody else was asked, and nothing went wrong unseen."""
    assert not visitor.foreign, visitor.foreign
    assert not visitor.errors, visitor.errors
    assert not serving.server().faults.said


@pytest.fixture
def visit(chromium, idle) -> Iterator[Visit]:
    """Open the page as a new visitor: visit("zh", "prompt=Hello&n=3", width=390, height=844, ...)."""
    visitors: list[Visitor] = []
    yield arrival(chromium, idle, visitors)
    for visitor in visitors:
        visitor.quiet(BEFORE_GOING)
        content(visitor)
        visitor.leave()
        idle[visitor.kind].append(visitor)


@pytest.fixture(scope="session")
def homes(chromium) -> dict[str, Visitor]:
    return {}


@pytest.fixture
def home(chromium, idle, homes, lang) -> Iterator[Visitor]:
    """A page that stays open for all tests that put back what they move: opening one takes seconds."""
    if lang not in homes:
        arrival(chromium, idle, found := [])(lang)
        homes[lang] = found[0]
    else:
        homes[lang].go_home()
    yield homes[lang]
    content(homes[lang])
