"""The picture is the weights: the same numbers, one cell each, what is masked blank."""

import numpy as np
import pytest

from figures.page import causal_weights, decode, numbers, received
from playground.figures.attention import AttentionWords, attention_map

WORDS = AttentionWords("Layer 0 · head 0", "looks", "looked at", "weight")


def test_the_data_are_the_weights() -> None:
    weights = causal_weights(5)
    z = attention_map(weights, list("abcde"), WORDS, 0).data[0].z
    assert z.dtype == np.float32
    seen = np.tril_indices(5)
    np.testing.assert_array_equal(z[seen], weights[seen])
    np.testing.assert_allclose(np.nansum(z, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("tokens", [1, 4, 30])
def test_O_ATT_04_exactly_the_future_is_blank(tokens: int) -> None:
    figure = attention_map(causal_weights(tokens), ["t"] * tokens, WORDS, 0)
    blank = np.isnan(figure.data[0].z)
    assert blank.sum() == tokens * (tokens - 1) // 2
    assert not np.tril(blank).any()
    assert figure.data[0].hoverongaps is False


def test_a_weight_of_zero_that_is_not_masked_is_not_blank() -> None:
    z = attention_map(np.eye(3), list("abc"), WORDS, 0).data[0].z
    assert z[2, 0] == 0


def test_without_the_mask_every_cell_shows() -> None:
    weights = numbers(4, 4)
    np.testing.assert_array_equal(attention_map(weights, list("abcd"), WORDS, 0, masked=False).data[0].z, weights)


def test_the_caller_keeps_its_array() -> None:
    weights = causal_weights(3)
    attention_map(weights, list("abc"), WORDS, 0)
    assert not np.isnan(weights).any()


def test_blanks_reach_the_page_as_blanks() -> None:
    z = received(attention_map(causal_weights(6), list("abcdef"), WORDS, 0))["data"][0]["z"]
    assert z["dtype"] == "f4"
    assert np.isnan(decode(z)).sum() == 15
    assert (np.nan_to_num(decode(z), nan=1) > 0).all()


def test_O_ATT_05_colours_run_from_0_to_1_whatever_the_head() -> None:
    heat = attention_map(causal_weights(3) * 0.1, list("abc"), WORDS, 0).data[0]
    assert (heat.zmin, heat.zmax) == (0, 1)
    assert heat.showscale is not False
    assert [step for step, _ in heat.colorscale] == pytest.approx(np.linspace(0, 1, 7))


def test_O_ATT_03_the_first_token_is_on_top_and_rows_look() -> None:
    layout = attention_map(causal_weights(2), ["the", "the"], WORDS, 0).layout
    assert layout.yaxis.autorange == "reversed"
    assert (layout.yaxis.title.text, layout.xaxis.title.text) == ("looks", "looked at")
    assert layout.yaxis.ticktext == layout.xaxis.ticktext == ("the", "the")
    assert layout.yaxis.tickvals == layout.xaxis.tickvals == (0, 1)


def test_the_hover_names_who_looks_first() -> None:
    template = attention_map(causal_weights(2), list("ab"), WORDS, 0).data[0].hovertemplate
    assert template.startswith("looks: %{y}<br>looked at: %{x}<br>weight: %{z")


def test_the_page_may_follow_on_both_axes() -> None:
    follow = attention_map(causal_weights(3), list("abc"), WORDS, 2).layout.meta["follow"]
    assert follow == {"position": 2, "tokens": 3, "axes": ["x", "y"], "hover": ["y", "x"], "pick": [], "redraw": False}


def test_O_ATT_07_markup_in_labels_and_title_is_literal() -> None:
    words = AttentionWords("after <b>", "looks", "looked at", "weight")
    figure = attention_map(causal_weights(2), ["<b>x</b>", "AT&T"], words, 0)
    assert figure.layout.title.text == "after &#60;b&#62;"
    assert figure.layout.xaxis.ticktext == ("&#60;b&#62;x&#60;/b&#62;", "AT&#38;T")


@pytest.mark.parametrize("labels", [2, 4])
def test_wrong_labels_are_refused_with_both_shapes(labels: int) -> None:
    with pytest.raises(ValueError, match=rf"\(3, 3\).*\({labels}, {labels}\)"):
        attention_map(causal_weights(3), ["t"] * labels, WORDS, 0)


@pytest.mark.parametrize("position", [-1, 3])
def test_a_position_without_token_is_refused(position: int) -> None:
    with pytest.raises(ValueError, match=f"position {position}.*0 to 2"):
        attention_map(causal_weights(3), list("abc"), WORDS, position)


def test_a_cross_marks_what_is_forbidden_and_a_click_is_a_switch() -> None:
    figure = attention_map(causal_weights(4), list("abcd"), WORDS, 0, [(3, 1), (2, 0)], "edge.0.1.{y}.{x}")
    cross = figure.data[1]
    assert (cross.y, cross.x) == ((3, 2), (1, 0))
    assert cross.hoverinfo == "skip"  # the cell under it answers
    assert figure.layout.meta["follow"]["switch"] == "edge.0.1.{y}.{x}"
