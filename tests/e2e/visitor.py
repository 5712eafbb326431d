"""One person in front of the page: what they see and what they do, in their language."""

import base64
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import numpy as np
from playwright.sync_api import BrowserContext, Locator, Page, expect

import serving
from playground.gpt.ablation import parse
from playground.models import Model
from playground.runs import Request, Run
from playground.text import labels, say

TIMEOUT = 30_000  # milliseconds; two busy cores
TABS = {  # every tab, and a figure of it
    "attention": "attention-map",
    "generation": "sureness",
    "norms": "norm-by-token",
    "feed_forward": "gelu-points",
    "residual": "stream",
    "lens": "lens-map",
    "model": None,
    "lessons": None,
}
BEFORE_GOING = 12  # frames; a page left in the middle of a question complains, and some are asked a moment later
FRAME = "new Promise((drawn) => { requestAnimationFrame(drawn); setTimeout(drawn, 200); })"  # hidden pages have none
NO_ANSWER = "signal is aborted|Connection errored out"
PROMPT = "Once upon a time, there was a little fox"
expect.set_options(timeout=TIMEOUT)


class Visitor:
    def __init__(self, context: BrowserContext, url: str, kind: str, toured: bool) -> None:
        self.context, self.url, self.kind, self.lang = context, url, kind, "en"
        if toured:  # as somebody who has been here before
            context.add_init_script("localStorage.setItem('playground-tour', 'done')")
        self.page = context.new_page()
        self.page.set_default_timeout(TIMEOUT)
        self.foreign: list[str] = []
        self.errors: list[str] = []
        self.asked: list[str] = []  # what the page wanted from the server's handlers
        # Questions on their way, and streams that carry answers: Gradio keeps one open while it waits for any.
        self.waiting: set[Any] = set()
        self.page.on("request", self._request)
        self.page.on("requestfinished", lambda request: self.waiting.discard(request))
        self.page.on("requestfailed", lambda request: self.waiting.discard(request))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)

    def _request(self, request: Any) -> None:
        if "/queue/join" in request.url or "/run/" in request.url:
            self.asked.append(f"{request.url} {request.post_data}")
        if "/queue/join" in request.url or "/queue/data" in request.url:
            self.waiting.add(request)
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.foreign.append(request.url)

    # Arriving and leaving.

    def sit_down(self, lang: str, width: int, height: int) -> None:
        self.lang = lang
        for told in (self.foreign, self.errors, self.asked, self.waiting):
            told.clear()
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.bring_to_front()  # there may have been another beside it
        self.page.mouse.move(0, 0)

    def leave(self) -> None:
        """Nothing remains of what was asked and chosen here."""
        self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        self.context.clear_cookies()
        self.page.goto(f"{self.url}/health")

    def open(self, query: str | dict[str, Any] = "", lang_in_address: bool = True) -> None:
        """Go to the page in this visitor's language and wait until it shows what the address asks for."""
        query = query if isinstance(query, str) else urlencode(query)
        asked = "&".join(part for part in (query, f"lang={self.lang}" if lang_in_address else "") if part)
        if self.page.url.startswith(self.url):
            self.quiet(BEFORE_GOING)
        with self.leaving():
            self.page.goto(f"{self.url}/?{asked}", wait_until="domcontentloaded")
        self.settle()

    @contextmanager
    def leaving(self) -> Iterator[None]:
        """Whoever leaves does not see that the page complains of an answer that it no longer gets."""
        before = len(self.errors)
        yield
        self.errors[before:] = [said for said in self.errors[before:] if not re.search(NO_ANSWER, said)]

    def settle(self) -> None:
        """The page says when it has become what was asked for, and writes its address."""
        self.page.wait_for_function(
            "document.documentElement.dataset.settled && new URLSearchParams(location.search).has('at')"
        )
        expect(self.page.locator("html")).to_have_attribute("lang", "zh-CN" if self.lang == "zh" else "en")
        self.drawn("attention-map" if self.tab == "attention" else None)
        self.quiet()

    def reload(self) -> None:
        self.quiet(BEFORE_GOING)
        with self.leaving():
            self.page.reload(wait_until="domcontentloaded")
        self.settle()

    def quiet(self, frames: int = 3) -> None:
        """Wait until nothing is being asked and nothing is about to be."""
        calm, idle, server = 0, 0, serving.server()
        while calm < frames and idle < 60:  # now and then the browser does not tell that a stream has ended
            self.page.evaluate(FRAME)
            unproved = self.page.evaluate("!!document.querySelector('#proofs .badge.pending')")  # it asks in a moment
            calm = 0 if self.waiting or unproved else calm + 1
            idle = idle + 1 if server.idle else 0
        self.waiting.clear()

    def go_home(self) -> None:
        """The page as it is when it opens, without opening it again if it can be had otherwise."""
        pristine = """document.querySelectorAll('#player .tok').length === 30
          && !document.querySelector('#switches .sw.off, #switches .kind-mean:checked')"""
        if not self.page.url.startswith(self.url) or not self.page.evaluate(pristine) or self.alert.inner_text():
            return self.open()
        if self.tab != "attention":
            self.show_tab("attention")
        self.find("#bars .pg-input").fill("")
        self.chips.nth(9).click()
        self.page.mouse.move(5, 5)
        self.quiet()
        return None

    def label(self, key: str, part: str = "label") -> str:
        """One of the texts of a control."""
        return labels(self.lang, key)[part]

    def say(self, key: str, **values: object) -> str:
        return say(self.lang, key, **values)

    # Seeing.

    def find(self, selector: str) -> Locator:
        return self.page.locator(selector)

    @property
    def chips(self) -> Locator:
        return self.find("#player .tok")

    @property
    def tab(self) -> str:
        return self.find("button[role=tab][aria-selected=true]").get_attribute("data-tab-id") or ""

    def at(self, position: int) -> None:
        """The selected token is this one."""
        expect(self.find("#player .tok.here")).to_have_attribute("data-i", str(position))

    @property
    def address(self) -> dict[str, str]:
        return self.page.evaluate("Object.fromEntries(new URLSearchParams(location.search))")

    def address_says(self, **expected: object) -> None:
        self.page.wait_for_function(
            """(expected) => Object.entries(expected).every(([name, value]) =>
                 new URLSearchParams(location.search).get(name) === value)""",
            arg={name: None if value is None else str(value) for name, value in expected.items()},
        )

    def bars(self) -> list[tuple[str, float, float]]:
        """Label, probability and logit of every bar, with all their digits."""
        return self.page.evaluate(
            """[...document.querySelectorAll('#bars .bar:not(.head)')].map((bar) =>
                 ['.name', '.p', '.logit'].map((part) => bar.querySelector(part).title))
               .map(([name, p, logit]) => [name, +p, +logit])"""
        )

    @property
    def alert(self) -> Locator:
        return self.find("#alert [role=alert]")

    def drawn(self, figure: str | None) -> None:
        if figure:
            self.page.wait_for_function(f"document.querySelector('#{figure} .plot')?.data !== undefined")

    def figure(self, name: str) -> dict[str, Any]:
        """What plotly holds for a figure: data and layout, as JSON."""
        self.drawn(name)
        held = f"document.querySelector('#{name} .plot')"
        return json.loads(self.page.evaluate(f"JSON.stringify({{data: {held}.data, layout: {held}.layout}})"))

    def grid(self, name: str, trace: int = 0) -> np.ndarray:
        return numbers(self.figure(name)["data"][trace]["z"])

    def eventually(self, true: Callable[[], object]) -> None:
        """Look again at every frame until it is so."""
        end = time.monotonic() + TIMEOUT / 1000
        while not true():
            assert time.monotonic() < end, "never came true"
            self.page.evaluate(FRAME)

    def wait_title(self, name: str, title: str) -> None:
        self.page.wait_for_function(
            "([name, title]) => document.querySelector(`#${name} .plot`)?._fullLayout?.title?.text === title",
            arg=[name, title],
        )

    # Doing.

    def run(self, prompt: str) -> None:
        """Type a prompt, press Run, and stop the writing after what comes first."""
        self.find("#prompt textarea").fill(prompt)
        self.find("#run").click()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def button(self, name: str) -> Locator:
        """Of the transport: first, back, step, play, last."""
        return self.find(f"#player .pg-button.{name}")

    def switch(self, word: str) -> Locator:
        return self.find(f'#switches [data-word="{word}"]')

    def show_tab(self, name: str) -> None:
        self.find(f"#tab-{name.replace('_', '-')}-button").click()
        self.drawn(TABS[name])
        if name == "model":
            expect(self.find("#architecture .box").first).to_be_visible()
        if name == "lessons":
            expect(self.find("#lessons .prose p").first).to_be_visible()

    def unfold(self, section: str) -> None:
        """Open a part that starts folded. What it holds is made only then, and told its values a moment later."""
        head = self.find(f"#{section} .label-wrap").first
        if "open" not in (head.get_attribute("class") or "").split():
            head.click()
            self.quiet()

    def choose(self, radio: str, value: object) -> None:
        self.find(f'#{radio} label:has(input[value="{value}"])').click()

    @contextmanager
    def asking_nobody(self) -> Iterator[None]:
        """What is done meanwhile needs no answer of the server's; what was asked before has been answered."""
        self.quiet()
        before = len(self.asked)
        yield
        assert not self.asked[before:], self.asked[before:]


def wait_until(page: Page, true: str) -> None:
    """As page.wait_for_function does, where a page's policy lets nothing be evaluated later on."""
    end = time.monotonic() + TIMEOUT / 1000
    while not page.evaluate(true):
        assert time.monotonic() < end, f"never came true: {true}"
        page.wait_for_timeout(50)


def numbers(sent: Any) -> np.ndarray:
    """A typed array of plotly's, one of the browser's, or a plain list."""
    if not isinstance(sent, dict) or "bdata" not in sent:
        return np.array([*(sent.values() if isinstance(sent, dict) else sent)], dtype=float)
    flat = np.frombuffer(base64.b64decode(sent["bdata"]), dtype=np.dtype(sent["dtype"]).newbyteorder("<"))
    return flat.reshape([int(size) for size in sent["shape"].split(",")]) if "shape" in sent else flat


def model(name: str = "storyteller") -> Model:
    return serving.server().models.get(name)


def run(prompt: str = PROMPT, made: tuple[int, ...] = (), off: tuple[str, ...] = (), name: str = "storyteller") -> Run:
    """The same, asked of the library."""
    config = model(name).config
    ablation = parse(off, config.n_layers, config.n_heads, config.context_length)
    return serving.server().runs(Request(name, prompt, made, ablation))


def written(count: int, prompt: str = PROMPT, off: tuple[str, ...] = (), name: str = "storyteller") -> Run:
    """With `count` greedy tokens, read with everything on."""
    made: tuple[int, ...] = ()
    for _ in range(count):
        made = (*made, int(run(prompt, made, (), name).trace.logits[-1].argmax()))
    return run(prompt, made, off, name)
