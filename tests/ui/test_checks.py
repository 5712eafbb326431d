"""The door that every value from outside passes."""

import math

import pytest

from playground.errors import (
    InputError,
    NotAChoice,
    NotANumber,
    OutOfRange,
    PromptEmpty,
    TooManySwitches,
    UnknownSwitch,
)
from playground.gpt.ablation import Ablation
from playground.gpt.config import PRESETS
from playground.gpt.sampling import GREEDY, Sampling
from playground.limits import DEFAULTS
from playground.ui import checks

CONFIG = PRESETS["storyteller"]
NO_NUMBERS = [None, "5", "abc", math.nan, math.inf, -math.inf, True, [1], {}, 1j]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number_is_refused(value):
    with pytest.raises(NotANumber):
        checks.number("k", value, 0, 10)
    with pytest.raises(NotANumber):
        checks.whole("k", value, 0, 10)


@pytest.mark.parametrize(("value", "low", "high"), [(-1, 0, 5), (6, 0, 5), (1e308, 0, 5), (-1e-9, 0, 5)])
def test_what_is_out_of_range_is_refused_with_both_ends(value, low, high):
    with pytest.raises(OutOfRange) as refused:
        checks.number("k", value, low, high)
    assert refused.value.values == {"name": "k", "value": value, "low": low, "high": high}


def test_whole_numbers_may_come_as_floats_but_not_as_fractions():
    assert checks.whole("k", 3.0, 0, 5) == 3
    assert isinstance(checks.whole("k", 3.0, 0, 5), int)
    with pytest.raises(InputError):
        checks.whole("k", 2.7, 0, 5)


@pytest.mark.parametrize(
    ("values", "sampling"),
    [
        ((0, None, None), GREEDY),
        ((0, 40, 0.5), GREEDY),
        ((0.8, None, None), Sampling(0.8)),
        ((0.8, 0, 1), Sampling(0.8)),
        ((1, 40, 0.9), Sampling(1.0, 40, 0.9)),
        ((1, 60000, None), Sampling(1.0, 4096)),
    ],
)
def test_sampling_is_read(values, sampling):
    assert checks.sampling(*values, 4096) == sampling


@pytest.mark.parametrize(
    "values",
    [
        (-1, None, None),
        (1e-8, None, None),
        (101, None, None),
        (1, -1, None),
        (1, 2.5, None),
        (1, None, 0),
        (1, None, 1.1),
    ],
)
def test_sampling_that_cannot_be_is_refused(values):
    with pytest.raises(InputError):
        checks.sampling(*values, 4096)


def switches(words):
    return checks.switches(words, CONFIG, DEFAULTS.switches)


def test_switches_are_read():
    assert switches(None) == Ablation()
    assert switches([]) == Ablation()
    assert switches(["attention.0", "head.5.5", "norms"]) == Ablation(
        attention=frozenset({0}), heads=frozenset({(5, min(5, CONFIG.n_heads - 1))}), norms=True
    )


@pytest.mark.parametrize("words", ["attention.0", {"attention.0"}, [1], [None], ("attention.0",), 0], ids=repr)
def test_switches_are_a_list_of_words(words):
    with pytest.raises(NotAChoice):
        switches(words)


@pytest.mark.parametrize(
    "word", ["attention.6", "attention.-1", "head.0.99", "attention", "", "attention.٣", "__class__", "Norms"]
)
def test_a_word_that_is_no_switch_is_refused(word):
    with pytest.raises(UnknownSwitch):
        switches([word])


def test_text():
    assert checks.text(" ") == " "
    for empty in ("", None):
        with pytest.raises(PromptEmpty):
            checks.text(empty)
    for other in (5, ["a"], {"a": 1}, True):
        with pytest.raises(NotAChoice):
            checks.text(other)


def test_numbers_of_a_url():
    assert checks.written("n", None) is None
    assert checks.written("n", "3") == 3
    for wrong in ("three", "", "3,5"):
        with pytest.raises(NotANumber):
            checks.written("n", wrong)
    with pytest.raises(NotANumber):
        checks.whole("n", checks.written("n", "nan"), 0, 5)


def test_seeds():
    assert checks.seed(2**40) == 2**40
    for wrong in (-1, 0.5, 2**40 + 1):
        with pytest.raises(InputError):
            checks.seed(wrong)


def test_more_switches_than_any_model_has_are_refused_at_once():
    with pytest.raises(TooManySwitches):
        switches(["edge.0.0.1.0"] * 2_001)
