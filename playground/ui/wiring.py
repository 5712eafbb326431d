"""What every tab does alike: show pictures of the current run, speak two languages, refuse in a sentence."""

import inspect
import logging
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

import gradio as gr

from playground.errors import PlaygroundError, Unforeseen
from playground.models import Model
from playground.runs import Request, Run, Runs
from playground.text import LANGUAGES, labels, say, say_error

from . import checks
from .html import Component, Pair
from .intake import Refused, said
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

    @property
    def position(self) -> int:
        """Which row of the trace a picture is drawn at; the last one unless another is asked for."""
        last = len(self.run.ids) - 1
        return min(max(last if self.at is None else self.at, self.run.start), last) - self.run.start

    @property
    def is_ablated(self) -> bool:
        return self.run is not self.base


log = logging.getLogger("playground")
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


@dataclass(frozen=True, slots=True)
class Part:
    """One tab as built, and those of its controls that the URL restores: name -> (control, how many values it has).

    `opening` says which values they begin with for a run of another model, in the order of `restored`.
    """

    tab: gr.Tab
    restored: dict[str, tuple[Any, Callable[[Model], int]]]
    opening: Callable[[Run], Sequence[int]] = lambda _: ()
    reset: Sequence[Any] = ()  # further controls that another model sets to 0: it may have fewer layers


class Wiring:
    """Collects, while the page is built, what has words and what has pictures; `connect` makes the events."""

    def __init__(
        self, runs: Runs, session: gr.State, lang: gr.Radio, tab: gr.State, alert: Component, comparison: Comparison
    ) -> None:
        self.runs, self.session, self.lang, self.tab, self.alert = runs, session, lang, tab, alert
        self.comparison = comparison
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
        look = self.read(session.request, lang, None)
        return [
            (shown.tab, shown.component.elem_id, shown.draw(look, *own))
            for shown, own in self.with_values(values)
            if shown.tab is not None
        ]

    def with_values(self, values: Sequence[Any]) -> Iterator[tuple[Shown, Sequence[Any]]]:
        """What is shown, each with the values of its own controls out of those of all."""
        for shown in self._shown:
            yield shown, values[: len(shown.controls)]
            values = values[len(shown.controls) :]

    @property
    def pictures(self) -> list[Component]:
        return [shown.component for shown in self._shown]

    def look(self, session: Session, lang: str, compared: Any, at: int | None = None) -> Look:
        other = self.comparison.request(compared, session)
        beside = None if other is None else self.read(other, lang, at)
        return self.read(session.request, lang, at, beside)

    def read(self, request: Request, lang: str, at: int | None, other: Look | None = None) -> Look:
        run = self.runs(request)
        base = run if request.ablation.changes_nothing else self.runs(request.baseline)
        return Look(request, run, base, lang, at, other)

    def drawn(self, shown: Shown, look: Look, compared: Any, values: Sequence[Any]) -> Any:
        """One picture, or two side by side."""
        here = shown.draw(look, *values)
        if look.other is None or shown.tab is None:
            return here
        names = {lang: [say(lang, "beside.this_run"), self.comparison.name(compared, lang)] for lang in LANGUAGES}
        return Pair(here, shown.draw(look.other, *values), names)

    def draw(self, session: Session, lang: str, tab: str, compared: Any, *values: Any) -> list[Any]:
        """Every picture of the open tab and beside the tabs; the others keep what they have."""
        look = self.look(session, lang, compared)
        return [
            self.drawn(shown, look, compared, own) if shown.tab in (tab, None) else gr.skip()
            for shown, own in self.with_values(values)
        ]

    def connect(self, seen: Any) -> None:
        """Call last: redraw when a new run was `seen`, or the language, the tab or a control changed; relabel."""
        controls = self.controls
        chosen = self.comparison.chosen
        changes = [item.change for item in dict.fromkeys([self.tab, self.lang, chosen, *controls])]
        inputs = [self.session, self.lang, self.tab, chosen, *controls]
        self.on([seen, *changes], self.draw, inputs, self.pictures, asked=False, trigger_mode="always_last")

        for shown in self._shown:
            if hasattr(shown.component, "redraw"):
                known = [self.session, self.lang, chosen, *shown.controls]
                self.on([shown.component.redraw], self.redrawn(shown), known, [shown.component],
                        asked=False, trigger_mode="always_last")  # fmt: skip

        def relabel(lang: str, session: Session) -> list[Any]:
            return self.dress(lang, self.runs.model(session.request.model))

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
                control.constructor_args[name] = value  # of which Gradio makes each visitor's copy, after gr.skip() too
        values = [control.value for control in self.controls]
        drawn = self.draw(session, lang, tab, self.comparison.chosen.value, *values)
        for shown, picture in zip(self._shown, drawn, strict=True):
            if shown.tab == tab:
                shown.component.value = shown.component.postprocess(picture)

    def on(
        self,
        triggers: Sequence[Any],
        fn: Callable[..., Any],
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        asked: bool = True,
        **how: Any,
    ) -> Any:
        """An event that nobody outside may name, whose refusals appear as one sentence and change nothing else.

        What a visitor asked for clears the last refusal when it succeeds; what merely follows from it (not `asked`)
        leaves it standing.
        """
        how = {"show_progress": "hidden", "api_visibility": "private", **how}
        event = guarded(fn, len(outputs), None if asked else gr.skip()), list(inputs), [*outputs, self.alert]
        # Events of Component are unknown to gr.on.
        ours = [trigger for trigger in triggers if isinstance(trigger, partial)]
        others = [trigger for trigger in triggers if trigger not in ours]
        made = [trigger(*event, **how) for trigger in ours] + ([gr.on(others, *event, **how)] if others else [])
        return made[-1]


def guarded(fn: Callable[..., Any], n_outputs: int, done: Any = None) -> Callable[..., Any]:
    """`fn` with one more output: why it refused (its own outputs then stay as they are), or `done`.

    A generator answers again and again, and each answer counts.
    """

    def refusal(error: PlaygroundError) -> list[Any]:
        sentences = {lang: say_error(lang, error) for lang in LANGUAGES}
        return [*([gr.skip()] * n_outputs), {**sentences, "id": uuid4().hex}]  # the page hears of what differs only

    def answer(result: Any) -> list[Any]:
        return [*(result if isinstance(result, list) else [result]), done]

    def call(*values: Any) -> list[Any]:
        try:
            return answer(fn(*accepted(values)))
        except PlaygroundError as error:
            return refusal(error)
        except Exception as error:
            return refusal(noted(error))

    def call_often(*values: Any) -> Iterator[list[Any]]:
        try:
            yield from map(answer, fn(*accepted(values)))
        except PlaygroundError as error:
            yield refusal(error)
        except Exception as error:
            yield refusal(noted(error))

    guard: Any = call_often if inspect.isgeneratorfunction(fn) else call
    # Gradio reads the signature to pass the event, the visitor's request and the progress bar.
    guard.__signature__ = inspect.signature(fn)
    guard.__annotations__ = fn.__annotations__
    guard.__name__ = getattr(fn, "__name__", "call")
    return guard


def accepted(values: Sequence[Any]) -> Sequence[Any]:
    """The values as they were taken in. Raises: InputError, the first for which it refused one"""
    for value in values:
        if isinstance(value, Refused):
            raise value.error
    return values


def noted(error: Exception) -> Unforeseen:
    """A fault of ours goes to the log: where it happened, without its message, which may quote a visitor."""
    where = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s\n%s", type(error).__name__, where)
    return Unforeseen()


def explanation(wiring: Wiring, key: str) -> None:
    """A paragraph of ours beside a picture."""
    wiring.fitted(gr.HTML(elem_classes="help", apply_default_css=False), lambda _, lang: {"value": say(lang, key)})


def layers(key: str) -> Fit:
    """The choices of a control, worded by `key`, that asks for a layer."""

    def fit(model: Model, lang: str) -> dict[str, Any]:
        return {**labels(lang, key), "choices": [(str(layer), layer) for layer in range(model.config.n_layers)]}

    return fit
