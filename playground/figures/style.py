"""What all figures share: one colour per idea, token axes, text that stays literal, a quiet layout."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from .numbers import brief

Floats = NDArray[np.floating[Any]]
Traces = list[Any]  # plotly's traces, in the order drawn; it ships no types
Title = str | Sequence[str]  # one title, or one for each position

# Okabe & Ito 2008, darkened until they read on white: safe for colour-blind eyes.
ATTENTION, FEED_FORWARD, NORM = "#0072b2", "#c77f00", "#00805c"
RESIDUAL, OFF, ACCENT = "#4a5568", "#b4304a", "#2450c8"
GRID = "rgba(128,138,150,0.22)"  # half transparent: right on a light and on a dark page
MONOSPACE = "'IBM Plex Mono', ui-monospace, monospace"

# Steps of equal lightness in OKLab. 0 must differ from the card, which shows through where nothing is known, so it is
# a pale tint; no tint is pale on white and on black, hence a second list, used by the page when it is dark.
BLUES = ("#e5f2fd", "#b0d3ef", "#7cb3e2", "#4792d4", "#1b71bb", "#0c5193", "#01346a")
BLUES_DARK = ("#223345", "#2e506f", "#37709b", "#3d92c8", "#59b5ea", "#94d6fa", "#dcf3ff")
GREENS = ("#e5f5ed", "#b2d8c6", "#7ebca1", "#45a17d", "#07825e", "#016044", "#04402d")
GREENS_DARK = ("#23372e", "#2d5746", "#357a5f", "#3b9f79", "#5ac198", "#94debe", "#cafce5")
SIGNED = ("#652f86", "#946eaf", "#c3acd5", "#eef0f3", "#9ac2ab", "#4b916e", "#025c3b")
SIGNED_DARK = ("#e7caff", "#af88cb", "#6e5a7e", "#303234", "#486d59", "#66ac87", "#89f1bb")

DARK = {
    **dict(zip(BLUES + GREENS + SIGNED, BLUES_DARK + GREENS_DARK + SIGNED_DARK, strict=True)),
    ATTENTION: "#56b4e9",
    FEED_FORWARD: "#f0b03a",
    NORM: "#3cc99b",
    RESIDUAL: "#a8b3c1",
    OFF: "#ff7c93",
    ACCENT: "#7aa2ff",
}

LEAST = 1e-9  # the end of the colours when nothing changes anything
DECADES = 4  # from the palest colour of a logarithmic scale to the darkest
TITLE_HEIGHT = 36  # pixels
MOST_LABELS = 40  # more do not fit beside each other, not even on a wide page
LONGEST_LABEL = 14  # characters; a token of 80 dashes would push the picture off the page
NOTHING_MORE: Mapping[str, Any] = MappingProxyType({})
# Margins fit the labels, so none overflows; that plotly checks each one costs half of the time a drawing takes.
AXIS = {"automargin": True, "ticklabeloverflow": "allow", "gridcolor": GRID, "zeroline": False, "ticks": "",
        "title": {"font": {"size": 12}, "standoff": 8}}  # fmt: skip
ENTITIES = str.maketrans({mark: f"&#{ord(mark)};" for mark in "&<>$%#"})


def literal(text: str) -> str:
    """Write text so that plotly shows these very characters.

    Plotly reads a small HTML dialect (`<b>`, `&amp;`), `$...$` as a formula where MathJax is loaded, and `%{...}` as a
    blank to fill in. `#` goes too, so that a dark page exchanges colours and never what somebody typed.
    """
    return re.sub("[\ud800-\udfff]", "\ufffd", text).translate(ENTITIES)


def tick_text(label: str, longest: int = LONGEST_LABEL) -> str:
    """A token's label as an axis shows it: literal, and shortened when very long."""
    return literal(label if len(label) <= longest else label[: longest - 1] + "…")


def name_axis(names: Sequence[str], title: str) -> dict[str, Any]:
    """Like `token_axis`, for the names of sublayers or norms: fewer and longer."""
    return token_axis(names, title, most=26, longest=24)


def token_axis(
    labels: Sequence[str], title: str = "", most: int = MOST_LABELS, longest: int = LONGEST_LABEL
) -> dict[str, Any]:
    """Settings of an axis on which token i stands at number i, so that repeated tokens stay separate.

    Of many tokens every k-th is labelled; the hover names all of them (`labelalias`).
    """
    texts = [tick_text(label, longest) for label in labels]
    step = max(1, -(-len(texts) // most))
    return {
        "type": "linear",
        "tickmode": "array",
        "tickvals": list(range(0, len(texts), step)),
        "ticktext": texts[::step],
        "labelalias": {str(i): text for i, text in enumerate(texts)},
        "range": [-0.5, len(texts) - 0.5],
        "autotickangles": [0, -60, -90],
        "tickfont": {"family": MONOSPACE, "size": 11},
        "showgrid": False,
        "title": {"text": literal(title)},
    }


def downwards(axis: Mapping[str, Any]) -> dict[str, Any]:
    """A `token_axis` or `name_axis` whose first entry is on top."""
    return {**{name: each for name, each in axis.items() if name != "range"}, "autorange": "reversed"}


def hover_lines(*lines: tuple[str, str]) -> str:
    """A hover text of one `word: value` a line; the values are plotly's `%{...}`, which round what is whole."""
    return "<br>".join(f"{literal(word)}: {value}" for word, value in lines) + "<extra></extra>"


def scale(colours: Sequence[str]) -> list[tuple[float, str]]:
    """A colour scale of evenly spaced steps."""
    return [(i / (len(colours) - 1), colour) for i, colour in enumerate(colours)]


def colour_bar(title: str = "", **settings: Any) -> dict[str, Any]:
    """A thin colour bar without a frame."""
    quiet = {"thickness": 10, "outlinewidth": 0, "xpad": 8, "ypad": 0, "tickfont": {"size": 11}, "ticklen": 3}
    return quiet | {"title": {"text": literal(title), "side": "right", "font": {"size": 11}}} | settings


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers (1, 2, 5, 10 ...) from low to high, at most seven; the ends themselves when fewer than two fit."""
    exponents = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [m * 10.0**e for e in exponents for m in (1, 2, 5) if low <= m * 10.0**e <= high]
    if len(ticks) > 7:
        ticks = [tick for tick in ticks if np.log10(tick) == round(np.log10(tick))]
    return ticks[:: max(1, -(-len(ticks) // 7))] if len(ticks) > 1 else sorted({low, *ticks, high})


def decades(values: Floats, title: str) -> dict[str, Any]:
    """Settings of a heat map whose colours go by the logarithm, from the largest value down over DECADES.

    What is smaller, and 0, has the palest colour; NaN stays a gap. `z` is the logarithm, so values go to `customdata`.
    """
    most = max(float(np.nanmax(values, initial=0)), LEAST)
    ticks = log_ticks(most / 10**DECADES, most)
    texts = [brief(tick) for tick in ticks]
    return {
        "z": np.log10(np.maximum(values, most / 10**DECADES)),
        "customdata": values,
        "zmin": np.log10(most) - DECADES,
        "zmax": np.log10(most),
        "colorscale": scale(BLUES),
        "colorbar": colour_bar(title, tickvals=np.log10(ticks).tolist(), ticktext=texts),
    }


def at(title: Title, position: int) -> str:
    """The title at a position, literal."""
    return literal(title if isinstance(title, str) else title[position])


def titled(text: str, **settings: Any) -> dict[str, Any]:
    """Settings of an axis with a literal title."""
    return {"title": {"text": literal(text)}} | settings


def drawn(
    traces: Traces,
    title: str,
    height: int,
    right: int = 8,
    x: Mapping[str, Any] = NOTHING_MORE,
    y: Mapping[str, Any] = NOTHING_MORE,
    **layout: Any,
) -> go.Figure:
    """A figure in the layout of all: transparent, tight, no colour of text, a title at the left, the legend below it.

    `x` and `y` are settings of every x and y axis; `layout` is what only this figure has, single axes among it.
    `title` is literal already. Units: pixels

    Plotly does not check what it is given here: to check layout and traces once more would take 10 ms, a quarter of
    what a step takes on the server. The tests of the figures have it check each of them.
    """
    top = TITLE_HEIGHT if title else 8
    whole: dict[str, Any] = {
        "template": {},  # plotly's own would colour text and ground
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "height": height,
        "margin": {"l": 8, "r": right, "t": top, "b": 8},
        "title": {"text": title, "x": 0, "xref": "container", "xanchor": "left", "y": 1, "yref": "container",
                  "yanchor": "top", "pad": {"l": 8, "t": 10}, "font": {"size": 14, "weight": 600}},
        "font": {"size": 12},
        "legend": {"orientation": "h", "x": 0, "xref": "container", "xanchor": "left", "y": 1 - top / height,
                   "yref": "container", "yanchor": "top", "font": {"size": 12}, "bgcolor": "rgba(0,0,0,0)"},
    }  # fmt: skip
    for letter, settings in (("x", x), ("y", y)):
        for name in {f"{letter}axis", *(name for name in layout if name.startswith(f"{letter}axis"))}:
            whole[name] = merged(AXIS, settings)
    return go.Figure(traces, merged(whole, layout), _validate=False)


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Settings where those `above` win, inside nested ones too."""
    both = dict(below)
    for name, value in above.items():
        nested = isinstance(value, Mapping) and isinstance(both.get(name), Mapping)
        both[name] = merged(both[name], value) if nested else value
    return both


def crosses(places: Sequence[tuple[int, int]]) -> Traces:
    """Red crosses over the (row, column) cells that are off; the cells under them still answer the mouse."""
    if not places:
        return []
    rows, columns = zip(*places, strict=True)
    cross = {"symbol": "x-thin", "size": 11, "line": {"color": OFF, "width": 2.5}}
    return [go.Scatter(x=columns, y=rows, mode="markers", marker=cross, hoverinfo="skip", showlegend=False)]


def must_fit(name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Raises: ValueError with both shapes when an array does not fit its labels."""
    if shape != expected:
        raise ValueError(f"{name}: {shape}, but the labels need {expected}")


def must_contain(position: int, tokens: int) -> None:
    """Raises: ValueError with the position and the limit."""
    if not 0 <= position < tokens:
        raise ValueError(f"position {position}, but there are tokens 0 to {tokens - 1}")
