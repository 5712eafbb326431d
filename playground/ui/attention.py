"""The attention tab: one head large, all heads of the layer small; unfolded, measured and compared in ui/heads.py."""

import base64
from typing import Any

import gradio as gr
import torch

from playground.analysis import head_scores
from playground.analysis.heads import entropy, forbidden, hide_first
from playground.figures.attention import AttentionWords, attention_map
from playground.figures.numbers import fixed
from playground.runs import Run
from playground.text import say, sentences

from . import checks, heads
from .components import edges, figure, measures, overview, thumbs
from .heads import Seen, see
from .html import Picture
from .intake import said
from .session import Session
from .wiring import Look, Part, Wiring, explanation, layers

TAB = "attention"
COUNTS = {"layer": lambda model: model.config.n_layers, "head": lambda model: model.config.n_heads + 1}


def draw_head(look: Look, layer: int, head: int, hide: bool) -> Picture:
    seen, labels = see(look, layer, head), look.run.labels
    key = "attention.title_mean" if seen.is_mean else "attention.title"
    title = say(look.lang, key, layer=seen.layer, head=seen.head)
    words = AttentionWords(
        title=say(look.lang, "attention.hidden", title=title) if hide else title,
        query=say(look.lang, "attention.query"),
        key=say(look.lang, "attention.key"),
        weight=say(look.lang, "attention.weight"),
    )
    weights = hide_first(seen.weights) if hide else seen.weights
    off = look.request.ablation
    crosses = [] if seen.is_mean else forbidden(off, seen.layer, seen.head, len(labels))
    switch = None if seen.is_mean else f"edge.{seen.layer}.{seen.head}.{{y}}.{{x}}"
    drawn = attention_map(weights.numpy(), labels, words, len(labels) - 1, crosses, switch, not off.causal_mask)
    return Picture(drawn, notes_hidden(look, weights) if hide else notes(look, seen))


def notes(look: Look, seen: Seen) -> list[str]:
    """For every position, in one sentence, where it looks most and what the head is like."""
    labels, scores, off = look.run.labels, head_scores(seen.weights[None]), look.request.ablation
    unused = seen.layer in off.attention or (seen.layer, seen.head) in off.heads
    tail = say(look.lang, "attention.off_mean" if off.mean else "attention.off") if unused else ""
    shares = {"previous": f"{scores.previous[0]:.2f}", "first": f"{scores.first[0]:.2f}"}
    best, spread = seen.weights.max(-1), entropy(seen.weights)
    found = [
        say(
            look.lang, "attention.most", query=label, at=look.run.start + i, key=labels[best.indices[i]],
            weight=fixed(best.values[i]), entropy=fixed(spread[i]), **shares,
        )
        for i, label in enumerate(labels)
    ]  # fmt: skip
    return [sentences(look.lang, note, tail) for note in found]


def notes_hidden(look: Look, weights: torch.Tensor) -> list[str]:
    """The same without the first token. Shapes: weights (T, T), NaN where there is nothing to show"""
    labels, best = look.run.labels, weights.nan_to_num(-1).max(-1)
    return [
        say(look.lang, "attention.nothing_left", query=label, at=look.run.start + i)
        if best.values[i] < 0
        else say(
            look.lang, "attention.most_hidden", query=label, at=look.run.start + i, key=labels[best.indices[i]],
            weight=fixed(best.values[i]),
        )
        for i, label in enumerate(labels)
    ]  # fmt: skip


def draw_thumbs(look: Look, layer: int, head: int) -> dict[str, Any]:
    seen, off = see(look, layer, head), look.request.ablation
    weights = torch.cat([seen.heads, seen.heads.mean(0, keepdim=True)])
    scores = head_scores(weights)
    named = [(name, getattr(scores, name).tolist()) for name in ("previous", "first", "itself")]
    kinds = [max((shares[h], name) for name, shares in named) for h in range(len(weights))]
    return {
        "layer": seen.layer,
        "head": seen.head,
        "heads": len(seen.heads),
        "tokens": weights.size(-1),
        "masked": not off.causal_mask,
        "off": list(range(len(seen.heads))) if seen.layer in off.attention else off.heads_off(seen.layer),
        "kinds": [[name, share] for share, name in kinds],
        "cells": base64.b64encode((weights * 255).round().to(torch.uint8).numpy().tobytes()).decode(),
    }


def most_telling(run: Run) -> tuple[int, int]:
    """The (layer, head) to open on: the one that puts most of its weight on the previous token."""
    shares = torch.stack([head_scores(block.attention.weights).previous for block in run.trace.blocks])
    layer, head = divmod(int(shares.argmax()), shares.size(1))
    return layer, head


def build(wiring: Wiring, first: Run) -> Part:
    first_layer, first_head = most_telling(first)
    tab: gr.Tab = wiring.worded(gr.Tab(id=TAB, elem_id="tab-attention"), "attention.tab")
    with tab:
        head = gr.State(first_head)
        with gr.Row(elem_classes="beside"):
            radio = gr.Radio(
                layers("attention.layer")(first.model, "en")["choices"], value=first_layer, elem_id="layer"
            )
            layer = wiring.fitted(radio, layers("attention.layer"))
            box = gr.Checkbox(False, container=False, elem_id="hide-first")
            hide = wiring.worded(box, "attention.hide_first")
        with gr.Row(elem_classes="beside"):
            with gr.Column(scale=3, min_width=300):
                large = figure("attention-map")
            with gr.Column(scale=1, min_width=180):
                small = thumbs()
        with wiring.section("unfold.section", "unfold") as unfolding:
            may_look, stages = edges(), figure("unfolded")
        with wiring.section("measures.section", "heads-in-numbers") as measuring:
            numbers = measures()
        with wiring.section("overview.section", "all-heads") as comparing:
            every = overview()
        explanation(wiring, "attention.help")
    wiring.show(TAB, draw_head, large, [layer, head, hide])
    wiring.show(TAB, draw_thumbs, small, [layer, head])
    wiring.show(TAB, heads.draw_edges, may_look, [layer, head, unfolding])
    wiring.show(TAB, heads.draw_stages, stages, [layer, head, unfolding])
    wiring.show(TAB, heads.draw_measures, numbers, [layer, head, measuring])
    wiring.show(TAB, heads.draw_overview, every, [layer, head, comparing])

    def pick(event: gr.EventData, session: Session) -> list[int]:
        return picked(event, session, wiring, "head")

    def pick_both(event: gr.EventData, session: Session) -> list[int]:
        return picked(event, session, wiring, "layer", "head")

    wiring.on([small.pick, numbers.pick], pick, [wiring.session], [head], asked=False, trigger_mode="multiple")
    wiring.on([every.pick], pick_both, [wiring.session], [layer, head], asked=False, trigger_mode="multiple")
    return Part(tab, {"layer": (layer, COUNTS["layer"]), "head": (head, COUNTS["head"])}, most_telling)


def picked(event: gr.EventData, session: Session, wiring: Wiring, *names: str) -> list[int]:
    """The layer or head that was clicked, "mean" being one more than the last. Raises: NotANumber, OutOfRange"""
    counts = {name: count(wiring.runs.model(session.request.model)) for name, count in COUNTS.items()}
    clicked = {name: said(event, name) for name in names}
    return [counts[name] - 1 if at == "mean" else checks.index(name, at, counts[name]) for name, at in clicked.items()]
