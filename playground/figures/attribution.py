"""Who wrote a token: its logit, bar by bar, as the sum of what was added to the residual stream."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from .follow import follow, pick, title_picks
from .style import (
    ACCENT,
    ATTENTION,
    FEED_FORWARD,
    NORM,
    RESIDUAL,
    SIGNED,
    Title,
    at,
    colour_bar,
    downwards,
    drawn,
    hover_lines,
    must_contain,
    must_fit,
    name_axis,
    scale,
    titled,
)

BAR = 0.75  # of the room between two parts
LEAST = 1e-6  # logits; the bound of the colours where every part is 0


@dataclass(frozen=True)
class SumWords:
    """Words of the bars; `title` may be one for each position."""

    title: Title
    part: str
    logit: str
    total: str


@dataclass(frozen=True)
class HeadWords:
    """Words of the heads' map; `layer` and `head` title the axes."""

    title: Title
    layer: str
    head: str
    bias: str
    logit: str


def attribution_sum(parts: ArrayLike, names: Sequence[str], words: SumWords, position: int) -> go.Figure:
    """Bars that begin where the one before ended, and their end, which is the logit.

    Grey are the embeddings, blue the attentions, amber the feed-forwards, green the final LayerNorm's shift.

    Shapes: parts (N, T): token, position, attention and feed-forward of each layer in turn, shift; N names
    Units:  logits
    Raises: ValueError when the names do not fit or the position is none of the tokens.
    """
    values = np.ascontiguousarray(np.asarray(parts, dtype=np.float64).T)  # (T, N)
    tokens = len(values)
    must_fit("parts", values.shape, (tokens, len(names)))
    must_contain(position, tokens)
    total = values.sum(axis=1, keepdims=True)
    before = np.concatenate([np.zeros((tokens, 1)), values.cumsum(axis=1)[:, :-1]], axis=1)
    ends = before + values
    length, base = np.hstack([values, total]), np.hstack([before, np.zeros((tokens, 1))])
    colours = [RESIDUAL, RESIDUAL, *([ATTENTION, FEED_FORWARD] * ((len(names) - 3) // 2)), NORM, ACCENT]
    named = [*names, words.total]
    edges = np.arange(len(names))[:, None] + [BAR / 2, 1 - BAR / 2, np.nan]  # from one bar to the next, then a gap
    joints = np.repeat(ends, 3, axis=1)
    traces = [
        go.Scatter(x=edges.ravel(), y=joints[position], mode="lines", line={"color": RESIDUAL, "width": 1},
                   hoverinfo="skip", showlegend=False),
        go.Bar(x=np.arange(len(named)), y=length[position], base=base[position], marker={"color": colours},
               customdata=length[position], width=BAR, showlegend=False,
               hovertemplate="%{x}: %{customdata:+.4f}<extra></extra>"),
    ]  # fmt: skip
    y = titled(words.logit, nticks=7, zeroline=True)
    figure = drawn(traces, at(words.title, position), height=340, x=name_axis(named, words.part), y=y)
    picks = [pick(0, "y", joints), pick(1, "y", length), pick(1, "base", base), pick(1, "customdata", length)]
    return follow(figure, position, tokens, picks=picks + title_picks(words.title))


def attribution_heads(heads: ArrayLike, bias: ArrayLike, words: HeadWords, position: int) -> go.Figure:
    """Heat map of the attention bars unfolded: row = layer, column = head, the last column the output bias.

    Purple speaks against the token, green for it. The colours of each position reach to its largest part.

    Shapes: heads (L, H, T), bias (L, T)
    Units:  logits
    Raises: ValueError when the shapes do not fit or the position is none of the tokens.
    """
    parts, rest = np.asarray(heads, dtype=np.float64), np.asarray(bias, dtype=np.float64)
    L, H, tokens = parts.shape
    must_fit("bias", rest.shape, (L, tokens))
    must_contain(position, tokens)
    cells = np.concatenate([parts, rest[:, None]], axis=1).reshape(L * (H + 1), tokens)
    z = np.ascontiguousarray(cells.T)  # (T, L · (H + 1))
    bound = np.maximum(np.abs(z).max(axis=1), LEAST)
    heat = go.Heatmap(x=np.tile(np.arange(H + 1), L), y=np.repeat(np.arange(L), H + 1), z=z[position],
                      zmin=-bound[position], zmax=bound[position], colorscale=scale(SIGNED), xgap=1, ygap=1,
                      colorbar=colour_bar(words.logit, nticks=5),
                      hovertemplate=hover_lines((words.layer, "%{y}"), (words.head, "%{x}"),
                                                (words.logit, "%{z:+.4f}")))  # fmt: skip
    x, y = (
        name_axis([*map(str, range(H)), words.bias], words.head),
        downwards(name_axis([*map(str, range(L))], words.layer)),
    )
    figure = drawn([heat], at(words.title, position), height=min(max(110 + 26 * L, 220), 560), x=x, y=y)
    picks = [pick(0, "z", z), pick(0, "zmin", -bound), pick(0, "zmax", bound)]
    return follow(figure, position, tokens, picks=picks + title_picks(words.title))
