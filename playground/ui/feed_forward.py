"""The feed-forward tab: the neurons of one layer for the selected token."""

from typing import Any

import gradio as gr
import numpy as np
import torch
from torch import Tensor

from playground.analysis.neurons import gelu_curve, promoted, share_on, strongest, written_norms
from playground.figures import feed_forward as pictures
from playground.figures.numbers import brief
from playground.gpt.model import FeedForward
from playground.gpt.trace import FeedForwardTrace
from playground.runs import Run
from playground.text import say, sentences

from .components import figure, neurons
from .html import Picture
from .wiring import Look, Part, Wiring, explanation, layers

TAB = "feed_forward"
STRONGEST = 8
PROMOTED = 6
BINS = 60
CURVE_WORDS = ("hidden", "active", "neuron", "neurons", "strongest", "curve", "count")
MOST_WORK = 4 * 10**9  # FLOPs of reading the neurons of every position; beyond, only those of the one asked for


def chosen(look: Look, layer: int) -> tuple[int, FeedForward, FeedForwardTrace]:
    layer = min(layer, look.run.model.config.n_layers - 1)
    return layer, look.run.model.gpt.blocks[layer].feed_forward, look.run.trace.blocks[layer].feed_forward


def unused(look: Look, layer: int) -> str | None:
    """The name of the sentence about a layer that is switched off."""
    ablation = look.request.ablation
    return ("off_mean" if ablation.mean else "off") if layer in ablation.feed_forward else None


def tail(look: Look, layer: int) -> str:
    """What a note adds when the layer is switched off."""
    how = unused(look, layer)
    return say(look.lang, f"feed_forward.{how}") if how else ""


def draw_curve(look: Look, layer: int) -> Picture:
    layer, module, seen = chosen(look, layer)
    best = strongest(written_norms(module, seen.active), STRONGEST)
    low, high = (float(bound) for bound in seen.hidden.aminmax())
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    counts = np.stack([np.histogram(row, edges)[0] for row in seen.hidden.numpy()])
    words = pictures.CurveWords(
        title=say(look.lang, "feed_forward.curve_title", layer=layer),
        **{name: say(look.lang, f"feed_forward.{name}") for name in CURVE_WORDS},
    )
    x, y = gelu_curve(low, high)
    values, curve = (seen.hidden.numpy(), seen.active.numpy()), (x.numpy(), y.numpy())
    drawn = pictures.gelu_points(*values, curve, (edges, counts), best.numpy(), words, look.position)
    shares, highest = share_on(seen.hidden).tolist(), seen.hidden.max(-1)
    notes = [
        say(
            look.lang, "feed_forward.curve_note", token=token, neurons=seen.hidden.size(-1), share=f"{shares[i]:.1%}",
            neuron=highest.indices[i].item(), hidden=brief(highest.values[i], 4),
        )
        for i, token in enumerate(look.run.labels)
    ]  # fmt: skip
    return Picture(drawn, [sentences(look.lang, note, tail(look, layer)) for note in notes])


def draw_share(look: Look, layer: int) -> Picture:
    layer, _, _ = chosen(look, layer)
    shares = torch.stack([share_on(block.feed_forward.hidden) for block in look.run.trace.blocks], dim=-1)  # (T, L)
    names = [say(look.lang, "feed_forward.short_layer", layer=i) for i in range(shares.size(1))]
    words = pictures.ShareWords(
        **{name: say(look.lang, f"feed_forward.{name}") for name in ("layer", "share", "here", "mean")},
        title=say(look.lang, "feed_forward.share_title"),
    )
    drawn = pictures.share_on(shares.numpy(), names, layer, words, look.position)
    most, least = shares.max(-1), shares.min(-1)
    notes = [
        say(
            look.lang, "feed_forward.share_note", token=token,
            most=names[most.indices[i]], high=f"{most.values[i]:.1%}",
            least=names[least.indices[i]], low=f"{least.values[i]:.1%}",
        )
        for i, token in enumerate(look.run.labels)
    ]  # fmt: skip
    return Picture(drawn, notes)


def draw_neurons(look: Look, layer: int) -> dict[str, Any]:
    """The strongest neurons of every position, or of the one asked for where all would take too long."""
    layer, module, seen = chosen(look, layer)
    config, tokens = look.run.model.config, len(seen.hidden)
    work = 2 * tokens * STRONGEST * config.emb_dim * config.vocab_size
    first, last = (0, tokens) if work <= MOST_WORK else (look.position, look.position + 1)
    hidden, active = seen.hidden[first:last], seen.active[first:last]
    written = written_norms(module, active)
    best = strongest(written, STRONGEST)
    table = look.run.model.gpt.token_embedding.weight
    favoured = promoted(module, active, best, table, PROMOTED)
    columns: list[Tensor] = [best, hidden.gather(-1, best), active.gather(-1, best), written.gather(-1, best)]
    label = look.run.model.tokenizer.label
    rows = [
        [
            {"neuron": n, "hidden": h, "active": a, "written": w, "promoted": list(zip(map(label, t), v, strict=True))}
            for n, h, a, w, t, v in zip(*row, strict=True)
        ]
        for row in zip(*(column.tolist() for column in (*columns, favoured.ids, favoured.logits)), strict=True)
    ]
    return {
        "layer": layer,
        "first": look.run.start + first,
        "tokens": look.run.labels[first:last],
        "off": unused(look, layer),
        "rows": rows,
    }


def build(wiring: Wiring, _: Run) -> Part:
    tab: gr.Tab = wiring.worded(gr.Tab(id=TAB, elem_id="tab-feed-forward"), "feed_forward.tab")
    with tab:
        layer = wiring.fitted(
            gr.Radio([("0", 0)], value=0, elem_id="ff-layer", elem_classes="choices"), layers("feed_forward.which")
        )
        with gr.Row(elem_classes="beside"):
            with gr.Column(scale=3, min_width=300):
                curve = figure("gelu-points")
            with gr.Column(scale=2, min_width=280):
                share = figure("neurons-on")
                explanation(wiring, "feed_forward.help")
        table = neurons()
        explanation(wiring, "feed_forward.reading")
    wiring.show(TAB, draw_curve, curve, [layer])
    wiring.show(TAB, draw_share, share, [layer])
    wiring.show(TAB, draw_neurons, table, [layer])
    return Part(tab, {}, reset=[layer])
