"""What the attention tab shows below its map: one query step by step, the heads in numbers, all heads at a glance."""

import base64
from dataclasses import dataclass
from typing import Any

import torch

from playground.analysis.heads import forbidden, head_measures, small
from playground.analysis.unfold import Unfolded, unfold
from playground.figures.follow import nothing
from playground.figures.numbers import fixed
from playground.figures.unfold import MOST_KEYS, UnfoldWords, unfolded
from playground.text import say, sentences

from .html import Picture
from .wiring import Look

STAGES = ("dots", "scaled", "masked", "weights", "mixed", "written")
SIDE = 40  # cells of a picture in the overview, at most


@dataclass(frozen=True, slots=True)
class Seen:
    """The layer and head that are looked at, or the mean over the heads: `head` is then one more than the last."""

    layer: int
    head: int
    heads: torch.Tensor  # (H, T, T), all weights of the layer

    @property
    def is_mean(self) -> bool:
        return self.head == len(self.heads)

    @property
    def weights(self) -> torch.Tensor:
        return self.heads.mean(0) if self.is_mean else self.heads[self.head]


def see(look: Look, layer: int, head: int) -> Seen:
    """What the controls say, in a model that may have fewer layers and heads than the one they were set for."""
    blocks = look.run.trace.blocks
    layer = min(layer, len(blocks) - 1)
    weights = blocks[layer].attention.weights
    is_mean = head == look.counted.n_heads
    return Seen(layer, len(weights) if is_mean else min(head, len(weights) - 1), weights)


def draw_edges(look: Look, layer: int, head: int, is_open: bool) -> dict[str, Any] | None:
    if not is_open:
        return None
    seen, off = see(look, layer, head), look.request.ablation
    edges = [] if seen.is_mean else forbidden(off, seen.layer, seen.head, seen.heads.size(-1))
    return {
        "layer": seen.layer,
        "head": seen.head,
        "mean": seen.is_mean,
        "causal": not off.causal_mask,
        "forbidden": edges,
        "labels": look.run.labels,
        "start": look.run.start,
        "count": len(off.edges),
    }


def draw_stages(look: Look, layer: int, head: int, is_open: bool) -> Picture | None:
    if not is_open:
        return None
    seen, labels, lang, off = see(look, layer, head), look.run.labels, look.lang, look.request.ablation
    if seen.is_mean:
        return Picture(nothing(len(labels)), [say(lang, "unfold.choose_head")] * len(labels))
    stages = unfold(look.run.trace, look.run.model.gpt, off, seen.layer, seen.head)
    named = {name: say(lang, f"unfold.{name}") for name in ("key", *STAGES) if name != "scaled"}
    width = look.run.model.config.head_dim
    words = UnfoldWords(
        title=[say(lang, "unfold.title", query=label, layer=seen.layer, head=seen.head) for label in labels],
        scaled=say(lang, "unfold.scaled_off") if off.scaling else say(lang, "unfold.scaled", width=width),
        **named,
    )
    arrays = [getattr(stages, name).numpy() for name in STAGES]
    return Picture(unfolded(arrays, labels, words, len(labels) - 1), stage_notes(look, stages))


def stage_notes(look: Look, stages: Unfolded) -> list[str]:
    """For every query the key that comes first at three of the stages."""
    labels, lang = look.run.labels, look.lang
    ranked = {"dot": stages.dots, "weight": stages.weights, "written": stages.written}
    seen = {name: stage.masked_fill(stages.masked.isnan(), -torch.inf).max(-1) for name, stage in ranked.items()}
    some = say(lang, "unfold.some", tokens=len(labels), shown=MOST_KEYS) if len(labels) > MOST_KEYS else ""
    notes = []
    for i, label in enumerate(labels):
        named = {name: labels[best.indices[i]] for name, best in seen.items()}
        values = {f"{name}_value": fixed(best.values[i]) for name, best in seen.items()}
        note = say(lang, "unfold.note", query=label, **named, **values)
        notes.append(sentences(lang, note, some))
    return notes


def draw_measures(look: Look, layer: int, head: int, is_open: bool) -> dict[str, Any] | None:
    if not is_open:
        return None
    seen, run = see(look, layer, head), look.run
    weights = torch.cat([seen.heads, seen.heads.mean(0, keepdim=True)])
    found = head_measures(weights, run.ids[run.start :])
    columns = {name: getattr(found, name) for name in ("entropy", "previous", "first", "induction")}
    lists = {name: [None] * len(weights) if value is None else value.tolist() for name, value in columns.items()}
    rows = [{name: values[h] for name, values in lists.items()} for h in range(len(weights))]
    most = torch.arange(1.0, weights.size(-1) + 1).log()[1:]  # as even as can be
    return {
        "layer": seen.layer,
        "head": seen.head,
        "heads": len(seen.heads),
        "rows": rows,
        "most": float(most.mean()) if len(most) else 1.0,
    }


def draw_overview(look: Look, layer: int, head: int, is_open: bool) -> dict[str, Any] | None:
    if not is_open:
        return None
    seen, config, off = see(look, layer, head), look.run.model.config, look.request.ablation
    pictures = torch.cat([small(block.attention.weights, SIDE) for block in look.run.trace.blocks])
    every = [(at, h) for at in off.attention for h in range(config.n_heads)]
    return {
        "layer": seen.layer,
        "head": seen.head,
        "layers": config.n_layers,
        "heads": config.n_heads,
        "tokens": seen.heads.size(-1),
        "side": pictures.size(-1),
        "masked": not off.causal_mask,
        "off": [*every, *off.heads],
        "cells": base64.b64encode((pictures * 255).round().to(torch.uint8).numpy().tobytes()).decode(),
    }
