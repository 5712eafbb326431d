"""What the page's JavaScript relies on, and what it weighs."""

import numpy as np
import plotly.graph_objects as go
import pytest

from figures.page import causal_weights, decode, numbers, received
from playground.figures.attention import AttentionWords, attention_map
from playground.figures.follow import MOST_PICKED, as_json, follow, nothing, pick, pick_layout, title_picks, weight
from playground.figures.norms import OverviewWords, norms_overview
from playground.figures.style import DARK


def follow_of(figure: go.Figure) -> dict:
    return received(figure)["layout"]["meta"]["follow"]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_arrays_to_pick_from_travel_as_typed_arrays(kind: type) -> None:
    values = np.array([[1, np.nan], [0.1, -2]], dtype=kind)
    (sent,) = follow_of(follow(go.Figure(go.Scatter()), 0, 2, picks=[pick(0, "y", values)]))["pick"]
    assert set(sent["values"]) == {"dtype", "bdata", "shape"}
    np.testing.assert_array_equal(decode(sent["values"]), values)


def test_what_is_blank_above_the_diagonal_travels_without_those_cells() -> None:
    weights = causal_weights(5)
    blank = np.where(np.tri(5, dtype=bool), weights, np.float32(np.nan))
    sent = received(follow(go.Figure(go.Heatmap(z=blank)), 0, 5))["data"][0]["z"]
    assert set(sent) == {"dtype", "triangle", "shape"}
    assert len(sent["triangle"]) == 80  # base64 of 15 numbers of 4 bytes
    np.testing.assert_array_equal(decode(sent), blank)
    for whole in (weights, blank[:4], blank.astype(np.float64), blank[:1, :1]):
        sent = received(follow(go.Figure(go.Heatmap(z=whole)), 0, 5))["data"][0]["z"]
        assert "triangle" not in sent
        np.testing.assert_array_equal(decode(sent), whole)


def test_columns_of_a_larger_array_travel_too() -> None:
    values = numbers(3, 6)[:, 1::2]
    (sent,) = follow_of(follow(go.Figure(go.Scatter()), 0, 3, picks=[pick(0, "y", values)]))["pick"]
    np.testing.assert_array_equal(decode(sent["values"]), values)


def test_texts_travel_as_lists() -> None:
    picks = [pick_layout("yaxis.ticktext", [["a"], ["b"]]), *title_picks(["<", "b"])]
    sent = follow_of(follow(go.Figure(), 1, 2, axes=("x",), hover=("x",), picks=picks))
    assert sent == {
        "position": 1,
        "tokens": 2,
        "axes": ["x"],
        "hover": ["x"],
        "pick": [
            {"target": "yaxis.ticktext", "values": [["a"], ["b"]]},
            {"target": "title.text", "values": ["&#60;", "b"]},
        ],
        "redraw": False,
    }


def test_one_title_is_nothing_to_pick() -> None:
    assert title_picks("one") == []


def test_the_page_learns_the_dark_colours() -> None:
    assert received(follow(go.Figure(), 0, 1))["layout"]["meta"]["dark"] == DARK


def test_a_pick_has_one_entry_for_each_token() -> None:
    with pytest.raises(ValueError, match=r"2 values .* 3 tokens"):
        follow(go.Figure(), 0, 3, picks=[pick(0, "y", np.ones((2, 5)))])


@pytest.mark.parametrize(("rows", "heavy"), [(10, False), (11, True)])
def test_picks_that_weigh_too_much_are_asked_for_one_by_one(rows: int, heavy: bool) -> None:
    values = np.zeros((rows, MOST_PICKED // 40), dtype=np.float32)
    told = follow_of(follow(go.Figure(go.Scatter()), 3, rows, axes=("x",), picks=[pick(0, "y", values)]))
    assert (told["redraw"], len(told["pick"])) == (heavy, 0 if heavy else 1)
    assert (told["position"], told["tokens"], told["axes"]) == (3, rows, ["x"])


@pytest.mark.parametrize(
    ("values", "bytes_"),
    [(np.zeros((2, 3), np.float32), 24), (["ab", "c"], 3), ([["a"], ["bc"]], 3), ([[0.5, 1.0], [2.0, 3.0]], 32)],
)
def test_what_picks_weigh(values: object, bytes_: int) -> None:
    assert weight(values) == bytes_


def test_a_head_of_128_tokens_weighs_at_most_100_kilobytes() -> None:
    figure = attention_map(causal_weights(128), ["·little"] * 128, AttentionWords("t", "q", "k", "w"), 0)
    assert len(as_json(figure).encode()) <= 100_000


def test_an_overview_of_gpt2_at_64_tokens_weighs_at_most_60_kilobytes() -> None:
    words = OverviewWords("t", "n", "d", "m", "s")
    figure = norms_overview(numbers(25, 64), numbers(25, 64), ["11 · 2"] * 25, ["·little"] * 64, words, 0)
    assert len(as_json(figure).encode()) <= 60_000


def test_what_the_page_receives_is_what_plotly_would_write() -> None:
    figure = attention_map(causal_weights(9), list("你好<>&/abc"), AttentionWords("标题", "q", "k", "w"), 4)
    sent = received(figure)
    sent["data"][0]["z"] = decode(sent["data"][0]["z"])
    assert go.Figure(sent).to_json() == go.Figure(figure).to_json()


def test_nothing_has_no_data_and_tells_the_page_its_positions() -> None:
    figure = nothing(3)
    assert received(figure)["data"] == []
    assert follow_of(figure)["tokens"] == 3
