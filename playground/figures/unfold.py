"""One query of one head, step by step: a row of bars over the keys for each stage."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from .follow import follow, pick, pick_layout, title_picks
from .style import (
    ATTENTION,
    RESIDUAL,
    Floats,
    Title,
    Traces,
    at,
    drawn,
    literal,
    must_contain,
    must_fit,
    tick_text,
    token_axis,
)

MOST_KEYS = 40  # bars; of a longer text each query shows those with most of its weight
ROW = 74  # pixels of each stage, its name included
GAP = 0.32  # of them for the name
COLOURS = (RESIDUAL, RESIDUAL, RESIDUAL, ATTENTION, ATTENTION, ATTENTION)
WEIGHTS = 3  # the stage whose axis is fixed


@dataclass(frozen=True)
class UnfoldWords:
    """The six stages in the order computed, the axis of the keys, and a title or one for each position."""

    title: Title
    key: str
    dots: str
    scaled: str
    masked: str
    weights: str
    mixed: str
    written: str


def unfolded(
    stages: Sequence[ArrayLike], labels: Sequence[str], words: UnfoldWords, position: int, most: int = MOST_KEYS
) -> go.Figure:
    """Six rows of bars: q·k, scaled, masked (a gap where the query may not look), weights, weighted values, output.

    Of a text of more than `most` tokens each query shows the keys with most of its weight, in the text's order.

    Shapes: six stages (T, T), row = query; T labels
    Raises: ValueError when the labels do not fit or the position is none of the tokens.
    """
    tokens = len(labels)
    must_contain(position, tokens)
    arrays = [np.asarray(stage, dtype=np.float32) for stage in stages]
    for name, array in zip(list(UnfoldWords.__annotations__)[2:], arrays, strict=True):
        must_fit(name, array.shape, (tokens, tokens))
    keys = most_weighted(arrays[WEIGHTS], most)
    arrays = [np.take_along_axis(array, keys, 1) for array in arrays]
    traces: Traces = []
    names = astuple(replace(words, title=""))[2:]
    for i, (array, name, colour) in enumerate(zip(arrays, names, COLOURS, strict=True)):
        axis = f"y{i + 1}" if i else "y"
        traces.append(go.Bar(x=np.arange(keys.shape[1]), y=array[position], yaxis=axis, marker={"color": colour},
                             hovertemplate=f"%{{x}}: %{{y:.4g}}<extra>{literal(name)}</extra>"))  # fmt: skip
    x = token_axis([labels[key] for key in keys[position]], words.key) | {"anchor": "y6"}
    height = 60 + len(arrays) * ROW
    figure = drawn(traces, at(words.title, position), height, x=x, showlegend=False, bargap=0.25, **_rows(names))
    picks = [*title_picks(words.title), *(pick(i, "y", array) for i, array in enumerate(arrays))]
    every = keys.shape[1] == tokens
    if not every:
        picks += _moving(keys, labels)
    axes: Any = ("x",) if every else ()
    return follow(figure, position, tokens, axes=axes, hover=axes, picks=picks)


def most_weighted(weights: Floats, most: int) -> NDArray[np.intp]:
    """The keys to show for each query, in the text's order; of equals the earlier ones. Shapes: (T, min(T, most))"""
    best = np.argsort(-weights, axis=1, kind="stable")[:, :most]
    return np.sort(best, axis=1)


def _rows(names: Sequence[str]) -> dict[str, Any]:
    """The layout of one axis below the other, each with its name above it."""
    height = 1 / len(names)
    rows: dict[str, Any] = {"annotations": []}
    for i, name in enumerate(names):
        top = 1 - i * height
        settings = {"domain": [top - height, top - GAP * height], "nticks": 3}
        if i == WEIGHTS:
            settings |= {"range": [0, 1], "tickvals": [0, 0.5, 1]}
        rows[f"yaxis{i + 1 if i else ''}"] = settings
        place = {"x": 0, "xref": "paper", "xanchor": "left", "y": top - GAP * height, "yref": "paper"}
        look = {"yanchor": "bottom", "showarrow": False, "font": {"size": 12}}
        rows["annotations"].append({"text": literal(name), **place, **look})
    return rows


def _moving(keys: NDArray[np.intp], labels: Sequence[str]) -> list[dict[str, Any]]:
    """The names of the keys, which differ from query to query."""
    texts = [[tick_text(labels[key]) for key in row] for row in keys]
    named: Any = [{str(i): text for i, text in enumerate(row)} for row in texts]
    return [pick_layout("xaxis.ticktext", texts), pick_layout("xaxis.labelalias", named)]
