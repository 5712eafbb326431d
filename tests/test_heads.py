"""What a head is like, in numbers, and one head step by step."""

import math

import pytest
import torch
from torch.testing import assert_close

import fixture
from playground.analysis.heads import entropy, forbidden, head_measures, hide_first, induction, small, visible
from playground.analysis.unfold import handed_on, projected, unfold
from playground.gpt.ablation import Ablation
from playground.gpt.model import earlier_mean

IDS = [1, 5, 2, 2, 9, 0, 7]
EDGES = Ablation(edges=frozenset({(1, 0, 5, 2), (1, 1, 4, 0), (1, 0, 2, 6), (1, 0, 30, 1)}))
NOTHING = Ablation()
EVEN = torch.ones(4, 4).tril() / torch.tensor([[1.0], [2], [3], [4]])


def read(model, ablation=NOTHING, ids=IDS):
    with torch.inference_mode():
        return model.trace(torch.tensor([ids]), ablation).row(0)


def test_O_ATT_10_the_mean_over_heads_is_the_arithmetic_mean(fix_a):
    weights = read(fix_a, ids=fixture.PROMPT).blocks[0].attention.weights
    assert weights.mean(0)[-1].tolist() == pytest.approx([0.261805, 0.279837, 0.220646, 0.237714], abs=2e-6)
    assert_close(weights.mean(0), (weights[0] + weights[1]) / 2)


def test_entropy_is_0_for_one_token_and_the_logarithm_of_how_many_for_all_alike():
    assert str(entropy(torch.eye(4)).tolist()) == "[0.0, 0.0, 0.0, 0.0]"  # and none of them -0
    assert entropy(EVEN).tolist() == pytest.approx([0, math.log(2), math.log(3), math.log(4)])


def test_the_first_query_has_no_choice_and_does_not_count():
    assert float(head_measures(EVEN[None], [1, 2, 3, 4]).entropy) == pytest.approx(math.log(24) / 3)
    assert float(head_measures(torch.ones(1, 1, 1), [1]).entropy) == 0


def test_induction_is_the_weight_on_what_followed_the_earlier_copy():
    weights = torch.zeros(2, 6, 6)  # A B C A B C: the second half follows the first
    for query, key in ((3, 1), (4, 2), (5, 3)):
        weights[0, query, key] = 0.75
    weights[1, :, 0] = 1
    assert induction(weights, [7, 8, 9, 7, 8, 9]).tolist() == [0.75, 0]


def test_induction_counts_every_earlier_copy_and_never_the_query_itself():
    weights = torch.arange(16.0).view(1, 4, 4)
    # query 1 repeats 0, but what followed is query 1 itself; query 2 follows 0 at 1; query 3 follows at 1 and 2
    assert float(induction(weights, [5, 5, 5, 5])) == ((8 + 1) + (12 + 1) + (12 + 2)) / 2


def test_a_text_without_repetition_has_no_induction_score():
    assert induction(EVEN[None], [1, 2, 3, 4]) is None
    assert induction(EVEN[None], [1, 2, 3, 3]) is None  # nothing lies between the copy and the query


def test_without_the_first_token_rows_still_sum_to_1(small):
    weights = read(small).blocks[0].attention.weights
    rest = hide_first(weights)
    assert rest[:, :, 0].isnan().all()
    assert rest[:, 0].isnan().all()  # the first query sees nothing else
    assert_close(rest[:, 1:, 1:].sum(-1), torch.ones(2, 6, dtype=torch.float64))
    assert_close(rest[:, 5, 2] / rest[:, 5, 3], weights[:, 5, 2] / weights[:, 5, 3])
    assert not weights.isnan().any()


def test_small_pictures_keep_thin_lines():
    line = torch.eye(100).roll(1, 0)[None]
    assert small(line, 100) is line
    assert small(line, 20).shape == (1, 20, 20)
    assert (small(line, 20)[0].diagonal() == 1).all()


@pytest.mark.parametrize("ablation", [NOTHING, EDGES, Ablation(causal_mask=True)], ids=fixture.shown)
def test_visible_is_the_mask_that_the_model_applied(small, ablation):
    for layer, block in enumerate(read(small, ablation).blocks):
        for head in (0, 1):
            seen = visible(ablation, layer, head, 7)
            assert torch.equal(seen, block.attention.weights[head] > 0)


def test_forbidden_are_the_edges_that_would_else_be_looked_along():
    assert forbidden(EDGES, 1, 0, 7) == [(5, 2)]
    assert forbidden(EDGES, 1, 1, 7) == [(4, 0)]
    assert forbidden(EDGES, 0, 0, 7) == []


HEAD = frozenset({(1, 0)})


@pytest.mark.parametrize(
    "ablation", [NOTHING, EDGES, Ablation(heads=HEAD), Ablation(heads=HEAD, mean=True)], ids=fixture.shown
)
def test_what_the_keys_write_adds_up_to_the_attention_output(small, ablation):
    attention = read(small, ablation).blocks[1].attention
    written = small.blocks[1].attention.out.bias + sum(
        handed_on(attention.weights[head], ablation, 1, head) @ projected(attention.value[head], small, 1, head)
        for head in (0, 1)
    )
    assert_close(written, attention.out)


def test_an_attention_off_by_its_mean_still_writes_what_its_keys_gave_earlier_queries(small):
    off = Ablation(attention=frozenset({1}), heads=HEAD, mean=True)
    attention = read(small, off).blocks[1].attention
    written = sum(
        handed_on(attention.weights[head], off, 1, head) @ projected(attention.value[head], small, 1, head)
        for head in (0, 1)
    )
    assert_close(written + earlier_mean(small.blocks[1].attention.out.bias.expand(7, 8)), attention.out)
    assert unfold(read(small, off), small, off, 1, 1).written[4, 1] > 0


def test_the_stages_are_those_of_the_trace(small):
    trace = read(small, EDGES)
    attention, stages = trace.blocks[1].attention, unfold(trace, small, EDGES, 1, 0)
    assert_close(stages.dots / 2, stages.scaled)  # heads are 4 wide
    assert torch.equal(stages.scaled, attention.scores[0])
    assert_close(stages.masked.nan_to_num(-torch.inf).softmax(-1), attention.weights[0])
    assert torch.equal(stages.weights, attention.weights[0])
    assert_close(stages.mixed[4, 1], (attention.weights[0, 4, 1] * attention.value[0, 1]).norm())
    by_hand = small.blocks[1].attention.out.weight[:, :4] @ (attention.weights[0, 4, 1] * attention.value[0, 1])
    assert_close(stages.written[4, 1], by_hand.norm())


def test_a_head_that_is_off_writes_nothing(small):
    off = Ablation(attention=frozenset({1}))
    assert not unfold(read(small, off), small, off, 1, 0).written.any()
