"""What each part is worth: every sublayer and head off alone, as a heat map of layers and parts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from .follow import follow
from .style import (
    LEAST,
    SIGNED,
    colour_bar,
    crosses,
    decades,
    downwards,
    drawn,
    hover_lines,
    literal,
    must_fit,
    name_axis,
    scale,
)


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

    One part often matters a hundred times more than the next, so colours go by the logarithm, see `decades`. `signed`
    values are coloured as they are, from purple below 0 over pale to green above.
    A red cross marks the (row, column) cells that are `off` now.

    Shapes: values and switch (L, N), L layers, N parts
    Raises: ValueError when the names do not fit.
    """
    z = np.asarray(values, dtype=np.float64)
    must_fit("values", z.shape, (len(layers), len(parts)))
    heat = go.Heatmap(
        customdata=z,
        xgap=1,
        ygap=1,
        hovertemplate=hover_lines((words.layer, "%{y}"), (words.part, "%{x}"), (words.value, "%{customdata:.4g}")),
    )
    if signed:
        most = max(float(np.max(np.abs(z), initial=0)), LEAST)
        heat.update(z=z, zmin=-most, zmax=most, colorscale=scale(SIGNED), colorbar=colour_bar(words.value, nticks=5))
    else:
        heat.update(decades(z, words.value))
    x, y = name_axis(parts, words.part), downwards(name_axis(layers, words.layer))
    height = 130 + 26 * min(max(len(layers), 4), 16)
    figure = drawn([heat, *crosses(off)], literal(words.title), height, x=x, y=y)
    return follow(figure, 0, 1, switch=[list(row) for row in switch])
