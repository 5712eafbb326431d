"""The next token before and after something is switched off."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from .follow import follow, pick, pick_layout, title_picks
from .numbers import fixed
from .style import (
    ACCENT,
    MONOSPACE,
    RESIDUAL,
    Title,
    Traces,
    at,
    drawn,
    literal,
    must_contain,
    must_fit,
    tick_text,
    titled,
)


@dataclass(frozen=True)
class BeforeAfterWords:
    """Words of the bars; `title` may be one for each position."""

    title: Title
    probability: str
    before: str
    after: str


def before_after(
    before: ArrayLike, after: ArrayLike, labels: Sequence[Sequence[str]], words: BeforeAfterWords, position: int
) -> go.Figure:
    """Probabilities of the same k candidates twice, a pair of bars each, the first candidate on top.

    Shapes: before and after (P, k): row p belongs to position p; labels P lists of k
    Units:  probability 0..1
    Raises: ValueError when the labels do not fit or the position is none of them.
    """
    usual, ablated = np.asarray(before), np.asarray(after)
    must_contain(position, len(labels))
    shape = (len(labels), len(labels[position]))
    for name, array in (("before", usual), ("after", ablated)):
        must_fit(name, array.shape, shape)
    for each in labels:
        must_fit("labels of one position", (len(each),), shape[1:])
    texts = [[tick_text(label) for label in each] for each in labels]
    places = np.arange(shape[1])
    traces: Traces = []
    written = [[[fixed(value) for value in row] for row in values.tolist()] for values in (usual, ablated)]
    named = ((usual, words.before, RESIDUAL), (ablated, words.after, ACCENT))
    for (values, name, colour), beside in zip(named, written, strict=True):
        traces.append(go.Bar(x=values[position], y=places, orientation="h", name=literal(name),
                             marker={"color": colour}, text=beside[position], textposition="outside",
                             cliponaxis=False, textfont={"size": 11},
                             hovertemplate="%{y}: %{x:.4g}<extra>%{fullData.name}</extra>"))  # fmt: skip
    x = titled(words.probability, rangemode="tozero", nticks=5)
    ticks = {"tickmode": "array", "tickvals": places.tolist(), "ticktext": texts[position]}
    y = ticks | {"autorange": "reversed", "tickfont": {"family": MONOSPACE, "size": 12}, "showgrid": False}
    gaps = {"barmode": "group", "bargap": 0.25, "bargroupgap": 0.05}
    figure = drawn(traces, at(words.title, position), height=110 + 36 * shape[1], right=48, x=x, y=y, **gaps)
    picks = [pick(0, "x", usual), pick(1, "x", ablated), pick_layout("yaxis.ticktext", texts),
             pick(0, "text", written[0]), pick(1, "text", written[1])]  # fmt: skip
    return follow(figure, position, len(labels), picks=picks + title_picks(words.title))
