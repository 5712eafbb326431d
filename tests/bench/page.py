"""The page in a real browser: from a key or a click to the frame that shows what was asked for."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser

from playground.gpt.checkpoints import save

from .how import GPT2, How
from .peers import random_model
from .rows import Row, at_least, at_most, limited, percentile, told
from .start import PICTURE, app, running
from .visit import Visit, chromium, free_port

PROMPT = "Once upon a time, there was a little fox"
MEDIAN, RARELY, LARGE, KNOWN, NOBODY = at_most(150), at_most(300), at_most(400), at_most(60), at_most(0)
PLAYED = at_least(15)  # tokens drawn a second
PLAYING = 4000  # milliseconds
READY = "() => document.documentElement.dataset.settled && playground.state.view"
STATE = """() => {
  const { view, at } = playground.state;
  return { at, last: view.start + view.labels.length - 1, shown: view.labels.length, stop: !!view.stop,
    drawn: +document.querySelector('#attention-map [data-drawn]').dataset.drawn };
}"""
# The token is selected, its bars are drawn with it, and the open tab shows the longer text.
STEPPED = """() => playground.state.at === {at} && document.querySelector('#bars .bar')
  && +document.querySelector('#attention-map [data-drawn]').dataset.drawn > {drawn}
  && document.querySelector('#attention-map .plot').data[0].z.shape === '{shown}, {shown}'"""
MOVED = """() => playground.state.at === {at} && document.querySelector('#player .tok.here').dataset.i === '{at}'
  && document.querySelector('#attention-map .band.at')"""
REDRAWN = "() => +document.querySelector('#attention-map [data-drawn]').dataset.drawn > {drawn}"
PLAYED_FRAMES = """async (patience) => {
  const here = () => document.querySelector('#player .tok.here').dataset.i;
  const from = performance.now();
  let before = here(), frames = 0, last = from;
  while (performance.now() - from < patience && !(playground.state.view.stop && playground.state.at === STATE().last)) {
    await new Promise(requestAnimationFrame);
    if (here() === before) continue;
    [before, frames, last] = [here(), frames + 1, performance.now()];
  }
  return frames / ((last - from) / 1000);
}""".replace("STATE", f"({STATE})")


@dataclass(frozen=True, slots=True)
class Steps:
    milliseconds: list[float]
    kilobytes: list[float]
    requests: int = 0


def opened(visit: Visit, port: int, **query: object) -> None:
    visit.page.goto(f"http://127.0.0.1:{port}/?{urlencode({'lang': 'en', **query})}", wait_until="commit")
    visit.page.wait_for_function(PICTURE)
    visit.page.wait_for_function(READY)
    visit.rest()


def write_steps(visit: Visit, port: int, count: int) -> Steps:
    """One token more, again and again; where the model ends its text, from the prompt anew."""
    found = Steps([], [])
    for turn in range(-2, count):  # the first two do not count
        if turn == -2 or visit.page.evaluate(STATE)["stop"]:
            opened(visit, port, prompt=PROMPT, n=0)
            visit.page.keyboard.press("End")
        state = visit.page.evaluate(STATE)
        visit.rest()
        before = visit.total
        goal = STEPPED.format(at=state["last"] + 1, shown=state["shown"] + 1, drawn=state["drawn"])
        took = visit.timed("keydown", goal, lambda: visit.page.keyboard.press("ArrowRight"))
        if turn >= 0:
            visit.rest()
            found.milliseconds.append(took)
            found.kilobytes.append((visit.total - before) / 1e3)
    return found


def known_steps(visit: Visit, port: int, count: int) -> Steps:
    """Back and forth over what was computed before."""
    opened(visit, port, prompt=PROMPT, n=20)
    visit.page.keyboard.press("Home")
    visit.rest()
    found, before = Steps([], []), len(visit.requests)
    for turn in range(count):
        key, at = ("ArrowRight", 1) if turn % 2 == 0 else ("ArrowLeft", 0)
        goal = MOVED.format(at=at)
        found.milliseconds.append(visit.timed("keydown", goal, lambda key=key: visit.page.keyboard.press(key)))
    visit.rest()
    return replace(found, requests=len(visit.requests) - before)


def played(visit: Visit, port: int) -> float:
    """How fast the player goes on to tokens just written, each drawn in a frame of its own. Units: tokens a second"""
    opened(visit, port, prompt=PROMPT, n=0)
    visit.page.locator(".pg-speed").select_option("16")
    visit.page.keyboard.press("End")
    visit.page.locator("#player .pg-button.play").click()
    return float(visit.page.evaluate(PLAYED_FRAMES, PLAYING))


def radio(name: str, value: object) -> str:
    return f'#{name} label:has(input[value="{value}"])'


CLICKS = {  # what is switched: where to click to go there and back, and when it is done
    "layer": (radio("layer", 1), radio("layer", 2), REDRAWN),
    "head": ('.pg-thumbs [data-head="1"]', '.pg-thumbs [data-head="2"]', REDRAWN),
    "tab": (
        "#tab-norms-button",
        "#tab-attention-button",
        "() => document.querySelector('#norm-by-token [data-drawn]')?.offsetParent",
    ),
    "language": (radio("language", "zh"), radio("language", "en"), REDRAWN),
}


def switched(visit: Visit, port: int, rounds: int) -> dict[str, Steps]:
    """There and back, of which the way there counts."""
    opened(visit, port, prompt=PROMPT, n=20)
    found = {}
    for name, (there, back, done) in CLICKS.items():
        steps = Steps([], [])
        for _ in range(rounds):
            before = visit.total
            goal = done.replace("{drawn}", str(visit.page.evaluate(STATE)["drawn"]))
            steps.milliseconds.append(visit.timed("pointerdown", goal, click(visit, there)))
            visit.rest()
            steps.kilobytes.append((visit.total - before) / 1e3)
            click(visit, back)()
            visit.rest()
        found[name] = steps
    return found


def click(visit: Visit, selector: str) -> Callable[[], None]:
    return lambda: visit.page.locator(selector).first.click()


@contextmanager
def folder_of_124M() -> Iterator[str]:
    """Random weights in a folder that `--model` takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "random-124M"
        save(random_model(replace(GPT2, end_of_text=50256)), path)
        yield str(path)


def small(browser: Browser, how: How) -> list[Row]:
    port = free_port()
    with running(app(port), port):
        visit = Visit(browser)
        written = write_steps(visit, port, how.steps)
        known = known_steps(visit, port, how.steps)
        speed = [played(visit, port) for _ in range(min(3, how.rounds))]
        switches = switched(visit, port, how.rounds)
        visit.leave()
    rows = [
        limited("storyteller: key to drawn, median", "ms", written.milliseconds, MEDIAN),
        limited("storyteller: key to drawn, 95th percentile", "ms", [percentile(written.milliseconds, 0.95)], RARELY),
        told("storyteller: bytes of a step", "kB", written.kilobytes),
        limited("known position: key to drawn", "ms", known.milliseconds, KNOWN),
        limited("known positions: requests", f"in {how.steps}", [known.requests], NOBODY),
        limited("storyteller: playing", "tokens/s", speed, PLAYED),
    ]
    for name, steps in switches.items():
        rows.append(told(f"another {name}: click to drawn", "ms", steps.milliseconds))
        rows.append(told(f"another {name}: bytes", "kB", steps.kilobytes))
    return rows


def large(browser: Browser, how: How) -> list[Row]:
    with folder_of_124M() as folder:
        port = free_port()
        with running(app(port, "--model", folder), port):
            visit = Visit(browser)
            written = write_steps(visit, port, how.steps)
            visit.leave()
    rarely = percentile(written.milliseconds, 0.95)
    return [
        limited("124M: key to drawn, median", "ms", written.milliseconds, LARGE),
        told("124M: key to drawn, 95th percentile", "ms", [rarely]),
        told("124M: bytes of a step", "kB", written.kilobytes),
    ]


def measure(how: How) -> list[Row]:
    with chromium() as browser:
        return [*small(browser, how), *large(browser, how)]
