"""LayerNorm of one vector by hand, and against BatchNorm."""

import pytest
import torch

from playground.gpt.model import normalise
from playground.lessons.layer_norm import batch, batch_norm, both, embedded, layer_norm, vector

X = (2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0)  # mean 5, squared differences 32
PLAIN = {"scale": 1, "shift": 0, "log_eps": -8, "biased": True}


def test_the_worked_example_comes_out_exactly():
    normed = layer_norm(torch.tensor(X, dtype=torch.float64), scale=2, shift=1, eps=0, biased=True)
    assert (normed.mean, normed.variance) == (5, 4)
    assert normed.normalised.tolist() == [-1.5, -0.5, -0.5, -0.5, 0, 0, 1, 2]
    assert normed.after.tolist() == [-2, 0, 0, 0, 1, 1, 3, 5]


def test_the_unbiased_variance_divides_by_one_less():
    assert vector(X, **PLAIN).over_one_less.variance == pytest.approx(32 / 7)


def test_the_lesson_and_the_network_normalise_alike():
    x = torch.randn(16, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(layer_norm(x, 1, 0, 1e-5, True).normalised, normalise(x))


def test_a_vector_twice_as_large_normalises_to_the_same_but_for_eps():
    small = vector(X, **PLAIN)
    torch.testing.assert_close(small.doubled.normalised, small.shown.normalised, atol=1e-8, rtol=0)
    large = vector(X, **PLAIN | {"log_eps": 2})  # eps = 100
    ratio = large.doubled.normalised[0] / large.shown.normalised[0]
    assert ratio == pytest.approx(2 * (104 / 116) ** 0.5)


def test_equal_values_normalise_to_zero_and_to_the_shift():
    flat = vector(X, 2, 0.5, -5, True).flat
    assert not flat.normalised.any()
    assert set(flat.after.tolist()) == {0.5}


# Against BatchNorm.


def test_batch_norm_gives_each_feature_mean_0_and_variance_1_over_what_is_counted():
    x = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    counted = torch.tensor([[True] * 4, [True] * 2 + [False] * 2, [True] * 3 + [False]])
    seen = batch_norm(x, counted, eps=0)[counted]
    torch.testing.assert_close(seen.mean(0), torch.zeros(5, dtype=torch.float64))
    torch.testing.assert_close(seen.var(0, correction=0), torch.ones(5, dtype=torch.float64))


def test_batch_norm_is_torchs():
    x = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(1))
    theirs = torch.nn.BatchNorm1d(5)(x.transpose(1, 2)).transpose(1, 2)
    torch.testing.assert_close(batch_norm(x, torch.ones(3, 4, dtype=torch.bool)), theirs.detach())


def test_batch_norms_answer_depends_on_the_neighbour_and_layer_norms_does_not():
    alone, beside = both("the cat sat", [], False), both("the cat sat", ["a dark storm came"], False)
    assert torch.equal(alone[0], beside[0])
    assert (alone[1] - beside[1]).abs().max() > 0.1


def test_a_longer_neighbour_changes_nothing_for_layer_norm():
    short, long = both("the cat", ["the"], True), both("the cat", ["the cat sat on the mat"], True)
    assert torch.equal(short[0], long[0])


def test_batch_norm_of_a_single_token_is_nothing():
    assert not batch("the", "none", "left_out").one_word.any()


def test_counting_the_padding_matters_only_where_there_is_some():
    assert batch("the cat sat", "fox", "counted").padding_moved == 0  # both three tokens
    assert batch("the cat sat", "story", "counted").padding_moved > 0.01


def test_what_is_normalised_is_what_enters_the_first_block():
    x, real = embedded(["the cat", "the cat sat"])
    assert real.tolist() == [[True, True, False], [True, True, True]]
    assert not x[0, 2].any()
    torch.testing.assert_close(x[0, :2], x[1, :2])
