"""Our own gr.HTML components: constant markup that their JavaScript in assets/js fills; values are JSON."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playground.errors import AssetDamaged
from playground.figures.follow import PLOTLY_JS
from playground.figures.style import BLUES, BLUES_DARK
from playground.lessons import LESSONS
from playground.limits import Limits
from playground.text import LANGUAGES, say, under

from . import source, view
from .html import Component, Figure

ASSETS = Path(__file__).parents[2] / "assets"
SCRIPTS = (
    *("playground", "roving", "code", "heat", "player", "bars", "switches", "thumbs", "overview", "measures", "edges"),
    "figure",
    *("sweep", "alert", "identity", "proofs", "neurons", "architecture", "beside", "twice", "save", "take_home"),
    *("guide", "lessons_controls", "lessons_questions", "lessons_stages", "lessons"),
)
SENTENCES = {  # script -> the file of texts that it shows
    "player": "player",
    "bars": "bars",
    "switches": "switches",
    "thumbs": "attention",
    "overview": "overview",
    "measures": "measures",
    "edges": "edges",
    "sweep": "sweep",
    "proofs": "proofs",
    "neurons": "feed_forward",
    "architecture": "architecture",
    "beside": "beside",
    "figure": "figure",
    "save": "save",
    "take_home": "take_home",
    "alert": "alert",
    "guide": "guide",
    "lessons": "lessons",
}
# Never shown twice, side by side.
ALONE = ("alert", "player", "bars", "switches", "proofs", "sweep", "beside", "take_home", "guide", "lessons")


def component(
    script: str, events: Sequence[str], template: str, kind: type[Component] = Component, **settings: Any
) -> Any:
    """Markup `template`, run by `playground.<script>(element, props, watch, ...)` with one function for each event.

    An event carries a JSON object, which its listener receives as gr.EventData.
    """
    senders = "".join(f", (detail) => trigger('{event}', detail)" for event in events)
    props = f"playground.given.{script}(props)" if script in SENTENCES else "props"
    begin = f"playground.{script}(" if script in ALONE else f"playground.twice('{script}', "
    js = f"{begin}element, {props}, watch{senders})"
    return kind(html_template=template, js_on_load=js, apply_default_css=False, elem_classes=f"pg-{script}", **settings)


def given(limits: Limits) -> dict[str, dict[str, Any]]:
    """What each script knows from the start: its sentences in every language, to change them without asking anybody.

    Sent with the page and not as props of gr.HTML: there an update that changes nothing (gr.skip) erases them, if it
    comes before the tab of the component was ever opened.
    """
    known: dict[str, dict[str, Any]] = {
        script: {"words": {lang: under(lang, file) for lang in LANGUAGES}} for script, file in SENTENCES.items()
    }
    known["player"] = {"words": view.stop_words(limits)}
    for lang in LANGUAGES:
        known["alert"]["words"][lang]["full"] = say(lang, "alert.full", limit=limits.queue)
    known["architecture"]["sources"] = source.excerpts()
    known["lessons"]["table"] = [
        {"name": lesson.name, "parts": [part.name for part in lesson.experiments]} for lesson in LESSONS
    ]
    for script in ("thumbs", "overview"):
        known[script] |= {"light": BLUES, "dark": BLUES_DARK}
    return known


def alert() -> Any:
    """Why the last thing asked for was refused: a sentence in every language, or None."""
    return component("alert", (), '<div class="alert" role="alert"></div>', elem_id="alert")


def player(value: Any, tabs: Sequence[str]) -> Any:
    """The token strip with its transport.

    Events `branch`: these words instead of a token; of the open tab `need_<tab>`: more tokens are wanted, drawn in this
    tab at once, and `see_<tab>`: something that it shows is new.
    """
    template = (
        '<div class="transport" role="toolbar"></div>'
        f'<div class="strip" role="group" data-tabs="{" ".join(tabs)}"></div>'
        '<div class="notices" role="status"></div>'
    )
    events = ("branch", *(f"{event}_{tab}" for tab in tabs for event in ("need", "see")))
    return component("player", events, template, value=value, elem_id="player")


def bars() -> Any:
    """The next-token bars, drawn from the player's value.

    Events `ask`: where does this token stand?, `stages`: how would the controls choose?, `branch`: go on with this one.
    """
    return component("bars", ("ask", "stages", "branch"), '<div class="bars"></div>', elem_id="bars")


def switches(value: Any) -> Any:
    """What to zero; event `flip`: the list of words that are now off."""
    template = '<div class="switches"></div>'
    return component("switches", ("flip",), template, value=value, elem_id="switches")


def thumbs() -> Any:
    """All heads of one layer; event `pick`: this head, please."""
    template = '<div class="thumbs" role="toolbar"></div>'
    return component("thumbs", ("pick",), template, elem_id="thumbs")


def overview() -> Any:
    """All heads of all layers; event `pick`: this layer and head, please."""
    template = '<div class="overview" role="toolbar"></div>'
    return component("overview", ("pick",), template, elem_id="overview")


def measures() -> Any:
    """The heads of one layer in numbers; event `pick`: this head, please."""
    return component("measures", ("pick",), '<div class="measures"></div>', elem_id="measures")


def edges() -> Any:
    """What the selected token may look at in one head; it asks the switches to forbid and allow."""
    return component("edges", (), '<div class="edges"></div>', elem_id="edges")


def beside() -> Any:
    """The other run, where two are compared: its text and its next-token bars."""
    template = '<div class="beside-run" hidden></div>'
    return component("beside", (), template, elem_id="beside")


def take_home() -> Any:
    """What a visitor takes along; event `wanted`: please make this file."""
    return component("take_home", ("wanted",), '<div class="take-home"></div>', elem_id="take-home")


def sweep_control() -> Any:
    """Begins and cancels a sweep and shows its progress; events `start`: measure this position, and `stop`."""
    return component("sweep", ("start", "stop"), '<div class="sweep"></div>', elem_id="sweep")


def identity() -> Any:
    """One sentence about the residual identity, as measured."""
    return component("identity", (), '<p class="identity" role="status"></p>', elem_id="identity")


def proofs(value: Any) -> Any:
    """How many identities hold for the run on screen; event `prove`: a run has come to rest, please prove it."""
    template = '<div class="proofs"></div>'
    return component("proofs", ("prove",), template, value=value, elem_id="proofs")


def neurons() -> Any:
    """The strongest neurons of the selected token; event `redraw`: those of this position, please."""
    template = (
        '<div class="neurons"><h3></h3><div class="scroll" role="region" tabindex="0"></div>'
        '<p class="note" aria-live="polite"></p></div>'
    )
    return component("neurons", ("redraw",), template, elem_id="neurons")


def guide() -> Any:
    """The header's projector button and the tour of a first visit."""
    return component("guide", (), '<div class="guide"></div>', elem_id="guide")


def lessons() -> Any:
    """All lessons.

    Events `ask`: this experiment with these values, please; `begin` and `stop` one that trains; `through`: let the
    whole page look through this model; `take`: make a file of it.
    """
    return component(
        "lessons", ("ask", "begin", "stop", "through", "take"), '<div class="lessons"></div>', elem_id="lessons"
    )


def architecture() -> Any:
    """The network as a drawing, with the lines of code behind each box."""
    template = '<div class="architecture"></div>'
    return component("architecture", (), template, elem_id="architecture")


def figure(elem_id: str) -> Any:
    """A plotly figure that follows the position; event `redraw`: see follow.py."""
    template = '<div class="plot" role="img"></div><p class="note" aria-live="polite"></p>'
    return component("figure", ("redraw",), template, Figure, elem_id=elem_id)


def head(lang: str, fixed: bool, limits: Limits) -> str:
    """What the page loads before its components are made: our scripts inline, plotly from the installed package.

    `lang` is the language the server worded the page in; `fixed` means that the operator chose it.
    """
    begin = f"playground.know({inline(given(limits))});\nplayground.begin('{lang}', {str(fixed).lower()});"
    return f'<script>{scripts()}\n{begin}</script><script defer src="gradio_api/file={PLOTLY_JS}"></script>'


def scripts() -> str:
    """All our scripts, one after the other."""
    return "\n".join(asset(f"js/{name}.js") for name in SCRIPTS)


def styles(*names: str) -> str:
    """These sheets, one after the other."""
    return "".join(asset(f"css/{name}.css") for name in names)


def asset(name: str) -> str:
    """The text of a file that came with the playground. Raises: AssetDamaged"""
    try:
        return (ASSETS / name).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise AssetDamaged(file=name) from error


def inline(value: Any) -> str:
    """JSON that may stand in a <script>: no text in it can end the script or begin a comment."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
