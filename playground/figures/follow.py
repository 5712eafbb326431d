"""How a figure follows the selected position with no request: the contract with the page's JavaScript.

A figure is sent as the text of `as_json(figure)`. Every figure of this package carries `layout.meta`:

    {"follow": {"position": 9,             the position that the figure shows as it is sent
                "tokens": 14,              P, how many positions there are; positions are 0 .. P-1
                "axes": ["x", "y"],        axes whose coordinate is a token position (may be empty)
                "hover": ["y", "x"],       axes that name the tokens under the mouse (may be empty)
                "pick": [PICK, ...],       what to exchange when another position is selected (may be empty)
                "written": {"trace": 0, "width": 40},   texts in the cells of data[0], which need so many pixels
                "redraw": false,          true when the picks would weigh too much: another position must be asked for
                "more": true,             it is not complete yet (left out when it is)
                "switch": SWITCH},         what a click on a cell switches off or on again (left out when nothing)
     "dark": {"#0072b2": "#56b4e9", ...}}  colour on a light page -> colour on a dark page

A PICK is one of two, told apart by which key it has:

    {"trace": 0, "attr": "y", "values": VALUES}           data[0].y = VALUES[p]
    {"target": "yaxis.ticktext", "values": VALUES}        layout.yaxis.ticktext = VALUES[p]

`attr` and `target` are dotted paths of keys ("y", "marker.color", "title.text", "yaxis.ticktext"), the first inside
data[trace], the second inside layout. VALUES has P entries, one for each position, and arrives as one of two:

* a list: VALUES[p] is what to set (a string, a number or a list of them);
* plotly's typed array {"dtype": "f4", "bdata": base64, "shape": "P, n"} (little endian, row after row): VALUES[p] is
  the n numbers from p * n on; without "shape" it is P numbers and VALUES[p] is one. dtype is f4, f8, i1, u1, i2, u2, i4
  or u4. A NaN is a gap: nothing is drawn there, never a 0. Plotly decodes such arrays in data, but not inside `meta`.

A square whose cells above the diagonal are all blank arrives without them, as {"dtype": "f4", "triangle": base64,
"shape": "T, T"}; the page makes a typed array of it.

SWITCH says which words of Ablation.words stand in a cell: one text with blanks for its whole numbers,
"edge.2.1.{y}.{x}", or a list of rows of words, switch[y][x].

What the page does:

* select p: apply every pick, draw the band; where there are picks, call Plotly.react with the same data and layout
  objects. Applying the picks for `position` changes nothing: the figure is sent with them applied.
* band: over each axis of `axes` a frame from p - 0.5 to p + 0.5, across all pictures that share the axis (an outline
  for the hovered token). It is an element of the page and no shape of plotly: moving it draws nothing anew.
* redraw: the figure then holds `position` alone. For another one the page sends its component's event `redraw`, a
  moment after the last step, and is sent the figure drawn there; meanwhile it shows what it has.
* more: as soon as it has come, and as long as it is in sight, the page sends `redraw`, and is sent a fuller one.
* hover: at plotly_hover, for each axis a of `hover`, token = Math.round(event.points[0][a]). The first axis names the
  token that looks or is measured, a second one the token looked at. Without `hover` the points are no tokens.
* click: select the token as at hover, then toggle the word of the clicked cell, as if its switch had been pressed.
* dark page: before JSON.parse, text.replace(/#[0-9a-f]{6}/g, c => dark[c] ?? c) once; keep the text, so that going back
  to light is parsing it again. Colours are lower-case and `literal` keeps them out of labels, so no user text changes.
* ink: figures set no text colour. The page sets layout.font.color (ink) and layout.hoverlabel = {bgcolor: card,
  bordercolor: line, font: {color: ink}}; backgrounds are transparent. `layout.height` is set, the width is not.
* written (often absent): where tokens / width of the plot leaves a cell fewer pixels, data[trace].texttemplate is "".
* no data: the picture is hidden and the notes stand alone.
* narrow page (optional): a token axis has tickvals and ticktext of at most 40 tokens, evenly spaced. Where fewer fit,
  keep every k-th of both. Hover still names every token, because the axis' `labelalias` holds them all.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import plotly
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.utils import PlotlyJSONEncoder

from .style import DARK, Title, drawn, literal

Drawing = go.Figure  # what every figure here is, for those who must not know plotly
PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"  # draws them, in the browser
Axis = Literal["x", "y"]
MOST_PICKED = 600_000  # bytes of a figure's picks; beyond, every step asks for a new figure instead
Values = NDArray[Any] | Sequence[str] | Sequence[Sequence[str]]


def pick(trace: int, attr: str, values: Values) -> dict[str, Any]:
    """At position p, data[trace][attr] becomes values[p]."""
    return {"trace": trace, "attr": attr, "values": values}


def pick_layout(target: str, values: Values) -> dict[str, Any]:
    """At position p, the layout's `target` becomes values[p]."""
    return {"target": target, "values": values}


def weight(values: Any) -> int:
    """About how much values to pick from weigh. Units: bytes"""
    if isinstance(values, np.ndarray):
        return values.nbytes
    if isinstance(values, str):
        return len(values)
    return sum(map(weight, values)) if isinstance(values, Sequence) else 8


def title_picks(title: Title) -> list[dict[str, Any]]:
    """None for one title, one pick when there is a title for each position."""
    return [] if isinstance(title, str) else [pick_layout("title.text", [literal(each) for each in title])]


def as_json(figure: go.Figure) -> str:
    """The figure as the page receives it; NaN outside of typed arrays becomes null.

    Like figure.to_json(), which however writes each `/` of base64 as six characters, to be safe inside a <script>:
    an eighth more for an attention map.
    """
    sent = figure.to_dict()
    for trace, written in zip(figure.data, sent["data"], strict=True):
        if trace.type == "heatmap" and is_triangle(trace.z):
            written["z"] = triangle(trace.z)
    return json.dumps(sent, cls=PlotlyJSONEncoder, ensure_ascii=False, separators=(",", ":"))


def is_triangle(z: Any) -> bool:
    """Whether it is a square of 32-bit numbers that is blank above the diagonal, as causal attention is."""
    square = isinstance(z, np.ndarray) and z.dtype == np.float32 and z.ndim == 2 and z.shape[0] == z.shape[1] > 1
    return square and bool(np.isnan(z[np.triu_indices(len(z), 1)]).all())


def triangle(z: NDArray[np.float32]) -> dict[str, str]:
    """Half of the bytes: the cells on and below the diagonal, row after row."""
    cells = base64.b64encode(z[np.tril_indices(len(z))].astype("<f4").tobytes()).decode()
    return {"dtype": "f4", "triangle": cells, "shape": f"{len(z)}, {len(z)}"}


def follow(
    figure: go.Figure,
    position: int,
    tokens: int,
    *,
    axes: Sequence[Axis] = (),
    hover: Sequence[Axis] = (),
    picks: Sequence[Mapping[str, Any]] = (),
    written: Mapping[str, int] | None = None,
    switch: str | Sequence[Sequence[str]] | None = None,
    alone: bool = False,
    more: bool = False,
) -> go.Figure:
    """Write into the figure what the page needs to show another position, and return it.

    Picks of more than MOST_PICKED bytes are left out, and the page asks for a redraw at each position; as it does where
    the figure knows this position `alone`.

    Raises: ValueError when a pick does not have one entry for each token.
    """
    for each in picks:
        if len(each["values"]) != tokens:
            raise ValueError(f"{len(each['values'])} values to pick from, but {tokens} tokens")
    heavy = sum(weight(each["values"]) for each in picks) > MOST_PICKED
    told: dict[str, Any] = {
        "position": position,
        "tokens": tokens,
        "axes": list(axes),
        "hover": list(hover),
        "pick": [] if heavy else list(picks),
        "redraw": heavy or alone,
    }
    if written:
        told["written"] = dict(written)
    if more:
        told["more"] = True
    if switch is not None:
        told["switch"] = switch
    figure.layout.meta = {"follow": told, "dark": DARK}
    return figure


def nothing(tokens: int) -> go.Figure:
    """A figure without data, for what cannot be drawn: the page then shows its sentences alone."""
    return follow(drawn([], "", height=60), tokens - 1, tokens)
