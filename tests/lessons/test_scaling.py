"""Scaling laws: the published numbers, the fit, and the grid that we trained."""

import numpy as np
import pytest

from playground.errors import OutOfRange
from playground.lessons.characters import rows
from playground.lessons.scaling import (
    ADAM_BYTES,
    BESIROGLU,
    CHINCHILLA,
    GPT_3,
    GPT_3_PAPER,
    GPUS,
    HOFFMANN,
    KAPLAN_N,
    PF_DAY,
    Law,
    PowerLaw,
    cost,
    fit,
    power_law,
    rule_of_twenty,
    training_flops,
)
from playground.lessons.scaling_grid import LIVE, SHIPPED, Grid, of_shipped, shipped, shipped_points, sweep

TRUE = Law(0.8, 20.0, 0.4, 300.0, 0.5)
N, D = (each.ravel() for each in np.meshgrid([3e3, 1e4, 4e4, 1e5, 4e5], [2e5, 5e5, 1e6, 2e6]))

# Worked examples of the papers.


def test_gpt_3_took_3_15e23_flops():
    flops = training_flops(*GPT_3_PAPER)
    assert flops == pytest.approx(3.15e23)
    assert flops / PF_DAY == pytest.approx(3640, rel=0.005)  # Brown et al. 2020, table D.1: 3.64E+03 PF-days


def test_the_shape_of_gpt_3_gives_its_175_billion_parameters():
    assert GPT_3.n_parameters == 174_604_259_328
    assert 12 * GPT_3.n_layers * GPT_3.emb_dim**2 == pytest.approx(GPT_3.n_parameters, rel=0.01)  # the rule 12 L C²


def test_gpt_3_on_1024_a100s_takes_34_days_when_activations_are_computed_twice():
    """Narayanan et al. 2021, section 5.1: 140 teraFLOP/s per GPU; 8ND where activations are recomputed, not 6ND."""
    days = cost(*GPT_3_PAPER, "a100", 140e12 / GPUS["a100"]).gpu_hours / 1024 / 24
    assert days * 8 / 6 == pytest.approx(34, rel=0.01)


def test_gpu_hours_at_40_percent_of_an_a100():
    assert cost(*GPT_3_PAPER, "a100", 0.4).gpu_hours == pytest.approx(701_122, rel=1e-4)


def test_memory_of_gpt_3():
    asked = cost(*GPT_3_PAPER)
    assert asked.weight_bytes == 350e9
    assert asked.training_bytes == ADAM_BYTES * 175e9 == 2.8e12
    assert asked.tokens_per_parameter == pytest.approx(1.714, abs=0.001)


def test_gophers_budget_should_have_gone_into_a_model_of_chinchillas_size():
    parameters, tokens = rule_of_twenty(5.76e23)
    assert parameters == pytest.approx(69.3e9, rel=0.001)
    assert parameters == pytest.approx(CHINCHILLA.parameters, rel=0.02)
    assert tokens == pytest.approx(CHINCHILLA.tokens, rel=0.02)
    assert training_flops(parameters, tokens) == pytest.approx(5.76e23)


def test_hoffmanns_exponents_of_the_optimum():
    """Table 2: N_opt grows as C^0.46 by approach 3, from exponents given to two digits."""
    small, large = HOFFMANN.optimum(1e20), HOFFMANN.optimum(1e24)
    assert np.log10(large.parameters / small.parameters) / 4 == pytest.approx(0.46, abs=0.01)


def test_the_fit_made_again_gives_the_rule_of_twenty_where_the_printed_one_does_not():
    """Besiroglu et al. 2024: at Gopher's budget about 20 tokens per parameter, approach 3 as printed about 70."""
    assert np.divide(*BESIROGLU.optimum(5.76e23)[::-1]) == pytest.approx(20, abs=3)
    assert np.divide(*HOFFMANN.optimum(5.76e23)[::-1]) > 60


@pytest.mark.parametrize("law", [HOFFMANN, BESIROGLU, TRUE], ids=["Hoffmann", "Besiroglu", "ours"])
def test_the_optimum_is_one(law):
    parameters, tokens = law.optimum(1e21)
    assert training_flops(parameters, tokens) == pytest.approx(1e21)
    assert all(law.loss(parameters * f, tokens / f) > law.loss(parameters, tokens) for f in (0.9, 0.99, 1.01, 1.1))


def test_by_kaplan_twice_the_parameters_save_a_twentieth_of_the_loss():
    assert KAPLAN_N.loss(2e9) / KAPLAN_N.loss(1e9) == pytest.approx(0.9487, abs=1e-4)  # 2^-0.076


# The fit.


def test_the_fit_finds_the_law_that_made_the_losses():
    found = fit(N, D, TRUE.floor + TRUE.a / N**TRUE.alpha + TRUE.b / D**TRUE.beta, bootstraps=20)
    np.testing.assert_allclose(found.law, TRUE, rtol=1e-4)
    np.testing.assert_allclose(found.low, found.high, rtol=1e-3)
    assert found.error < 1e-6


def test_with_noise_the_range_holds_the_truth():
    noise = np.exp(0.005 * np.random.default_rng(1).standard_normal(len(N)))
    found = fit(N, D, (TRUE.floor + TRUE.a / N**TRUE.alpha + TRUE.b / D**TRUE.beta) * noise)
    assert found.low.alpha < TRUE.alpha < found.high.alpha
    assert found.low.beta < TRUE.beta < found.high.beta
    assert 0 < found.high.alpha - found.low.alpha < 0.3


def test_five_points_are_too_few_for_five_constants():
    with pytest.raises(OutOfRange) as refused:
        fit(N[:5], D[:5], np.ones(5))
    assert refused.value.values == {"name": "losses", "value": 5, "low": 6, "high": "∞"}


def test_a_straight_line_is_found_with_its_error():
    found = power_law([1e3, 1e4, 1e5, 1e6], [PowerLaw(0.1, 1e7).loss(x) for x in (1e3, 1e4, 1e5, 1e6)])
    assert found == pytest.approx(PowerLaw(0.1, 1e7, 0), rel=1e-9, abs=1e-9)
    # By hand: log x = 0, 1, 2, log loss = 0, -1, -1: slope -1/2, residuals -1/6, 1/3, -1/6, error sqrt(1/6 / 1 / 2).
    noisy = power_law(np.exp([0, 1, 2]), np.exp([0, -1, -1]))
    assert noisy.exponent == pytest.approx(0.5)
    assert noisy.standard_error == pytest.approx((1 / 12) ** 0.5)


@pytest.mark.parametrize(
    "asked",
    [{"parameters": 0}, {"tokens": 1e19}, {"utilisation": 0}, {"utilisation": 1.01}],
    ids=lambda asked: ", ".join(f"{name} {value}" for name, value in asked.items()),
)
def test_the_calculator_names_the_value_it_refuses(asked):
    with pytest.raises(OutOfRange) as refused:
        cost(**{"parameters": 1e9, "tokens": 1e9} | asked)
    assert refused.value.values["name"], refused.value.values["value"] == next(iter(asked.items()))


# The grid.


def test_a_tiny_sweep_trains_every_size_on_every_amount():
    text = rows("once upon a time there was a fox. " * 200, 16)
    grid = Grid(((8, 1), (16, 1)), (512, 1024), length=16, batch=8, evaluated=8)
    steps = list(sweep(grid, text, text))
    points = [step.point for step in steps if step.point]
    assert [(point.width, point.tokens) for point in points] == [(8, 512), (8, 1024), (16, 512), (16, 1024)]
    assert [point.parameters for point in points[::2]] == [872, 3280]  # 12 C² + 13 C
    assert len(steps) == steps[-1].done == steps[-1].total == 24
    assert points[1].loss < points[0].loss
    assert [step.point for step in sweep(grid, text, text) if step.point] == points  # same seed, same numbers


def test_the_live_grid_is_a_hundredth_of_the_shipped_one():
    def work(grid: Grid) -> float:
        sizes = [grid.config(*size) for size in grid.sizes]
        return sum(6 * config.n_layers * config.n_block_parameters for config in sizes) * sum(grid.amounts)

    assert work(LIVE) < work(SHIPPED) / 100


def test_the_shipped_grid_has_five_sizes_and_four_amounts():
    points = shipped_points()
    assert len({point.parameters for point in points}) >= 5
    assert len({point.tokens for point in points}) >= 4
    assert len(points) == len(SHIPPED.sizes) * len(SHIPPED.amounts)
    assert shipped()["command"].startswith("python -m playground.lessons.run_scaling ")


def test_more_data_helped_every_size_and_more_parameters_helped_where_data_was_plenty():
    points = shipped_points()
    by_size = {size: [p.loss for p in points if (p.width, p.layers) == size] for size in SHIPPED.sizes}
    assert all(losses == sorted(losses, reverse=True) for losses in by_size.values())
    with_most = [losses[-1] for losses in by_size.values()]
    assert with_most == sorted(with_most, reverse=True)


def test_our_losses_follow_a_power_law():
    found = of_shipped()
    assert found.law.error < 0.04  # root mean square, of losses that differ by a factor of 1.8
    assert found.law.low.alpha < found.law.law.alpha < found.law.high.alpha
    assert found.law.low.beta < found.law.law.beta < found.law.high.beta
    assert found.by_parameters.exponent > 3 * found.by_parameters.standard_error
    assert found.by_tokens.exponent > 3 * found.by_tokens.standard_error
