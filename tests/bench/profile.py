"""Where the time of one thing goes: `python -m tests.bench --profile NAME`."""

import cProfile
import io
import pstats
from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile

from playground.analysis.lens import logit_lens
from playground.gpt.ablation import NOTHING_OFF

from .clock import Work
from .generation import write
from .how import How
from .peers import prompt, random_model
from .sweep import heads, sublayers, together

LINES = 25


def prepared(name: str, how: How) -> Work:
    """The work called `name`, ready to run."""
    gpt = random_model(how.config)
    short, long = (prompt(how.config, tokens) for tokens in (how.prompts[0], how.lengths[0]))
    text, swept = torch.tensor([long]), torch.tensor([prompt(how.config, how.swept)])
    trace = gpt.trace(text).row(0)
    works: dict[str, Work] = {
        "generation": lambda: write(gpt, short, how.new),
        "plain": lambda: gpt(text),
        "trace": lambda: gpt.trace(text),
        "lens": lambda: logit_lens(gpt, long, NOTHING_OFF, trace),
        "sweep": lambda: together(gpt, swept, sublayers(gpt)),
        "heads": lambda: together(gpt, swept, heads(gpt)),
    }
    return works[name]


NAMES = ("generation", "plain", "trace", "lens", "sweep", "heads")


def profiled(name: str, how: How) -> str:
    """First by PyTorch's operations, then by functions of Python."""
    with torch.inference_mode():
        work = prepared(name, how)
        work()
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as seen:
            work()
        operations = seen.key_averages(group_by_input_shape=True).table("self_cpu_time_total", row_limit=LINES,
                                                                       max_name_column_width=40)  # fmt: skip
        return f"{operations}\n{functions(work)}"


def functions(work: Callable[[], object]) -> str:
    calls = cProfile.Profile()
    calls.runcall(work)
    told = io.StringIO()
    pstats.Stats(calls, stream=told).strip_dirs().sort_stats("tottime").print_stats(LINES)
    return told.getvalue()
