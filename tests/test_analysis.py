"""Every number read off a trace: the exact values of FIX-A, and slow obvious versions of the rest."""

import math

import pytest
import torch
from torch.testing import assert_close

import fixture
from playground.analysis import (
    best_ids,
    contribution_norms,
    head_scores,
    kl_divergence,
    moments,
    norm_statistics,
    rank,
    residual_difference,
    stream,
    stream_norms,
    top_tokens,
)
from playground.gpt.ablation import Ablation
from playground.gpt.model import normalise
from playground.gpt.trace import Trace

# The last of the four tokens: mean and variance before, then after scale and shift.
O_ACT_01 = [
    (0, "norm_1", -0.103815, 0.103346, -0.027114, 0.981207),
    (0, "norm_2", -0.107385, 0.332812, -0.107552, 0.931453),
    (1, "norm_1", 0.195345, 0.435416, -0.005944, 0.991001),
    (1, "norm_2", 0.208549, 0.236100, 0.020173, 1.046535),
    (2, "norm_1", -0.014213, 0.628086, -0.061751, 0.659350),
    (2, "norm_2", -0.137231, 0.616599, -0.037082, 0.830195),
    (None, "final_norm", -0.656300, 0.408810, -0.041859, 0.742082),
]
O_COR_07 = {"embedding": 0.955503, "feed_forward.0": 1.946435, "feed_forward.1": 2.241941, "feed_forward.2": 2.591585}
O_ABL_07 = [1.145451, 1.540645, 1.172786, 2.251512, 0.675820, 1.901531]


@pytest.fixture(scope="module")
def trace(fix_a) -> Trace:
    return read(fix_a)


def read(model, ablation: Ablation = Ablation()) -> Trace:  # noqa: B008 - frozen
    with torch.inference_mode():
        return model.trace(torch.tensor([fixture.PROMPT]), ablation).row(0)


def test_O_ACT_01_before_and_after_every_layer_norm(trace):
    found = [
        (norm.layer, norm.name, *(x for at in (norm.before, norm.after) for x in (at.mean[-1], at.std[-1] ** 2)))
        for norm in norm_statistics(trace)
    ]
    assert [norm[:2] for norm in found] == [norm[:2] for norm in O_ACT_01]
    for measured, expected in zip(found, O_ACT_01, strict=True):
        assert [float(number) for number in measured[2:]] == pytest.approx(expected[2:], abs=1e-5)


def test_O_ACT_03_normalised_is_mean_0_and_a_variance_a_little_under_1(trace):
    for norm, expected in zip(norm_statistics(trace), O_ACT_01, strict=True):
        assert float(norm.normalised.mean.abs().max()) < 1e-6
        variance = expected[3]
        assert float(norm.normalised.std[-1] ** 2) == pytest.approx(variance / (variance + 1e-5), abs=1e-5)
    assert float(norm_statistics(trace)[0].normalised.std[-1] ** 2) == pytest.approx(0.999903, abs=2e-6)


def test_the_statistics_divide_by_the_number_of_features():
    measured = moments(torch.tensor([[0.0, 1, 2, 3, 10]]))
    assert float(measured.mean) == pytest.approx(3.2)
    assert float(measured.std) ** 2 == pytest.approx(12.56, rel=1e-6)  # 15.7 with N - 1


def test_O_COR_02_a_constant_vector_has_variance_0_before_and_after():
    constant = torch.full((1, 4), 3.0)
    assert float(moments(constant).std) == float(moments(normalise(constant)).std) == 0


def test_O_ACT_02_the_last_block_and_the_final_norm_are_told_apart(trace):
    after_blocks = [float(block.after[-1].norm()) for block in trace.blocks]
    assert [float(trace.blocks[0].before[-1].norm()), *after_blocks] == pytest.approx([*O_COR_07.values()], abs=1e-5)
    assert float(trace.final_norm.after[-1].norm()) == pytest.approx(2.439400, abs=1e-5)
    assert len(list(stream(trace))) == 1 + 2 * 3


def test_O_ACT_04_the_stream_begins_with_the_embedding_and_layers_join(trace):
    places = dict(stream(trace))
    assert_close(places["embedding"], trace.tokens + trace.positions, rtol=0, atol=0)
    assert float(places["embedding"][-1].norm()) == pytest.approx(0.955503, abs=1e-5)
    for layer in (1, 2):
        assert torch.equal(trace.blocks[layer].before, places[f"feed_forward.{layer - 1}"])
    assert list(places) == ["embedding", *(f"{kind}.{i}" for i in range(3) for kind in ("attention", "feed_forward"))]


def test_O_COR_07_how_long_the_stream_is(trace):
    lengths = dict(zip([name for name, _ in stream(trace)], stream_norms(trace)[:, -1].tolist(), strict=True))
    assert {name: lengths[name] for name in O_COR_07} == pytest.approx(O_COR_07, abs=1e-5)


def test_O_ABL_07_how_much_each_sublayer_adds(trace):
    assert contribution_norms(trace)[:, -1].tolist() == pytest.approx(O_ABL_07, abs=1e-5)
    added = sum(block.attention.out + block.feed_forward.out for block in trace.blocks)
    assert_close(trace.blocks[0].before + added, trace.blocks[-1].after, rtol=0, atol=1e-6)


def test_O_ABL_07_what_is_off_adds_exactly_nothing(fix_a):
    off = read(fix_a, Ablation(attention=frozenset({1}), feed_forward=frozenset({2})))
    added = contribution_norms(off)
    assert torch.equal(added[[2, 5]], torch.zeros(2, 4))
    assert bool((added[[0, 1, 3, 4]] > 0).all())


def test_the_residual_identity_is_measured_and_exact(fix_a, trace):
    assert residual_difference(read(fix_a, Ablation.all_sublayers(3))) == 0.0
    left, entered = trace.blocks[-1].after.flatten().tolist(), trace.blocks[0].before.flatten().tolist()
    slow = max(abs(a - b) for a, b in zip(left, entered, strict=True))
    assert residual_difference(trace) == pytest.approx(slow, abs=1e-6)


def test_kl_divergence_is_the_sum_it_says():
    before, after = torch.randn(2, 3, 50, generator=torch.Generator().manual_seed(1)) * 3
    for i, found in enumerate(kl_divergence(before, after).tolist()):
        p, q = slow_softmax(before[i].tolist()), slow_softmax(after[i].tolist())
        slow = sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
        assert found == pytest.approx(slow, abs=1e-12, rel=1e-12)


def slow_softmax(logits: list[float]) -> list[float]:
    powers = [math.exp(logit) for logit in logits]
    return [power / sum(powers) for power in powers]


def test_kl_divergence_is_0_from_itself_and_never_below():
    logits = torch.randn(4, 4096, generator=torch.Generator().manual_seed(2))
    assert torch.equal(kl_divergence(logits, logits), torch.zeros(4, dtype=torch.float64))
    assert bool((kl_divergence(logits, logits + 1e-6) >= 0).all())
    assert_close(kl_divergence(logits, logits + 7), torch.zeros(4, dtype=torch.float64), atol=1e-9, rtol=0)


def test_O_COR_09_ties_go_to_the_lowest_id():
    assert top_tokens(torch.zeros(1, 50257), 5).ids.tolist() == [[0, 1, 2, 3, 4]]
    logits = torch.zeros(1, 50257)
    logits[0, [7, 50256]] = 2.0
    assert top_tokens(logits, 4).ids.tolist() == [[7, 50256, 0, 1]]


def test_top_tokens_belong_to_the_whole_vocabulary():
    logits = torch.randn(3, 1000, generator=torch.Generator().manual_seed(3))
    top = top_tokens(logits, 10)
    for i, row in enumerate(logits.tolist()):
        order = sorted(range(1000), key=lambda token, row=row: (-row[token], token))[:10]
        probabilities = slow_softmax(row)
        assert top.ids[i].tolist() == order
        assert top.logits[i].tolist() == [row[token] for token in order]
        assert top.probabilities[i].tolist() == pytest.approx([probabilities[token] for token in order], rel=1e-5)


def test_asking_for_more_tokens_than_there_are_gives_all():
    assert top_tokens(torch.tensor([[1.0, 3.0, 2.0]]), 10).ids.tolist() == [[1, 2, 0]]


def test_rank_is_the_place_in_that_order():
    logits = torch.tensor([1.0, 5.0, 5.0, 0.0, 5.0])
    assert [rank(logits, token) for token in range(5)] == [4, 1, 2, 5, 3]
    top = top_tokens(logits[None], 5).ids[0].tolist()
    assert [rank(logits, token) for token in top] == [1, 2, 3, 4, 5]


def test_head_scores_of_heads_made_by_hand():
    T = 5
    back, first, self_ = torch.zeros(T, T), torch.zeros(T, T), torch.eye(T)
    for t in range(T):
        back[t, max(t - 1, 0)] = 1
        first[t, 0] = 1
    even = torch.tril(torch.ones(T, T)) / torch.arange(1, T + 1)[:, None]
    scores = head_scores(torch.stack([back, first, self_, even]))
    harmonic = [1 / t for t in range(1, T + 1)]
    assert scores.previous.tolist() == pytest.approx([1, 0.25, 0, sum(harmonic[1:]) / 4])
    assert scores.first.tolist() == pytest.approx([0.25, 1, 0, sum(harmonic[1:]) / 4])
    assert scores.itself.tolist() == pytest.approx([0.2, 0.2, 1, sum(harmonic) / 5])


def test_a_single_token_looks_at_itself_alone():
    scores = head_scores(torch.ones(2, 1, 1))
    assert (scores.previous.tolist(), scores.first.tolist(), scores.itself.tolist()) == ([0, 0], [0, 0], [1, 1])


@pytest.mark.parametrize("k", [1, 3, 10])
def test_the_best_ids_are_what_sorting_every_row_whole_puts_first(k):
    logits = torch.randint(0, 6, (40, 50), generator=torch.Generator().manual_seed(0)).float()  # full of ties
    assert torch.equal(best_ids(logits, k), logits.argsort(dim=-1, descending=True, stable=True)[:, :k])
