"""A browser, a person with a page open, and the promise that the page asks nobody else and makes no error."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

import browser
import serving
from e2e.visitor import Visitor

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


def arrival(chromium: Browser, visitors: list[Visitor]) -> Visit:
    url = serving.server().url

    def arrive(lang="en", query="", width=1280, height=900, in_address=True, toured=True, **context) -> Visitor:
        settings = {"locale": "en-US", "reduced_motion": "reduce", "viewport": {"width": width, "height": height}}
        visitor = Visitor(chromium.new_context(**settings | context), url, lang)
        if toured:  # as somebody who has been here before
            visitor.context.add_init_script("localStorage.setItem('playground-tour', 'done')")
        visitors.append(visitor)
        visitor.open(query, in_address)
        return visitor

    return arrive


def content(visitor: Visitor) -> None:
    """Nobody else was asked, and nothing went wrong unseen."""
    assert not visitor.foreign, visitor.foreign
    assert not visitor.errors, visitor.errors
    assert not serving.server().faults.said


@pytest.fixture
def visit(chromium) -> Iterator[Visit]:
    """Open the page as a new visitor: visit("zh", "prompt=Hello&n=3", width=390, height=844, ...)."""
    visitors: list[Visitor] = []
    yield arrival(chromium, visitors)
    for visitor in visitors:
        visitor.context.close()
    for visitor in visitors:
        content(visitor)


@pytest.fixture(scope="session")
def homes(chromium) -> Iterator[dict[str, Visitor]]:
    homes: dict[str, Visitor] = {}
    yield homes
    for visitor in homes.values():
        visitor.context.close()


@pytest.fixture
def home(chromium, homes, lang) -> Iterator[Visitor]:
    """A page that stays open for all tests that put back what they move: opening one takes seconds."""
    if lang not in homes:
        arrival(chromium, found := [])(lang)
        homes[lang] = found[0]
    else:
        homes[lang].go_home()
    yield homes[lang]
    content(homes[lang])
