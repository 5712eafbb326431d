"""The logit lens: one position at every place of the stream, and the whole grid against passes over the text."""

import torch

from playground.analysis.lens import Lens, logit_lens, place_lenses, position_lens
from playground.gpt.ablation import NOTHING_OFF

from .clock import interleaved
from .generation import milliseconds
from .how import How
from .peers import prompt, random_model
from .rows import Row, at_most, compared, limited

SELECTED, WHOLE = at_most(50), at_most(4)  # ms; passes


def measure(how: How) -> list[Row]:
    gpt = random_model(how.config)
    ids = prompt(how.config, how.lens)
    with torch.inference_mode():
        trace = gpt.trace(torch.tensor([ids])).row(0)

    def coarse() -> list[Lens]:
        """What enters the blocks and what leaves the last one: L + 1 rows."""
        found: list[Lens] = []
        growing = place_lenses(gpt, ids, NOTHING_OFF, trace)
        while sum(len(each.places) for each in found) <= how.config.n_layers:
            found.append(next(growing))
        return found

    works = {
        "layers": coarse,
        "pass": lambda: gpt(torch.tensor([ids])),
        "whole": lambda: logit_lens(gpt, ids, NOTHING_OFF, trace),
        "selected": lambda: position_lens(gpt, ids, NOTHING_OFF, trace, how.lens // 2),
    }
    with torch.inference_mode():
        seconds = {name: milliseconds(each) for name, each in interleaved(works, how.rounds).items()}
    return [
        limited(f"lens of one of {how.lens} positions", "ms", seconds["selected"], SELECTED),
        compared(
            f"lens of all {how.lens} positions, after every block",
            "ms",
            seconds["layers"],
            seconds["pass"],
            "our plain pass",
            WHOLE,
        ),
        compared(
            f"lens of all {how.lens} positions, after every sublayer",
            "ms",
            seconds["whole"],
            seconds["pass"],
            "our plain pass",
        ),
    ]
