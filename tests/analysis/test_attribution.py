"""Direct logit attribution: the parts are the logit, and each part is what it says."""

import pytest
import torch
from torch.testing import assert_close
from transformers import GPT2LMHeadModel

import fixture
from playground.analysis.attribution import attribute
from playground.errors import AttributionWithoutResiduals
from playground.gpt.ablation import NOTHING_OFF, Ablation

CHOSEN = torch.tensor([*fixture.PROMPT[1:], 17442])
WITH_RESIDUALS = [ablation for ablation in fixture.ABLATIONS if not ablation.residuals]


def read(gpt, ablation=NOTHING_OFF, ids=fixture.PROMPT):
    with torch.inference_mode():
        return gpt.trace(torch.tensor([ids]), ablation).row(0)


def found(gpt, ablation=NOTHING_OFF, targets=CHOSEN):
    return attribute(gpt, targets, ablation, read(gpt, ablation))


@pytest.mark.parametrize("ablation", WITH_RESIDUALS, ids=fixture.shown)
def test_the_parts_add_up_to_the_logit(fix_a, ablation):
    parts = found(fix_a, ablation)
    scale = float(parts.steps.abs().max())
    assert_close(parts.total, parts.logits, rtol=0, atol=1e-4 * scale)
    assert_close(parts.total, parts.logits, rtol=0, atol=2e-6 * max(1, scale))


def test_O_COR_04_the_logit_of_the_first_choice(fix_a):
    parts = found(fix_a)
    assert float(parts.logits[-1]) == pytest.approx(2.241168, abs=1e-5)
    assert float(parts.total[-1]) == pytest.approx(2.241168, abs=1e-5)


def test_any_token_may_be_asked_for(fix_a):
    trace = read(fix_a)
    parts = found(fix_a, targets=torch.full((4,), 4632))
    assert_close(parts.total, trace.logits[:, 4632].double(), rtol=0, atol=2e-6)


def test_the_layers_are_the_steps_between_hugging_faces_hidden_states(fix_a, fix_a_folder):
    """Each step, centred, scaled by what the final LayerNorm measures, and read by the token's row of the table."""
    theirs = GPT2LMHeadModel.from_pretrained(fix_a_folder).eval()
    ends = []
    theirs.transformer.h[2].register_forward_hook(
        lambda _, __, out: ends.append(out[0] if isinstance(out, tuple) else out)
    )
    with torch.inference_mode():
        hidden = theirs(torch.tensor([fixture.PROMPT]), output_hidden_states=True).hidden_states
        states = [state.reshape(4, 8).double() for state in (*hidden[:3], ends[0])]
        norm, table = theirs.transformer.ln_f, theirs.transformer.wte.weight.double()
        std = torch.sqrt(states[-1].var(-1, correction=0, keepdim=True) + 1e-5)

        def share(x: torch.Tensor) -> torch.Tensor:
            return (((x - x.mean(-1, keepdim=True)) / std * norm.weight.double()) * table[CHOSEN]).sum(-1)

        parts = found(fix_a)
        assert_close(parts.token + parts.position, share(states[0]), rtol=0, atol=2e-6)
        for layer in range(3):
            added = parts.attention[layer] + parts.feed_forward[layer]
            assert_close(added, share(states[layer + 1] - states[layer]), rtol=0, atol=2e-6)
        assert_close(parts.shift, table[CHOSEN] @ norm.bias.double(), rtol=0, atol=1e-9)


def test_a_heads_part_is_its_own_columns_of_the_output_projection(small):
    ids = [1, 5, 2, 2, 9]
    trace, targets = read(small, ids=ids), torch.tensor([3, 1, 4, 1, 5])
    parts = attribute(small, targets, NOTHING_OFF, trace)
    with torch.inference_mode():
        for layer, block in enumerate(small.blocks):
            for head in range(2):
                columns = slice(4 * head, 4 * head + 4)
                x = trace.blocks[layer].attention.mixed[head] @ block.attention.out.weight[:, columns].T
                centred = x - x.mean(-1, keepdim=True)
                std = torch.sqrt(trace.blocks[-1].after.var(-1, correction=0, keepdim=True) + 1e-5)
                slow = (centred / std * small.final_norm.scale * small.token_embedding.weight[targets]).sum(-1)
                assert_close(parts.heads[layer, head], slow, rtol=0, atol=1e-12)


def test_what_is_off_is_exactly_0(fix_a):
    off = Ablation(attention=frozenset({1}), feed_forward=frozenset({2}), heads=frozenset({(0, 1)}), positions=True)
    parts = found(fix_a, off)
    silent = [parts.position, parts.heads[0, 1], parts.heads[1], parts.bias[1], parts.feed_forward[2]]
    assert all(not part.any() for part in silent)
    assert all(part.all() for part in (parts.token, parts.heads[0, 0], parts.bias[0], parts.feed_forward[0]))


def test_without_norms_nothing_is_centred_scaled_or_shifted(fix_a):
    off = Ablation(norms=True)
    trace, parts = read(fix_a, off), found(fix_a, off)
    rows = fix_a.token_embedding.weight[CHOSEN].double()
    assert_close(parts.token, (trace.tokens.double() * rows).sum(-1))
    assert not parts.shift.any()


def test_without_residuals_there_is_no_sum_to_share_out(fix_a):
    off = Ablation(residuals=True)
    with pytest.raises(AttributionWithoutResiduals):
        found(fix_a, off)


def test_the_steps_are_in_the_order_added(fix_a):
    parts = found(fix_a)
    expected = [parts.token, parts.position]
    for layer in range(3):
        expected += [parts.heads[layer].sum(0) + parts.bias[layer], parts.feed_forward[layer]]
    assert torch.equal(parts.steps, torch.stack([*expected, parts.shift]))
