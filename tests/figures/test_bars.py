"""Two bars for each candidate, and candidates that change with the position."""

import numpy as np
import pytest

from figures.page import numbers, picked
from playground.figures.bars import BeforeAfterWords, before_after

WORDS = BeforeAfterWords("next", "probability", "before", "after")
LABELS = [["the", "the"], ["<b>", "$x$"], ["2019-01", "7"]]


def test_the_bars_are_the_probabilities_at_the_position() -> None:
    before, after = numbers(3, 2), numbers(3, 2) / 2
    figure = before_after(before, after, LABELS, WORDS, 1)
    np.testing.assert_array_equal(figure.data[0].x, before[1])
    np.testing.assert_array_equal(figure.data[1].x, after[1])
    assert [bar.name for bar in figure.data] == ["before", "after"]


def test_repeated_candidates_stay_two_and_the_first_is_on_top() -> None:
    axis = before_after(numbers(3, 2), numbers(3, 2), LABELS, WORDS, 0).layout.yaxis
    assert axis.tickvals == (0, 1)
    assert axis.ticktext == ("the", "the")
    assert axis.autorange == "reversed"


def test_numbers_and_names_follow_the_position() -> None:
    before, after = numbers(3, 2), numbers(3, 2) * 1e-9
    figure = before_after(before, after, LABELS, WORDS, 0)
    for shown, same in picked(figure, 0):
        np.testing.assert_array_equal(shown, same)
    bars, ablated, names, *written = (value for _, value in picked(figure, 1))
    np.testing.assert_array_equal(bars, before[1])
    np.testing.assert_array_equal(ablated, after[1])
    assert names == ["&#60;b&#62;", "&#36;x&#36;"]
    assert written == [[f"{value:.3f}" for value in before[1]], ["5.2e-10", "2.8e-10"]]


def test_wrong_labels_are_refused_with_both_shapes() -> None:
    with pytest.raises(ValueError, match=r"before: \(2, 2\).*\(3, 2\)"):
        before_after(np.ones((2, 2)), np.ones((2, 2)), LABELS, WORDS, 0)
    with pytest.raises(ValueError, match=r"after: \(3, 1\).*\(3, 2\)"):
        before_after(np.ones((3, 2)), np.ones((3, 1)), LABELS, WORDS, 0)
    with pytest.raises(ValueError, match=r"labels of one position: \(1,\).*\(2,\)"):
        before_after(np.ones((3, 2)), np.ones((3, 2)), [*LABELS[:2], ["a"]], WORDS, 0)
