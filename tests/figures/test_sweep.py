"""One cell for each part, and a click on it is its switch."""

import numpy as np
import pytest

from figures.page import numbers, received
from playground.figures.sweep import SweepWords, sweep_map

WORDS = SweepWords("<sweep>", "layer", "part", "KL")
LAYERS, PARTS = ["0", "1"], ["attention", "feed-forward", "head 0"]
SWITCH = [[f"{part}.{layer}" for part in ("attention", "feed_forward", "head.0")] for layer in (0, 1)]


def test_the_data_are_the_values() -> None:
    values = numbers(2, 3).astype(np.float64)
    figure = sweep_map(values, LAYERS, PARTS, WORDS, SWITCH)
    np.testing.assert_array_equal(figure.data[0].customdata, values)
    np.testing.assert_allclose(10 ** figure.data[0].z, values)
    assert figure.data[0].zmax == np.log10(values.max())
    assert figure.layout.yaxis.autorange == "reversed"
    assert figure.layout.title.text == "&#60;sweep&#62;"


def test_signed_values_have_their_middle_at_0() -> None:
    heat = sweep_map([[-3, 1, 0]], ["0"], PARTS, WORDS, SWITCH[:1], signed=True).data[0]
    assert (heat.zmin, heat.zmax) == (-3, 3)


def test_what_hardly_matters_has_the_palest_colour() -> None:
    heat = sweep_map([[3.0, 0, 1e-9]], ["0"], PARTS, WORDS, SWITCH[:1]).data[0]
    assert heat.z[0, 1] == heat.z[0, 2] == pytest.approx(heat.zmin)
    assert heat.z[0, 0] == heat.zmax


def test_where_nothing_changes_the_colours_still_have_two_ends() -> None:
    heat = sweep_map(np.zeros((2, 3)), LAYERS, PARTS, WORDS, SWITCH).data[0]
    assert heat.zmin < heat.zmax


def test_a_click_is_the_switch_of_the_cell() -> None:
    figure = received(sweep_map(numbers(2, 3), LAYERS, PARTS, WORDS, SWITCH))
    follow = figure["layout"]["meta"]["follow"]
    assert follow["switch"][1][0] == "attention.1"
    assert follow["axes"] == follow["hover"] == []  # cells are no positions


def test_what_is_off_is_crossed() -> None:
    figure = sweep_map(numbers(2, 3), LAYERS, PARTS, WORDS, SWITCH, off=[(1, 0), (0, 2)])
    assert (figure.data[1].y, figure.data[1].x) == ((1, 0), (0, 2))


def test_names_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="values"):
        sweep_map(numbers(2, 2), LAYERS, PARTS, WORDS, SWITCH)
