"""What every tab does alike: show pictures of the current run, speak two languages, refuse in a sentence."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gradio as gr

from playground.errors import ModelForgotten
from playground.gpt.config import GPTConfig
from playground.models import Model, Models
from playground.runs import Request, Run, Runs
from playground.text import LANGUAGES, labels, say

from . import checks
from .guard import guarded, texts
from .html import Component, Pair, Picture
from .intake import said
from .session import Session


@dataclass(frozen=True, slots=True)
class Look:
    """What a `draw` is given: the run, the run of the same text with nothing off (or the same), the language."""

    request: Request
    run: Run
    base: Run
    lang: str
    at: int | None = None  # the selected position, counted in the whole text, where a picture asked for one
    other: "Look | None" = None  # the run that this one is compared with
    whole: bool = False  # what would else be shown as it grows is wanted complete
    set_for: Run | None = None  # the run that the controls were set for, where it is another

    @property
    def position(self) -> int:
        """Which row of the trace a picture is drawn at; the last one unless another is asked for."""
        last = len(self.run.ids) - 1
        return min(max(last if self.at is None else self.at, self.run.start), last) - self.run.start

    @property
    def counted(self) -> GPTConfig:
        """Of which model the controls count layers and heads."""
        return (self.set_for or self.run).model.config

    @property
    def is_ablated(self) -> bool:
        return self.run is not self.base


Draw = Callable[..., Any]  # draw(look, *values of its controls) -> what its component shows
Fit = Callable[[Model, str], dict[str, Any]]  # (model, language) -> a control's arguments


@dataclass(frozen=True, slots=True)
class Comparison:
    """What runs are compared with: the visitor's choice, the request that it means now, what it is called."""

    chosen: gr.State
    request: Callable[[Any, Session], Request | None]
    name: Callable[[Any, str], str]


@dataclass(frozen=True, slots=True)
class Shown:
    tab: str | None  # none: beside the tabs, always in sight and never drawn twice
    draw: Draw
    component: Component
    controls: Sequence[Any]

    def seen(self, look: Look, values: Sequence[Any]) -> Any:
        """What it shows of one run; a picture's positions are those of that run."""
        found = self.draw(look, *values)
        return replace(found, start=look.run.start) if isinstance(found, Picture) else found


@dataclass(frozen=True, slots=True)
class Part:
    """One tab as built, and those of its controls that the URL restores: name -> (control, how many values it has).

    `opening` says which values they begin with for a run of another model, in the order of `restored`.
    """

    tab: gr.Tab
    restored: dict[str, tuple[Any, Callable[[Model], int]]]
    opening: Callable[[Run], Sequence[int]] = lambda _: ()
    reset: Sequence[Any] = ()  # further controls that another model sets to 0: it may have fewer layers
    through: Any = None  # an event of this tab that asks for another `model`


class Wiring:
    """Collects, while the page is built, what has words and what has pictures; `connect` makes the events."""

    def __init__(self, models: Models, runs: Runs, session: gr.State, lang: gr.Radio, alert: Component,
                 comparison: Comparison) -> None:  # fmt: skip
        self.models, self.runs, self.comparison = models, runs, comparison
        self.session, self.lang, self.alert = session, lang, alert
        self._fitted: list[tuple[Any, Fit]] = []
        self._shown: list[Shown] = []

    def worded(self, control: Any, key: str) -> Any:
        """Give `control` the texts under `key`, in whichever language is chosen."""
        return self.fitted(control, lambda _, lang: labels(lang, key))

    def fitted(self, control: Any, fit: Fit) -> Any:
        """Give `control` what depends on the model and the language."""
        self._fitted.append((control, fit))
        return control

    def show(self, tab: str | None, draw: Draw, component: Component, controls: Sequence[Any] = ()) -> None:
        """Draw `component` as draw(look, *values) whenever its tab is open and something it shows changed.

        Where runs are compared it is drawn for both, side by side.
        """
        self._shown.append(Shown(tab, draw, component, controls))

    @contextmanager
    def section(self, key: str, elem_id: str) -> Iterator[gr.State]:
        """A part of a tab that starts folded; yields whether it is open, a control of what is drawn inside it."""
        is_open = gr.State(False)
        with self.worded(gr.Accordion(open=False, elem_id=elem_id), key) as accordion:
            yield is_open
        # Queued, as every event must be that sets a State which is watched: Gradio tells of its change only then.
        self.on([accordion.expand], lambda: True, [], [is_open], asked=False)
        self.on([accordion.collapse], lambda: False, [], [is_open], asked=False)

    @property
    def dressed(self) -> list[Any]:
        """The controls that `dress` dresses, in its order."""
        return [control for control, _ in self._fitted]

    def dress(self, lang: str, model: Model) -> list[Any]:
        """Words and choices of every control."""
        return [type(control)(**fit(model, lang)) for control, fit in self._fitted]

    @property
    def controls(self) -> list[Any]:
        """What the pictures depend on, in the order of `draw`'s values."""
        return [control for shown in self._shown for control in shown.controls]

    def everything(self, session: Session, lang: str, *values: Any) -> list[tuple[str, str, Any]]:
        """Every picture of every tab, as (tab, elem_id, what it shows)."""
        look = replace(self.read(session.request, lang, None), whole=True)
        return [
            (shown.tab, shown.component.elem_id, shown.seen(look, own))
            for shown, own in with_values(self._shown, values)
            if shown.tab is not None
        ]

    def in_sight(self, tab: str) -> list[Shown]:
        """What is seen while a tab is open: its own pictures and those beside the tabs."""
        return [shown for shown in self._shown if shown.tab in (tab, None)]

    def look(self, session: Session, lang: str, compared: Any, at: int | None = None) -> Look:
        look, other = self.read(session.request, lang, at), self.comparison.request(compared, session)
        if other is None:
            return look
        return replace(look, other=replace(self.read(other, lang, at, at_once=True), set_for=look.run))

    def read(self, request: Request, lang: str, at: int | None, at_once: bool = False) -> Look:
        run = self.runs(request, at_once)
        base = run if request.ablation.changes_nothing else self.runs.baseline(request)
        return Look(request, run, base, lang, at)

    def drawn(self, shown: Shown, look: Look, compared: Any, values: Sequence[Any]) -> Any:
        """One picture, or two side by side."""
        here = shown.seen(look, values)
        if look.other is None or shown.tab is None:
            return here
        names = {lang: [say(lang, "beside.this_run"), self.comparison.name(compared, lang)] for lang in LANGUAGES}
        return Pair(here, shown.seen(look.other, values), names)

    def drawing(self, tab: str, together: Sequence[Shown]) -> Callable[..., list[Any]]:
        """What draws these pictures of a tab from the values of all their controls."""

        def draw(session: Session, lang: str, compared: Any, *values: Any) -> list[Any]:
            look = self.look(session, lang, compared)
            return [self.drawn(shown, look, compared, own) for shown, own in with_values(together, values)]

        draw.__name__ = f"draw_{tab}"  # as Gradio lists it
        return draw

    def connect(self, see: Callable[[str], Any]) -> None:
        """Call last: draw a tab when the page wants to `see` it, or a control of its own changed; relabel.

        The page knows which tab is open and what is new. Were one event to answer for all tabs, Gradio would make anew
        all components of the closed ones, whose pictures stay as they are.
        """
        chosen = self.comparison.chosen
        chosen.change(None, None, None, js="() => { playground.say('see'); return []; }")
        for tab in dict.fromkeys(shown.tab for shown in self._shown if shown.tab is not None):
            together = self.in_sight(tab)
            controls = [control for shown in together for control in shown.controls]
            own = dict.fromkeys(control for shown in together if shown.tab for control in shown.controls)
            self.on([see(tab), *(control.change for control in own)], self.drawing(tab, together),
                    [self.session, self.lang, chosen, *controls], [shown.component for shown in together],
                    asked=False, trigger_mode="always_last")  # fmt: skip

        for shown in self._shown:
            if hasattr(shown.component, "redraw"):
                known = [self.session, self.lang, chosen, *shown.controls]
                self.on([shown.component.redraw], self.redrawn(shown), known, [shown.component],
                        asked=False, trigger_mode="always_last")  # fmt: skip

        def relabel(lang: str, session: Session) -> list[Any]:
            try:
                model = self.runs.model(session.request.model)
            except ModelForgotten:  # whoever draws says so; the words change all the same
                model = self.models.get(self.models.names[0])
            return self.dress(lang, model)

        self.on([self.lang.change], relabel, [self.lang, self.session], self.dressed, asked=False)

    def redrawn(self, shown: Shown) -> Callable[..., Any]:
        """One picture at the position that its event asks for; of the newest text, should it change meanwhile."""

        def redraw(event: gr.EventData, session: Session, lang: str, compared: Any, *values: Any) -> Any:
            at = checks.whole("position", said(event, "at"), 0, checks.HIGHEST_POSITION)
            while True:
                request = session.request
                drawn = self.drawn(shown, self.look(session, lang, compared, at), compared, values)
                if session.request == request:
                    return drawn

        return redraw

    def begin(self, session: Session, lang: str, tab: str) -> None:
        """Word every control and draw the open tab before anybody visits, so that the page arrives complete."""
        for control, fit in self._fitted:
            for name, value in fit(self.runs.model(session.request.model), lang).items():
                setattr(control, name, value)
                control.constructor_args[name] = value  # of which Gradio makes each visitor's copy
        together = [shown for shown in self._shown if shown.tab == tab]
        values = [control.value for shown in together for control in shown.controls]
        drawn = self.drawing(tab, together)(session, lang, self.comparison.chosen.value, *values)
        for shown, picture in zip(together, drawn, strict=True):
            shown.component.value = shown.component.postprocess(picture)

    def on(
        self,
        triggers: Sequence[Any],
        fn: Callable[..., Any],
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        asked: bool = True,
        arriving: bool = False,
        **how: Any,
    ) -> Any:
        """An event that nobody outside may name, whose refusals appear as one sentence and change nothing else.

        What a visitor asked for clears the last refusal when it succeeds; what merely follows from it (not `asked`)
        leaves it standing. Only what happens on `arriving` may come before the session knows its page.

        Gradio drops what is asked while the same is being answered: where a visitor may be quicker, `trigger_mode` is
        "always_last", which asks once more with what the controls hold then, or "multiple" for events that carry data.

        The state of every event is shown, hidden, on the alert alone: at each message Gradio copies all components
        that ever showed one, with all inside them, and after a page's first event that was half of what a step took.
        """
        how = {"show_progress": "hidden", "show_progress_on": [self.alert], "api_visibility": "private", **how}
        shown = [*outputs, self.alert]
        if ours := all(isinstance(output, Component) for output in shown):
            how["postprocess"] = False  # Gradio would do it one by one, each in a thread of its own
        guard = guarded(fn, len(outputs), asked, arriving, partial(texts, shown) if ours else list)
        event = guard, list(inputs), shown
        # Events of Component are unknown to gr.on.
        own = [trigger for trigger in triggers if isinstance(trigger, partial)]
        others = [trigger for trigger in triggers if trigger not in own]
        made = [trigger(*event, **how) for trigger in own] + ([gr.on(others, *event, **how)] if others else [])
        return made[-1]


def with_values(together: Sequence[Shown], values: Sequence[Any]) -> Iterator[tuple[Shown, Sequence[Any]]]:
    """What is shown, each with the values of its own controls out of those of all."""
    for shown in together:
        yield shown, values[: len(shown.controls)]
        values = values[len(shown.controls) :]


def explanation(wiring: Wiring, key: str) -> None:
    """A paragraph of ours beside a picture."""
    wiring.fitted(gr.HTML(elem_classes="help", apply_default_css=False), lambda _, lang: {"value": say(lang, key)})


def layers(key: str) -> Fit:
    """The choices of a control, worded by `key`, that asks for a layer."""

    def fit(model: Model, lang: str) -> dict[str, Any]:
        return {**labels(lang, key), "choices": [(str(layer), layer) for layer in range(model.config.n_layers)]}

    return fit
