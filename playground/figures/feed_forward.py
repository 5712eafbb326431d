"""The neurons of one feed-forward: where a token's values fall on the GELU curve, and how many are on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from .follow import follow, pick, title_picks
from .style import (
    ACCENT,
    FEED_FORWARD,
    RESIDUAL,
    Title,
    at,
    drawn,
    hover_lines,
    literal,
    must_contain,
    must_fit,
    name_axis,
    titled,
)


@dataclass(frozen=True)
class CurveWords:
    """Words of the GELU curve; `title` may be one for each position."""

    title: Title
    hidden: str
    active: str
    neuron: str
    neurons: str
    strongest: str
    curve: str
    count: str


@dataclass(frozen=True)
class ShareWords:
    """Words of the share of neurons that are on; `title` may be one for each position."""

    title: Title
    layer: str
    share: str
    here: str
    mean: str


def gelu_points(
    hidden: ArrayLike,
    active: ArrayLike,
    curve: tuple[ArrayLike, ArrayLike],
    bins: tuple[ArrayLike, ArrayLike],
    strongest: ArrayLike,
    words: CurveWords,
    position: int,
) -> go.Figure:
    """Every neuron of one token as a point: its value before GELU across, after GELU up. Below, how many fall where.

    The grey line is GELU itself; the points are what the network computed. Rings mark the strongest neurons.

    Shapes: hidden and active (T, F); curve x and y; bins: edges (n + 1,) and counts (T, n); strongest (T, k), indices
    Raises: ValueError when the shapes differ or the position is none of the tokens.
    """
    x, y, best = np.asarray(hidden), np.asarray(active), np.asarray(strongest)
    edges, counts = np.asarray(bins[0]), np.asarray(bins[1])
    must_fit("active", y.shape, x.shape)
    must_fit("bins", counts.shape, (len(x), len(edges) - 1))
    must_contain(position, len(x))
    best_x, best_y = np.take_along_axis(x, best, 1), np.take_along_axis(y, best, 1)
    traces = [
        go.Scatter(x=np.asarray(curve[0]), y=np.asarray(curve[1]), mode="lines", name=literal(words.curve),
                   hoverinfo="skip", line={"color": RESIDUAL, "width": 1.5}),
        _points(x[position], y[position], "%{pointNumber}", words, name=literal(words.neurons),
                marker={"color": FEED_FORWARD, "size": 6, "opacity": 0.6}),
        _points(best_x[position], best_y[position], "%{customdata}", words, name=literal(words.strongest),
                customdata=best[position],
                marker={"color": ACCENT, "size": 11, "symbol": "circle-open", "line": {"width": 1.5}}),
        _counted(edges, counts[position], words),
    ]  # fmt: skip
    margin = 0.02 * (edges[-1] - edges[0])
    figure = drawn(
        traces,
        at(words.title, position),
        height=440,
        x=titled(words.hidden, anchor="y2", range=[edges[0] - margin, edges[-1] + margin], zeroline=True),
        yaxis=titled(words.active, domain=[0.32, 1], nticks=6, zeroline=True),
        yaxis2=titled(words.count, domain=[0, 0.22], nticks=3, rangemode="tozero"),
        bargap=0,
    )
    picks = [pick(1, "x", x), pick(1, "y", y), pick(2, "x", best_x), pick(2, "y", best_y), pick(2, "customdata", best),
             pick(3, "y", counts), *title_picks(words.title)]  # fmt: skip
    return follow(figure, position, len(x), picks=picks)


def _points(x: np.ndarray, y: np.ndarray, which: str, words: CurveWords, **settings: Any) -> go.Scatter:
    hover = hover_lines((words.hidden, "%{x:.4g}"), (words.active, "%{y:.4g}"))
    return go.Scatter(x=x, y=y, mode="markers", hovertemplate=f"{literal(words.neuron)} {which}<br>{hover}", **settings)


def _counted(edges: np.ndarray, counts: np.ndarray, words: CurveWords) -> go.Bar:
    return go.Bar(
        x=(edges[1:] + edges[:-1]) / 2,
        y=counts,
        yaxis="y2",
        width=np.diff(edges),
        showlegend=False,
        marker={"color": FEED_FORWARD},
        name=literal(words.count),
        hovertemplate="%{x:.3g}: %{y}<extra>%{fullData.name}</extra>",
    )


def share_on(shares: ArrayLike, names: Sequence[str], chosen: int, words: ShareWords, position: int) -> go.Figure:
    """Share of neurons that are on, layer by layer: bars for the selected token, a dashed line for the text's mean.

    The chosen layer's bar is full, the others pale.

    Shapes: shares (T, L), L names
    Units:  0..1
    Raises: ValueError when the names do not fit, or the position or layer is none of them.
    """
    values = np.asarray(shares)
    tokens, layers = len(values), len(names)
    must_fit("shares", values.shape, (tokens, layers))
    must_contain(position, tokens)
    must_contain(chosen, layers)
    places = np.arange(layers)
    full = [1.0 if layer == chosen else 0.45 for layer in range(layers)]
    hover = "%{x}: %{y:.1%}<extra>%{fullData.name}</extra>"
    traces = [
        go.Bar(x=places, y=values[position], name=literal(words.here), hovertemplate=hover,
               marker={"color": FEED_FORWARD, "opacity": full}),
        go.Scatter(x=places, y=values.mean(axis=0), name=literal(words.mean), mode="lines+markers",
                   hovertemplate=hover, line={"color": RESIDUAL, "width": 1.5, "dash": "dash"}, marker={"size": 6}),
    ]  # fmt: skip
    y = titled(words.share, rangemode="tozero", tickformat=".0%", nticks=5)
    figure = drawn(traces, at(words.title, position), height=260, x=name_axis(names, words.layer), y=y)
    return follow(figure, position, tokens, picks=[pick(0, "y", values), *title_picks(words.title)])
