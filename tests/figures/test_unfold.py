"""The bars are the stages, whichever query is selected."""

import numpy as np
import pytest

from figures.page import causal_weights, numbers, picked, received
from playground.figures.unfold import UnfoldWords, most_weighted, unfolded

WORDS = UnfoldWords(["<0>", *map(str, range(1, 90))], "key", "q·k", "scaled", "masked", "softmax", "w·v", "output")


def stages(tokens: int) -> list[np.ndarray]:
    made = [numbers(tokens, tokens) * scale for scale in (9, 3, 3, 1, 2, 4)]
    made[2][np.triu_indices(tokens, 1)] = np.nan
    made[3] = causal_weights(tokens)
    return made


def words(tokens: int) -> UnfoldWords:
    return UnfoldWords(WORDS.title[:tokens], *list(WORDS.__dict__.values())[1:])


def test_each_stage_is_a_row_of_bars_over_the_keys() -> None:
    made = stages(5)
    figure = unfolded(made, list("abcde"), words(5), 3)
    assert len(figure.data) == 6
    for bars, stage in zip(figure.data, made, strict=True):
        np.testing.assert_array_equal(bars.y, stage[3])
    assert np.isnan(figure.data[2].y).tolist() == [False] * 4 + [True]
    assert figure.layout.yaxis4.range == (0, 1)
    assert [note.text for note in figure.layout.annotations] == ["q·k", "scaled", "masked", "softmax", "w·v", "output"]


@pytest.mark.parametrize("tokens", [1, 5, 60])
def test_stepping_shows_what_drawing_anew_would(tokens: int) -> None:
    made, labels = stages(tokens), [f"t{i}" for i in range(tokens)]
    first = picked(unfolded(made, labels, words(tokens), 0), tokens - 1)
    last = picked(unfolded(made, labels, words(tokens), tokens - 1), tokens - 1)
    for (_, then), (now, same) in zip(first, last, strict=True):
        np.testing.assert_array_equal(np.array(then), np.array(now))
        np.testing.assert_array_equal(np.array(same), np.array(now))


def test_of_a_long_text_each_query_shows_the_keys_with_most_weight() -> None:
    made, labels = stages(60), [f"t{i}" for i in range(60)]
    figure = unfolded(made, labels, words(60), 59, most=7)
    best = sorted(np.argsort(-made[3][59])[:7])
    np.testing.assert_array_equal(figure.data[3].y, made[3][59, best])
    assert figure.layout.xaxis.ticktext == tuple(labels[key] for key in best)
    follow = received(figure)["layout"]["meta"]["follow"]
    assert follow["axes"] == follow["hover"] == []  # a bar's place is no position


def test_a_short_text_shows_every_key_and_names_the_token_under_the_mouse() -> None:
    follow = received(unfolded(stages(5), list("abcde"), words(5), 3))["layout"]["meta"]["follow"]
    assert follow["axes"] == follow["hover"] == ["x"]


def test_of_equal_weights_the_earlier_keys_are_shown() -> None:
    assert most_weighted(np.array([[0.2, 0.2, 0.2, 0.4]]), 2).tolist() == [[0, 3]]


def test_markup_in_titles_and_labels_is_literal() -> None:
    figure = unfolded(stages(2), ["<b>", "&"], words(2), 0)
    assert figure.layout.title.text == "&#60;0&#62;"
    assert figure.layout.xaxis.ticktext == ("&#60;b&#62;", "&#38;")


def test_a_stage_that_does_not_fit_is_refused_by_name() -> None:
    made = stages(3)
    made[4] = numbers(3, 2)
    with pytest.raises(ValueError, match="mixed"):
        unfolded(made, list("abc"), words(3), 0)
