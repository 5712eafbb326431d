"""Means and standard deviations as given; logarithms only in colours and axes."""

import numpy as np
import pytest

from figures.page import numbers, received
from playground.figures.norms import (
    LEAST_MEAN,
    LEAST_RATIO,
    Moments,
    NormWords,
    OverviewWords,
    norm_by_token,
    norms_overview,
)

WORDS = NormWords("Layer 0 · LayerNorm 1", "token", "mean", "deviation", "before", "normalised", "after")
ALL = OverviewWords("All", "LayerNorm", "token", "mean", "deviation")
LABELS = ["the", "the", "cat"]


def stages() -> list[Moments]:
    values = numbers(6, 3)
    return [Moments(values[2 * i] - 0.5, values[2 * i + 1]) for i in range(3)]


def test_three_stages_stand_in_the_order_computed() -> None:
    before, normalised, after = stages()
    traces = norm_by_token(before, normalised, after, LABELS, WORDS, 1).data
    given = [before.mean, before.std, normalised.mean, normalised.std, after.mean, after.std]
    for trace, values in zip(traces, given, strict=True):
        np.testing.assert_array_equal(trace.y, values)
        np.testing.assert_array_equal(trace.x, [0, 1, 2])
    assert [trace.name for trace in traces if trace.showlegend] == ["before", "normalised", "after"]
    assert [trace.yaxis for trace in traces] == ["y", "y2"] * 3


def test_both_panels_share_the_tokens_and_follow_on_them() -> None:
    layout = norm_by_token(*stages(), LABELS, WORDS, 1).layout
    assert layout.xaxis.ticktext == tuple(LABELS)
    assert (layout.yaxis.title.text, layout.yaxis2.title.text) == ("mean", "deviation")
    assert layout.yaxis2.type == "log"
    assert layout.meta["follow"]["axes"] == layout.meta["follow"]["hover"] == ["x"]


@pytest.mark.parametrize("std", [np.zeros(3), np.ones(3), np.array([0, 1e-9, 1e4]), np.full(3, np.nan)])
def test_deviations_of_any_size_have_an_axis(std: np.ndarray) -> None:
    stage = Moments(np.zeros(3), std)
    axis = norm_by_token(stage, stage, stage, LABELS, WORDS, 0).layout.yaxis2
    assert np.isfinite(axis.range).all()
    assert axis.range[1] - axis.range[0] >= np.log10(LEAST_RATIO)
    assert len(axis.tickvals) == len(axis.ticktext) >= 2


def test_a_stage_of_another_length_is_refused() -> None:
    short = Moments(np.zeros(2), np.ones(2))
    with pytest.raises(ValueError, match=r"normalised, mean: \(2,\).*\(3,\)"):
        norm_by_token(stages()[0], short, stages()[2], LABELS, WORDS, 0)


def test_the_overview_shows_every_norm_of_every_token() -> None:
    mean, std = numbers(5, 3) - 0.5, numbers(5, 3)
    figure = norms_overview(mean, std, list("abcde"), LABELS, ALL, 0)
    means, deviations = figure.data
    np.testing.assert_array_equal(means.z, mean)
    np.testing.assert_array_equal(deviations.customdata, std)
    np.testing.assert_array_equal(deviations.z, np.log10(std))
    for axis in (figure.layout.yaxis, figure.layout.yaxis2):
        assert axis.ticktext == tuple("abcde")
        assert axis.autorange == "reversed"
    assert "%{customdata" in deviations.hovertemplate


def test_colours_of_means_are_even_on_both_sides_of_0() -> None:
    heat = norms_overview([[-3.0, 1.0]], [[1.0, 1.0]], ["a"], ["x", "y"], ALL, 0).data[0]
    assert (heat.zmin, heat.zmax) == (-3, 3)


def test_rounding_errors_do_not_look_like_signals() -> None:
    means, deviations = norms_overview([[1e-8, -1e-8]], [[0.9999, 1.0]], ["a"], ["x", "y"], ALL, 0).data
    assert (means.zmin, means.zmax) == (-LEAST_MEAN, LEAST_MEAN)
    assert deviations.zmax - deviations.zmin == pytest.approx(np.log10(LEAST_RATIO))


def test_ticks_of_the_logarithm_are_written_as_the_numbers_they_stand_for() -> None:
    bar = norms_overview([[0, 0]], [[0.05, 20]], ["a"], ["x", "y"], ALL, 0).data[1].colorbar
    np.testing.assert_allclose(10.0 ** np.array(bar.tickvals), [float(text) for text in bar.ticktext], rtol=1e-12)


def test_a_deviation_of_0_keeps_its_value_and_gets_the_faintest_colour() -> None:
    heat = norms_overview([[0, 0]], [[0, 0.5]], ["a"], ["x", "y"], ALL, 0).data[1]
    assert heat.customdata[0, 0] == 0
    assert heat.z[0, 0] == pytest.approx(heat.zmin)


def test_what_is_not_a_number_stays_blank() -> None:
    figure = norms_overview([[np.nan, 1]], [[np.nan, 1]], ["a"], ["x", "y"], ALL, 0)
    assert all(np.isnan(heat.z[0, 0]) and heat.hoverongaps is False for heat in figure.data)
    received(figure)


@pytest.mark.parametrize(("names", "labels"), [(1, 3), (2, 2)])
def test_wrong_names_or_labels_are_refused(names: int, labels: int) -> None:
    with pytest.raises(ValueError, match=rf"mean: \(2, 3\).*\({names}, {labels}\)"):
        norms_overview(np.zeros((2, 3)), np.ones((2, 3)), ["n"] * names, ["t"] * labels, ALL, 0)
