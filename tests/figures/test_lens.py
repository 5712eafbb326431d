"""The lens' figures show the numbers given, in the order computed, and follow the position."""

import numpy as np
import pytest

from figures.page import numbers, picked, received
from playground.figures.lens import CELL, LensWords, PathWords, lens_map, lens_path
from playground.figures.style import ATTENTION, FEED_FORWARD, RESIDUAL

MAP = LensWords("map", "place", "token", "answer", "value")
PATH = PathWords(["after a", "after b", "after a"], "place", "probability")
NAMES = ["embedding", "0 a", "0 f"]
LABELS = ["a", "b", "a"]
ANSWERS = [["x", "y", "<b>"], ["y", "a_very_long_token", "z"], ["p", "q", "r"]]


def test_rows_are_places_from_the_top_and_the_colour_is_the_value() -> None:
    values = numbers(3, 3)
    figure = lens_map(values, ANSWERS, NAMES, LABELS, MAP, 1, most=1.0)
    (heat,) = figure.data
    np.testing.assert_array_equal(heat.z, values)
    assert (heat.zmin, heat.zmax) == (0, 1)
    assert figure.layout.yaxis.autorange == "reversed"
    assert list(figure.layout.yaxis.ticktext) == NAMES


def test_cells_say_the_answer_short_and_literal_and_the_hover_says_it_whole() -> None:
    (heat,) = lens_map(numbers(3, 3), ANSWERS, NAMES, LABELS, MAP, 1).data
    assert heat.text[0][2] == "&#60;b&#62;"
    assert heat.text[1][1] == "a_ve…"
    assert heat.hovertext[1][1] == "a_very_long_token"


def test_the_page_learns_how_wide_a_cell_must_be_to_be_written_into() -> None:
    told = received(lens_map(numbers(3, 3), ANSWERS, NAMES, LABELS, MAP, 1))["layout"]["meta"]["follow"]
    assert told["written"] == {"trace": 0, "width": CELL}
    assert (told["axes"], told["hover"]) == (["x"], ["x"])


def test_ranks_are_coloured_by_their_logarithm_and_kept_as_they_are() -> None:
    ranks = np.array([[1, 10, 100], [1, 1, 1000], [1, 2, 5]])
    (heat,) = lens_map(ranks, ANSWERS, NAMES, LABELS, MAP, 0, logarithmic=True).data
    np.testing.assert_allclose(heat.z, np.log10(ranks))
    np.testing.assert_array_equal(heat.customdata, ranks)
    assert (heat.zmin, heat.zmax) == (0, 3)


@pytest.mark.parametrize("logarithmic", [False, True])
def test_equal_values_still_have_a_scale(logarithmic: bool) -> None:
    (heat,) = lens_map(
        np.full((3, 3), float(logarithmic)), ANSWERS, NAMES, LABELS, MAP, 0, logarithmic=logarithmic
    ).data
    assert heat.zmax > heat.zmin


@pytest.mark.parametrize("position", [0, 1, 2])
def test_the_path_follows_the_position(position: int) -> None:
    probabilities = numbers(3, 3)
    figure = lens_path(probabilities, ANSWERS, ANSWERS, NAMES, PATH, 0)
    (bars,) = figure.data
    np.testing.assert_array_equal(bars.x, probabilities[:, 0])
    assert bars.marker.color == (RESIDUAL, ATTENTION, FEED_FORWARD)
    pairs = picked(figure, position)
    np.testing.assert_array_equal(pairs[0][1], probabilities[:, position])
    assert pairs[2][1] == [row[position].replace("<b>", "&#60;b&#62;") for row in ANSWERS]
    assert pairs[-1][1] == PATH.title[position]
    for shown, chosen in picked(figure, 0):
        np.testing.assert_array_equal(shown, chosen)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="values"):
        lens_map(numbers(2, 3), ANSWERS, NAMES, LABELS, MAP, 0)
    with pytest.raises(ValueError, match="answers"):
        lens_map(numbers(3, 3), ANSWERS[:2], NAMES, LABELS, MAP, 0)
    with pytest.raises(ValueError, match="probabilities"):
        lens_path(numbers(2, 3), ANSWERS, ANSWERS, NAMES, PATH, 0)
    with pytest.raises(ValueError, match="position 3"):
        lens_map(numbers(3, 3), ANSWERS, NAMES, LABELS, MAP, 3)
