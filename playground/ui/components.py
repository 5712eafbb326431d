"""Our own gr.HTML components: constant markup that their JavaScript in assets/js fills; values are JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr
import plotly
import plotly.graph_objects as go

from playground.figures.follow import as_json
from playground.figures.style import BLUES, BLUES_DARK
from playground.text import LANGUAGES, under

ASSETS = Path(__file__).parents[2] / "assets"
PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
SCRIPTS = ("playground", "player", "bars", "switches", "thumbs", "figure", "alert")


class Component(gr.HTML):
    """Markup `template`, run by `playground.<script>(element, props, watch, ...)` with one function for each event.

    An event carries a JSON object, which its listener receives as gr.EventData.
    """

    def __init__(self, script: str, events: Sequence[str], template: str, value: Any = None, **props: Any) -> None:
        senders = "".join(f", (detail) => trigger('{event}', detail)" for event in events)
        super().__init__(
            value,
            html_template=template,
            js_on_load=f"playground.{script}(element, props, watch{senders})",
            apply_default_css=False,
            **props,
        )

    def postprocess(self, value: Any) -> Any:
        return value

    def api_info(self) -> dict[str, Any]:
        return {"type": "object"}


def words(file: str) -> dict[str, dict[str, str]]:
    """A component's sentences in every language, so that it changes language without asking the server."""
    return {lang: under(lang, file) for lang in LANGUAGES}


def alert() -> Component:
    """Why the last thing asked for was refused: a sentence in every language, or None."""
    return Component("alert", (), '<div class="alert" role="alert"></div>', elem_id="alert")


def player(value: Any, sentences: dict[str, dict[str, str]]) -> Component:
    """The token strip with its transport; events `need`: one more token is wanted, `seen`: a new run is shown."""
    template = (
        '<div class="transport" role="toolbar"></div><div class="strip" role="group"></div>'
        '<div class="notices" role="status"></div>'
    )
    return Component("player", ("need", "seen"), template, value, words=sentences, elem_id="player")


def bars() -> Component:
    """The next-token bars, drawn from the player's value; event `ask`: where does this token stand?"""
    return Component("bars", ("ask",), '<div class="bars"></div>', words=words("bars"), elem_id="bars")


def switches(value: Any) -> Component:
    """What to zero; event `flip`: the list of words that are now off."""
    return Component(
        "switches", ("flip",), '<div class="switches"></div>', value, words=words("switches"), elem_id="switches"
    )


def thumbs() -> Component:
    """All heads of one layer; event `pick`: this head, please."""
    template = '<div class="thumbs" role="group"></div>'
    return Component("thumbs", ("pick",), template, words=words("attention"), light=BLUES, dark=BLUES_DARK, elem_id="thumbs")


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure and, for every position, the sentence that says what it shows there."""

    figure: go.Figure
    notes: list[str]


class Figure(Component):
    """A plotly figure that follows the selected position; event `pick`: a cell was clicked."""

    def __init__(self, elem_id: str) -> None:
        template = '<div class="plot"></div><p class="note" aria-live="polite"></p>'
        super().__init__("figure", ("pick",), template, elem_id=elem_id, elem_classes="figure")

    def postprocess(self, value: Picture | None) -> Any:
        return None if value is None else {"json": as_json(value.figure), "notes": value.notes}


def head(lang: str, fixed: bool) -> str:
    """What the page loads before its components are made: our scripts inline, plotly from the installed package.

    `lang` is the language the server worded the page in; `fixed` means that the operator chose it.
    """
    scripts = "\n".join((ASSETS / "js" / f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    begin = f"playground.begin('{lang}', {str(fixed).lower()});"
    return f'<script>{scripts}\n{begin}</script><script defer src="gradio_api/file={PLOTLY_JS}"></script>'
