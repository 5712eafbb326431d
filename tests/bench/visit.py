"""A browser for the benchmark: what is drawn when, and what travelled for it."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests import browser

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
PATIENCE = 120_000  # milliseconds
SEEN = "localStorage.setItem('playground-tour', 'done')"  # as somebody who has been here before
TOOLS = """
window.bench = {
  // After the frame in which `drawn()` is true has been painted.
  painted: (drawn) => new Promise((done) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(performance.now());
    const look = () => requestAnimationFrame(() => { if (drawn()) channel.port2.postMessage(0); else look(); });
    look();
  }),
  // Milliseconds from the next `kind` of event to the frame that shows what `drawn` is true of.
  from: (kind, drawn) => {
    bench.took = new Promise((done) => addEventListener(kind, async (event) => {
      done(await bench.painted(drawn) - event.timeStamp);
    }, { capture: true, once: true }));
  },
};
"""


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


@contextmanager
def chromium() -> Iterator[Browser]:
    """Raises: FileNotFoundError when there is none"""
    path = browser.find()
    if path is None:
        raise FileNotFoundError("no Chromium: `python -m tests` installs one")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


class Visit:
    """One page of a browser of its own: nothing is cached, and every byte is counted."""

    def __init__(self, chromium: Browser) -> None:
        self.context: BrowserContext = chromium.new_context(viewport={"width": 1280, "height": 900}, locale="en-US")
        self.context.add_init_script(SEEN)
        self.context.add_init_script(TOOLS)
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.requests: list[str] = []  # addresses, in the order asked
        self._counted: dict[str, tuple[str, int]] = {}  # of each request its address and bytes, sent and received
        network = self.context.new_cdp_session(self.page)
        network.on("Network.requestWillBeSent", self._asked)
        network.on("Network.dataReceived", self._coming)
        network.on("Network.loadingFinished", self._came)
        network.send("Network.enable")

    def _asked(self, event: dict[str, Any]) -> None:
        url, sent = event["request"]["url"], event["request"].get("postData", "")
        if url.startswith("http"):
            self.requests.append(url)
            self._counted[event["requestId"]] = url, len(sent.encode())

    def _coming(self, event: dict[str, Any]) -> None:
        """A stream of answers stays open: what has come so far counts."""
        self._count(event["requestId"], event["encodedDataLength"] or event["dataLength"])

    def _came(self, event: dict[str, Any]) -> None:
        if event["requestId"] in self._counted:
            url, counted = self._counted[event["requestId"]]
            self._counted[event["requestId"]] = url, max(counted, int(event["encodedDataLength"]))

    def _count(self, request: str, more: int) -> None:
        if request in self._counted:
            url, counted = self._counted[request]
            self._counted[request] = url, counted + more

    @property
    def bytes(self) -> dict[str, int]:
        """By address."""
        found: dict[str, int] = {}
        for url, count in self._counted.values():
            found[url] = found.get(url, 0) + count
        return found

    @property
    def total(self) -> int:
        """Units: bytes, in both directions, so far."""
        return sum(self.bytes.values())

    def timed(self, kind: str, drawn: str, act: Callable[[], object]) -> float:
        """Milliseconds from the event of `act` to the painted frame; `drawn` is JavaScript, true when all is there."""
        self.page.evaluate(f"() => bench.from('{kind}', {drawn})")
        act()
        return float(self.page.evaluate("() => bench.took"))

    def rest(self) -> None:
        """Until nothing has been asked for a while."""
        before = -1
        while before != len(self.requests):
            before = len(self.requests)
            self.page.wait_for_timeout(400)

    def leave(self) -> None:
        self.context.close()
