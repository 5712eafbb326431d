"""A part that is off adds exactly nothing, everything else stays as it was, and nobody else notices."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import fixture
from playground.errors import NothingToSee, UnknownEdge, UnknownSwitch
from playground.gpt.ablation import NOTHING_OFF, WHAT_IFS, Ablation, parse
from playground.gpt.cache import KVCache
from playground.gpt.generate import generate
from playground.gpt.model import GPTModel, earlier_mean

IDS = torch.tensor([[1, 5, 2, 2, 9, 0, 7]])
PROMPT = torch.tensor([fixture.PROMPT])
ATTENTION_0 = Ablation(attention=frozenset({0}))


def last(model: GPTModel, ablation: Ablation) -> Tensor:
    return model(PROMPT, ablation)[0, -1]


def written(model: GPTModel, ablation: Ablation, tokens: int) -> list[int]:
    return [step.token for step in generate(model, fixture.PROMPT, tokens, ablation=ablation)]


def close(found: Tensor, expected: list[float]) -> None:
    assert_close(found, torch.tensor(expected), rtol=0, atol=1e-4)


@pytest.mark.parametrize("ablation", fixture.ABLATIONS[1:], ids=fixture.shown)
def test_every_switch_changes_the_answer(small, ablation):
    assert not torch.allclose(small(IDS, ablation), small(IDS), atol=1e-3)


def test_O_ABL_03_with_every_sublayer_off_the_last_block_hands_on_what_entered_the_first(fix_a):
    trace = fix_a.trace(PROMPT, Ablation.all_sublayers(3))
    assert torch.equal(trace.blocks[-1].after, trace.blocks[0].before)
    assert all(not block.attention.out.any() and not block.feed_forward.out.any() for block in trace.blocks)


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_all_heads_off_leaves_the_output_bias_alone(small, layer):
    heads = frozenset({(layer, 0), (layer, 1)})
    block = small.trace(IDS, Ablation(heads=heads)).blocks[layer]
    assert_close(block.attention.out, small.blocks[layer].attention.out.bias.expand(1, 7, 8))


def test_without_residuals_a_block_hands_on_only_what_it_computed(small):
    for block in small.trace(IDS, Ablation(residuals=True)).blocks:
        assert torch.equal(block.middle, block.attention.out)
        assert torch.equal(block.after, block.feed_forward.out)


def test_without_norms_sublayers_read_the_stream_itself(small):
    trace = small.trace(IDS, Ablation(norms=True))
    assert all(torch.equal(block.norm_1.after, block.before) for block in trace.blocks)
    assert torch.equal(trace.final_norm.after, trace.blocks[-1].after)


def test_without_positions_the_same_token_enters_the_same_way_everywhere(small):
    before = small.trace(IDS, Ablation(positions=True)).blocks[0].before
    assert torch.equal(before[0, 2], before[0, 3])  # both are token 2


def test_without_scaling_scores_grow_by_the_root_of_the_head_width(small):
    scores = [
        small.trace(IDS, ablation).blocks[0].attention.scores for ablation in (NOTHING_OFF, Ablation(scaling=True))
    ]
    assert_close(scores[1], scores[0] * 2)  # heads are 4 wide


def test_without_the_causal_mask_every_token_looks_at_every_token(small):
    weights = small.trace(IDS, Ablation(causal_mask=True)).blocks[0].attention.weights
    assert (weights > 0).all()


def test_O_COR_06_without_the_causal_mask(fix_a):
    logits = last(fix_a, Ablation(causal_mask=True))
    assert int(logits.argmax()) == 17442
    close(logits[:3], [-0.671797, 0.019485, -0.575177])


def test_O_ABL_01_a_layer_without_its_sublayers_is_the_identity(fix_a):
    off = Ablation(attention=frozenset({1}), feed_forward=frozenset({1}))
    trace = fix_a.trace(PROMPT, off)
    assert torch.equal(trace.blocks[1].after, trace.blocks[0].after)
    logits = last(fix_a, off)
    assert int(logits.argmax()) == 4632
    close(logits[:3], [0.068422, 0.639304, -1.428973])
    assert written(fix_a, off, 5) == [4632, 32487, 20836, 8982, 8982]


@pytest.mark.parametrize(
    ("ablation", "best", "logits"),
    [
        (ATTENTION_0, 33554, [0.960474, 0.316595, -1.057948]),
        (Ablation(feed_forward=frozenset({0})), 36859, [-0.297558, 0.663869, 0.246342]),
    ],
    ids=fixture.shown,
)
def test_O_ABL_02_off_means_the_output_bias_too(fix_a, ablation, best, logits):
    assert int(last(fix_a, ablation).argmax()) == best
    close(last(fix_a, ablation)[:3], logits)


def test_O_ABL_03_only_the_residual_path(fix_a):
    off = Ablation.all_sublayers(3)
    trace = fix_a.trace(PROMPT, off).row(0)
    stream = fix_a.token_embedding.weight[PROMPT[0]] + fix_a.position_embedding.weight[:4]
    normed = torch.nn.functional.layer_norm(stream, (8,), fix_a.final_norm.scale, fix_a.final_norm.shift)
    assert_close(trace.logits, normed @ fix_a.token_embedding.weight.T)
    assert trace.logits.argmax(1).tolist() == [29407, 27212, 4183, 12705]
    assert written(fix_a, off, 4) == [12705, 17425, 43654, 43654]


def test_O_ABL_04_off_and_on_again_leaves_no_trace(fix_a):
    before, traced = fix_a(PROMPT), fix_a.trace(PROMPT).logits
    for word in ["attention.0", "attention.1", "attention.2", "feed_forward.0", "feed_forward.1", "feed_forward.2"]:
        fix_a(PROMPT, parse([word], 3, 2))
        assert torch.equal(fix_a(PROMPT), before)
    fix_a.trace(PROMPT, Ablation.all_sublayers(3))
    assert torch.equal(fix_a(PROMPT), before)
    assert torch.equal(fix_a.trace(PROMPT).logits, traced)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in fix_a.modules())


def test_O_ABL_06_a_head_is_silenced_before_the_output_projection(fix_a):
    off = last(fix_a, Ablation(heads=frozenset({(1, 0)})))
    assert int(off.argmax()) == 17442
    close(off[:3], [-0.701581, 0.371017, 0.193989])
    assert float((off - last(fix_a, NOTHING_OFF)).abs().max()) == pytest.approx(0.4471, abs=1e-4)


# Off as the mean of earlier positions.


def test_the_earlier_mean_is_the_mean_of_what_came_before_and_0_at_first():
    x = torch.randn(2, 3, 6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = earlier_mean(x)
    assert not found[..., 0, :].any()
    assert torch.equal(found[..., 1, :], x[..., 0, :])
    for t in range(1, 6):
        assert_close(found[..., t, :], x[..., :t, :].mean(-2))


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_a_part_that_is_off_hands_on_the_mean_of_its_own_earlier_outputs(small, layer):
    usual = small.trace(IDS).blocks[layer]
    for kind in ("attention", "feed_forward"):
        off = Ablation(**{kind: frozenset({layer})}, mean=True)
        assert torch.equal(
            getattr(small.trace(IDS, off).blocks[layer], kind).out, earlier_mean(getattr(usual, kind).out)
        )
    mixed = small.trace(IDS, Ablation(heads=frozenset({(layer, 1)}), mean=True)).blocks[layer].attention.mixed
    assert torch.equal(mixed[:, 1], earlier_mean(usual.attention.mixed)[:, 1])
    assert torch.equal(mixed[:, 0], usual.attention.mixed[:, 0])


def test_all_heads_off_by_their_mean_are_the_attention_off_by_its_mean_but_for_the_first_bias(small):
    """The projection is linear, so that it hands on the mean of what it would have handed on."""
    heads, whole = Ablation(heads=frozenset({(1, 0), (1, 1)}), mean=True), Ablation(frozenset({1}), mean=True)
    by_head, at_once = (small.trace(IDS, off).blocks[1].attention.out[0] for off in (heads, whole))
    assert_close(by_head[1:], at_once[1:])
    assert_close(by_head[0], small.blocks[1].attention.out.bias)
    assert not at_once[0].any()


@pytest.mark.parametrize("ablation", [each for each in fixture.ABLATIONS if not each.averages], ids=fixture.shown)
def test_the_mean_changes_nothing_unless_a_part_is_off(small, ablation):
    mean = replace(ablation, mean=True)
    parts = (ablation.attention, ablation.feed_forward, ablation.heads)
    assert torch.equal(small(IDS, mean), small(IDS, ablation)) == (not any(parts)) == (not mean.averages)
    assert mean.changes_nothing == ablation.changes_nothing == (ablation == NOTHING_OFF)


def test_a_later_token_does_not_change_the_mean_of_earlier_ones(small):
    ablation = Ablation(frozenset({0}), frozenset({1}), frozenset({(2, 0)}), mean=True)
    assert_close(small(IDS[:, :4], ablation), small(IDS, ablation)[:, :4], rtol=0, atol=1e-12)


def test_with_every_sublayer_off_by_its_mean_the_stream_still_moves(small):
    trace = small.trace(IDS, replace(Ablation.all_sublayers(3), mean=True)).row(0)
    assert torch.equal(trace.blocks[-1].after[0], trace.blocks[0].before[0])  # the first position has nothing before it
    assert (trace.blocks[-1].after[1:] != trace.blocks[0].before[1:]).all()


def test_a_forbidden_edge_has_weight_0_and_the_rest_of_its_row_shares_it(small):
    before, after = (
        small.trace(IDS, ablation).row(0).blocks[1].attention.weights
        for ablation in (NOTHING_OFF, Ablation(edges=frozenset({(1, 0, 5, 2)})))
    )
    kept = torch.tensor([0, 1, 3, 4, 5])
    assert after[0, 5, 2] == 0
    assert_close(after[0, 5, kept], before[0, 5, kept] / (1 - before[0, 5, 2]))
    others = torch.ones(2, 7, 7, dtype=torch.bool)
    others[0, 5] = False
    assert torch.equal(after[others], before[others])


def test_a_forbidden_edge_reaches_the_query_and_the_tokens_after_it_in_later_layers(small):
    forbidden = Ablation(edges=frozenset({(1, 0, 4, 2)}))
    blocks, usual = (small.trace(IDS, ablation).row(0).blocks for ablation in (forbidden, NOTHING_OFF))
    assert torch.equal(blocks[1].before, usual[1].before)
    differs = (blocks[1].after != usual[1].after).any(-1)
    assert differs.tolist() == [False, False, False, False, True, False, False]
    assert (blocks[2].after != usual[2].after).any(-1).tolist() == [False] * 4 + [True] * 3


@pytest.mark.parametrize("cuts", [[7], [1, 6], [3, 4], [5, 1, 1], [1] * 7], ids=str)
def test_edges_are_positions_of_the_text_however_it_is_read(small, cuts):
    ablation = Ablation(edges=frozenset({(0, 1, 6, 2), (1, 0, 5, 5), (2, 1, 3, 0)}))
    cache = KVCache(fixture.SMALL, 7, dtype=torch.float64)
    read = torch.cat([small(part, ablation, cache) for part in IDS.split(cuts, 1)], 1)
    assert_close(read, small(IDS, ablation))
    assert_close(read, small.trace(IDS, ablation).logits)


def test_edges_of_tokens_that_are_not_there_change_nothing(small):
    beyond = Ablation(edges=frozenset({(0, 0, 7, 1), (1, 1, 12, 12), (2, 0, 3, 5)}))  # the last one is masked anyhow
    assert_close(small(IDS, beyond), small(IDS))


@pytest.mark.parametrize("traced", [False, True], ids=["fused", "traced"])
@pytest.mark.parametrize("keys", [[0, 1, 2], [0, 1, 2, 3, 6]], ids=["all it sees", "and masked ones"])
def test_O_COR_12_a_query_keeps_at_least_one_key(small, traced, keys):
    blind = Ablation(edges=frozenset((1, 1, 2, key) for key in keys))
    with pytest.raises(NothingToSee) as refused:
        small.trace(IDS, blind) if traced else small(IDS, blind)
    assert refused.value.values == {"layer": 1, "head": 1, "query": 2}


def test_without_the_causal_mask_a_query_may_lose_all_it_saw_before(small):
    forbidden = Ablation(causal_mask=True, edges=frozenset({(1, 1, 0, 0)}))
    weights = small.trace(IDS, forbidden).row(0).blocks[1].attention.weights[1, 0]
    assert weights[0] == 0
    assert_close(weights.sum(), torch.ones_like(weights.sum()))


@pytest.mark.parametrize("ablation", fixture.ABLATIONS, ids=fixture.shown)
def test_words_are_read_back(ablation):
    assert parse(ablation.words(), n_layers=3, n_heads=2, context_length=16) == ablation
    assert parse(reversed(ablation.words()), 3, 2, 16).words() == ablation.words()


def test_words_come_in_one_order_and_once():
    words = [
        "edge.1.0.12.3",
        "norms",
        "edge.1.0.9.3",
        "head.1.0",
        "feed_forward.2",
        "attention.1",
        "attention.0",
        "norms",
        "head.0.1",
    ]
    assert parse(words, 3, 2, 16).words() == [
        "attention.0",
        "attention.1",
        "feed_forward.2",
        "head.0.1",
        "head.1.0",
        "edge.1.0.9.3",
        "edge.1.0.12.3",
        "norms",
    ]


def test_every_what_if_is_a_field_that_parses():
    for name in (*WHAT_IFS, "mean"):
        assert parse([name], 3, 2) == replace(NOTHING_OFF, **{name: True})


@pytest.mark.parametrize(
    "word",
    [
        *["attention.3", "feed_forward.3", "head.0.2", "head.3.0", "head.0", "attention", "attention.-1", "mlp.0"],
        *["attention.0.0", " norms", "norms\n", "Norms", "", "attention.٣", "attention.99999999999", "attention.1e0"],
    ],
)
def test_a_word_for_no_part_of_this_model_is_refused(word):
    with pytest.raises(UnknownSwitch) as refused:
        parse(["attention.0", word], n_layers=3, n_heads=2)
    assert refused.value.values == {"value": word, "layers": 3, "heads": 2}


@pytest.mark.parametrize(
    "word", ["edge.3.0.1.1", "edge.0.2.1.1", "edge.0.0.16.1", "edge.0.0.1.16", "edge.0.0.1", "edge", "edge.0.0.1.1.1"]
)
def test_an_edge_outside_of_the_model_is_refused(word):
    with pytest.raises(UnknownEdge) as refused:
        parse([word], 3, 2, 16)
    assert refused.value.values == {"value": word, "layers": 3, "heads": 2, "positions": 16}


def test_an_ablation_can_key_a_cache():
    assert len({NOTHING_OFF, Ablation(), ATTENTION_0, Ablation(attention=frozenset({0}))}) == 2
