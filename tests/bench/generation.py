"""Writing a text: tokens a second against transformers, and against what the memory can deliver."""

from functools import partial

import torch

from playground.gpt.generate import generate
from playground.gpt.model import GPTModel

from .alone import alone
from .clock import interleaved, timed
from .how import How
from .peers import prompt, random_model, ready
from .rows import Row, at_least, at_most, compared, not_measured, rates
from .same import WRITERS

FASTER, NO_LATER, BANDWIDTH = at_least(1.2), at_most(1.0), at_least(0.85)


def write(gpt: GPTModel, ids: list[int], new: int) -> list[int]:
    return [step.token for step in generate(gpt, ids, new)]


def measure(how: How) -> list[Row]:
    gpt = random_model(how.config)
    found, missing = ready(gpt, list(WRITERS))
    rows = []
    for tokens in how.prompts:
        ids = prompt(how.config, tokens)
        writers = {"ours": partial(write, gpt), **{name: WRITERS[name](peer) for name, peer in found.items()}}
        works = {name: partial(each, ids, how.new) for name, each in writers.items()}
        whole = interleaved(works, how.rounds, warm=0)
        first = interleaved({name: partial(each, ids, 1) for name, each in writers.items()}, how.rounds, warm=0)
        what, begun = f"{how.new} tokens after {tokens}", f"first token after {tokens}"
        for name in WRITERS:
            speed, late = (FASTER, NO_LATER) if name == "transformers" else (None, None)
            if name in missing:
                rows.append(not_measured(what, "tokens/s", name, speed, missing[name]))
                rows.append(not_measured(begun, "ms", name, late, missing[name]))
                continue
            pair = [rates(whole[each], how.new) for each in ("ours", name)]
            rows.append(compared(what, "tokens/s", *pair, name, speed))
            pair = [milliseconds(first[each]) for each in ("ours", name)]
            rows.append(compared(begun, "ms", *pair, name, late))
    return [*rows, *memory_bound(how)]


def milliseconds(seconds: list[float]) -> list[float]:
    return [1e3 * each for each in seconds]


def memory_bound(how: How) -> list[Row]:
    """A process of its own, in which nothing but ours is held."""
    told = alone("generation", how)
    name, against = "decoding, alone in its process", "one matrix-vector product over as many bytes"
    if "why" in told:
        return [not_measured(name, "tokens/s", against, BANDWIDTH, told["why"])]
    ours, bound = told["ours"], told["bound"]
    return [compared(f"{name} ({told['megabytes']:.0f} MB a token)", "tokens/s", ours, bound, against, BANDWIDTH)]


def measured_alone(how: How) -> dict[str, object]:
    """Tokens a second once the prompt is read, and matrix-vector products a second of the size of all weights."""
    gpt = random_model(how.config)
    C, ids = how.config.emb_dim, prompt(how.config, how.prompts[0])
    read = how.config.n_parameters - how.config.context_length * C  # of the position table only a row
    matrix, vector = torch.rand(read // C, C), torch.rand(C)

    def decode() -> float:
        steps = generate(gpt, ids, how.new + 1)
        next(steps)
        return timed(lambda: [step.token for step in steps]).seconds

    seconds: dict[str, list[float]] = {"ours": [], "bound": []}
    for turn in range(-1, how.rounds):
        made, bound = decode() / how.new, [timed(partial(torch.mv, matrix, vector)).seconds for _ in range(5)]
        if turn >= 0:
            seconds["ours"].append(made)
            seconds["bound"] += bound
    return {name: rates(each, 1) for name, each in seconds.items()} | {"megabytes": 4 * read / 1e6}
