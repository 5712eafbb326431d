"""How figures grow with the length of the text, the size of the model and the number of visitors; where they bend."""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from playground.analysis.lens import position_lens
from playground.gpt.ablation import NOTHING_OFF
from playground.gpt.config import PRESETS, GPTConfig
from playground.gpt.generate import generate
from playground.gpt.model import GPTModel
from tests.load import crowd

from .alone import alone
from .clock import in_status, interleaved
from .generation import milliseconds
from .how import How
from .peers import prompt, random_model
from .rows import Row, not_measured, told
from .start import app, running
from .visit import free_port

LENGTHS = (16, 32, 64, 128, 256, 512, 1024)
SIZES = ("storyteller", "gpt2", "gpt2-medium")
CALLED = {"storyteller": "storyteller", "gpt2": "124M", "gpt2-medium": "355M"}
VISITORS = (1, 4, 16)
CROWD_SECONDS = 40
STEEPER = 0.35  # by so much more the curve must rise, on logarithmic axes, to be called bent


def bend(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """The first place after which a curve rises markedly more steeply than before, on logarithmic axes."""
    slopes = [math.log(ys[i + 1] / ys[i]) / math.log(xs[i + 1] / xs[i]) for i in range(len(xs) - 1)]
    return next((xs[i + 1] for i in range(len(slopes) - 1) if slopes[i + 1] - slopes[i] > STEEPER), None)


def curve(name: str, unit: str, by: str, points: Sequence[tuple[int, list[float]]]) -> list[Row]:
    """A row for each point, and one that says where the curve bends, if it does."""
    rows = [told(f"{name} at {x:,} {by}", unit, values) for x, values in points]
    found = bend([x for x, _ in points], [row.ours for row in rows if row.ours])
    return [*rows, *([told(f"{name} bends", by, [found])] if found else [])]


def works(gpt: GPTModel, tokens: int) -> dict[str, Callable[[], object]]:
    """A traced pass, eight tokens written after the text, and the lens of one position."""
    ids = prompt(gpt.config, tokens)
    trace = gpt.trace(torch.tensor([ids])).row(0)
    return {
        "trace": lambda: gpt.trace(torch.tensor([ids])),
        "eight tokens after it": lambda: [
            step.token for step in generate(gpt, ids[: gpt.config.context_length - 8], 8)
        ],
        "lens of one position": lambda: position_lens(gpt, ids, NOTHING_OFF, trace, tokens - 1),
    }


def by_length(how: How, config: GPTConfig, called: str, lengths: Sequence[int]) -> list[Row]:
    gpt = random_model(replace(config, end_of_text=None))
    found: dict[str, list[tuple[int, list[float]]]] = {}
    for tokens in lengths:
        with torch.inference_mode():
            seconds = interleaved(works(gpt, tokens), how.rounds)
        for name, values in seconds.items():
            found.setdefault(name, []).append((tokens, milliseconds(values)))
    return [row for name, points in found.items() for row in curve(f"{called}: {name}", "ms", "tokens", points)]


def by_visitors(how: How) -> list[Row]:
    """Scripted people at the page, who step, switch and now and then sweep.

    In a process of their own: nnsight, once imported, puts a `save` on every object, which breaks imports of others.
    """
    seen = {visitors: alone("growth", how, visitors=visitors) for visitors in VISITORS}
    if why := next((each["why"] for each in seen.values() if "why" in each), None):
        return [not_measured("storyteller: visitors", "", "", None, why)]
    steps, memory = ([(visitors, each[name]) for visitors, each in seen.items()] for name in ("steps", "memory"))
    return [*curve("storyteller: a step", "ms", "visitors", steps), *curve("server's memory", "MB", "visitors", memory)]


def measured_alone(_: How, visitors: int) -> dict[str, list[float]]:
    """What so many visitors wait for a step and take of memory. Units: ms, MB"""
    port = free_port()
    with running(app(port), port) as server:
        seen = asyncio.run(crowd(f"http://127.0.0.1:{port}", visitors, CROWD_SECONDS))
        return {"steps": milliseconds(seen.seconds["step"]), "memory": [in_status("VmRSS", server) / 1e6]}


def measure(how: How) -> list[Row]:
    rows = []
    for name in SIZES:
        config = PRESETS[name]
        rows += by_length(how, config, CALLED[name], [each for each in LENGTHS if each <= config.context_length])
    return [*rows, *by_visitors(how)]
