"""How far the switches reach: a heat map of places and tokens, blank where nothing can change."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from .follow import follow
from .style import decades, downwards, drawn, hover_lines, literal, must_contain, must_fit, name_axis, token_axis


@dataclass(frozen=True)
class ReachWords:
    """Words of the map; `place`, `token` and `change` begin the lines of the hover."""

    title: str
    place: str
    token: str
    change: str


def reach_map(
    changes: ArrayLike, within: ArrayLike, names: Sequence[str], labels: Sequence[str], words: ReachWords, position: int
) -> go.Figure:
    """Row = place, in the order computed, column = token; the colour is the change, by its logarithm.

    Places that are not `within` reach are gaps.

    Shapes: changes and within (N, T); N names; T labels
    Raises: ValueError when names or labels do not fit or the position is none of the tokens.
    """
    values, inside = np.asarray(changes, dtype=np.float64), np.asarray(within)
    tokens = len(labels)
    must_fit("changes", values.shape, (len(names), tokens))
    must_fit("within", inside.shape, values.shape)
    must_contain(position, tokens)
    heat = go.Heatmap(
        decades(np.where(inside, values, np.nan), words.change),
        xgap=1,
        ygap=1,
        hoverongaps=False,
        hovertemplate=hover_lines((words.place, "%{y}"), (words.token, "%{x}"), (words.change, "%{customdata:.4g}")),
    )
    x, y = token_axis(labels, words.token), downwards(name_axis(names, words.place))
    figure = drawn([heat], literal(words.title), height=min(max(130 + 22 * len(names), 240), 720), x=x, y=y)
    return follow(figure, position, tokens, axes=("x",), hover=("x",))
