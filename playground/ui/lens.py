"""The logit lens tab: what every place of the stream would answer, and who wrote a token."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from threading import Lock
from typing import Any

import gradio as gr
import torch

from playground.analysis import stream
from playground.analysis.lens import Lens, joined, place_lenses, position_lens
from playground.figures import lens as pictures
from playground.figures.numbers import fixed
from playground.models import Model
from playground.runs import Run, Runs
from playground.text import labels, say

from . import attribution
from .components import figure
from .html import Picture
from .places import place
from .wiring import Look, Part, Wiring, explanation

TAB = "lens"
QUANTITIES = ("probability", "entropy", "kl", "rank")
KEPT = 32  # lenses; a few kilobytes each, and for GPT-2 seconds of work
SLICE = 0.4  # seconds between two pictures of one that grows


@dataclass(slots=True)
class Growing:
    """What is measured so far of one request's lens, place after place."""

    found: list[Lens] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)  # two pages may want the same one

    def grow(self, runs: Runs, look: Look) -> Lens:
        """More of it, for a moment; all of it for who wants the whole. Between two pieces others have their passes."""
        run, end = look.run, math.inf if look.whole else time.monotonic() + SLICE
        with self.lock:
            left = place_lenses(run.model.gpt, run.ids[run.start :], look.request.ablation, run.trace, self.known)
            for places in runs.in_turn(left):
                self.found.append(places)
                if time.monotonic() > end:
                    break
            return joined(self.found, run.trace)

    @property
    def known(self) -> int:
        """How many places."""
        return sum(len(each.places) for each in self.found)

    def column(self, look: Look) -> Lens:
        """All that is known of the selected position: every one's, where the lens is complete, or its own alone."""
        run = look.run
        if self.known == 2 * run.model.config.n_layers + 1:
            return joined(self.found, run.trace)
        return position_lens(run.model.gpt, run.ids[run.start :], look.request.ablation, run.trace, look.position)


LensOf = Callable[[Look], Lens]


def draw_map(lens_of: LensOf, look: Look, quantity: str) -> Picture:
    lens, run = lens_of(look), look.run
    label, names = run.model.tokenizer.label, [name for name, _ in stream(run.trace)]
    words = pictures.LensWords(
        title=say(look.lang, "lens.map"),
        value=say(look.lang, f"lens.{quantity}"),
        **{name: say(look.lang, f"lens.{name}") for name in ("place", "token", "answer")},
    )
    rows = [lens.places.index(name) if name in lens.places else None for name in names]
    answers = [[label(token) for token in row] for row in lens.top.tolist()]
    values = getattr(lens, quantity)
    more = len(lens.places) < len(names)
    if more:
        unknown = torch.full((len(run.labels),), torch.nan)
        values = torch.stack([unknown if row is None else values[row].float() for row in rows])
    drawn = pictures.lens_map(
        values.numpy(),
        [[""] * len(run.labels) if row is None else answers[row] for row in rows],
        [place(name, look.lang) for name in names],
        run.labels,
        words,
        len(run.labels) - 1,
        most=1.0 if quantity == "probability" else None,
        logarithmic=quantity == "rank",
        more=more,
    )
    if more:
        return Picture(drawn, [say(look.lang, "lens.growing", done=len(lens.places), places=len(names))])
    return Picture(drawn, map_notes(lens, look))


def map_notes(lens: Lens, look: Look) -> list[str]:
    """For every position: from where on the final answer leads, and how the token chosen climbs."""
    label, start, last = look.run.model.tokenizer.label, look.run.start, len(look.run.labels) - 1
    agrees = (lens.top == lens.top[-1]).flip(0).cumprod(0).sum(0)  # places at the end that answer as the last does
    return [
        say(
            look.lang, "lens.note" if i < last else "lens.note_last", token=token, at=start + i,
            answer=label(int(lens.top[-1, i])), p=fixed(lens.probability[-1, i]),
            since=place(lens.places[len(lens.places) - int(agrees[i])], look.lang),
            chosen=label(int(lens.chosen[i])), first=f"{int(lens.rank[0, i]):,}", last=f"{int(lens.rank[-1, i]):,}",
        )
        for i, token in enumerate(look.run.labels)
    ]  # fmt: skip


def draw_path(lens_of: LensOf, look: Look) -> Picture:
    lens, tokens = lens_of(look), look.run.labels
    alone = len(lens.chosen) < len(tokens)
    position = look.position if alone else len(tokens) - 1
    label = look.run.model.tokenizer.label
    chosen = [label(token) for token in lens.chosen.tolist()]
    rows = zip(lens.entropy.tolist(), lens.kl.tolist(), lens.rank.tolist(), strict=True)
    details = [
        [
            say(look.lang, "lens.details", entropy=fixed(entropy), kl=fixed(kl), rank=f"{rank:,}", chosen=token)
            for entropy, kl, rank, token in zip(*row, chosen, strict=True)
        ]
        for row in rows
    ]
    words = pictures.PathWords(
        title=[say(look.lang, "lens.path", token=token) for token in tokens],
        place=say(look.lang, "lens.place"),
        probability=say(look.lang, "lens.path_probability"),
    )
    answers = [[label(token) for token in row] for row in lens.top.tolist()]
    names = [place(name, look.lang) for name in lens.places]
    drawn = pictures.lens_path(lens.probability.numpy(), answers, details, names, words, position,
                                alone_of=len(tokens) if alone else None)  # fmt: skip
    notes = [
        say(
            look.lang, "lens.path_note",
            entropy_first=fixed(lens.entropy[0, i]), entropy_last=fixed(lens.entropy[-1, i]),
            kl_first=fixed(lens.kl[0, i]), kl_last=fixed(lens.kl[-1, i]),
        )
        for i in range(len(lens.chosen))
    ]  # fmt: skip
    return Picture(drawn, notes)


def quantities(_: Model, lang: str) -> dict[str, Any]:
    return {**labels(lang, "lens.quantity"), "choices": [(say(lang, f"lens.{name}"), name) for name in QUANTITIES]}


def build(wiring: Wiring, _: Run) -> Part:
    growing = lru_cache(maxsize=KEPT)(lambda _: Growing())  # by request

    def lens_of(look: Look) -> Lens:
        return growing(look.request).grow(wiring.runs, look)

    def column_of(look: Look) -> Lens:
        return growing(look.request).column(look)

    tab: gr.Tab = wiring.worded(gr.Tab(id=TAB, elem_id="tab-lens"), "lens.tab")
    with tab:
        quantity = wiring.fitted(
            gr.Radio(list(QUANTITIES), value=QUANTITIES[0], elem_id="lens-quantity", elem_classes="choices"), quantities
        )
        every = figure("lens-map")
        with gr.Row(elem_classes="beside"):
            with gr.Column(scale=3, min_width=300):
                path = figure("lens-path")
            with gr.Column(scale=2, min_width=220):
                explanation(wiring, "lens.help")
        attribution.section(wiring, TAB)
    wiring.show(TAB, partial(draw_map, lens_of), every, [quantity])
    wiring.show(TAB, partial(draw_path, column_of), path)
    return Part(tab, {})
