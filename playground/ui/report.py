"""A run as one file: the page's own scripts and pictures, which need neither a server nor a network."""

import html
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playground.figures.follow import PLOTLY_JS
from playground.limits import DEFAULTS
from playground.runs import Request, Run
from playground.text import labels, say

from . import proofs, view
from .answers import Answers
from .components import given, inline, scripts, styles
from .html import Component, Figure, Picture
from .http import digests
from .session import Session
from .take_home import check_size, file_name
from .wiring import Wiring

# The file runs its own scripts and asks nobody for anything.
POLICY = "default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
PLAYER = '<div class="transport" role="toolbar"></div><div class="strip" role="group"></div><div class="notices"></div>'
BEGIN = """
playground.begin(lang, true, true);
playground.know(known);
const still = () => {};
for (const [script, id, value] of parts) {
  const props = playground.given[script] ? playground.given[script]({ value }) : { value };
  playground[script](document.getElementById(id), props, still, still, still, still);
}
"""


def write(wiring: Wiring, answers: Answers, folder: Path, at: int, session: Session, lang: str, *values: Any) -> Path:
    """The file, for the run on screen, where it stands, and the pictures as their controls do. Raises: FileTooLarge"""
    request = session.request
    run, base = answers.look(request)
    sampling, limits = session.choice.sampling, answers.limits
    player = view.whole(request, run, base, sampling, {}, limits, stop="report", at=at)
    drawn = [item for item in wiring.everything(session, lang, *values) if is_live(item[2])]
    path = folder / file_name(request, "html")
    document = page(request, run, lang, player, drawn).encode()
    check_size(len(document), limits)
    path.write_bytes(document)
    return path


def is_live(picture: Any) -> bool:
    """Whether there is a figure to show, and not one of a part that is folded or was never begun."""
    return isinstance(picture, Picture) and bool(picture.figure.data)


def page(
    request: Request, run: Run, lang: str, player: dict[str, Any], drawn: Sequence[tuple[str, str, Picture]]
) -> str:
    """The whole document. Every text from a visitor stands in escaped markup or in JSON."""
    known = given(DEFAULTS)  # whichever: of a file nothing more can be asked
    known["player"]["words"][lang]["stop_report"] = say(lang, "report.stopped")
    written = Component().written
    parts = [["player", "player", written(player)], ["bars", "bars", None]]
    parts += [["proofs", "proofs", written(proofs.proved(request, run))]]
    parts += [["figure", elem_id, Figure().written(picture)] for _, elem_id, picture in drawn]
    sections = "".join(
        f"<section><h2>{html.escape(tab_name(lang, tab))}</h2>{figures(drawn, tab)}</section>"
        for tab in dict.fromkeys(tab for tab, _, _ in drawn)
    )
    title = say(lang, "report.title", model=request.model, prompt=request.prompt)
    code = f"""<script>{PLOTLY_JS.read_text("utf-8")}</script>
<script>{scripts()}</script>
<script>const lang = {inline(lang)}, known = {inline(known)}, parts = {inline(parts)};{BEGIN}</script>"""
    return f"""<!doctype html>
<html lang="{"zh-CN" if lang == "zh" else "en"}">
<head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY.format(hashes=" ".join(digests(code)))}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title><style>{style()}</style></head>
<body class="report"><main><h1>{html.escape(title)}</h1><p class="note">{html.escape(facts(request, run, lang))}</p>
<div id="proofs"><div class="proofs"></div></div>
<div id="player">{PLAYER}</div><div id="bars"><div class="bars"></div></div>{sections}</main>
{code}
</body></html>
"""


def figures(drawn: Sequence[tuple[str, str, Picture]], tab: str) -> str:
    box = '<div class="pg-figure" id="{}"><div class="plot"></div><p class="note"></p></div>'
    return "".join(box.format(elem_id) for own, elem_id, _ in drawn if own == tab)


def tab_name(lang: str, tab: str) -> str:
    return labels(lang, f"{tab}.tab")["label"]


def facts(request: Request, run: Run, lang: str) -> str:
    off = ", ".join(request.ablation.words()) or say(lang, "report.nothing_off")
    count = f"{run.model.config.n_parameters:,}"
    today = datetime.now(UTC).date().isoformat()
    return say(lang, "report.facts", model=request.model, parameters=count, off=off, date=today)


def style() -> str:
    return styles("page", "panels", "report")
