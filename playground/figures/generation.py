"""Writing, seen from inside: the KV cache as it grows, and how sure the model was."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from .follow import follow, pick
from .style import (
    ACCENT,
    FEED_FORWARD,
    GREENS,
    SIGNED,
    colour_bar,
    drawn,
    hover_lines,
    literal,
    must_contain,
    must_fit,
    scale,
    titled,
    token_axis,
)

NOT_YET = SIGNED[len(SIGNED) // 2]  # neither pale green nor the card


@dataclass(frozen=True)
class CacheWords:
    """Words of the cache; `layer`, `token` and `length` begin the lines of the hover."""

    title: str
    layer: str
    token: str
    length: str
    not_yet: str


@dataclass(frozen=True)
class SurenessWords:
    title: str
    token: str
    nats: str
    entropy: str
    surprise: str


def kv_cache(lengths: ArrayLike, labels: Sequence[str], words: CacheWords, position: int) -> go.Figure:
    """Row = layer, column = token; grey what is not in the cache yet when the selected token has just been read.

    Shapes: lengths (L, T), T labels
    Raises: ValueError when the labels do not fit or the position is none of the tokens.
    """
    z = np.asarray(lengths)
    layers, tokens = z.shape
    must_fit("lengths", z.shape, (layers, len(labels)))
    must_contain(position, tokens)
    heat = go.Heatmap(
        z=z,
        zmin=0,
        colorscale=scale(GREENS),
        colorbar=colour_bar(words.length, nticks=5),
        xgap=1,
        ygap=1,
        hovertemplate=hover_lines((words.layer, "%{y}"), (words.token, "%{x}"), (words.length, "%{z:.4g}")),
    )
    columns = np.arange(tokens)
    to_come = (columns[None, :] > columns[:, None]).astype(np.float32)  # (position, token)
    cover = go.Bar(x=columns, y=np.full(tokens, layers), base=-0.5, width=1, name=literal(words.not_yet),
                   marker={"color": NOT_YET, "opacity": to_come[position], "line": {"width": 0}},
                   hoverinfo="skip")  # fmt: skip
    figure = drawn(
        [heat, cover],
        literal(words.title),
        height=130 + 24 * min(max(layers, 4), 16),
        x=token_axis(labels, words.token),
        y=titled(words.layer, range=[layers - 0.5, -0.5], dtick=1),
    )
    return follow(figure, position, tokens, axes=("x",), hover=("x",), picks=[pick(1, "marker.opacity", to_come)])


def sureness(entropy: ArrayLike, surprise: ArrayLike, labels: Sequence[str], words: SurenessWords,
             position: int) -> go.Figure:  # fmt: skip
    """How open the next token is after each token (line), and how unexpected each token was (bars, from the second).

    Shapes: entropy (T,), surprise (T - 1,), T labels
    Units:  nats
    Raises: ValueError when the labels do not fit or the position is none of the tokens.
    """
    open_, unexpected = np.asarray(entropy), np.asarray(surprise)
    tokens = len(labels)
    must_fit("entropy", open_.shape, (tokens,))
    must_fit("surprise", unexpected.shape, (tokens - 1,))
    must_contain(position, tokens)
    hover = hover_lines((words.token, "%{x}"), (words.nats, "%{y:.4g}"))
    unexpected_bars = go.Bar(x=np.arange(1, tokens), y=unexpected, name=literal(words.surprise),
                             marker={"color": FEED_FORWARD}, hovertemplate=hover)  # fmt: skip
    open_line = go.Scatter(x=np.arange(tokens), y=open_, name=literal(words.entropy), mode="lines+markers",
                           line={"color": ACCENT}, hovertemplate=hover)  # fmt: skip
    y = titled(words.nats, rangemode="tozero", nticks=6)
    x = token_axis(labels, words.token)
    figure = drawn([unexpected_bars, open_line], literal(words.title), height=300, x=x, y=y)
    return follow(figure, position, tokens, axes=("x",), hover=("x",))
