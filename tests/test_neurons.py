"""Neurons of one feed-forward: they add up to what it writes, and each can be read on its own."""

import pytest
import torch
from torch.testing import assert_close

import fixture
from playground.analysis.neurons import gelu_curve, promoted, share_on, strongest, written_norms


@pytest.fixture(scope="module")
def module(fix_a):
    return fix_a.blocks[1].feed_forward


@pytest.fixture(scope="module")
def seen(fix_a):
    with torch.inference_mode():
        return fix_a.trace(torch.tensor([fixture.PROMPT])).row(0).blocks[1].feed_forward


def test_O_COR_03_the_curve_is_the_tanh_form():
    x, y = gelu_curve(-3, 3, 7)
    curve = dict(zip(x.tolist(), y.tolist(), strict=True))
    assert [curve[-1.0], curve[1.0], curve[3.0]] == pytest.approx([-0.158808, 0.841192, 2.996363], abs=1e-6)
    assert curve[0.0] == 0


def test_what_the_network_computed_lies_on_the_curve(seen):
    for hidden, active in zip(seen.hidden[-1].tolist(), seen.active[-1].tolist(), strict=True):
        assert active == pytest.approx(float(gelu_curve(hidden, hidden, 1)[1]), abs=1e-6)


def test_a_neuron_is_on_above_0():
    assert share_on(torch.tensor([[1.0, -1, 0, 2], [-1, -2, -3, 0]])).tolist() == [0.5, 0]


def test_share_on_is_a_count_over_the_neurons(seen):
    slow = [sum(value > 0 for value in row) / 32 for row in seen.hidden.tolist()]
    assert share_on(seen.hidden).tolist() == slow


def test_the_neurons_and_the_bias_add_up_to_what_the_feed_forward_writes(module, seen):
    parts = seen.active[:, :, None] * module.narrow.weight.T  # (T, F, C)
    assert_close(parts.sum(1) + module.narrow.bias, seen.out)
    assert_close(written_norms(module, seen.active), parts.norm(dim=-1))


def test_the_strongest_write_the_longest_vectors(module, seen):
    written = written_norms(module, seen.active)
    for row, found in zip(written.tolist(), strongest(written, 5).tolist(), strict=True):
        assert found == sorted(range(32), key=lambda neuron, row=row: (-row[neuron], neuron))[:5]
    assert strongest(torch.ones(1, 4), 9).tolist() == [[0, 1, 2, 3]]


def test_promoted_tokens_are_those_nearest_to_what_the_neuron_writes(fix_a, module, seen):
    table, neurons = fix_a.token_embedding.weight, strongest(written_norms(module, seen.active), 2)
    found = promoted(module, seen.active, neurons, table, 3)
    assert found.ids.shape == found.logits.shape == (4, 2, 3)
    for token in range(4):
        for i, neuron in enumerate(neurons[token].tolist()):
            logits = table @ (seen.active[token, neuron] * module.narrow.weight[:, neuron])
            top = logits.sort(descending=True).values[:3]
            assert_close(found.logits[token, i], top)
            assert_close(logits[found.ids[token, i]], top)


def test_a_neuron_below_0_promotes_what_its_column_opposes(fix_a, module):
    active = torch.zeros(1, 32)
    active[0, 3] = -0.1
    table = fix_a.token_embedding.weight
    (token,) = promoted(module, active, torch.tensor([[3]]), table, 1).ids.flatten().tolist()
    assert token == int((table @ module.narrow.weight[:, 3]).argmin())
