"""The attention tab: one head large, all heads of the layer small."""

import base64
from typing import Any

import gradio as gr
import torch

from playground.analysis import head_scores
from playground.figures.attention import AttentionWords, attention_map
from playground.models import Model
from playground.runs import Run
from playground.text import labels, say

from .components import figure, thumbs
from .html import Picture
from .wiring import Look, Part, Wiring, explanation

TAB = "attention"


def draw_head(look: Look, layer: int, head: int) -> Picture:
    blocks, labels = look.run.trace.blocks, look.run.labels
    layer, head = min(layer, len(blocks) - 1), min(head, look.run.model.config.n_heads - 1)
    weights = blocks[layer].attention.weights[head]
    words = AttentionWords(
        title=say(look.lang, "attention.title", layer=layer, head=head),
        query=say(look.lang, "attention.query"),
        key=say(look.lang, "attention.key"),
        weight=say(look.lang, "attention.weight"),
    )
    drawn = attention_map(weights.numpy(), labels, words, len(labels) - 1)
    return Picture(drawn, notes(look, layer, head, weights))


def notes(look: Look, layer: int, head: int, weights: torch.Tensor) -> list[str]:
    """For every position, in one sentence, where it looks most and what the head is like."""
    labels, scores = look.run.labels, head_scores(look.run.trace.blocks[layer].attention.weights)
    off = look.request.ablation
    unused = layer in off.attention or (layer, head) in off.heads
    tail = say(look.lang, "attention.off") if unused else ""
    shares = {"previous": f"{scores.previous[head]:.2f}", "first": f"{scores.first[head]:.2f}"}
    best = weights.max(-1)
    return [
        say(
            look.lang,
            "attention.most",
            query=label,
            at=look.run.start + i,
            key=labels[key],
            weight=f"{weight:.3f}",
            **shares,
        )
        + tail
        for i, (label, key, weight) in enumerate(zip(labels, best.indices.tolist(), best.values.tolist(), strict=True))
    ]


def draw_thumbs(look: Look, layer: int, head: int) -> dict[str, Any]:
    blocks, config, off = look.run.trace.blocks, look.run.model.config, look.request.ablation
    layer = min(layer, len(blocks) - 1)
    weights = blocks[layer].attention.weights
    scores = head_scores(weights)
    kinds = [
        max((float(getattr(scores, name)[h]), name) for name in ("previous", "first", "itself"))
        for h in range(len(weights))
    ]
    return {
        "layer": layer,
        "head": min(head, config.n_heads - 1),
        "heads": config.n_heads,
        "tokens": weights.size(-1),
        "masked": not off.causal_mask,
        "off": list(range(config.n_heads)) if layer in off.attention else off.heads_off(layer),
        "kinds": [[name, share] for share, name in kinds],
        "cells": base64.b64encode((weights * 255).round().to(torch.uint8).numpy().tobytes()).decode(),
    }


def layers(model: Model, lang: str) -> dict[str, Any]:
    return {
        **labels(lang, "attention.layer"),
        "choices": [(str(layer), layer) for layer in range(model.config.n_layers)],
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
        layer = wiring.fitted(
            gr.Radio([(str(first_layer), first_layer)], value=first_layer, elem_id="layer", elem_classes="numbers"),
            layers,
        )
        head = gr.State(first_head)
        with gr.Row(elem_classes="beside"):
            with gr.Column(scale=3, min_width=300):
                large = figure("attention-map")
            with gr.Column(scale=1, min_width=180):
                small = thumbs()
        explanation(wiring, "attention.help")
    wiring.show(TAB, draw_head, large, [layer, head])
    wiring.show(TAB, draw_thumbs, small, [layer, head])

    def picked(event: gr.EventData) -> int:
        return event.head if isinstance(event.head, int) and 0 <= event.head < 1000 else 0

    wiring.on([small.pick], picked, [], [head], asked=False)
    counts = {"layer": lambda model: model.config.n_layers, "head": lambda model: model.config.n_heads}
    return Part(tab, {"layer": (layer, counts["layer"]), "head": (head, counts["head"])})
