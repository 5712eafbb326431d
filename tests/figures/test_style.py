"""Text stays literal, axes keep repeated tokens apart, every colour has a dark sister."""

import html
import json
import re

import plotly.graph_objects as go
import pytest

from playground.figures.style import (
    DARK,
    LONGEST_LABEL,
    MOST_LABELS,
    at,
    drawn,
    hover_lines,
    literal,
    log_ticks,
    must_fit,
    tick_text,
    token_axis,
)

MARKUP = ["<b>x</b>", "$y$", "AT&T", "&amp;", "<br>", "%{z}", "#0072b2", '<a href="javascript:1">', "<|endoftext|>"]


@pytest.mark.parametrize("text", MARKUP)
def test_O_ATT_07_O_SEC_03_plotly_finds_nothing_to_interpret(text: str) -> None:
    shown = literal(text)
    assert html.unescape(shown) == text
    assert not re.search(r"[<>$%]|&(?!#\d+;)", shown)
    assert not re.search(r"#[0-9a-f]{6}", shown)


def test_O_TOK_08_a_lone_surrogate_does_not_break_the_encoding() -> None:
    assert literal("a\ud83d") == "a\ufffd"


def test_a_long_label_is_cut_before_it_is_escaped() -> None:
    shown = html.unescape(tick_text("<" * 50))
    assert shown == "<" * (LONGEST_LABEL - 1) + "…"
    assert tick_text("x" * LONGEST_LABEL) == "x" * LONGEST_LABEL


def test_O_ATT_02_repeated_tokens_stand_at_their_own_numbers() -> None:
    axis = token_axis(["the"] * 4)
    assert axis["tickvals"] == [0, 1, 2, 3]
    assert axis["ticktext"] == ["the"] * 4


@pytest.mark.parametrize("label", ["1", "2019-01", ""])
def test_O_ATT_08_the_type_of_the_axis_is_never_guessed(label: str) -> None:
    assert token_axis([label])["type"] == "linear"


@pytest.mark.parametrize("tokens", [40, 41, 128, 256, 1024])
def test_many_tokens_are_thinned_evenly_and_all_are_named(tokens: int) -> None:
    labels = [f"t{i}" for i in range(tokens)]
    axis = token_axis(labels)
    assert len(axis["tickvals"]) == len(axis["ticktext"]) <= MOST_LABELS
    assert axis["ticktext"] == [labels[i] for i in axis["tickvals"]]
    assert axis["labelalias"] == {str(i): label for i, label in enumerate(labels)}


def test_words_in_a_hover_are_literal_and_values_are_not() -> None:
    assert hover_lines(("a<b", "%{z:.3f}")) == "a&#60;b: %{z:.3f}<extra></extra>"


def test_a_title_is_one_or_one_for_each_position() -> None:
    assert at("one", 3) == "one"
    assert at(["zero", "<i>"], 1) == "&#60;i&#62;"


@pytest.mark.parametrize(("low", "high"), [(0.9, 1.1), (0.3, 12), (1e-3, 1e3), (1e-9, 1e9), (0.71, 1.41)])
def test_ticks_of_a_logarithm_are_few_and_inside(low: float, high: float) -> None:
    ticks = log_ticks(low, high)
    assert 2 <= len(ticks) <= 7
    assert ticks == sorted(ticks)
    assert low <= ticks[0] < ticks[-1] <= high


def test_colours_are_exchanged_one_for_one() -> None:
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for pair in DARK.items() for colour in pair)
    assert len(set(DARK.values())) == len(DARK)


def test_the_layout_leaves_ink_and_paper_to_the_page() -> None:
    layout = json.loads(drawn([go.Scatter(y=[1])], "title", height=300).to_json())["layout"]
    assert layout["template"] == {}
    assert "color" not in layout["font"]
    assert layout["paper_bgcolor"] == layout["plot_bgcolor"] == "rgba(0,0,0,0)"
    assert "width" not in layout
    assert "shapes" not in layout


def test_a_misfit_names_both_shapes() -> None:
    with pytest.raises(ValueError, match=r"weights: \(3, 3\).*\(3, 2\)"):
        must_fit("weights", (3, 3), (3, 2))
