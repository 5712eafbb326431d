"""The Lessons tab: the page asks for an experiment with the values of its controls and is sent what it found.

A training answers again and again, with its progress, until it ends or the visitor wants other work.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

import gradio as gr

from playground.errors import NotAChoice
from playground.lessons.lesson import Choice, Control, Progress
from playground.text import LANGUAGES, labels, say
from playground.ui import checks, source, take_home
from playground.ui.components import asset, lessons
from playground.ui.html import Component
from playground.ui.intake import said
from playground.ui.session import Session
from playground.ui.wiring import Part, Wiring

from . import (
    assistant,
    encoder_decoder,
    extrapolation,
    feed_forward,
    gibberish,
    layer_norm,
    masks,
    positions,
    residuals,
    scaling,
    training,
    transformer_rnn,
)
from .values import checked
from .view import Shown, View, asked_words, question_words

TAB = "lessons"
SHOWN = (  # in the order of LESSONS
    layer_norm,
    feed_forward,
    residuals,
    gibberish,
    positions,
    extrapolation,
    masks,
    encoder_decoder,
    scaling,
    transformer_rnn,
    assistant,
)
VIEWS: dict[str, View] = {view.experiment.name: view for lesson in SHOWN for view in lesson.VIEWS}


def asked_for(asked: Any) -> View:
    """Raises: NotAChoice"""
    if isinstance(asked, str) and asked in VIEWS:
        return VIEWS[asked]
    raise NotAChoice(name="lesson", value=asked, choices=", ".join(VIEWS))


def answer(asked: Any, view: View, shown: dict[str, Shown] | None, **more: Any) -> dict[str, Any]:
    """What the page receives: pictures as the text that figure.js reads, by language.

    It goes with the number of what was asked, so that the page hears of it though nothing else is new.
    """
    name = view.experiment.name
    told = {lang: told_of(name, lang, each) for lang, each in (shown or {}).items()}
    return {"part": name, "asked": checks.whole("asked", asked, 0, 10**9), "shown": told, **more}


def told_of(experiment: str, lang: str, shown: Shown) -> dict[str, Any]:
    return {
        "pictures": {name: picture.as_json() for name, picture in shown.pictures.items()},
        "questions": [question_words(lang, experiment, question) for question in shown.questions],
        "stages": [asdict(stage) for stage in shown.stages],
        "samples": [asdict(table) for table in shown.samples],
    }


@cache
def about(name: str, lang: str) -> dict[str, Any]:
    """What never changes about an experiment: sentences, controls, the formula and its code."""
    view = VIEWS[name]
    return {
        "sentences": say(lang, f"lesson_{name}.about").split("\n"),
        "controls": [control_words(lang, name, control) for control in view.experiment.controls],
        "trains": view.experiment.trains,
        "questions": [asked_words(lang, name, question) for question in view.asks],
        "formula": asset(f"formulas/{view.formula}.mathml"),
        "code": [asdict(source.excerpt(*each)) for each in view.code],
    }


def control_words(lang: str, experiment: str, control: Control) -> dict[str, Any]:
    words = {"kind": type(control).__name__, **asdict(control), **labels(lang, f"lesson_{experiment}.{control.name}")}
    if isinstance(control, Choice):
        choices = control.choices
        words["choices"] = [[each, say(lang, f"lesson_{experiment}.{control.name}_{each}")] for each in choices]
    return words


def look(asked: Any, name: Any, given: Any, known: Any, lang: str) -> dict[str, Any]:
    """An experiment as its controls now stand; one that trains waits to be started.

    What never changes comes along unless it is `known`. Raises: InputError
    """
    view = asked_for(name)
    values = checked(view.experiment, given)
    told = {} if known is True else {"about": {lang: about(view.experiment.name, lang)}}
    if view.experiment.trains:
        return answer(asked, view, None, **told)
    return answer(asked, view, {lang: view.draw(view.experiment.run(**values), lang)}, **told)


def train(wiring: Wiring, session: Session, asked: Any, name: Any, given: Any, anew: Any) -> Iterator[dict[str, Any]]:
    """Progress and what was found so far, in every language, since the language may change meanwhile.

    It goes on where it was stopped, unless it is to begin `anew`. Raises: InputError
    """
    view = asked_for(name)
    values = checked(view.experiment, given)
    going = training.begin(view, values, session, anew is True, wiring.runs.limits)
    for made, runs_on in training.run(going, session, wiring.runs, wiring.models):
        yield progress(asked, view, made, runs_on, going.models)


def progress(asked: Any, view: View, made: Progress, running: bool, models: Mapping[int, str]) -> dict[str, Any]:
    """`models` are lent under these names, by the step at which they stood so."""
    shown = {lang: view.draw(made.found, lang) for lang in LANGUAGES}
    told = {"done": made.done, "total": made.total, "running": running}
    return answer(asked, view, shown, progress=told, models=dict(models))


def take(wiring: Wiring, shown: Component) -> None:
    """A visitor's own model as a file, made when asked for."""
    file = gr.File(visible="hidden", elem_id="taken-model", container=False)

    def pack(event: gr.EventData, lang: str) -> str:
        model = training.borrowed(wiring.models, said(event, "model"))
        return str(take_home.made(file, lambda folder: training.write_zip(folder, model, lang)))

    take_home.fetched(wiring.on([shown.take], pack, [wiring.lang], [file], trigger_mode="multiple"), file)


def build(wiring: Wiring, _: Any) -> Part:
    tab: gr.Tab = wiring.worded(gr.Tab(id=TAB, elem_id="tab-lessons"), "lessons.tab")
    with tab:
        shown = lessons()
        take(wiring, shown)

    def ask(event: gr.EventData, lang: str) -> dict[str, Any]:
        return look(*(said(event, part) for part in ("asked", "part", "values", "known")), lang)

    def begin(event: gr.EventData, session: Session) -> Iterator[dict[str, Any]]:
        yield from train(wiring, session, *(said(event, part) for part in ("asked", "part", "values", "anew")))

    def stop(session: Session) -> Sequence[Any]:
        session.work = None
        return []

    wiring.on([shown.ask], ask, [wiring.lang], [shown], trigger_mode="multiple")  # the page asks one at a time
    wiring.on([shown.begin], begin, [wiring.session], [shown], trigger_mode="multiple")
    wiring.on([shown.stop], stop, [wiring.session], [], queue=False)
    return Part(tab, {}, through=shown.through)
