"""How the values of one token's vector are distributed, which features stand out, and what scale and shift do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from .follow import follow, pick, pick_layout, title_picks
from .style import (
    ACCENT,
    MONOSPACE,
    NORM,
    RESIDUAL,
    Floats,
    Title,
    Traces,
    at,
    drawn,
    literal,
    must_contain,
    must_fit,
    titled,
)

STAGES = 3
GAP = 0.06  # between two panels, of the figure's width


@dataclass(frozen=True)
class HistogramWords:
    """Words of the histograms; `stages` are before, normalised, after; `title` may be one a position."""

    title: Title
    stages: tuple[str, str, str]
    value: str
    count: str


@dataclass(frozen=True)
class StandingOutWords:
    """Words of the features that stand out; `title` may be one for each position."""

    title: Title
    feature: str
    before: str
    normalised: str
    after: str
    scale: str
    shift: str


@dataclass(frozen=True)
class ScaleShiftWords:
    """Words of scale and shift; `marked` names the features that stand out at the position."""

    title: Title
    feature: str
    scale: str
    shift: str
    marked: str


def value_histograms(
    edges: Sequence[ArrayLike], counts: Sequence[ArrayLike], words: HistogramWords, position: int
) -> go.Figure:
    """Three histograms beside each other, each over its own range: grey comes in, hollow is normalised, green goes on.

    Shapes: for each of the three stages edges (T, bins + 1) and counts (T, bins)
    Raises: ValueError when the shapes differ or the position is none of the tokens.
    """
    borders = [np.asarray(each, dtype=np.float32) for each in edges]
    heights = [np.asarray(each, dtype=np.int32) for each in counts]
    tokens, bins = heights[0].shape
    must_contain(position, tokens)
    traces: Traces = []
    picks = title_picks(words.title)
    looks = ({"color": RESIDUAL}, {"color": "rgba(0,0,0,0)", "line": {"color": NORM, "width": 1}}, {"color": NORM})
    wide = (1 - (STAGES - 1) * GAP) / STAGES
    axes: dict[str, Any] = {}
    for i, (border, height, name, look) in enumerate(zip(borders, heights, words.stages, looks, strict=True)):
        must_fit(f"{name}, edges", border.shape, (tokens, bins + 1))
        must_fit(f"{name}, counts", height.shape, (tokens, bins))
        middles, widths = (border[:, 1:] + border[:, :-1]) / 2, np.diff(border, axis=1)
        number = str(i + 1) if i else ""
        hover = f"{literal(words.value)}: %{{x:.4g}}<br>{literal(words.count)}: %{{y}}<extra>{literal(name)}</extra>"
        traces.append(go.Bar(x=middles[position], y=height[position], width=widths[position], name=literal(name),
                             marker=look, xaxis=f"x{number}", yaxis=f"y{number}", hovertemplate=hover))  # fmt: skip
        picks += [pick(i, "x", middles), pick(i, "y", height), pick(i, "width", widths)]
        left = i * (wide + GAP)
        across = {"domain": [left, min(left + wide, 1)], "anchor": f"y{number}", "nticks": 5}
        axes |= {f"xaxis{number}": across, f"yaxis{number}": {"anchor": f"x{number}", "nticks": 4}}
    axes["xaxis2"] |= titled(words.value)
    axes["yaxis"] |= titled(words.count)
    figure = drawn(traces, at(words.title, position), height=250, y={"rangemode": "tozero"}, bargap=0, **axes)
    return follow(figure, position, tokens, picks=picks)


def standing_out(
    features: ArrayLike,
    before: ArrayLike,
    normalised: ArrayLike,
    after: ArrayLike,
    scale: ArrayLike,
    shift: ArrayLike,
    words: StandingOutWords,
    position: int,
) -> go.Figure:
    """The features furthest from 0 in one token's vector, furthest on top: what comes in, and what becomes of it.

    Left the value before; right the normalised value (ring) and the value after scale and shift (bar). The hover says
    the feature's scale and shift.

    Shapes: features (T, k), integers; before, normalised, after, scale and shift (T, k), of those features
    Raises: ValueError when the shapes differ or the position is none of the tokens.
    """
    indices = np.asarray(features)
    tokens, k = indices.shape
    must_contain(position, tokens)
    arrays = {"before": before, "normalised": normalised, "after": after, "scale": scale, "shift": shift}
    seen = {name: np.asarray(values, dtype=np.float32) for name, values in arrays.items()}
    for name, values in seen.items():
        must_fit(name, values.shape, (tokens, k))
    traces, picks = _three_stages(seen, words, position)
    texts = [[str(index) for index in row] for row in indices.tolist()]
    y = titled(words.feature, tickmode="array", tickvals=list(range(k)), ticktext=texts[position],
               autorange="reversed", tickfont={"family": MONOSPACE, "size": 11}, showgrid=False)  # fmt: skip
    halves: dict[str, Any] = {"xaxis": {"domain": [0, 0.47]}, "xaxis2": {"domain": [0.53, 1]}}
    across = {"zeroline": True, "nticks": 5}
    figure = drawn(traces, at(words.title, position), height=110 + 22 * k, x=across, y=y, bargap=0.3, **halves)
    picks += [*title_picks(words.title), pick_layout("yaxis.ticktext", texts)]
    return follow(figure, position, tokens, picks=picks)


def _three_stages(
    seen: Mapping[str, np.ndarray], words: StandingOutWords, position: int
) -> tuple[Traces, list[dict[str, Any]]]:
    """What comes in, what goes out and, a ring between them, what is normalised; and what follows the position."""
    places = np.arange(seen["before"].shape[1])
    learned = np.stack([seen["scale"], seen["shift"]], axis=-1)  # (T, k, 2)
    traces: Traces = []
    picks: list[dict[str, Any]] = []
    tail = f"<br>{literal(words.scale)}: %{{customdata[0]:.4g}}<br>{literal(words.shift)}: %{{customdata[1]:.4g}}"
    start = f"{literal(words.feature)} %{{y}}<br>"
    for i, (name, word, axis, colour) in enumerate(
        (("before", words.before, "x", RESIDUAL), ("after", words.after, "x2", NORM))
    ):
        traces.append(go.Bar(x=seen[name][position], y=places, orientation="h", xaxis=axis, name=literal(word),
                             marker={"color": colour}, customdata=learned[position],
                             hovertemplate=f"{start}{literal(word)}: %{{x:.4g}}{tail}<extra></extra>"))  # fmt: skip
        picks += [pick(i, "x", seen[name]), pick(i, "customdata", learned.tolist())]
    traces.append(go.Scatter(x=seen["normalised"][position], y=places, xaxis="x2", mode="markers",
                             name=literal(words.normalised), customdata=learned[position],
                             marker={"color": NORM, "size": 9, "symbol": "circle-open", "line": {"width": 1.5}},
                             hovertemplate=f"{start}{literal(words.normalised)}: %{{x:.4g}}{tail}<extra></extra>",
                             ))  # fmt: skip
    picks += [pick(2, "x", seen["normalised"]), pick(2, "customdata", learned.tolist())]
    return traces, picks


def scale_shift(
    scale: ArrayLike, shift: ArrayLike, marked: ArrayLike, words: ScaleShiftWords, position: int
) -> go.Figure:
    """Scale above and shift below, feature by feature; rings mark the features that stand out at the position.

    Shapes: scale and shift (C,), marked (T, k): indices of features
    Raises: ValueError when the shapes differ or the position is none of the tokens.
    """
    scales, shifts, places = (np.asarray(each) for each in (scale, shift, marked))
    must_fit("shift", shifts.shape, scales.shape)
    tokens = len(places)
    must_contain(position, tokens)
    traces: Traces = []
    picks = title_picks(words.title)
    for axis, word, values in (("y", words.scale, scales), ("y2", words.shift, shifts)):
        hover = f"{literal(words.feature)} %{{x}}<br>{literal(word)}: %{{y:.4g}}<extra></extra>"
        traces.append(go.Scatter(x=np.arange(len(values)), y=values, yaxis=axis, mode="markers", name=literal(word),
                                 showlegend=False, marker={"color": NORM, "size": 4},
                                 hovertemplate=hover))  # fmt: skip
        chosen: Floats = values[places]  # (T, k)
        ring = {"color": ACCENT, "size": 10, "symbol": "circle-open", "line": {"width": 1.5}}
        picks += [pick(len(traces), "x", places), pick(len(traces), "y", chosen)]
        traces.append(go.Scatter(x=places[position], y=chosen[position], yaxis=axis, mode="markers", marker=ring,
                                 name=literal(words.marked), showlegend=axis == "y", hovertemplate=hover))  # fmt: skip
    figure = drawn(
        traces,
        at(words.title, position),
        height=340,
        x=titled(words.feature, anchor="y2", range=[-1, len(scales)]),
        yaxis=titled(words.scale, domain=[0.55, 1], nticks=5),
        yaxis2=titled(words.shift, domain=[0, 0.45], nticks=5),
        showlegend=True,
    )
    return follow(figure, position, tokens, picks=picks)
