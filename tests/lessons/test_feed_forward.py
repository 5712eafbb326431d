"""GELU's values and slopes, dead units, and what widening costs and brings."""

import math

import pytest
import torch

from playground.gpt.config import GPTConfig
from playground.gpt.model import gelu
from playground.lessons.feed_forward import (  # fmt: skip
    BY_NAME,
    curves,
    die,
    examples,
    gelu_exact,
    gradient,
    is_dead,
    network,
    parameters,
    widths,
)


def test_exact_gelu_is_x_times_the_normal_distribution():
    x = torch.linspace(-5, 5, 101, dtype=torch.float64)
    normal = torch.distributions.Normal(0.0, 1.0).cdf(x)
    torch.testing.assert_close(gelu_exact(x), x * normal)
    assert gelu_exact(torch.tensor(1.0)) == pytest.approx(0.841345, abs=1e-6)


def test_the_slope_of_gelu_is_phi_plus_x_times_the_density():
    x = torch.linspace(-5, 5, 101, dtype=torch.float64)
    normal = torch.distributions.Normal(0.0, 1.0)
    torch.testing.assert_close(gradient(gelu_exact, x), normal.cdf(x) + x * normal.log_prob(x).exp())


def test_both_forms_are_torchs():
    x = torch.linspace(-5, 5, 101)
    torch.testing.assert_close(gelu_exact(x), torch.nn.functional.gelu(x))
    torch.testing.assert_close(gelu(x), torch.nn.functional.gelu(x, approximate="tanh"))


def test_the_tanh_form_is_never_off_by_a_thousandth():
    assert 4e-4 < curves(0).apart < 5e-4


def test_gelu_is_lowest_near_minus_three_quarters():
    assert curves(0).lowest == pytest.approx(-0.7518, abs=0.005)


def test_a_negative_input_gets_gradient_through_gelu_only():
    assert curves(-1).slope_at["relu"] == 0
    assert curves(-1).slope_at["gelu"] == pytest.approx(-0.083315, abs=1e-6)
    assert curves(2).slope_at["relu"] == 1


# Dead units.


def test_a_unit_that_is_negative_everywhere_is_dead_with_relu_and_not_with_gelu():
    first, _ = network(0)
    x, _ = examples(0)
    with torch.no_grad():
        first.weight.zero_()
        first.bias.fill_(-1)
    assert is_dead(BY_NAME["relu"], first, x).all()
    assert not is_dead(BY_NAME["gelu"], first, x).any()
    with torch.no_grad():
        first.bias.fill_(-20)
    assert is_dead(BY_NAME["gelu"], first, x).all()


def test_reckless_steps_kill_relu_units_and_none_comes_back():
    made = list(die("reckless", 40, 0))
    assert [step.done for step in made] == list(range(41))
    relu, gelu = made[-1].found.by["relu"], made[-1].found.by["gelu"]
    assert relu.dead[-1] > relu.dead[0] + 0.3
    assert gelu.dead[-1] == 0
    assert relu.dead == sorted(relu.dead)
    assert relu.revived == 0


def test_gentle_steps_learn_and_the_same_seed_learns_the_same():
    first, second = (list(die("gentle", 20, 3))[-1].found for _ in range(2))
    for name in ("relu", "gelu"):
        assert first.by[name].loss[-1] < first.by[name].loss[0] / 2
        assert first.by[name].loss == second.by[name].loss


def test_what_was_found_earlier_does_not_change_later():
    made = die("bold", 3, 0)
    early = next(made).found
    list(made)
    assert early.steps == [0]
    assert len(early.by["relu"].loss) == 1


# Widening.


def test_a_block_counts_as_the_network_does():
    config = GPTConfig(emb_dim=48, n_heads=4)
    assert sum(parameters(48, 192)) + 4 * 48 == config.n_block_parameters


def test_gpt2s_feed_forward_has_twice_the_parameters_of_its_attention():
    assert widths(8, 4, 0).gpt2 == (4_722_432, 2_362_368)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_widening_helps_with_gelu_and_not_without(seed):
    found = widths(12, 4, seed)
    assert found.bent == sorted(found.bent, reverse=True)
    assert found.bent[-1] < 0.7 * found.bent[0]
    assert found.straight == pytest.approx([found.straight[0]] * 4, abs=2e-3)
    assert not math.isclose(found.straight[0], 0, abs_tol=0.5)
