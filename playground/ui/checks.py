"""Every value that comes from outside is checked here before it reaches the network.

Gradio's own limits do not hold: sliders pass NaN, "private" events answer anybody, text boxes pass any length.
"""

import math
from typing import Any

from playground.errors import NotAChoice, NotANumber, OutOfRange, PromptEmpty
from playground.gpt.ablation import Ablation, parse
from playground.gpt.config import GPTConfig
from playground.gpt.sampling import GREEDY, Sampling

HIGHEST_SEED = 2**40


def text(value: Any) -> str:
    """Raises: PromptEmpty, NotAChoice for what is no text at all"""
    if value is None or value == "":
        raise PromptEmpty()
    if not isinstance(value, str):
        raise NotAChoice(name="prompt", value=value, choices="text")
    return value


def number(name: str, value: Any, low: float, high: float) -> float:
    """Raises: NotANumber, OutOfRange"""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise NotANumber(name=name, value=value)
    if not low <= value <= high:
        raise OutOfRange(name=name, value=value, low=low, high=high)
    return value


def whole(name: str, value: Any, low: int, high: int) -> int:
    """As `number`, without a fraction."""
    if number(name, value, low, high) != int(value):
        raise NotANumber(name=name, value=value)
    return int(value)


def sampling(temperature: Any, top_k: Any, top_p: Any, vocab_size: int) -> Sampling:
    """`top_k` 0 or None and `top_p` 1 or None mean no limit; a `top_k` above the vocabulary is all of it.

    Raises: NotANumber, OutOfRange
    """
    if number("temperature", temperature, 0, 100) == 0:
        return GREEDY
    k = 0 if top_k is None else whole("top_k", top_k, 0, 10**9)
    p = 1.0 if top_p is None else number("top_p", top_p, 0, 1)
    return Sampling(float(temperature), min(k, vocab_size) or None, None if p == 1 else p)


def seed(value: Any) -> int:
    return whole("seed", value, 0, HIGHEST_SEED)


def switches(words: Any, config: GPTConfig) -> Ablation:
    """Raises: UnknownSwitch, UnknownEdge, NotAChoice for what is no list of words"""
    if words is None:
        return Ablation()
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise NotAChoice(name="off", value=words, choices='["attention.0", "feed_forward.3", "head.2.1"]')
    return parse(words, config.n_layers, config.n_heads, config.context_length)


def index(name: str, value: Any, count: int) -> int:
    """A layer, head or position, counted from 0. Raises: NotANumber, OutOfRange"""
    return whole(name, value, 0, count - 1)


def written(name: str, value: str | None) -> float | None:
    """A number as a URL holds it. Raises: NotANumber"""
    if value is None:
        return None
    try:
        return float(value)
    except ValueError as error:
        raise NotANumber(name=name, value=value) from error
