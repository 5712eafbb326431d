"""The charts that lessons share: bars side by side, lines over a number, a map of cells. None follows a position."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from playground.figures.follow import follow
from playground.figures.style import (
    BLUES,
    MONOSPACE,
    SIGNED,
    Traces,
    colour_bar,
    drawn,
    hover_lines,
    literal,
    log_ticks,
    must_fit,
    name_axis,
    scale,
    titled,
)

HEIGHT = 320  # pixels
LEGEND = 22  # pixels for each row of a legend, which stands between title and picture
IN_A_ROW = 2  # names, on a narrow page


@dataclass(frozen=True, slots=True)
class ChartWords:
    title: str
    x: str
    y: str


@dataclass(frozen=True, slots=True)
class Series:
    """One colour of a chart; `x` where each has its own."""

    name: str
    y: ArrayLike
    colour: str
    dash: str = "solid"
    x: ArrayLike | None = None
    markers: bool = False


def still(figure: go.Figure) -> go.Figure:
    """A figure that shows the same at every position."""
    return follow(figure, 0, 1)


def bars(
    names: Sequence[str], series: Sequence[Series], words: ChartWords, level: Series | None = None, reach: float = 0
) -> go.Figure:
    """For every name a group of bars, one of each series; `level` is one number, drawn as a line across.

    The axis goes up to `reach` at least, so that what is smaller looks small.
    """
    traces: Traces = []
    places = np.arange(len(names))
    for each in series:
        values = np.asarray(each.y, dtype=float)
        must_fit(each.name, values.shape, (len(names),))
        traces.append(go.Bar(
            x=places, y=values, name=literal(each.name), marker_color=each.colour,
            hovertemplate=hover_lines((words.x, "%{x}"), (each.name, "%{y:.4g}")),
        ))  # fmt: skip
    if level is not None:
        ends = np.array([-0.5, len(names) - 0.5])
        traces.append(go.Scatter(
            x=ends, y=np.full(2, float(np.asarray(level.y))), name=literal(level.name), mode="lines",
            line={"color": level.colour, "dash": level.dash, "width": 1.5},
            hovertemplate=hover_lines((level.name, "%{y:.4g}")),
        ))  # fmt: skip
    far = reach > max(0.0, *(float(np.max(trace.y)) for trace in traces))
    return finished(traces, words, zero=True, x=name_axis(names, words.x), y={"range": [0, reach]} if far else {})


def lines(series: Sequence[Series], words: ChartWords, x: ArrayLike | None = None, log: str = "") -> go.Figure:
    """Each series over `x`, or over its own; `log` names the axes ("x", "y", "xy") that go by the logarithm."""
    traces: Traces = []
    for each in series:
        across, up = np.asarray(x if each.x is None else each.x, dtype=float), np.asarray(each.y, dtype=float)
        must_fit(each.name, up.shape, across.shape)
        traces.append(go.Scatter(
            x=across, y=up, name=literal(each.name), mode="lines+markers" if each.markers else "lines",
            line={"color": each.colour, "dash": each.dash, "width": 2}, marker={"size": 7, "color": each.colour},
            hovertemplate=hover_lines((words.x, "%{x:.4g}"), (each.name, "%{y:.4g}")),
        ))  # fmt: skip
    across_all = titled(words.x, type="log" if "x" in log else "linear")
    if "x" in log and series:
        everywhere = np.concatenate([np.asarray(x if each.x is None else each.x, dtype=float) for each in series])
        across_all["tickvals"] = log_ticks(float(everywhere.min()), float(everywhere.max()))
    up_all: dict[str, Any] = {"type": "linear", "exponentformat": "none"}
    if "y" in log:
        up_all = {"type": "log", "exponentformat": "power"}
        upwards = np.concatenate([np.asarray(each.y, dtype=float) for each in series]) if series else np.ones(1)
        low, high = float(upwards.min()), float(upwards.max())
        if low > 0 and 1 < np.log10(high / low) < 4:  # plotly would write every other digit between the powers
            up_all = {"type": "log", "exponentformat": "none", "tickvals": log_ticks(low, high)}
    return finished(traces, words, zero="y" not in log, x=across_all, y=up_all)


def heat(
    values: ArrayLike, rows: Sequence[str], columns: Sequence[str], words: ChartWords, value: str, signed: bool = False,
    written: str | None = None, height: int | None = None,
) -> go.Figure:  # fmt: skip
    """A map of cells, first row on top; `written` is the format of the numbers in them. NaN is a gap."""
    z = np.asarray(values, dtype=float)
    must_fit(words.title, z.shape, (len(rows), len(columns)))
    most = float(np.nanmax(np.abs(z), initial=0)) or 1.0
    hover = hover_lines((words.y, "%{y}"), (words.x, "%{x}"), (value, "%{z:.4g}"))
    cells = go.Heatmap(
        z=z, zmin=-most if signed else 0, zmax=most, colorscale=scale(SIGNED if signed else BLUES),
        colorbar=colour_bar(value), hovertemplate=hover, hoverongaps=False, xgap=1, ygap=1,
        texttemplate=f"%{{z:{written}}}" if written else "", textfont={"family": MONOSPACE, "size": 11},
    )  # fmt: skip
    down = name_axis(rows, words.y)
    x, y = name_axis(columns, words.x), down | {"range": list(reversed(down["range"]))}
    tall = height or min(560, 110 + 26 * max(6, len(rows)))
    return still(drawn([cells], literal(words.title), tall, x=x, y=y))


def finished(traces: Traces, words: ChartWords, zero: bool, x: Mapping[str, Any], y: Mapping[str, Any]) -> go.Figure:
    """The layout of bars and lines; `zero` draws the line where the value is 0."""
    legend = LEGEND * -(-len(traces) // IN_A_ROW)
    up = titled(words.y, zeroline=zero, zerolinewidth=1) | dict(y)
    figure = drawn(traces, literal(words.title), HEIGHT + legend, x=x, y=up, bargap=0.25, showlegend=True)
    figure.layout.margin.t += legend
    return still(figure)
