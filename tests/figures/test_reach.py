"""Within reach the change is drawn, out of reach nothing is."""

import numpy as np
import pytest

from figures.page import decode, numbers, received
from playground.figures.reach import ReachWords, reach_map

WORDS = ReachWords("reach <b>", "place", "token", "change")
NAMES = ["embedding", "0 a", "0 f"]
LABELS = ["a", "b", "a", "c"]
CONE = np.array([[False] * 4, [False, True, False, False], [False, True, True, True]])


def test_the_data_are_the_changes_within_reach_and_gaps_elsewhere() -> None:
    changes = numbers(3, 4).astype(np.float64)
    sent = received(reach_map(changes, CONE, NAMES, LABELS, WORDS, 3))["data"][0]
    shown = decode(sent["customdata"])
    np.testing.assert_array_equal(np.isnan(shown), ~CONE)
    np.testing.assert_array_equal(shown[CONE], changes[CONE])
    np.testing.assert_array_equal(np.isnan(decode(sent["z"])), ~CONE)
    np.testing.assert_allclose(10 ** decode(sent["z"])[CONE], changes[CONE])
    assert sent["hoverongaps"] is False
    assert sent["zmax"] == np.log10(changes[CONE].max())


def test_what_is_within_reach_but_unchanged_is_pale_and_no_gap() -> None:
    (heat,) = reach_map(np.zeros((3, 4)), CONE, NAMES, LABELS, WORDS, 0).data
    assert (heat.z[CONE] == heat.zmin).all()
    assert heat.zmin < heat.zmax


def test_out_of_reach_of_everything_there_is_still_a_scale() -> None:
    (heat,) = reach_map(np.zeros((3, 4)), np.zeros((3, 4), bool), NAMES, LABELS, WORDS, 0).data
    assert np.isnan(heat.z).all()
    assert heat.zmin < heat.zmax


def test_rows_are_places_from_the_top_and_the_position_is_followed_along_the_tokens() -> None:
    figure = reach_map(numbers(3, 4), CONE, NAMES, LABELS, WORDS, 2)
    assert figure.layout.yaxis.autorange == "reversed"
    assert list(figure.layout.yaxis.ticktext) == NAMES
    assert figure.layout.title.text == "reach &#60;b&#62;"
    told = received(figure)["layout"]["meta"]["follow"]
    assert (told["position"], told["tokens"], told["axes"], told["hover"], told["pick"]) == (2, 4, ["x"], ["x"], [])


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="changes"):
        reach_map(numbers(2, 4), CONE, NAMES, LABELS, WORDS, 0)
    with pytest.raises(ValueError, match="within"):
        reach_map(numbers(3, 4), CONE[:2], NAMES, LABELS, WORDS, 0)
    with pytest.raises(ValueError, match="position 4"):
        reach_map(numbers(3, 4), CONE, NAMES, LABELS, WORDS, 4)
