"""What residual connections and the place of the norm do, and how many parameters a block holds."""

import pytest
import torch
import torch.nn.functional as F

from playground.gpt.ablation import NOTHING_OFF
from playground.gpt.config import GPTConfig
from playground.lessons.residuals import KINDS, PRINTED, PostNormBlock, again, block, gradients, race, stack

CONFIG = GPTConfig(vocab_size=11, context_length=9, emb_dim=8, n_heads=2, n_layers=2)


def test_the_notes_block_has_49_984_parameters():
    assert block("64", "256").total == 49_984
    assert block("32", "512").notes == 49_984


def test_no_hidden_width_gives_what_the_notes_print():
    hidden = block("64", "256").hidden_needed
    assert hidden == pytest.approx(1521.6, abs=0.1)
    for whole in (1521, 1522):
        assert 4 * (64 * 64 + 64) + 2 * 64 * whole + whole + 64 + 4 * 64 != PRINTED


@pytest.mark.parametrize(("width", "hidden"), [("32", "128"), ("64", "256"), ("128", "512")])
def test_the_norms_place_changes_no_count_and_the_parts_add_up(width, hidden):
    found = block(width, hidden)
    assert found.pre_norm == found.total == sum(found.parts.values())
    config = GPTConfig(emb_dim=int(width), n_heads=4, hidden=int(hidden))
    assert found.total == config.n_block_parameters


def test_the_post_norm_block_is_torchs_encoder_layer_with_a_causal_mask():
    ours = PostNormBlock(CONFIG, 0)
    theirs = torch.nn.TransformerEncoderLayer(8, 2, dim_feedforward=32, dropout=0.0, batch_first=True)
    pairs = {
        "self_attn.in_proj_weight": ours.attention.qkv.weight,
        "self_attn.in_proj_bias": ours.attention.qkv.bias,
        "self_attn.out_proj.weight": ours.attention.out.weight,
        "self_attn.out_proj.bias": ours.attention.out.bias,
        "linear1.weight": ours.feed_forward.widen.weight,
        "linear1.bias": ours.feed_forward.widen.bias,
        "linear2.weight": ours.feed_forward.narrow.weight,
        "linear2.bias": ours.feed_forward.narrow.bias,
    }
    with torch.no_grad():
        for name, weights in pairs.items():
            theirs.get_parameter(name).copy_(weights)
    x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0))
    mask = torch.nn.Transformer.generate_square_subsequent_mask(5)
    torch.testing.assert_close(ours(x), theirs(x, src_mask=mask, is_causal=True))


def test_all_kinds_begin_with_the_same_weights():
    made = [stack(kind, CONFIG, 3) for kind in KINDS]
    for name, weights in made[0].state_dict().items():
        assert all(torch.equal(other.state_dict()[name], weights) for other in made[1:])


def test_a_stack_of_the_networks_own_blocks_is_the_network_of_the_textbook():
    made, ids = stack("pre", CONFIG, 0), torch.tensor([[1, 2, 3]])
    streams = made.streams(ids)
    x = made.token_embedding(ids) + made.position_embedding.weight[:3]
    assert torch.equal(streams[0], x)
    layer = made.blocks[0]
    middle = x + layer.attention(F.layer_norm(x, (8,)), NOTHING_OFF, None, False)[0]
    after = middle + layer.feed_forward(F.layer_norm(middle, (8,)), NOTHING_OFF, False)[0]
    torch.testing.assert_close(streams[1], after)


# Gradients.


def test_without_residuals_and_norms_the_first_block_hears_next_to_nothing():
    norms = gradients(24, 0).norms
    assert norms["bare"][0] < 1e-3 * norms["bare"][-1]
    for kind in ("pre", "post", "without"):
        assert norms[kind][0] > 0.1 * norms[kind][-1]


def test_pre_norm_grows_and_post_norm_stays():
    sizes = gradients(12, 0).sizes
    assert sizes["pre"][-1] > 2 * sizes["pre"][0]
    assert sizes["post"][-1] == pytest.approx(1, abs=1e-3)
    assert [len(each) for each in sizes.values()] == [13] * 4


# The race.


def test_the_answer_is_the_symbol_before():
    ids, targets = again(torch.Generator().manual_seed(0))
    assert torch.equal(targets[:, 1:], ids[:, :-1])


def test_with_residuals_and_pre_norm_it_is_learnt_and_the_same_seed_learns_the_same():
    first, second = ([*race("2", "large", 25, 0)][-1].found for _ in range(2))
    assert first.loss == second.loss
    assert first.loss["pre"][-1] < 0.8 * first.loss["pre"][0]
