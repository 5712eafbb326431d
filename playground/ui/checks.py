"""Every value that comes from outside is checked here before it reaches the network.

Gradio's own limits do not hold: sliders pass NaN, "private" events answer anybody, text boxes pass any length.
"""

import math
from collections.abc import Sequence
from typing import Any

from playground.errors import (
    NotAChoice,
    NotANumber,
    NotWhole,
    OutOfRange,
    PromptEmpty,
    TextEmpty,
    TooManySwitches,
)
from playground.gpt.ablation import Ablation, parse
from playground.gpt.config import GPTConfig
from playground.gpt.sampling import GREEDY, HIGHEST_TEMPERATURE, LOWEST_TOP_P, Sampling
from playground.gpt.tokenizer import Tokenizer

HIGHEST_SEED = 2**40
HIGHEST_POSITION = 10**6  # no text is as long


def text(value: Any, name: str = "prompt") -> str:
    """A text of at least one character. Raises: PromptEmpty, TextEmpty, NotAChoice for what is no text at all"""
    if value is None or value == "":
        raise PromptEmpty() if name == "prompt" else TextEmpty()
    if not isinstance(value, str):
        raise NotAChoice(name=name, value=value, choices="text")
    return value


def typed(name: str, value: Any) -> str:
    """What stands in a text box, which may be nothing. Raises: NotAChoice for what is no text"""
    return "" if value is None or value == "" else text(value, name)


def choice(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """One of the `choices`, of the same type too: True is not 1. Raises: NotAChoice"""
    for each in choices:
        if type(each) is type(value) and each == value:
            return each
    raise NotAChoice(name=name, value=value, choices=", ".join(map(str, choices)))


def number(name: str, value: Any, low: float, high: float) -> float:
    """A finite number from `low` to `high`. Raises: NotANumber, OutOfRange"""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or (isinstance(value, float) and not math.isfinite(value)):
        raise NotANumber(name=name, value=value)
    if not low <= value <= high:
        raise OutOfRange(name=name, value=value, low=low, high=high)
    return value


def whole(name: str, value: Any, low: int, high: int) -> int:
    """As `number`, without a fraction. Raises: NotANumber, NotWhole, OutOfRange"""
    if number(name, value, low, high) != int(value):
        raise NotWhole(name=name, value=value)
    return int(value)


def sampling(temperature: Any, top_k: Any, top_p: Any, vocab_size: int) -> Sampling:
    """`top_k` 0 or None and `top_p` 1 or None mean no limit; a `top_k` above the vocabulary is all of it.

    Raises: NotANumber, OutOfRange
    """
    if number("temperature", temperature, 0, HIGHEST_TEMPERATURE) == 0:
        return GREEDY
    k = 0 if top_k is None else whole("top_k", top_k, 0, 10**9)
    p = 1.0 if top_p is None else number("top_p", top_p, LOWEST_TOP_P, 1)
    return Sampling(float(temperature), min(k, vocab_size) or None, None if p == 1 else p)


def seed(value: Any) -> int:
    return whole("seed", value, 0, HIGHEST_SEED)


def switches(words: Any, config: GPTConfig, most: int) -> Ablation:
    """What is off, by its words, `most` of them. Raises: UnknownSwitch, UnknownEdge, TooManySwitches, NotAChoice"""
    if words is None:
        return Ablation()
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise NotAChoice(name="off", value=words, choices='["attention.0", "feed_forward.3", "head.2.1"]')
    if len(words) > most:
        raise TooManySwitches(count=len(words), limit=most)
    return parse(words, config.n_layers, config.n_heads, config.context_length)


def tokens(value: Any, tokenizer: Tokenizer, most: int) -> list[int]:
    """A token's id, or a text whose first `most` characters count. Raises: UnknownToken, TextEmpty, NotAChoice"""
    if isinstance(value, int) and not isinstance(value, bool):
        tokenizer.bytes(value)
        return [value]
    return tokenizer.encode(text(value, "token")[:most])


def ids(value: str, vocab_size: int, most: int) -> tuple[int, ...]:
    """Token ids as a URL holds them, with a point between. Raises: NotANumber, OutOfRange"""
    parts = value.split(".") if value else []
    whole("made", len(parts), 0, most)
    return tuple(index("made", written("made", part), vocab_size) for part in parts)


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
