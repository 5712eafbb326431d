"""Neurons as given, at every position; too many of them and each position is asked for."""

import numpy as np
import pytest

from figures.page import numbers, picked, received
from playground.figures.feed_forward import CurveWords, ShareWords, gelu_points, share_on

WORDS = CurveWords("Layer 0", "before", "after", "neuron", "neurons", "strongest", "GELU", "how many")
SHARE = ShareWords("On", "layer", "share", "here", "mean")
CURVE = (np.linspace(-1, 1, 5), np.linspace(-0.2, 0.8, 5))
STRONGEST = np.array([[3, 0], [1, 2], [0, 1]])


def drawn(hidden: np.ndarray, position: int):
    bins = np.linspace(-1, 1, 4), np.arange(3 * len(hidden)).reshape(-1, 3)
    return gelu_points(hidden, hidden * 0.5, CURVE, bins, STRONGEST, WORDS, position), bins


@pytest.mark.parametrize("position", [0, 2])
def test_every_neuron_stands_where_the_network_put_it(position: int) -> None:
    hidden = numbers(3, 4) - 0.5
    figure, (edges, counts) = drawn(hidden, position)
    curve, points, rings, bars = figure.data
    np.testing.assert_array_equal(curve.y, CURVE[1])
    np.testing.assert_array_equal(points.x, hidden[position])
    np.testing.assert_array_equal(points.y, hidden[position] * 0.5)
    np.testing.assert_array_equal(rings.x, hidden[position, STRONGEST[position]])
    np.testing.assert_array_equal(rings.customdata, STRONGEST[position])
    np.testing.assert_array_equal(bars.y, counts[position])
    np.testing.assert_allclose(bars.width, np.diff(edges))
    assert all(np.array_equal(shown, wanted) for shown, wanted in picked(figure, position))
    assert any(not np.array_equal(shown, wanted) for shown, wanted in picked(figure, 1))


def test_3072_neurons_of_many_tokens_are_sent_for_one_position_only() -> None:
    light, heavy = np.zeros((3, 3072), np.float32), np.zeros((3, 40_000), np.float32)
    assert received(drawn(light, 0)[0])["layout"]["meta"]["follow"]["redraw"] is False
    told = received(drawn(heavy, 2)[0])["layout"]["meta"]["follow"]
    assert (told["redraw"], told["pick"], told["position"]) == (True, [], 2)


def test_activations_or_counts_that_do_not_fit_are_refused() -> None:
    hidden = numbers(3, 4)
    with pytest.raises(ValueError, match=r"active: \(3, 3\).*\(3, 4\)"):
        gelu_points(hidden, hidden[:, :3], CURVE, (np.zeros(4), np.zeros((3, 3))), STRONGEST, WORDS, 0)
    with pytest.raises(ValueError, match=r"bins: \(3, 3\).*\(3, 4\)"):
        gelu_points(hidden, hidden, CURVE, (np.zeros(5), np.zeros((3, 3))), STRONGEST, WORDS, 0)


def test_shares_are_those_given_and_the_mean_is_over_the_tokens() -> None:
    shares = numbers(3, 4)
    figure = share_on(shares, list("abcd"), 2, SHARE, 1)
    bars, mean = figure.data
    np.testing.assert_array_equal(bars.y, shares[1])
    np.testing.assert_array_equal(mean.y, shares.mean(axis=0))
    assert bars.marker.opacity == (0.45, 0.45, 1.0, 0.45)
    assert all(np.array_equal(shown, wanted) for shown, wanted in picked(figure, 1))
    with pytest.raises(ValueError, match=r"shares: \(3, 4\).*\(3, 3\)"):
        share_on(shares, list("abc"), 0, SHARE, 0)
