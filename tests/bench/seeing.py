"""Seeing everything of one pass: the full trace against our own plain pass and against those of others."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from playground.gpt.model import GPTModel

from .alone import alone
from .clock import Work, extra_peak, interleaved
from .generation import milliseconds
from .how import How
from .peers import Peer, prompt, random_model, ready
from .rows import Row, Target, at_most, compared, not_measured

# What both keep: attention weights, the stream where each block reads it, LayerNorms.
SAME = ("attn.hook_pattern", "ln1.hook_in", "ln1.hook_out", "ln2.hook_in", "ln2.hook_out", "ln_final.hook_in",
        "ln_final.hook_out")  # fmt: skip
SHORT = 512  # tokens; up to so many a text is short and seeing it should cost next to nothing
MEMORY = at_most(0.5)
Pass = Callable[[Tensor], object]


def against_plain(tokens: int) -> Target:
    return at_most(1.05) if tokens <= SHORT else at_most(1.4)


def against_lens(tokens: int, everything: bool) -> Target | None:
    if tokens <= SHORT:
        return None if everything else at_most(0.75)
    return at_most(0.6) if everything else None


def own_passes(gpt: GPTModel) -> dict[str, Pass]:
    return {"plain": gpt, "trace": gpt.trace}


def lens_passes(peer: Peer) -> dict[str, Pass]:
    """Everything it has, and only the tensors that most tools keep."""
    return {
        "TransformerLens, all": lambda ids: cached(peer, ids),
        "TransformerLens, same tensors": lambda ids: cached(peer, ids, names_filter=lambda name: name.endswith(SAME)),
    }


def cached(peer: Peer, ids: Tensor, **kept: object) -> object:
    logits, cache = peer.model.run_with_cache(ids, **kept)
    return logits, dict(cache.items())


def seen_by_transformers(peer: Peer) -> Pass:
    return lambda ids: peer.model(ids, use_cache=False, output_attentions=True, output_hidden_states=True)


def measure(how: How) -> list[Row]:
    gpt = random_model(how.config)
    found, missing = ready(gpt, ["transformer_lens", "transformers"])
    passes = own_passes(gpt)
    if "transformer_lens" in found:
        passes |= lens_passes(found["transformer_lens"])
    if "transformers" in found:
        passes["transformers, no attention kept"] = found["transformers"].logits
    rows = []
    for tokens in how.lengths:
        ids = torch.tensor([prompt(how.config, tokens)])
        seconds = interleaved({name: seen(each, ids) for name, each in passes.items()}, how.rounds)
        took = {name: milliseconds(each) for name, each in seconds.items()}
        what = f"trace of {tokens} tokens"
        rows.append(compared(what, "ms", took["trace"], took["plain"], "our plain pass", against_plain(tokens)))
        for everything, name in ((True, "TransformerLens, all"), (False, "TransformerLens, same tensors")):
            target = against_lens(tokens, everything)
            if name in took:
                rows.append(compared(what, "ms", took["trace"], took[name], name, target))
            else:
                rows.append(not_measured(what, "ms", name, target, missing["transformer_lens"]))
        if (name := "transformers, no attention kept") in took:
            rows.append(compared(f"plain pass over {tokens} tokens", "ms", took["plain"], took[name], name))
    return [*rows, *memory(how)]


def seen(each: Pass, ids: Tensor) -> Work:
    def work() -> object:
        with torch.inference_mode():
            return each(ids)

    return work


def memory(how: How) -> list[Row]:
    """The most that each needs besides its weights, one process for each."""
    rows = []
    for tokens in how.lengths:
        ours, theirs = (alone("seeing", how, tokens=tokens, whose=whose) for whose in ("ours", "theirs"))
        name, against = f"extra memory of a trace of {tokens} tokens", "TransformerLens, all"
        why = ours.get("why") or theirs.get("why")
        if why:
            rows.append(not_measured(name, "MB", against, MEMORY, why))
        else:
            rows.append(compared(name, "MB", ours["megabytes"], theirs["megabytes"], against, MEMORY))
    return rows


def measured_alone(how: How, tokens: int, whose: str) -> dict[str, object]:
    gpt = random_model(how.config)
    if whose == "ours":
        work: Pass = gpt.trace
    else:
        found, missing = ready(gpt, ["transformer_lens"])
        if missing:
            return {"why": missing["transformer_lens"]}
        work = partial(cached, found["transformer_lens"])
    once = seen(work, torch.tensor([prompt(how.config, 16)]))
    once()  # what the first pass of a process needs once is no part of it
    ids = torch.tensor([prompt(how.config, tokens)])
    return {"megabytes": [extra_peak(seen(work, ids)) for _ in range(min(3, how.rounds))]}
