"""A token's features as given, at every position."""

import numpy as np
import pytest

from figures.page import decode, numbers, picked, received
from playground.figures.distribution import (
    HistogramWords,
    ScaleShiftWords,
    StandingOutWords,
    scale_shift,
    standing_out,
    value_histograms,
)

HISTOGRAM = HistogramWords("Layer 0", ("before", "normalised", "after"), "value", "features")
OUT = StandingOutWords("Features", "feature", "before", "normalised", "after", "scale", "shift")
LEARNT = ScaleShiftWords(["at 0", "at 1"], "feature", "scale", "shift", "here")
EDGES = [np.cumsum(numbers(2, 5), axis=1) * (i + 1) for i in range(3)]
COUNTS = [np.arange(8, dtype=np.int32).reshape(2, 4) + i for i in range(3)]
FEATURES = np.array([[5, 0, 2], [1, 3, 4]])
VALUES = dict(zip(("before", "normalised", "after", "scale", "shift"), numbers(5, 2, 3) - 0.5, strict=True))


def same(pairs) -> bool:
    return all(np.array_equal(shown, wanted) for shown, wanted in pairs)


@pytest.mark.parametrize("position", [0, 1])
def test_each_histogram_is_the_counts_given_over_its_own_edges(position: int) -> None:
    figure = value_histograms(EDGES, COUNTS, HISTOGRAM, position)
    for bar, edges, counts in zip(figure.data, EDGES, COUNTS, strict=True):
        np.testing.assert_array_equal(bar.y, counts[position])
        np.testing.assert_allclose(np.asarray(bar.x) - np.asarray(bar.width) / 2, edges[position, :-1], rtol=1e-6)
        np.testing.assert_allclose(np.asarray(bar.x) + np.asarray(bar.width) / 2, edges[position, 1:], rtol=1e-6)
    assert [bar.name for bar in figure.data] == list(HISTOGRAM.stages)
    assert same(picked(figure, position))
    assert not same(picked(figure, 1 - position))


def test_counts_that_do_not_fit_the_edges_are_refused() -> None:
    with pytest.raises(ValueError, match=r"before, edges: \(2, 4\).*\(2, 5\)"):
        value_histograms([EDGES[0][:, :4], *EDGES[1:]], COUNTS, HISTOGRAM, 0)
    with pytest.raises(ValueError, match="position 2"):
        value_histograms(EDGES, COUNTS, HISTOGRAM, 2)


@pytest.mark.parametrize("position", [0, 1])
def test_what_stands_out_is_named_and_drawn_as_given(position: int) -> None:
    figure = standing_out(FEATURES, **VALUES, words=OUT, position=position)
    for trace, name in zip(figure.data, ("before", "after", "normalised"), strict=True):
        assert trace.name == name
        np.testing.assert_array_equal(trace.x, VALUES[name][position])
        np.testing.assert_array_equal(
            np.asarray(trace.customdata), np.stack([VALUES["scale"], VALUES["shift"]], -1)[position]
        )
    assert figure.layout.yaxis.ticktext == tuple(str(feature) for feature in FEATURES[position])
    assert figure.layout.yaxis.autorange == "reversed"
    sent = received(figure)
    for each in sent["layout"]["meta"]["follow"]["pick"]:
        if each.get("attr") == "x":
            assert len(decode(each["values"])) == 2


def test_values_of_other_features_are_refused() -> None:
    with pytest.raises(ValueError, match=r"after: \(2, 2\).*\(2, 3\)"):
        standing_out(FEATURES, **{**VALUES, "after": VALUES["after"][:, :2]}, words=OUT, position=0)


def test_scale_and_shift_stand_for_every_feature_and_those_of_the_token_are_ringed() -> None:
    scale, shift = numbers(6), numbers(7)[1:] - 0.5
    figure = scale_shift(scale, shift, FEATURES, LEARNT, 1)
    np.testing.assert_array_equal(figure.data[0].y, scale)
    np.testing.assert_array_equal(figure.data[2].y, shift)
    for ring, values in ((figure.data[1], scale), (figure.data[3], shift)):
        np.testing.assert_array_equal(ring.x, FEATURES[1])
        np.testing.assert_array_equal(ring.y, values[FEATURES[1]])
    assert figure.layout.title.text == "at 1"
    assert same(picked(figure, 1))
    with pytest.raises(ValueError, match=r"shift: \(5,\).*\(6,\)"):
        scale_shift(scale, shift[1:], FEATURES, LEARNT, 0)
