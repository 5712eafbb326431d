"""The residual stream: how long its vector is after each sublayer, and what each sublayer adds to it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from .follow import follow, pick, title_picks
from .style import (
    ATTENTION,
    FEED_FORWARD,
    OFF,
    RESIDUAL,
    Floats,
    Title,
    Traces,
    at,
    drawn,
    literal,
    must_contain,
    must_fit,
    name_axis,
    titled,
)

BAR = 0.75  # of the room between two sublayers
HOVER = "%{x}: %{y:.4g}<extra>%{fullData.name}</extra>"


@dataclass(frozen=True)
class StreamWords:
    """Words of the residual stream; `title` may be one for each position."""

    title: Title
    depth: str
    norm: str
    current: str
    baseline: str


@dataclass(frozen=True)
class ContributionWords:
    """Words of the contributions; `off` names what a switched-off sublayer no longer adds."""

    title: Title
    sublayer: str
    norm: str
    attention: str
    feed_forward: str
    off: str


def stream_norms(
    norms: ArrayLike, names: Sequence[str], words: StreamWords, position: int, baseline: ArrayLike | None = None
) -> go.Figure:
    """Length of one token's vector on its way through the depth; blue points follow an attention, amber a feed-forward.

    `baseline` is the same with nothing switched off: dashed grey behind the solid line.

    Shapes: norms and baseline (2L+1, T): after the embedding, then after each attention and feed-forward; 2L+1 names
    Units:  L2 norm
    Raises: ValueError when the names do not fit or the position is none of the tokens.
    """
    values = _by_position("norms", norms, names)
    tokens = len(values)
    must_contain(position, tokens)
    depth = np.arange(len(names))
    colours = [RESIDUAL, *([ATTENTION, FEED_FORWARD] * (len(names) // 2))]
    traces: Traces = []
    picks = title_picks(words.title)
    if baseline is not None:
        usual = _by_position("baseline", baseline, names)
        must_fit("baseline", usual.shape, values.shape)
        traces.append(go.Scatter(x=depth, y=usual[position], mode="lines", name=literal(words.baseline),
                                 hovertemplate=HOVER,
                                 line={"color": RESIDUAL, "width": 1.5, "dash": "dash"}))  # fmt: skip
        picks.append(pick(0, "y", usual))
    picks.append(pick(len(traces), "y", values))
    traces.append(go.Scatter(x=depth, y=values[position], mode="lines+markers", name=literal(words.current),
                             hovertemplate=HOVER, line={"color": RESIDUAL, "width": 2},
                             marker={"color": colours, "size": 9}))  # fmt: skip
    x, y = name_axis(names, words.depth), titled(words.norm, rangemode="tozero", nticks=6)
    figure = drawn(traces, at(words.title, position), height=320, x=x, y=y, showlegend=baseline is not None)
    return follow(figure, position, tokens, picks=picks)


def contributions(
    norms: ArrayLike,
    names: Sequence[str],
    words: ContributionWords,
    position: int,
    baseline: ArrayLike | None = None,
    off: Sequence[int] = (),
) -> go.Figure:
    """How much each sublayer adds to one token's vector: attention blue, feed-forward amber.

    A red cross stands at the foot of each sublayer that is `off`, and at each that adds exactly 0 at every token; a
    hatched red bar shows what it adds in `baseline`, the same run with nothing switched off.

    Shapes: norms and baseline (2L, T): attention and feed-forward of each layer in turn; 2L names
    Units:  L2 norm
    Raises: ValueError when the names do not fit or the position is none of the tokens.
    """
    values = _by_position("norms", norms, names)
    tokens = len(values)
    must_contain(position, tokens)
    usual = values if baseline is None else _by_position("baseline", baseline, names)
    must_fit("baseline", usual.shape, values.shape)
    traces: Traces = []
    picks = title_picks(words.title)
    for first, name, colour in ((0, words.attention, ATTENTION), (1, words.feed_forward, FEED_FORWARD)):
        picks.append(pick(first, "y", values[:, first::2]))
        traces.append(go.Bar(x=np.arange(first, len(names), 2), y=values[position, first::2], name=literal(name),
                             width=BAR, marker={"color": colour}, hovertemplate=HOVER))  # fmt: skip
    marked = np.union1d(np.flatnonzero((values == 0).all(axis=0)), np.asarray(off, dtype=np.intp))
    if marked.size:
        traces += _marks_of_what_is_off(marked, usual[position, marked], literal(words.off))
        picks.append(pick(2, "y", usual[:, marked]))
    x, y = name_axis(names, words.sublayer), titled(words.norm, rangemode="tozero", nticks=6)
    figure = drawn(traces, at(words.title, position), height=320, x=x, y=y, barmode="overlay")
    return follow(figure, position, tokens, picks=picks)


def _marks_of_what_is_off(places: NDArray[np.intp], usual: Floats, name: str) -> Traces:
    """Hatched bars for what is missing, crosses where a bar would stand."""
    hatch = {"shape": "/", "fgcolor": OFF, "bgcolor": "rgba(0,0,0,0)", "size": 7, "solidity": 0.22}
    bars = go.Bar(x=places, y=usual, name=name, width=BAR, hovertemplate=HOVER,
                  marker={"color": "rgba(0,0,0,0)", "line": {"color": OFF, "width": 1}, "pattern": hatch})  # fmt: skip
    feet = go.Scatter(x=places, y=np.zeros(len(places)), mode="markers", showlegend=False, hoverinfo="skip",
                      cliponaxis=False, marker={"symbol": "x", "size": 9, "color": OFF})  # fmt: skip
    return [bars, feet]


def _by_position(name: str, norms: ArrayLike, names: Sequence[str]) -> Floats:
    """Rows = positions, so that row p is what the figure shows at position p."""
    values = np.asarray(norms)
    must_fit(name, values.shape, (len(names), values.shape[1] if values.ndim == 2 else 1))
    return np.ascontiguousarray(values.T)
