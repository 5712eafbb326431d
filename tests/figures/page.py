"""Made-up weights, and the figure as the page receives it."""

import base64
import json
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from playground.figures.follow import as_json

FORMATS = {"f4": "<f4", "f8": "<f8", "i1": "<i1", "u1": "<u1", "i2": "<i2", "u2": "<u2", "i4": "<i4", "u4": "<u4"}


def numbers(*shape: int) -> np.ndarray:
    """Made-up numbers from 0.01 to 1.01, always the same for one shape."""
    return np.random.default_rng(0).random(shape, dtype=np.float32) + np.float32(0.01)


def causal_weights(tokens: int) -> np.ndarray:
    weights = np.tril(numbers(tokens, tokens))
    return weights / weights.sum(axis=1, keepdims=True)


def received(figure: go.Figure) -> dict[str, Any]:
    """The figure as the page's JavaScript sees it."""
    return json.loads(as_json(figure), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def decode(values: Any) -> Any:
    """What the JavaScript does with typed arrays, in Python."""
    if isinstance(values, dict) and "triangle" in values:
        side = int(values["shape"].split(",")[0])
        square = np.full((side, side), np.nan, np.float32)
        square[np.tril_indices(side)] = np.frombuffer(base64.b64decode(values["triangle"]), "<f4")
        return square
    if not (isinstance(values, dict) and "bdata" in values):
        return values
    flat = np.frombuffer(base64.b64decode(values["bdata"]), FORMATS[values["dtype"]])
    return flat.reshape([int(n) for n in values["shape"].split(",")]) if "shape" in values else flat


def reach(tree: dict[str, Any], path: str) -> Any:
    """The value at a dotted path."""
    for key in path.split("."):
        tree = tree[key]
    return tree


def picked(figure: go.Figure, position: int) -> list[tuple[Any, Any]]:
    """For each pick: what the figure shows now, and what the page would set at `position`."""
    seen = received(figure)
    pairs = []
    for each in seen["layout"]["meta"]["follow"]["pick"]:
        place = (seen["data"][each["trace"]], each["attr"]) if "trace" in each else (seen["layout"], each["target"])
        pairs.append((decode(reach(*place)), decode(each["values"])[position]))
    return pairs
