"""The model tab: the network as a drawing with this run's shapes and costs, the code behind it, and the known sizes."""

from typing import Any

import gradio as gr

from playground.gpt.ablation import Ablation
from playground.gpt.config import PRESETS, GPTConfig, forward_flops
from playground.gpt.costs import Part as Box
from playground.gpt.costs import cache_bytes_per_token, parts
from playground.models import Model
from playground.runs import Run
from playground.text import say

from .components import architecture
from .wiring import Look, Part, Wiring, explanation

TAB = "model"
COMPARED = ("storyteller", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")


def draw(look: Look) -> dict[str, Any]:
    """What the drawing needs to say the numbers of every position: all counts grow as new · (each + pair · seen)."""
    model, config = look.run.model, look.run.model.config
    return {
        "start": look.run.start,
        "tokens": len(look.run.ids) - look.run.start,
        "sizes": sizes(config),
        "context": config.context_length,
        "parts": [box(part) for part in parts(config)],
        "cache": cache_bytes_per_token(config),
        "off": switched(look.request.ablation, look.lang),
        "models": compared(model),
    }


def sizes(config: GPTConfig) -> dict[str, int]:
    """The letters of the axes that do not depend on the text."""
    return {
        "B": 1,
        "C": config.emb_dim,
        "H": config.n_heads,
        "D": config.head_dim,
        "F": config.hidden_dim,
        "V": config.vocab_size,
        "L": config.n_layers,
    }


def box(part: Box) -> dict[str, Any]:
    return {
        "name": part.name,
        "axes": part.axes.split(),
        "parameters": part.parameters,
        "flops": [part.flops.each, part.flops.pair],
        "values": [part.values.each, part.values.pair],
        "repeated": part.repeated,
    }


def switched(ablation: Ablation, lang: str) -> dict[str, str]:
    """For every box that something is off in, the sentence that says so."""
    found, how = {}, "_mean" if ablation.mean else ""
    for name, layers in (("out", ablation.attention), ("narrow", ablation.feed_forward)):
        if layers:
            found[name] = say(lang, f"architecture.off_layers{how}", layers=", ".join(map(str, sorted(layers))))
    if ablation.heads:
        heads = ", ".join(f"{layer}.{head}" for layer, head in sorted(ablation.heads))
        found["mixed"] = say(lang, f"architecture.off_heads{how}", heads=heads)
    if ablation.positions:
        found["position_embedding"] = say(lang, "architecture.off_positions")
    if ablation.scaling:
        found["scores"] = say(lang, "architecture.off_scaling")
    if ablation.causal_mask:
        found["weights"] = say(lang, "architecture.off_causal_mask")
    if ablation.norms:
        found |= dict.fromkeys(("norm_1", "norm_2", "final_norm"), say(lang, "architecture.off_norms"))
    if ablation.residuals:
        found |= dict.fromkeys(("middle", "after"), say(lang, "architecture.off_residuals"))
    return found


def compared(model: Model) -> list[dict[str, Any]]:
    """The running model first, then the known sizes it is not."""
    rows = [(model.name, model.config), *((name, PRESETS[name]) for name in COMPARED if name != model.name)]
    return [{"name": name, "running": name == model.name, **facts(config)} for name, config in rows]


def facts(config: GPTConfig) -> dict[str, int]:
    return {
        "layers": config.n_layers,
        "heads": config.n_heads,
        "width": config.emb_dim,
        "context": config.context_length,
        "vocabulary": config.vocab_size,
        "parameters": config.n_parameters,
        "untied": config.n_parameters_untied,
        "bytes": config.weight_bytes,
        "cache": cache_bytes_per_token(config),
        "flops_first": forward_flops(config, new=1).total,
        "flops_last": forward_flops(config, new=1, past=config.context_length - 1).total,
    }


def build(wiring: Wiring, _: Run) -> Part:
    tab: gr.Tab = wiring.worded(gr.Tab(id=TAB, elem_id="tab-model"), "architecture.tab")
    with tab:
        explanation(wiring, "architecture.prenorm")
        drawing = architecture()
    wiring.show(TAB, draw, drawing)
    return Part(tab, {})
