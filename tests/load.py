"""Many at once: `python -m tests.load` serves the page and lets scripted visitors at it, each checking her own numbers.

They type, step, switch, sweep, leave in the middle and come again. The figures are printed at the end; the exit status
says whether it held: no error, no mixed-up number, steps in time, memory flat.
"""

import argparse
import asyncio
import json
import math
import random
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import torch

from playground.analysis import kl_divergence
from playground.gpt.ablation import Ablation
from playground.limits import DEFAULTS
from playground.models import Model, Models
from playground.runs import Request, read
from tests.scripted import Refused, Scripted

ROOT = Path(__file__).parents[1]
OPENINGS = ("Once upon a time, there was", "The little girl saw", "One day, a big dog found", "Tom and Anna wanted")
WHO = ("a fox", "a red ball", "an old tree", "a blue bird", "a small boat", "a kind king", "a cake", "a frog",
       "a tiny house", "the moon")  # fmt: skip
STEPS = 8  # tokens written between typing and switching
SWITCH = "attention.2"
PAUSE = (1.0, 3.0)  # seconds a person looks before she acts again
SWEEPS = 0.1  # share of the rounds in which somebody sweeps
LEAVES = 0.15  # share of the rounds in which somebody leaves while an answer is under way


@dataclass(frozen=True, slots=True)
class Right:
    """What a visitor must be shown, computed here by the slow obvious way: one whole reading for each token."""

    prompt: str
    labels: tuple[str, ...]
    probabilities: tuple[float, ...]
    kl: float  # at the last position, with SWITCH off


def right(model: Model, prompt: str) -> Right:
    made: list[int] = []
    labels, probabilities = [], []
    ids = model.tokenizer.encode(prompt)
    with torch.inference_mode():
        for _ in range(STEPS):
            logits = model.gpt(torch.tensor([[*ids, *made]]))[0, -1]
            made.append(int(logits.argmax()))
            labels.append(model.tokenizer.label(made[-1]))
            probabilities.append(float(logits.softmax(-1).max()))
    request = Request(model.name, prompt, tuple(made))
    off = replace(request, ablation=Ablation(attention=frozenset({2})))
    last = [read(model, each, DEFAULTS).trace.logits[-1:] for each in (request, off)]
    return Right(prompt, tuple(labels), tuple(probabilities), float(kl_divergence(*last)[0]))


@dataclass(slots=True)
class Told:
    """What the visitors saw, together."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))  # of each kind of action
    wrong: list[str] = field(default_factory=list)
    rounds: int = 0
    left: int = 0

    @contextmanager
    def timed(self, action: str) -> Iterator[None]:
        begun = time.monotonic()
        yield
        self.seconds[action].append(time.monotonic() - begun)

    def expect(self, shown: object, right: object, what: str) -> None:
        alike = math.isclose(shown, right, abs_tol=1e-5) if isinstance(right, float) else shown == right
        if not alike:
            self.wrong.append(f"{what}: {shown!r} instead of {right!r}")


async def live(http: httpx.AsyncClient, config: dict[str, Any], mine: Sequence[Right], luck: random.Random,
               until: float, told: Told) -> None:  # fmt: skip
    """One person after another at one desk: each opens the page, has a round or two and goes."""
    while time.monotonic() < until:
        visitor = Scripted(http, config)
        try:
            with told.timed("open"):
                await visitor.arrive()
            for expected in luck.sample(mine, k=2):
                if time.monotonic() < until and not await one_round(visitor, expected, luck, told):
                    told.left += 1
                    break
        except (Refused, TimeoutError, httpx.HTTPError) as error:
            told.wrong.append(f"{type(error).__name__}: {error}")
        finally:
            await visitor.leave()


async def one_round(visitor: Scripted, expected: Right, luck: random.Random, told: Told) -> bool:
    """Type, step, switch, perhaps sweep. False: she left in the middle of an answer."""
    visitor.fill("prompt", expected.prompt)
    with told.timed("type"):
        await visitor.fire("run", "click")
        await visitor.fire("player", "see_attention")
    view = visitor.shown("player")
    known, labels = view["start"] + len(view["labels"]), view["labels"]
    for step, (label, probability) in enumerate(zip(expected.labels, expected.probabilities, strict=True)):
        one_more = {"text": view["text"], "from": known + step, "count": 1}
        await asyncio.sleep(luck.uniform(*PAUSE))
        if luck.random() < LEAVES / STEPS:
            begun = asyncio.create_task(visitor.fire("player", "need_attention", one_more))
            await asyncio.sleep(0.05)
            begun.cancel()
            return False
        with told.timed("step"):
            await visitor.fire("player", "need_attention", one_more)
        grown = visitor.shown("player")
        told.expect(grown["labels"], [label], f"token {step} after {expected.prompt!r}")
        told.expect(grown["steps"][0]["chosen"][2], probability, f"its probability after {expected.prompt!r}")
    rows = visitor.shown("attention-map")["figure"]["data"][0]["z"]["shape"].split(",")[0]
    told.expect(int(rows), len(labels) + STEPS, f"rows of the map of {expected.prompt!r}")
    await asyncio.sleep(luck.uniform(*PAUSE))
    with told.timed("switch"):
        await visitor.fire("switches", "flip", {"off": [SWITCH]})
        await visitor.fire("player", "see_attention")
    told.expect(visitor.shown("player")["steps"][-1]["kl"], expected.kl, f"KL of {expected.prompt!r}")
    if luck.random() < SWEEPS:
        with told.timed("sweep"):
            await visitor.fire("sweep", "start", {"at": known - 1})
    await visitor.fire("switches", "flip", {"off": []})
    told.rounds += 1
    return True


async def crowd(url: str, visitors: int, seconds: float, seed: int = 0) -> Told:
    """`visitors` people at the page under `url` for so long."""
    model, told = Models().get("storyteller"), Told()
    prompts = [f"{opening} {who}" for opening in OPENINGS for who in WHO]
    rights = [right(model, prompt) for prompt in prompts]
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60, limits=limits) as http:
        config = (await http.get("/config")).json()
        until = time.monotonic() + seconds
        lucks = [random.Random(f"{seed} {visitor}") for visitor in range(visitors)]
        await asyncio.gather(*(live(http, config, rights, luck, until, told) for luck in lucks))
    return told


def resident(process: int) -> int:
    """Units: bytes of memory in use by a process."""
    status = Path(f"/proc/{process}/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


def summary(told: Told) -> dict[str, dict[str, float]]:
    """Units: seconds"""
    return {
        action: {
            "count": len(each),
            "median": statistics.median(each),
            "p95": sorted(each)[math.ceil(0.95 * len(each)) - 1],
            "most": max(each),
        }
        for action, each in told.seconds.items()
    }


async def watched(process: int, url: str, visitors: int, seconds: float) -> tuple[Told, list[int]]:
    """The crowd, and the server's memory every ten seconds meanwhile."""
    memory: list[int] = []

    async def watch() -> None:
        while True:
            memory.append(resident(process))
            await asyncio.sleep(10)

    watching = asyncio.create_task(watch())
    told = await crowd(url, visitors, seconds)
    watching.cancel()
    return told, [*memory, resident(process)]


def main() -> int:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--visitors", type=int, default=40)
    flags.add_argument("--minutes", type=float, default=10)
    flags.add_argument("--port", type=int, default=7999)
    given = flags.parse_args()
    torch.set_num_threads(1)  # the cores are the server's
    with served(given.port) as (process, url):
        told, memory = asyncio.run(watched(process, url, given.visitors, 60 * given.minutes))
    minute = memory[min(6, len(memory) - 1)]
    figures = {
        "rounds": told.rounds,
        "left in the middle": told.left,
        "wrong": told.wrong,
        "seconds": summary(told),
        "memory": {"after a minute": minute, "at the end": memory[-1], "most": max(memory)},
    }
    sys.stdout.write(json.dumps(figures, indent=2, ensure_ascii=False) + "\n")
    step = figures["seconds"]["step"]
    held = not told.wrong and step["median"] <= 1 and step["p95"] <= 3 and memory[-1] <= 1.15 * minute
    return 0 if held else 1


@contextmanager
def served(port: int, *flags: str) -> Iterator[tuple[int, str]]:
    """`python app.py`, as long as it is wanted."""
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen([sys.executable, "app.py", "--port", str(port), *flags], cwd=ROOT)
    try:
        while True:
            with suppress(httpx.TransportError):
                httpx.get(url, trust_env=False).raise_for_status()
                break
            if process.poll() is not None:
                raise SystemExit("the server did not start")
            time.sleep(0.2)
        yield process.pid, url
    finally:
        process.terminate()
        process.wait(20)


if __name__ == "__main__":
    sys.exit(main())
