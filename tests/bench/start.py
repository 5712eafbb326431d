"""From `python app.py` to the first finished picture, against an empty Gradio page; bytes of the first load; memory."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from playwright.sync_api import Browser

from .alone import ROOT
from .clock import in_status, wait_for_quiet
from .how import How
from .rows import Row, at_most, compared, limited, told
from .visit import Visit, chromium, free_port

EMPTY = """
import gradio
with gradio.Blocks(analytics_enabled=False) as page:
    gradio.Textbox("", elem_id="first")
page.launch(server_name="127.0.0.1", server_port={port}, quiet=True)
"""
PICTURE = "() => document.querySelector('#attention-map [data-drawn]')"
COMPONENT = "() => document.querySelector('#first textarea, #first input')"
START, LOAD = at_most(1.5), at_most(1.5)  # times an empty page; MB
OTHERS = 4  # visitors beside the first, to see what each takes
ROUNDS = 3
PATIENCE = 180  # seconds


@dataclass(frozen=True, slots=True)
class Arrived:
    """What a first visit to a server that was just started took."""

    seconds: float
    bytes: dict[str, int]  # by path
    resident: int  # of the server, in bytes


@contextmanager
def running(command: Sequence[str], port: int) -> Iterator[int]:
    """A server, as long as it is wanted, from the moment when it listens; its process."""
    quiet = {"GRADIO_ANALYTICS_ENABLED": "False", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    server = subprocess.Popen(
        command, cwd=ROOT, env=os.environ | quiet, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + PATIENCE
        while server.poll() is None and time.monotonic() < end:
            with socket.socket() as asked:
                if not asked.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.02)
        yield server.pid
    finally:
        server.terminate()
        server.wait(20)


def app(port: int, *flags: str) -> list[str]:
    return [sys.executable, "app.py", "--port", str(port), *flags]


def arrived(browser: Browser, command: Sequence[str], port: int, shown: str) -> Arrived:
    wait_for_quiet()
    begun = time.perf_counter()
    with running(command, port) as server:
        visit = Visit(browser)
        visit.page.goto(f"http://127.0.0.1:{port}/", wait_until="commit")
        visit.page.wait_for_function(shown)
        seconds = time.perf_counter() - begun
        visit.rest()
        found = Arrived(seconds, by_path(visit.bytes), in_status("VmRSS", server))
        visit.leave()
    return found


def by_path(counted: dict[str, int]) -> dict[str, int]:
    paths: dict[str, int] = {}
    for url, count in counted.items():
        paths[urlsplit(url).path] = paths.get(urlsplit(url).path, 0) + count
    return paths


def of_gradio(path: str) -> bool:
    """Whether a file came with Gradio, or is plotly.js."""
    return path.startswith(("/assets/", "/static/", "/svelte/")) or path.endswith("plotly.min.js")


def own_bytes(arrived: Arrived) -> int:
    return sum(count for path, count in arrived.bytes.items() if not of_gradio(path))


def measure(how: How) -> list[Row]:
    ours, empty = [], []
    with chromium() as browser:
        for _ in range(min(ROUNDS, how.rounds)):
            port = free_port()
            ours.append(arrived(browser, app(port), port, PICTURE))
            port = free_port()
            empty.append(arrived(browser, [sys.executable, "-c", EMPTY.format(port=port)], port, COMPONENT))
        visitors = per_visitor(browser)
    beyond = [(own_bytes(mine) - own_bytes(theirs)) / 1e6 for mine, theirs in zip(ours, empty, strict=True)]
    seconds = [[each.seconds for each in side] for side in (ours, empty)]
    memory = [[each.resident / 1e6 for each in side] for side in (ours, empty)]
    return [
        compared("start to first finished picture", "s", *seconds, "empty Gradio page, first component", START),
        limited("first load beyond Gradio and plotly.js", "MB", beyond, LOAD),
        told("first load, all of it", "MB", [sum(each.bytes.values()) / 1e6 for each in ours]),
        compared("server's memory with one visitor", "MB", *memory, "empty Gradio page"),
        told("server's memory for one visitor more", "MB", [visitors]),
    ]


def per_visitor(browser: Browser) -> float:
    """Units: MB, the mean over OTHERS who open the page one after the other"""
    port = free_port()
    with running(app(port), port) as server:
        visits = [Visit(browser) for _ in range(1 + OTHERS)]
        before = 0
        for i, visit in enumerate(visits):
            visit.page.goto(f"http://127.0.0.1:{port}/", wait_until="commit")
            visit.page.wait_for_function(PICTURE)
            visit.rest()
            before = before if i else in_status("VmRSS", server)
        grown = in_status("VmRSS", server) - before
        for visit in visits:
            visit.leave()
    return grown / OTHERS / 1e6
