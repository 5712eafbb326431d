"""Features of one LayerNorm: FIX-A and made-up vectors, against NumPy and slow obvious versions."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import fixture
from playground.analysis import norm_statistics
from playground.analysis.features import histogram, norm_site, standing_out
from playground.gpt.ablation import Ablation
from playground.gpt.model import normalise


@pytest.fixture(scope="module")
def trace(fix_a):
    with torch.inference_mode():
        return fix_a.trace(torch.tensor([fixture.PROMPT])).row(0)


def test_every_site_is_the_layer_norm_that_the_statistics_name(fix_a, trace):
    for which, norm in enumerate(norm_statistics(trace)):
        site = norm_site(fix_a, trace, which)
        assert (site.layer, site.name) == (norm.layer, norm.name)
        for stage in ("before", "normalised", "after"):
            assert_close(getattr(site, stage).mean(-1), getattr(norm, stage).mean, rtol=0, atol=0)


def test_O_ACT_01_the_last_token_before_and_after(fix_a, trace):
    site = norm_site(fix_a, trace, 3)
    measured = [
        float(f(getattr(site, at)[-1]))
        for at in ("before", "after")
        for f in (torch.mean, lambda x: x.var(correction=0))
    ]
    assert measured == pytest.approx([0.208549, 0.236100, 0.020173, 1.046535], abs=1e-5)


def test_after_is_scale_times_normalised_plus_shift(fix_a, trace):
    for which in range(7):
        site = norm_site(fix_a, trace, which)
        assert_close(site.normalised * site.scale + site.shift, site.after)
        assert_close(normalise(site.before), site.normalised)


def test_a_site_beyond_the_last_is_the_last(fix_a, trace):
    assert norm_site(fix_a, trace, 6).name == norm_site(fix_a, trace, 99).name == "final_norm"


def test_without_norms_nothing_changes_on_the_way(fix_a):
    with torch.inference_mode():
        off = fix_a.trace(torch.tensor([fixture.PROMPT]), Ablation(norms=True)).row(0)
    site = norm_site(fix_a, off, 2)
    assert torch.equal(site.before, site.normalised)
    assert torch.equal(site.before, site.after)


def test_O_COR_01_the_features_of_a_vector_made_by_hand():
    x = torch.tensor([[0.0, 1, 2, 3, 10]])
    assert normalise(x)[0].tolist() == pytest.approx([-0.902932, -0.620766, -0.338599, -0.056433, 1.918730], abs=1e-5)
    assert histogram(x, 5).counts.tolist() == [[2, 2, 0, 0, 1]]
    assert histogram(x, 5).edges.tolist() == [[0, 2, 4, 6, 8, 10]]
    assert standing_out(x, 3).tolist() == [[4, 3, 2]]


def test_O_COR_02_a_token_whose_values_are_all_alike():
    for x in (torch.full((1, 4), 3.0), normalise(torch.full((1, 4), 3.0))):
        found = histogram(x, 5)
        assert found.counts.tolist() == [[0, 0, 4, 0, 0]]
        assert float(found.edges[0, -1] - found.edges[0, 0]) == 1
    assert normalise(torch.full((1, 4), 3.0)).tolist() == [[0, 0, 0, 0]]


def test_histograms_are_those_of_numpy(fix_a, trace):
    x = torch.randn(5, 192, generator=torch.Generator().manual_seed(4)) * 7
    for values in (x, norm_site(fix_a, trace, 4).before):
        found = histogram(values, 31)
        for row, edges, counts in zip(values.double().numpy(), found.edges.numpy(), found.counts.numpy(), strict=True):
            expected, expected_edges = np.histogram(row, 31)
            np.testing.assert_allclose(edges, expected_edges, rtol=0, atol=1e-12)
            np.testing.assert_array_equal(counts, expected)
            assert counts.sum() == len(row)


def test_what_stands_out_is_largest_in_size_and_ties_go_to_the_lowest_index():
    assert standing_out(torch.tensor([[1.0, -5, 5, 0, -6]]), 4).tolist() == [[4, 1, 2, 0]]
    assert standing_out(torch.zeros(2, 6), 9).tolist() == [[0, 1, 2, 3, 4, 5]] * 2
