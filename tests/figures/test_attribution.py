"""The bars end where the logit is, the heads are the attentions unfolded, and both follow the position."""

import numpy as np
import pytest

from figures.page import numbers, picked
from playground.figures.attribution import HeadWords, SumWords, attribution_heads, attribution_sum
from playground.figures.style import ACCENT, ATTENTION, FEED_FORWARD, NORM, RESIDUAL

SUM = SumWords(["one", "two", "three"], "part", "logit", "sum")
HEADS = HeadWords("heads", "layer", "head", "bias", "logit")
NAMES = ["token", "position", "0 a", "0 f", "shift"]


def test_each_bar_begins_where_the_last_ended_and_the_sum_stands_at_the_end() -> None:
    parts = numbers(5, 3).astype(float) - 0.5
    _, bars = attribution_sum(parts, NAMES, SUM, 1).data
    np.testing.assert_array_equal(bars.y[:-1], parts[:, 1])
    np.testing.assert_allclose(np.asarray(bars.base[1:-1], float), parts[:, 1].cumsum()[:-1])
    assert (bars.base[0], bars.base[-1]) == (0, 0)
    assert bars.y[-1] == pytest.approx(parts[:, 1].sum())
    assert tuple(bars.marker.color) == (RESIDUAL, RESIDUAL, ATTENTION, FEED_FORWARD, NORM, ACCENT)


def test_the_line_joins_the_ends_of_the_bars() -> None:
    parts = np.array([[1.0], [2.0], [-4.0], [0.5], [1.0]])
    line, bars = attribution_sum(parts, NAMES, SumWords("t", "part", "logit", "sum"), 0).data
    ends = (bars.y + np.asarray(bars.base, float))[:-1]
    assert ends.tolist() == [1, 3, -1, -0.5, 0.5]
    for i, end in enumerate(ends):
        (left, right, _), heights = line.x[3 * i : 3 * i + 3], line.y[3 * i : 3 * i + 3]
        assert i < left < i + 0.5 < right < i + 1
        assert heights.tolist() == [end] * 3
    assert np.isnan(line.x[2::3]).all()


@pytest.mark.parametrize("position", [0, 1, 2])
def test_the_bars_follow_the_position(position: int) -> None:
    parts = numbers(5, 3)
    figure = attribution_sum(parts, NAMES, SUM, 0)
    pairs = picked(figure, position)
    np.testing.assert_array_equal(pairs[1][1][:-1], parts[:, position].astype(float))
    assert pairs[-1][1] == SUM.title[position]
    for shown, chosen in picked(figure, 0):
        np.testing.assert_array_equal(shown, chosen)


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_cell_is_a_head_and_the_last_column_the_bias(position: int) -> None:
    heads, bias = numbers(2, 3, 3), -numbers(2, 3)
    figure = attribution_heads(heads, bias, HEADS, position)
    (heat,) = figure.data
    cells = {(int(y), int(x)): z for x, y, z in zip(heat.x, heat.y, heat.z, strict=True)}
    assert len(cells) == 2 * 4
    assert cells[1, 2] == heads[1, 2, position]
    assert cells[1, 3] == bias[1, position]
    bound = np.abs(np.concatenate([heads[:, :, position].ravel(), bias[:, position]])).max()
    assert (heat.zmin, heat.zmax) == (-bound, bound)
    np.testing.assert_array_equal(picked(figure, position)[0][0], picked(figure, position)[0][1])


def test_where_every_part_is_0_there_is_still_a_scale() -> None:
    (heat,) = attribution_heads(np.zeros((2, 3, 1)), np.zeros((2, 1)), HEADS, 0).data
    assert heat.zmax > 0 > heat.zmin


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="parts"):
        attribution_sum(numbers(4, 3), NAMES, SUM, 0)
    with pytest.raises(ValueError, match="bias"):
        attribution_heads(numbers(2, 3, 3), numbers(3, 3), HEADS, 0)
    with pytest.raises(ValueError, match="position 3"):
        attribution_heads(numbers(2, 3, 3), numbers(2, 3), HEADS, 3)
