"""What LayerNorm does: the mean and standard deviation of every token's vector before, between and after."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from .follow import follow
from .numbers import brief
from .style import (
    GREENS,
    NORM,
    RESIDUAL,
    SIGNED,
    Floats,
    Traces,
    colour_bar,
    downwards,
    drawn,
    hover_lines,
    literal,
    log_ticks,
    must_contain,
    must_fit,
    name_axis,
    scale,
    titled,
    token_axis,
)

LEAST_MEAN = 0.01  # the colours of means reach at least ±0.01: rounding errors of 1e-8 must not look like signals
LEAST_RATIO = 2.0  # and those of standard deviations span at least a factor 2


@dataclass(frozen=True)
class Moments:
    """Mean and standard deviation (population) of vectors; both of one shape."""

    mean: ArrayLike
    std: ArrayLike


@dataclass(frozen=True)
class NormWords:
    """Words of one LayerNorm, in the order computed: before, normalised, after scale and shift."""

    title: str
    token: str
    mean: str
    std: str
    before: str
    normalised: str
    after: str


@dataclass(frozen=True)
class OverviewWords:
    """Words of the overview; `norm` and `token` title the axes and begin lines of the hover."""

    title: str
    norm: str
    token: str
    mean: str
    std: str


def norm_by_token(
    before: Moments, normalised: Moments, after: Moments, labels: Sequence[str], words: NormWords, position: int
) -> go.Figure:
    """One LayerNorm, token by token: means above, standard deviations below, three stages each.

    Grey comes in, hollow green is normalised (mean 0, standard deviation 1), full green goes on after scale and shift.
    Standard deviations stand on a logarithmic axis; one of exactly 0 has no place there and leaves a gap.

    Shapes: each mean and std (T,), T labels
    Raises: ValueError when the labels do not fit or the position is none of the tokens.
    """
    tokens = len(labels)
    must_contain(position, tokens)
    traces: Traces = []
    stages = ((before, words.before), (normalised, words.normalised), (after, words.after))
    for (stage, name), look in zip(stages, _looks(tokens), strict=True):
        for axis, word, values in (("y", words.mean, stage.mean), ("y2", words.std, stage.std)):
            y = np.asarray(values)
            must_fit(f"{name}, {word}", y.shape, (tokens,))
            hover = f"{literal(name)}, {literal(word)}: %{{y:.4g}}<extra></extra>"
            traces.append(go.Scatter(x=np.arange(tokens), y=y, yaxis=axis, name=literal(name), legendgroup=name,
                                     showlegend=axis == "y", hovertemplate=hover, **look))  # fmt: skip
    figure = drawn(
        traces,
        literal(words.title),
        height=420,
        x=token_axis(labels, words.token) | {"anchor": "y2"},
        yaxis=titled(words.mean, domain=[0.56, 1], nticks=5),
        yaxis2=titled(words.std, domain=[0, 0.44]) | _log_axis(traces),
        hovermode="x unified",
        hoversubplots="axis",
    )
    return follow(figure, position, tokens, axes=("x",), hover=("x",))


def _looks(tokens: int) -> list[dict[str, object]]:
    """How the three stages look; of many tokens markers would hide the lines."""
    size = 8 if tokens <= 40 else 5
    mode = "lines+markers" if tokens <= 64 else "lines"
    return [
        {"mode": mode, "line": {"color": RESIDUAL, "width": 1}, "marker": {"color": RESIDUAL, "size": size}},
        {"mode": mode, "line": {"color": NORM, "width": 1, "dash": "dot"},
         "marker": {"color": NORM, "size": size + 1, "symbol": "circle-open", "line": {"width": 1.5}}},
        {"mode": mode, "line": {"color": NORM, "width": 1}, "marker": {"color": NORM, "size": size}},
    ]  # fmt: skip


def _log_axis(traces: Traces) -> dict[str, object]:
    """A logarithmic axis with round ticks over the standard deviations drawn."""
    low, high = _span(np.concatenate([trace.y for trace in traces if trace.yaxis == "y2"]))
    ticks = log_ticks(low, high)
    margin = 0.06 * np.log10(high / low)
    return {
        "type": "log",
        "range": [np.log10(low) - margin, np.log10(high) + margin],
        "tickvals": ticks,
        "ticktext": [brief(tick) for tick in ticks],
    }


def _span(std: Floats) -> tuple[float, float]:
    """Smallest and largest finite number above 0, moved apart until they differ by LEAST_RATIO."""
    positive = std[(std > 0) & np.isfinite(std)]
    low, high = (float(positive.min()), float(positive.max())) if positive.size else (1.0, 1.0)
    wider = max(1.0, (LEAST_RATIO * low / high) ** 0.5)
    return low / wider, high * wider


def norms_overview(
    mean: ArrayLike,
    std: ArrayLike,
    names: Sequence[str],
    labels: Sequence[str],
    words: OverviewWords,
    position: int,
) -> go.Figure:
    """Every LayerNorm at one stage: row = norm, in the order computed, column = token; means above, deviations below.

    Means: purple below 0, green above. Standard deviations are coloured by their logarithm (the first heat map has
    `z` = mean, the second `z` = log10 std and `customdata` = std); exactly 0 takes the colour of the smallest one.

    Shapes: mean and std (N, T), N names, T labels
    Raises: ValueError when names or labels do not fit or the position is none of the tokens.
    """
    means, stds = np.asarray(mean), np.asarray(std)
    rows, tokens = len(names), len(labels)
    must_fit("mean", means.shape, (rows, tokens))
    must_fit("std", stds.shape, (rows, tokens))
    must_contain(position, tokens)
    traces = [_means(means, words), _deviations(stds, words)]
    figure = drawn(
        traces,
        literal(words.title),
        height=150 + 2 * min(max(16 * rows, 120), 380),
        x=token_axis(labels, words.token) | {"anchor": "y2"},
        y=downwards(name_axis(names, words.norm)),
        yaxis={"domain": [0.52, 1]},
        yaxis2={"domain": [0, 0.48]},
    )
    return follow(figure, position, tokens, axes=("x",), hover=("x",))


def _means(means: Floats, words: OverviewWords) -> go.Heatmap:
    bound = max(float(np.max(np.abs(means), where=np.isfinite(means), initial=0)), LEAST_MEAN)
    return go.Heatmap(
        z=means,
        zmin=-bound,
        zmax=bound,
        colorscale=scale(SIGNED),
        colorbar=colour_bar(words.mean, y=0.76, len=0.48, nticks=5),
        hoverongaps=False,
        hovertemplate=hover_lines((words.norm, "%{y}"), (words.token, "%{x}"), (words.mean, "%{z:.4g}")),
    )


def _deviations(stds: Floats, words: OverviewWords) -> go.Heatmap:
    low, high = _span(stds)
    ticks = log_ticks(low, high)
    bar = colour_bar(
        words.std, y=0.24, len=0.48, tickvals=np.log10(ticks).tolist(), ticktext=[brief(tick) for tick in ticks]
    )
    return go.Heatmap(
        z=np.log10(np.maximum(stds, low)),
        customdata=stds,
        yaxis="y2",
        zmin=np.log10(low),
        zmax=np.log10(high),
        colorscale=scale(GREENS),
        colorbar=bar,
        hoverongaps=False,
        hovertemplate=hover_lines((words.norm, "%{y}"), (words.token, "%{x}"), (words.std, "%{customdata:.4g}")),
    )
