"""The sweep of the residual tab: what each sublayer and head is worth at the selected position."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from playground.analysis.sweep import Effect, parts, sweep
from playground.figures.follow import nothing
from playground.figures.numbers import brief, fixed
from playground.figures.sweep import SweepWords, sweep_map
from playground.models import Model
from playground.text import labels, say

from . import checks
from .components import figure, sweep_control
from .html import Picture
from .intake import said
from .session import Session
from .wiring import Look, Wiring

OFTEN = 0.2  # seconds between two reports of progress
MEASURES = ("kl", "logit_change")


@dataclass(frozen=True, slots=True)
class Swept:
    """A finished sweep and the text it belongs to: the tokens up to the position that was measured."""

    model: str
    mean: bool  # what off meant
    start: int
    ids: tuple[int, ...]
    token: int  # the one whose logit was followed: what the text goes on with, or else the likeliest
    effects: tuple[Effect, ...]

    def fits(self, look: Look) -> bool:
        run = look.run
        shown = (run.model.name, look.request.ablation.mean, run.start, run.ids[: len(self.ids)])
        return (self.model, self.mean, self.start, self.ids) == shown


def measure(wiring: Wiring, session: Session, at: Any, kept: Sequence[Swept] = ()) -> Iterator[list[Any]]:
    """Progress, again and again, then the sweep beside what is `kept` of the other kind.

    Off means what it means for the switches, so that a click on a cell does what was measured. Nothing more comes once
    the session wants other work.

    Raises: InputError
    """
    mean = session.request.ablation.mean
    run = wiring.runs.baseline(session.request)
    place = checks.whole("position", at, run.start, len(run.ids) - 1)
    position, ids = place - run.start, run.ids[: place + 1]
    token = run.ids[place + 1] if place + 1 < len(run.ids) else int(run.trace.logits[position].argmax())
    sweeping = {"total": sum(map(len, parts(run.model.config))), "mean": mean}
    effects: list[Effect] = []
    session.work = mine = object()
    told = 0.0
    for found in wiring.runs.in_turn(sweep(run.model.gpt, run.trace, position, token, mean)):
        if session.work is not mine:
            yield [{**sweeping, "done": 0, "running": False}, gr.skip()]
            return
        effects += found
        if time.monotonic() - told > OFTEN:
            told = time.monotonic()
            yield [{**sweeping, "done": len(effects), "running": True}, gr.skip()]
    swept = Swept(run.model.name, mean, run.start, ids, token, tuple(effects))
    others = (other for other in kept if other.mean != mean)
    yield [{**sweeping, "done": len(effects), "running": False}, (*others, swept)]


def draw_sweep(look: Look, kept: Sequence[Swept], how: str) -> Picture:
    """The sweep of this text by what off means now, if it was made."""
    lang, label = look.lang, look.run.model.tokenizer.label
    kind = "mean" if look.request.ablation.mean else "zero"
    swept = next((each for each in kept if each.fits(look)), None)
    if swept is None:
        return Picture(nothing(len(look.run.labels)), [say(lang, f"sweep.invite_{kind}")] * len(look.run.labels))
    token, chosen = label(swept.ids[-1]), label(swept.token)
    value = say(lang, "sweep.logit", token=chosen) if how == "logit_change" else say(lang, "sweep.kl")
    words = SweepWords(
        title=say(lang, f"sweep.title_{kind}", token=token, value=value),
        value=value,
        **{name: say(lang, f"sweep.{name}") for name in ("layer", "part")},
    )
    config = look.run.model.config
    heads = [say(lang, "sweep.head", head=head) for head in range(config.n_heads)]
    names = [say(lang, "sweep.attention"), say(lang, "sweep.feed_forward"), *heads]
    rows = [[ablation.words()[0] for ablation in row] for row in parts(config)]
    effects = {effect.word: effect for effect in swept.effects}
    values = [[getattr(effects[word], how) for word in row] for row in rows]
    now, cells = look.request.ablation.words(), [(y, x) for y, row in enumerate(rows) for x in range(len(row))]
    off = [(y, x) for y, x in cells if rows[y][x] in now]
    layers = [str(layer) for layer in range(config.n_layers)]
    drawn = sweep_map(values, layers, names, words, rows, off, signed=how == "logit_change")
    places = {rows[y][x]: say(lang, "sweep.place", layer=y, part=names[x]) for y, x in cells}
    return Picture(drawn, [note(lang, token, chosen, swept.effects, places)])


def note(lang: str, token: str, chosen: str, effects: Sequence[Effect], places: dict[str, str]) -> str:
    """Which parts matter most and least, in one sentence."""
    most, least = max(effects, key=lambda effect: effect.kl), min(effects, key=lambda effect: effect.kl)
    moved = max(effects, key=lambda effect: abs(effect.logit_change))
    return say(
        lang, "sweep.note", token=token, most=places[most.word], high=fixed(most.kl), least=places[least.word],
        low=brief(least.kl), chosen=chosen, change=f"{moved.logit_change:+.3f}", moved=places[moved.word],
    )  # fmt: skip


def measures(_: Model, lang: str) -> dict[str, Any]:
    choices = [(say(lang, "sweep.kl"), "kl"), (say(lang, "sweep.logit_choice"), "logit_change")]
    return {**labels(lang, "sweep.measure"), "choices": choices}


def build(wiring: Wiring, tab: str) -> None:
    """Inside the tab called `tab`."""
    control, kept = sweep_control(), gr.State(())
    how = wiring.fitted(gr.Dropdown(list(MEASURES), value=MEASURES[0], elem_id="sweep-measure"), measures)
    picture = figure("sweep-map")
    wiring.show(tab, draw_sweep, picture, [kept, how])

    def begin(event: gr.EventData, session: Session, kept: Sequence[Swept]) -> Iterator[list[Any]]:
        yield from measure(wiring, session, said(event, "at"), kept)

    def stop(session: Session) -> list[Any]:
        session.work = None
        return []

    wiring.on([control.start], begin, [wiring.session, kept], [control, kept])
    wiring.on([control.stop], stop, [wiring.session], [], queue=False)
