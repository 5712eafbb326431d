"""The lessons' charts hold the numbers they were given, and obey the page's contract."""

import numpy as np
import pytest

from figures.page import decode, received
from playground.figures.lessons.charts import ChartWords, Series, bars, heat, lines

WORDS = ChartWords(title="<b>title", x="across", y="up")


def test_bars_stand_side_by_side_with_a_level_across():
    series = [Series("one", [1.0, -2.0], "#0072b2"), Series("two", [3.0, 4.0], "#00805c")]
    seen = received(bars(["a", "b"], series, WORDS, Series("mean", 1.5, "#2450c8", "dash")))
    assert [decode(trace["y"]).tolist() for trace in seen["data"]] == [[1, -2], [3, 4], [1.5, 1.5]]
    assert seen["layout"]["xaxis"]["ticktext"] == ["a", "b"]
    assert seen["layout"]["title"]["text"] == "&#60;b&#62;title"


def test_bars_far_below_the_reach_look_small():
    low, high = (received(bars(["a"], [Series("one", [y], "#0072b2")], WORDS, reach=1.0)) for y in (1e-6, 2.0))
    assert low["layout"]["yaxis"]["range"] == [0, 1]
    assert "range" not in high["layout"]["yaxis"]


def test_bars_that_all_point_down_are_seen_to_their_ends():
    down = received(bars(["a", "b"], [Series("one", [-3.0, -1.0], "#0072b2")], WORDS))
    assert "range" not in down["layout"]["yaxis"]


def test_lines_share_an_x_or_have_their_own():
    own = Series("point", [7.0], "#b4304a", x=[0.5], markers=True)
    seen = received(lines([Series("curve", [1.0, 2.0], "#0072b2"), own], WORDS, [0.0, 1.0], log="y"))
    assert [decode(trace["x"]).tolist() for trace in seen["data"]] == [[0, 1], [0.5]]
    assert seen["layout"]["yaxis"]["type"] == "log"
    assert seen["layout"]["xaxis"]["type"] == "linear"


@pytest.mark.parametrize(
    ("values", "numbers"), [([1.3, 8.0], None), ([0.3, 25.0], [0.5, 1, 2, 5, 10, 20]), ([1e-6, 1.0], None)]
)
def test_an_axis_by_the_logarithm_has_round_numbers_over_a_few_decades(values, numbers):
    """Over less than one and over many, plotly's own are readable."""
    seen = received(lines([Series("curve", values, "#0072b2")], WORDS, [0.0, 1.0], log="y"))["layout"]["yaxis"]
    assert seen.get("tickvals") == (numbers if numbers is None else pytest.approx(numbers))


def test_a_map_has_its_first_row_on_top_and_0_in_the_middle_when_signed():
    seen = received(heat([[1.0, -4.0], [np.nan, 2.0]], ["r", "s"], ["c", "d"], WORDS, "value", signed=True))
    cells = seen["data"][0]
    assert (cells["zmin"], cells["zmax"]) == (-4, 4)
    assert np.isnan(decode(cells["z"])[1, 0])
    assert seen["layout"]["yaxis"]["range"] == [1.5, -0.5]


def test_numbers_are_written_in_the_cells_where_asked():
    seen = received(heat([[0.25]], ["r"], ["c"], WORDS, "value", written=".2f"))
    assert seen["data"][0]["texttemplate"] == "%{z:.2f}"


@pytest.mark.parametrize("figure", [
    lambda: bars(["a"], [Series("one", [1.0], "#0072b2")], WORDS),
    lambda: lines([Series("one", [1.0], "#0072b2")], WORDS, [0.0]),
    lambda: heat([[1.0]], ["r"], ["c"], WORDS, "value"),
])  # fmt: skip
def test_a_lessons_chart_follows_no_position(figure):
    follow = received(figure())["layout"]["meta"]["follow"]
    assert (follow["tokens"], follow["axes"], follow["pick"], follow["redraw"]) == (1, [], [], False)


@pytest.mark.parametrize("figure", [
    lambda: bars(["a", "b"], [Series("one", [1.0], "#0072b2")], WORDS),
    lambda: lines([Series("one", [1.0], "#0072b2")], WORDS, [0.0, 1.0]),
    lambda: heat([[1.0]], ["r", "s"], ["c"], WORDS, "value"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(figure):
    with pytest.raises(ValueError, match="labels need"):
        figure()
