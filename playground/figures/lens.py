"""The logit lens: what each place of the stream would answer, over the whole text and for one token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from .follow import follow, pick, title_picks
from .style import (
    ATTENTION,
    BLUES,
    FEED_FORWARD,
    MONOSPACE,
    RESIDUAL,
    Title,
    at,
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
    tick_text,
    titled,
    token_axis,
)

WRITTEN = 5  # characters of a token written into a cell
CELL = 34  # pixels that they need; in narrower cells the page writes nothing


@dataclass(frozen=True)
class LensWords:
    """Words of the map; `place`, `token`, `answer` and `value` begin the lines of the hover."""

    title: str
    place: str
    token: str
    answer: str
    value: str


@dataclass(frozen=True)
class PathWords:
    """Words of one token's way through the depth; `title` may be one for each position."""

    title: Title
    place: str
    probability: str


def lens_map(
    values: ArrayLike,
    answers: Sequence[Sequence[str]],
    names: Sequence[str],
    labels: Sequence[str],
    words: LensWords,
    position: int,
    most: float | None = None,
    logarithmic: bool = False,
    more: bool = False,
) -> go.Figure:
    """Heat map: row = place, in the order computed, column = token; the colour is the value, the cell says the answer.

    Where there are `more` to come, the rows not measured yet are NaN and blank.

    Colours run from 0 to `most` (default: the largest value). A logarithmic one runs from 1, for ranks: `z` then is
    log10 of the value, which stays in `customdata`.

    Shapes: values (N, T); answers N rows of T; N names; T labels
    Raises: ValueError when names, answers or labels do not fit or the position is none of the tokens.
    """
    shown = np.asarray(values)
    tokens = len(labels)
    must_fit("values", shown.shape, (len(names), tokens))
    must_fit("answers", (len(answers), *{len(row) for row in answers}), shown.shape)
    must_contain(position, tokens)
    top = float(np.nanmax(shown)) if most is None else most
    z, low, high = (np.log10(shown), 0.0, np.log10(max(top, 10))) if logarithmic else (shown, 0.0, max(top, 1e-6))
    ticks = log_ticks(1, max(top, 10)) if logarithmic else []
    bar = {"tickvals": np.log10(ticks).tolist(), "ticktext": [f"{tick:,.0f}" for tick in ticks]} if logarithmic else {}
    heat = _cells(shown, answers, words, z=z, zmin=low, zmax=high, colorbar=colour_bar(words.value, **bar))
    x, y = token_axis(labels, words.token), downwards(name_axis(names, words.place))
    figure = drawn([heat], literal(words.title), height=min(max(130 + 22 * len(names), 240), 720), x=x, y=y)
    written = {"trace": 0, "width": CELL}
    return follow(figure, position, tokens, axes=("x",), hover=("x",), written=written, more=more)


def _cells(values: np.ndarray, answers: Sequence[Sequence[str]], words: LensWords, **coloured: Any) -> go.Heatmap:
    """`coloured` says what decides a cell's colour, and between which bounds."""
    return go.Heatmap(
        **coloured,
        customdata=values,
        text=[[tick_text(each, WRITTEN) for each in row] for row in answers],
        hovertext=[[literal(each) for each in row] for row in answers],
        texttemplate="%{text}",
        textfont={"family": MONOSPACE, "size": 10},
        colorscale=scale(BLUES),
        xgap=1,
        ygap=1,
        hoverongaps=False,
        hovertemplate=hover_lines(
            (words.place, "%{y}"),
            (words.token, "%{x}"),
            (words.answer, "%{hovertext}"),
            (words.value, "%{customdata:.4g}"),
        ),
    )


def lens_path(
    probabilities: ArrayLike,
    answers: Sequence[Sequence[str]],
    details: Sequence[Sequence[str]],
    names: Sequence[str],
    words: PathWords,
    position: int,
    alone_of: int | None = None,
) -> go.Figure:
    """What every place would answer after one token: bars of the likeliest token's probability, named beside them.

    Grey is the embedding, blue follows an attention, amber a feed-forward. Where `position` was measured
    alone, the arrays have its one column, and the page asks for another one of the `alone_of` tokens.

    Shapes: probabilities (N, T); answers and details N rows of T; N names
    Units:  probability 0..1
    Raises: ValueError when names or answers do not fit or the position is none of the tokens.
    """
    rows = np.ascontiguousarray(np.asarray(probabilities).T)
    must_fit("probabilities", rows.shape, (len(rows), len(names)))
    row = position if alone_of is None else 0
    must_contain(row, len(rows))
    columns = [[[text(each) for each in column] for column in zip(*table, strict=True)]
               for table, text in ((answers, tick_text), (details, literal))]  # fmt: skip
    for column in columns:
        must_fit("answers", (len(column), *{len(row) for row in column}), rows.shape)
    colours = [RESIDUAL, *([ATTENTION, FEED_FORWARD] * (len(names) // 2))]
    bars = go.Bar(x=rows[row], y=np.arange(len(names)), orientation="h", marker={"color": colours},
                  text=columns[0][row], hovertext=columns[1][row], textposition="outside", cliponaxis=False,
                  textfont={"family": MONOSPACE, "size": 12}, textangle=0,
                  hovertemplate="%{y}: %{text} %{x:.4g}<br>%{hovertext}<extra></extra>")  # fmt: skip
    x = titled(words.probability, range=[0, 1.25], tickvals=[0, 0.25, 0.5, 0.75, 1])
    y = downwards(name_axis(names, words.place))
    height = 110 + 22 * len(names)
    figure = drawn([bars], at(words.title, position), height, right=16, x=x, y=y, bargap=0.3)
    if alone_of is not None:
        return follow(figure, position, alone_of, alone=True)
    picks = [pick(0, "x", rows), pick(0, "text", columns[0]), pick(0, "hovertext", columns[1])]
    return follow(figure, position, len(rows), picks=picks + title_picks(words.title))
