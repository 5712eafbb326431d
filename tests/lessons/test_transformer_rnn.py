"""Ours are torch's RNN and LSTM; what they cost is what torch counts; how far gradients reach is bounded as claimed."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from playground.gpt.ablation import NOTHING_OFF
from playground.gpt.cache import KVCache
from playground.gpt.config import GPTConfig
from playground.gpt.costs import parts
from playground.gpt.model import TransformerBlock
from playground.lessons import transformer_rnn as lesson
from playground.lessons.recurrent import LSTM, RNN
from playground.lessons.transformer_rnn import (  # fmt: skip
    KINDS,
    PAST,
    READ,
    RECURRENT,
    Times,
    block_config,
    clocked,
    costs,
    counts,
    crossing,
    random_rnn,
    reaches,
    times,
)
from playground.ui.lessons import transformer_rnn as view

TORCHS = {"rnn": torch.nn.RNN, "lstm": torch.nn.LSTM}


def twins(kind, width):
    """Ours and torch's with the same weights; torch has a second bias, which stays 0."""
    ours, theirs = RECURRENT[kind](width), TORCHS[kind](width, width, batch_first=True)
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(ours.read.weight)
        theirs.weight_hh_l0.copy_(ours.recall.weight)
        theirs.bias_ih_l0.copy_(ours.read.bias)
        theirs.bias_hh_l0.zero_()
    return ours, theirs


# The networks.


@pytest.mark.parametrize("kind", RECURRENT)
def test_ours_reads_as_torchs(kind):
    ours, theirs = twins(kind, 8)
    x = torch.randn(2, 7, 8, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(ours(x), theirs(x)[0])


@pytest.mark.parametrize("made", [RNN(8), LSTM(8)], ids=["rnn", "lstm"])
def test_a_state_is_all_that_is_kept_of_a_text(made):
    x = torch.randn(1, 6, 8, generator=torch.Generator().manual_seed(0))
    state = made.start(x)
    for token in x[:, :5].unbind(1):
        state = made.step(token, state)
    torch.testing.assert_close(made.step(x[:, 5], state)[0], made(x)[:, 5])
    assert sum(each.numel() for each in state) == costs({1: "rnn", 2: "lstm"}[len(state)], 8, 6).kept


# Costs.


def n_parameters(module):
    return sum(weights.numel() for weights in module.parameters())


@pytest.mark.parametrize("width", [32, 64])
def test_parameters_are_those_of_the_layers_as_built(width):
    assert costs("block", width, 1).parameters == n_parameters(TransformerBlock(block_config(width), 0))
    assert costs("block", width, 1).parameters == 12 * width**2 + 13 * width
    for kind in RECURRENT:
        ours, theirs = twins(kind, width)
        second_bias = theirs.bias_hh_l0.numel()
        assert costs(kind, width, 1).parameters == n_parameters(ours) == n_parameters(theirs) - second_bias


@torch.no_grad()
def flops(work):
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


@pytest.mark.parametrize("length", [5, 40])
def test_torch_counts_as_many_flops_for_reading(length):
    x = torch.randn(1, length, 64)
    block = TransformerBlock(block_config(64), 0)
    assert costs("block", 64, length).sequence == flops(lambda: block(x, NOTHING_OFF, None, True))
    for kind, made in RECURRENT.items():
        reader = made(64)
        assert costs(kind, 64, length).sequence == flops(lambda reader=reader: reader(x))


def test_a_token_after_a_cached_past_costs_what_torch_counts():
    made, cache = TransformerBlock(block_config(64), 0), KVCache(block_config(64), 41)
    with torch.no_grad():
        made(torch.randn(1, 40, 64), NOTHING_OFF, cache, False)
    cache.advance(40)
    token = flops(lambda: made(torch.randn(1, 1, 64), NOTHING_OFF, cache, True))  # torch counts no fused attention here
    assert costs("block", 64, 41).token == token == 24 * 64**2 + 4 * 41 * 64


def test_looking_back_is_the_part_that_grows_with_pairs():
    rates = [part.flops for part in parts(GPTConfig(emb_dim=96, n_heads=3, n_layers=1)) if part.repeated]
    assert costs("block", 96, 10).looking == sum(rate.pair for rate in rates) * 10
    assert costs("block", 96, 10).token - costs("block", 96, 10).looking == sum(rate.each for rate in rates)


@pytest.mark.parametrize("width", [64, 256, 512, 768])
def test_attention_is_cheaper_than_recurrence_while_the_text_is_shorter_than_the_width(width):
    """Vaswani et al. 2017, section 4: faster "when the sequence length n is smaller than the dimensionality d"."""
    assert crossing(width) == width


@pytest.mark.parametrize(("kind", "path", "sequential"), [("block", 1, 1), ("rnn", 99, 100), ("lstm", 99, 100)])
def test_paths_and_steps_that_wait_are_those_of_the_papers_table(kind, path, sequential):
    found = costs(kind, 64, 100)
    assert (found.path, found.sequential) == (path, sequential)


def test_gpt_2s_block_at_its_context_length():
    here = counts("token", "768", 10).here
    assert here["block"].parameters == 7_087_872
    assert here["block"].token == 24 * 768**2 + 4 * 1024 * 768 == 17_301_504
    assert here["block"].kept == 2 * 1024 * 768
    assert here["rnn"].token == 4 * 768**2
    assert here["lstm"].token == 4 * here["rnn"].token


@pytest.mark.parametrize("shown", lesson.SHOWN)
@pytest.mark.parametrize("doublings", [2, 10, 16])
def test_the_answers_of_the_counts(shown, doublings):
    found = counts(shown, "768", doublings)
    crosses, twice, keeps = view.draw_counts(found, "en").questions
    assert crosses.right == "width"
    assert keeps.right == "double"
    assert twice.right == {2: "two", 10: "two", 16: "four"}[doublings]


# Times.


def test_every_kind_is_timed_at_every_length_and_in_turn(monkeypatch):
    monkeypatch.setattr(lesson, "RUNS", 1)
    told = list(times("32", 1))
    assert [each.done for each in told] == list(range(1, len(told) + 1))
    assert {each.total for each in told} == {len(told)} == {(len(READ) + len(PAST)) * len(KINDS)}
    assert [list(each.found.read) for each in told[:4]] == [[], [], [16], [16]]
    last = told[-1].found
    assert [each.found.complete for each in told[-2:]] == [False, True]
    assert all(seconds > 0 for by_kind in [*last.read.values(), *last.write.values()] for seconds in by_kind.values())


@pytest.mark.parametrize(("seconds", "counted"), [(0.0, [0.0] * 3), (0.1, [0.1]), (9.0, [9.0])])
def test_the_run_that_warms_up_counts_only_where_there_is_no_other(monkeypatch, seconds, counted):
    now = iter(range(100))
    monkeypatch.setattr(lesson.time, "perf_counter", lambda: seconds * next(now))
    assert clocked(lambda: None) == pytest.approx(counted)


def made_up(block, rnn, write_block=1.0, write_rnn=1.0):
    """Times as if the clock had shown them: seconds to read as functions of the length, and how much writing grows."""
    read = {n: {"block": block(n), "rnn": rnn(n), "lstm": 2 * rnn(n)} for n in READ}
    write = {n: {"block": 1.0, "rnn": 1.0, "lstm": 1.0} for n in PAST}
    write[PAST[-1]] = {"block": write_block, "rnn": write_rnn, "lstm": 1.0}
    return Times(64, 1, read, write)


@pytest.mark.parametrize(("rnn", "right"), [(1.0, "block"), (0.1, "rnn"), (0.21, "alike"), (0.19, "alike")])
def test_who_has_read_first_follows_the_clock_with_a_band_for_noise(rnn, right):
    found = made_up(lambda n: 0.2 * n, lambda n: rnn * n)
    assert view.first(found).right == right


@pytest.mark.parametrize(("power", "right"), [(0, "one"), (0.5, "four"), (1, "sixteen"), (2, "square")])
def test_how_reading_grows_follows_the_clock(power, right):
    assert view.longer(made_up(lambda n: n, lambda n: n**power)).right == right


@pytest.mark.parametrize(
    ("block", "rnn", "right"), [(4, 1, "block"), (1, 4, "rnn"), (2, 2, "both"), (1.4, 0.8, "neither")]
)
def test_whose_next_token_takes_longer_follows_the_clock(block, rnn, right):
    assert view.grows(made_up(lambda n: n, lambda n: n, block, rnn)).right == right


def test_the_formula_is_fitted_to_the_longest_text():
    found = made_up(lambda n: 3.0 * n, lambda n: 2.0 * n)
    assert found.by_formula("rnn") == pytest.approx([2.0 * n for n in READ])
    assert found.by_formula("block")[-1] == pytest.approx(3 * READ[-1])
    assert found.by_formula("block")[0] < 3 * READ[0]  # looking back weighs less in a short text
    assert found.rate("rnn", 64) == pytest.approx(4 * 64**2 / 2)


# Gradients over a distance.


def test_the_spectral_radius_is_the_one_asked_for():
    made = random_rnn(0.7, torch.Generator().manual_seed(1))
    assert torch.linalg.eigvals(made.recall.weight.detach()).abs().tolist() == pytest.approx([0.7] * lesson.WIDTH)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("radius", [0.5, 0.9, 1.0])
def test_an_rnns_gradient_stays_under_radius_to_the_power_of_the_distance(radius, seed):
    found = reaches("32", radius, 1, seed)
    assert all(norm <= bound for norm, bound in zip(found.norms["rnn"], found.bound, strict=True))


def test_the_gradient_is_the_product_of_the_steps():
    """The Jacobian by the formula, step by step, against autograd."""
    made = random_rnn(0.9, torch.Generator().manual_seed(0))
    x = torch.randn(1, 5, lesson.WIDTH, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    states = made(x).detach()[0]
    product = torch.diag(1 - states[1] ** 2) @ made.read.weight
    for state in states[2:]:
        product = torch.diag(1 - state**2) @ made.recall.weight @ product
    theirs = torch.autograd.functional.jacobian(lambda given: made(given)[0, -1], x)[:, 0, 1]
    torch.testing.assert_close(product.detach(), theirs)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_recurrence_fades_exponentially_and_attention_does_not(seed):
    found = reaches("64", 0.9, 1, seed)
    assert found.norms["rnn"][-1] < 1e-3 * found.norms["rnn"][1]
    assert found.norms["lstm"][-1] < 1e-3 * found.norms["lstm"][1]
    assert found.norms["block"][-1] > 0.2 * found.norms["block"][1]
    assert found.per_step("block") == pytest.approx(1, abs=0.02)
    assert found.at_one[-1] < 0.5 * found.at_one[1]


def test_a_large_radius_explodes_and_an_open_forget_gate_keeps():
    found = reaches("64", 1.5, 5, 0)
    assert found.norms["rnn"][-1] > 10 * found.norms["rnn"][1]
    assert found.norms["lstm"][-1] > 0.1 * found.norms["lstm"][1]


@pytest.mark.parametrize(("radius", "fades", "farthest"), [(0.9, "fades", "block"), (1.5, "grows", "rnn")])
def test_the_answers_of_the_reach(radius, fades, farthest):
    first, second, third = view.draw_reach(reaches("64", radius, 1, 0), "en").questions
    assert (first.right, second.right, third.right) == (farthest, fades, "no")
