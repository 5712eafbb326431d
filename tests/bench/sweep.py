"""The ablation sweep: every sublayer and every head off alone, against one whole pass for each."""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from playground.analysis.sweep import answers, parts
from playground.gpt.ablation import Ablation
from playground.gpt.model import GPTModel

from .clock import interleaved
from .how import How
from .peers import Peer, prompt, random_model, ready
from .rows import Row, at_least, at_most, compared, limited, not_measured, rates

OWN_PASSES, HOOKS, SAME = at_least(3.5), at_least(5), at_most(1e-5)
UNIT = "parts/s"


def sublayers(model: GPTModel) -> list[Ablation]:
    return [ablation for row in parts(model.config) for ablation in row[:2]]


def heads(model: GPTModel) -> list[Ablation]:
    return [ablation for row in parts(model.config) for ablation in row[2:]]


def one_by_one(model: GPTModel, ids: Tensor, off: Sequence[Ablation]) -> Tensor:
    """The slow obvious way: a whole pass for each; the logits after the last token. Shapes: (N, V)"""
    return torch.stack([model(ids, ablation)[0, -1] for ablation in off])


def together(model: GPTModel, ids: Tensor, off: Sequence[Ablation]) -> Tensor:
    """As the page measures them, its traced pass included. Shapes: (N, V)"""
    trace = model.trace(ids).row(0)
    pieces = answers(model, trace, ids.size(1) - 1, off)
    return torch.stack([logits for piece in pieces for _, logits in piece])


def by_hooks(peer: Peer, ids: Tensor, layers: int) -> Tensor:
    """TransformerLens, sublayer after sublayer. Shapes: (2L, V)"""
    names = [f"blocks.{layer}.{part}" for layer in range(layers) for part in ("hook_attn_out", "hook_mlp_out")]
    passes = (peer.model.run_with_hooks(ids, fwd_hooks=[(name, zeroed)]) for name in names)
    return torch.stack([logits[0, -1] for logits in passes])


def zeroed(value: Tensor, hook: object) -> Tensor:
    return torch.zeros_like(value)


def measure(how: How) -> list[Row]:
    gpt = random_model(how.config)
    ids = torch.tensor([prompt(how.config, how.swept)])
    found, missing = ready(gpt, ["transformer_lens"])
    rows = []
    for kind, off in (("sublayers", sublayers(gpt)), ("heads", heads(gpt))):
        works = {"ours": partial(together, gpt, ids, off), "passes": partial(one_by_one, gpt, ids, off)}
        if kind == "sublayers" and found:
            works["hooks"] = partial(by_hooks, found["transformer_lens"], ids, how.config.n_layers)
        with torch.inference_mode():
            whole = works["passes"]()
            apart = {name: float((work() - whole).abs().max()) for name, work in works.items() if name != "passes"}
            seconds = interleaved(works, max(2, how.rounds // 2) if kind == "heads" else how.rounds, warm=0)
        speeds = {name: rates(each, len(off)) for name, each in seconds.items()}
        what = f"{len(off)} {kind} off, {how.swept} tokens"
        rows.append(compared(what, UNIT, speeds["ours"], speeds["passes"], "a pass for each", OWN_PASSES))
        rows.append(limited(f"{what}: logits apart", "largest difference", [apart["ours"]], SAME))
        if "hooks" in speeds:
            rows.append(compared(what, UNIT, speeds["ours"], speeds["hooks"], "TransformerLens's hooks", HOOKS))
        elif kind == "sublayers":
            rows.append(not_measured(what, UNIT, "TransformerLens's hooks", HOOKS, missing["transformer_lens"]))
    return rows
