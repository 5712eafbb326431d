"""Who looks at whom: the attention weights of one head."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from .follow import follow
from .style import (
    BLUES,
    colour_bar,
    crosses,
    downwards,
    drawn,
    hover_lines,
    literal,
    must_contain,
    must_fit,
    scale,
    token_axis,
)

GAPS_UNTIL = 64  # tokens; beyond, a gap of one pixel between cells would eat the cells


@dataclass(frozen=True)
class AttentionWords:
    """Words of an attention map; `query` and `key` title the axes and, with `weight`, begin the lines of the hover."""

    title: str
    query: str
    key: str
    weight: str


def attention_map(
    weights: ArrayLike,
    labels: Sequence[str],
    words: AttentionWords,
    position: int,
    forbidden: Sequence[tuple[int, int]] = (),
    switch: str | None = None,
    masked: bool = True,
) -> go.Figure:
    """Heat map of one head: row = the token that looks, column = the token looked at, first token on top.

    What a token cannot see is blank (NaN), not 0; where attention is not `masked` all cells show. A red cross marks a
    `forbidden` (query, key). A click on a cell is the word that `switch` makes of it (see follow.py). The
    colours always run from 0 to 1, so that heads, layers and steps compare.

    Shapes: weights (T, T), T labels
    Units:  probability 0..1, each row sums to 1
    Raises: ValueError when the labels do not fit the weights or the position is none of the tokens.
    """
    z = np.array(weights, dtype=np.float32)
    tokens = len(labels)
    must_fit("weights", z.shape, (tokens, tokens))
    must_contain(position, tokens)
    if masked:
        z[np.triu_indices(tokens, k=1)] = np.nan
    gap = 1 if tokens <= GAPS_UNTIL else 0
    heat = go.Heatmap(
        z=z,
        zmin=0,
        zmax=1,
        colorscale=scale(BLUES),
        colorbar=colour_bar(words.weight, tickvals=[0, 0.25, 0.5, 0.75, 1]),
        xgap=gap,
        ygap=gap,
        hoverongaps=False,
        hovertemplate=hover_lines((words.query, "%{y}"), (words.key, "%{x}"), (words.weight, "%{z:.4g}")),
    )
    x, y = token_axis(labels, words.key), downwards(token_axis(labels, words.query))
    height = min(max(150 + 24 * tokens, 260), 640)
    figure = drawn([heat, *crosses(forbidden)], literal(words.title), height, x=x, y=y)
    return follow(figure, position, tokens, axes=("x", "y"), hover=("y", "x"), switch=switch)
