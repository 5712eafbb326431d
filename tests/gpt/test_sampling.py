"""The stages of one choice, and chance that repeats."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from playground.errors import NotANumber, OutOfRange
from playground.gpt.sampling import GREEDY, Sampling, choose, stages

LOGITS = torch.tensor([2.0, 1.0, 0.0])


def kept(probabilities: Tensor) -> list[int]:
    return probabilities.nonzero().flatten().tolist()


def test_O_GEN_06_temperature_2():
    staged = stages(LOGITS, Sampling(temperature=2))
    assert_close(staged.softmax, torch.tensor([0.506480, 0.307196, 0.186324]), rtol=0, atol=1e-6)
    assert_close(staged.after_top_p, staged.softmax)


def test_O_GEN_06_temperature_0_is_greedy():
    staged = stages(LOGITS, Sampling(temperature=0))
    assert choose(staged, Sampling(temperature=0), seed=5, place=3) == 0
    assert_close(staged.softmax, LOGITS.softmax(0))
    assert staged.after_top_p.tolist() == [1, 0, 0]


@pytest.mark.parametrize("temperature", [-1.0, 1e-8, 0.009, 101.0])
def test_O_GEN_06_a_temperature_out_of_range_is_refused(temperature):
    with pytest.raises(OutOfRange) as refused:
        Sampling(temperature=temperature)
    assert refused.value.values == {"name": "temperature", "value": temperature, "low": 0.01, "high": 100.0}


@pytest.mark.parametrize("name", ["temperature", "top_p"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_O_GEN_06_what_is_no_number_is_refused(name, value):
    with pytest.raises(NotANumber):
        Sampling(**{name: value})


@pytest.mark.parametrize("temperature", [0.01, 1.0, 100.0])
def test_O_GEN_06_probabilities_are_finite_at_every_temperature(temperature):
    staged = stages(torch.tensor([1e4, 0.0, -1e4, 9999.0]), Sampling(temperature=temperature, top_p=0.9))
    for stage in (staged.softmax, staged.after_top_k, staged.after_top_p):
        assert stage.isfinite().all()
        assert float(stage.sum()) == pytest.approx(1, abs=1e-6)


def test_O_GEN_07_top_k_beyond_the_vocabulary_keeps_all_of_it():
    logits = torch.randn(50257, generator=torch.Generator().manual_seed(0))
    staged = stages(logits, Sampling(temperature=1, top_k=60000))
    assert_close(staged.after_top_k, logits.softmax(0))


@pytest.mark.parametrize("top_k", [0, -1])
def test_O_GEN_07_top_k_below_1_is_refused(top_k):
    with pytest.raises(OutOfRange):
        Sampling(top_k=top_k)


@pytest.mark.parametrize("top_p", [0.0, -0.1, 1.1])
def test_top_p_out_of_range_is_refused(top_p):
    with pytest.raises(OutOfRange):
        Sampling(top_p=top_p)


def test_exactly_k_are_kept_and_ties_go_to_the_lowest_id():
    staged = stages(torch.tensor([0.0, 1, 1, 1, 1]), Sampling(temperature=1, top_k=2))
    assert kept(staged.after_top_k) == [1, 2]
    assert staged.after_top_k.tolist() == [0, 0.5, 0.5, 0, 0]
    assert_close(staged.softmax, torch.tensor([0.0, 1, 1, 1, 1]).softmax(0))


@pytest.mark.parametrize(("top_p", "ids"), [(0.001, [3]), (0.5, [3]), (0.51, [1, 3]), (0.7, [1, 3]), (0.9, [0, 1, 3])])
def test_top_p_keeps_the_fewest_that_hold_so_much(top_p, ids):
    logits = torch.tensor([0.15, 0.3, 0.05, 0.5], dtype=torch.float64).log()
    staged = stages(logits, Sampling(temperature=1, top_p=top_p))
    assert kept(staged.after_top_p) == ids
    assert float(staged.after_top_p.sum()) == pytest.approx(1)


def test_top_p_trims_what_top_k_left():
    logits = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64).log()
    staged = stages(logits, Sampling(temperature=1, top_k=2, top_p=0.6))
    assert_close(staged.after_top_k, torch.tensor([0.625, 0.375, 0], dtype=torch.float64))
    assert kept(staged.after_top_p) == [0]


@pytest.mark.parametrize("sampling", [GREEDY, Sampling(temperature=1, top_k=1)], ids=["greedy", "top_k 1"])
def test_O_COR_09_ties_go_to_the_lowest_id(sampling):
    zeros = torch.zeros(50257)
    assert choose(stages(zeros, sampling), sampling, seed=0, place=0) == 0
    two = zeros.clone()
    two[[7, 50256]] = 1
    assert choose(stages(two, sampling), sampling, seed=0, place=0) == 7


def test_chance_depends_on_the_seed_and_the_place_alone():
    sampling = Sampling(temperature=1)
    staged = stages(torch.zeros(1000), sampling)
    torch.manual_seed(1)
    drawn = choose(staged, sampling, seed=4, place=9)
    torch.manual_seed(2)
    assert choose(staged, sampling, seed=4, place=9) == drawn
    assert len({choose(staged, sampling, seed=4, place=place) for place in range(20)}) > 15
    assert len({choose(staged, sampling, seed=seed, place=9) for seed in range(20)}) > 15


def test_tokens_are_drawn_as_often_as_their_probability_says():
    sampling = Sampling(temperature=1, top_k=2)
    staged = stages(torch.tensor([0.2, 0.6, 0.2]).log(), sampling)
    drawn = [choose(staged, sampling, seed=0, place=place) for place in range(2000)]
    assert drawn.count(2) == 0
    assert drawn.count(1) / 2000 == pytest.approx(0.75, abs=0.03)
