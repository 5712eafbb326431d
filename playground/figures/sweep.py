"""What each part is worth: every sublayer and head zeroed alone, as a heat map of layers and parts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from .follow import follow
from .style import (
    BLUES,
    SIGNED,
    colour_bar,
    crosses,
    hover_lines,
    literal,
    log_ticks,
    must_fit,
    name_axis,
    quiet,
    scale,
)

LEAST = 1e-9  # the end of the colours when nothing changes anything
DECADES = 4  # from the palest colour of a logarithmic scale to the darkest


@dataclass(frozen=True)
class SweepWords:
    """Words of the sweep; `value` is what the colours mean."""

    title: str
    layer: str
    part: str
    value: str


def sweep_map(
    values: ArrayLike,
    layers: Sequence[str],
    parts: Sequence[str],
    words: SweepWords,
    switch: Sequence[Sequence[str]],
    off: Sequence[tuple[int, int]] = (),
    signed: bool = False,
) -> go.Figure:
    """Row = layer, first on top; column = attention, feed-forward, then each head. A click is the cell's `switch`.

    One part often matters a hundred times more than the next, so colours go by the logarithm (`customdata` holds the
    values), from the largest down over DECADES; what is smaller has the palest colour. `signed` values are coloured as
    they are, from purple below 0 over pale to green above.
    A red cross marks the (row, column) cells that are `off` now.

    Shapes: values and switch (L, N), L layers, N parts
    Raises: ValueError when the names do not fit.
    """
    z = np.asarray(values, dtype=np.float64)
    must_fit("values", z.shape, (len(layers), len(parts)))
    most = max(float(np.max(np.abs(z), initial=0)), LEAST)
    heat = go.Heatmap(
        z=z if signed else np.log10(np.maximum(z, most / 10**DECADES)),
        customdata=z,
        xgap=1,
        ygap=1,
        hovertemplate=hover_lines((words.layer, "%{y}"), (words.part, "%{x}"), (words.value, "%{customdata:.4g}")),
    )
    if signed:
        heat.update(zmin=-most, zmax=most, colorscale=scale(SIGNED), colorbar=colour_bar(words.value, nticks=5))
    else:
        heat.update(zmin=np.log10(most) - DECADES, zmax=np.log10(most), colorscale=scale(BLUES))
        ticks = log_ticks(most / 10**DECADES, most)
        texts = [f"{tick:.2g}" for tick in ticks]
        heat.update(colorbar=colour_bar(words.value, tickvals=np.log10(ticks).tolist(), ticktext=texts))
    figure = go.Figure(heat)
    crosses(figure, off)
    quiet(figure, literal(words.title), height=130 + 26 * min(max(len(layers), 4), 16))
    figure.update_xaxes(name_axis(parts, words.part))
    figure.update_yaxes(name_axis(layers, words.layer) | {"range": None, "autorange": "reversed"})
    return follow(figure, 0, 1, switch=[list(row) for row in switch])
