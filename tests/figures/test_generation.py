"""The pictures of writing: what is not read yet is covered, and no number is moved."""

import numpy as np
import pytest

from playground.figures.generation import CacheWords, SurenessWords, kv_cache, sureness

CACHE = CacheWords("KV", "layer", "token", "length", "not yet")
SURE = SurenessWords("sure", "token", "nats", "entropy", "surprise")
LENGTHS = np.arange(12, dtype=np.float32).reshape(3, 4) / 7


def test_every_length_is_drawn_as_it_is():
    np.testing.assert_array_equal(kv_cache(LENGTHS, list("abcd"), CACHE, 1).data[0].z, LENGTHS)


@pytest.mark.parametrize("position", range(4))
def test_only_what_comes_after_the_selected_token_is_covered(position):
    figure = kv_cache(LENGTHS, list("abcd"), CACHE, position)
    expected = [float(token > position) for token in range(4)]
    assert list(figure.data[1].marker.opacity) == expected
    (pick,) = figure.layout.meta["follow"]["pick"]
    assert (pick["trace"], pick["attr"]) == (1, "marker.opacity")
    assert list(pick["values"][position]) == expected


def test_surprise_begins_with_the_second_token():
    bars, line = sureness([1.0, 2.0, 3.0], [0.5, 0.25], list("abc"), SURE, 2).data
    assert (list(bars.x), list(bars.y)) == ([1, 2], [0.5, 0.25])
    assert (list(line.x), list(line.y)) == ([0, 1, 2], [1.0, 2.0, 3.0])


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="labels"):
        kv_cache(LENGTHS, list("abc"), CACHE, 0)
    with pytest.raises(ValueError, match="labels"):
        sureness([1.0, 2.0], [0.5], list("abc"), SURE, 0)
