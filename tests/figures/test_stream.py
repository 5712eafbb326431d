"""The stream and what is added to it, at the selected position and at every other."""

import numpy as np
import pytest

from figures.page import numbers, picked
from playground.figures.stream import ContributionWords, StreamWords, contributions, stream_norms
from playground.figures.style import ATTENTION, FEED_FORWARD, OFF, RESIDUAL

STREAM = StreamWords("stream", "after", "norm", "now", "nothing off")
ADDED = ContributionWords("added", "sublayer", "norm", "attention", "feed-forward", "off")
NAMES = ["embedding", "0 a", "0 f", "1 a", "1 f"]


def test_the_line_is_the_stream_at_the_position() -> None:
    norms = numbers(5, 3)
    (line,) = stream_norms(norms, NAMES, STREAM, 2).data
    np.testing.assert_array_equal(line.y, norms[:, 2])
    assert line.marker.color == (RESIDUAL, ATTENTION, FEED_FORWARD, ATTENTION, FEED_FORWARD)


def test_the_baseline_is_dashed_and_behind() -> None:
    norms = numbers(5, 3)
    usual, now = stream_norms(norms, NAMES, STREAM, 1, baseline=norms + 1).data
    np.testing.assert_array_equal(usual.y, norms[:, 1] + 1)
    assert (usual.line.dash, now.line.dash) == ("dash", None)
    assert (usual.name, now.name) == ("nothing off", "now")


def test_another_position_needs_no_request() -> None:
    norms = numbers(5, 3)
    figure = stream_norms(norms, NAMES, STREAM, 1, baseline=norms + 1)
    for i, array in enumerate((norms + 1, norms)):
        shown, same = picked(figure, 1)[i]
        np.testing.assert_array_equal(shown, same)
        np.testing.assert_array_equal(picked(figure, 2)[i][1], array[:, 2])


def test_a_title_for_each_position_is_picked_too() -> None:
    figure = stream_norms(numbers(5, 2), NAMES, StreamWords(["at <a>", "at b"], "", "", "", ""), 1)
    assert picked(figure, 1)[0] == ("at b", "at b")
    assert picked(figure, 0)[0][1] == "at &#60;a&#62;"


def test_bars_alternate_between_attention_and_feed_forward() -> None:
    norms = numbers(4, 3)
    attention, feed_forward = contributions(norms, NAMES[1:], ADDED, 2).data
    np.testing.assert_array_equal(attention.x, [0, 2])
    np.testing.assert_array_equal(attention.y, norms[[0, 2], 2])
    np.testing.assert_array_equal(feed_forward.y, norms[[1, 3], 2])
    assert (attention.marker.color, feed_forward.marker.color) == (ATTENTION, FEED_FORWARD)


def test_what_is_off_adds_exactly_0_and_shows_what_is_missing() -> None:
    usual = numbers(4, 3)
    norms = usual.copy()
    norms[2] = 0
    figure = contributions(norms, NAMES[1:], ADDED, 1, baseline=usual)
    attention, _, missing, cross = figure.data
    assert attention.y[1] == 0
    np.testing.assert_array_equal(missing.x, [2])
    np.testing.assert_array_equal(missing.y, usual[[2], 1])
    assert missing.marker.pattern.fgcolor == cross.marker.color == OFF
    np.testing.assert_array_equal(cross.y, [0])


def test_a_sublayer_that_is_off_is_marked_though_it_adds_something() -> None:
    norms, usual = numbers(4, 3), numbers(4, 3) + 1
    figure = contributions(norms, NAMES[1:], ADDED, 1, baseline=usual, off=[3, 0])
    np.testing.assert_array_equal(figure.data[0].y, norms[[0, 2], 1])
    np.testing.assert_array_equal(figure.data[2].x, [0, 3])
    np.testing.assert_array_equal(figure.data[2].y, usual[[0, 3], 1])


@pytest.mark.parametrize("position", [0, 1, 2])
def test_bars_follow_the_position(position: int) -> None:
    usual = numbers(4, 3)
    norms = usual.copy()
    norms[1] = 0
    figure = contributions(norms, NAMES[1:], ADDED, 0, baseline=usual)
    expected = [norms[[0, 2], position], norms[[1, 3], position], usual[[1], position]]
    for (shown, chosen), value, first in zip(
        picked(figure, position), expected, [pair[1] for pair in picked(figure, 0)], strict=True
    ):
        np.testing.assert_array_equal(chosen, value)
        np.testing.assert_array_equal(shown, first)


@pytest.mark.parametrize(
    "draw", [lambda n: stream_norms(n, NAMES, STREAM, 0), lambda n: contributions(n, NAMES, ADDED, 0)]
)
def test_wrong_names_are_refused_with_both_shapes(draw) -> None:
    with pytest.raises(ValueError, match=r"\(3, 2\).*\(5, 2\)"):
        draw(np.ones((3, 2)))


def test_one_token_must_still_have_an_axis_of_its_own() -> None:
    with pytest.raises(ValueError, match=r"\(5,\).*\(5, 1\)"):
        stream_norms(np.ones(5), NAMES, STREAM, 0)


def test_a_baseline_of_another_text_is_refused() -> None:
    with pytest.raises(ValueError, match="baseline"):
        stream_norms(np.ones((5, 3)), NAMES, STREAM, 0, baseline=np.ones((5, 2)))
