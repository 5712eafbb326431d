"""The network is GPT-2: the same numbers as Hugging Face's, as a GPT in NumPy, and as worked out by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close
from transformers import GPT2Config, GPT2LMHeadModel

import fixture
import oracle
from playground.errors import ContextFull
from playground.gpt.checkpoints import TURNED, hugging_face_name, load, save
from playground.gpt.config import PRESETS, GPTConfig
from playground.gpt.model import GPTModel, gelu, normalise

IDS = torch.tensor([[1, 5, 2, 2, 9, 0, 7]])
PROMPT = torch.tensor([fixture.PROMPT])


def close(found: Tensor, expected: list[float], tolerance: float) -> None:
    assert_close(found, torch.tensor(expected, dtype=found.dtype), rtol=0, atol=tolerance)


def test_normalise_and_gelu_are_their_formulas():
    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    assert_close(normalise(x), centred / torch.sqrt(variance + 1e-5), rtol=0, atol=1e-14)
    tanh = torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))
    assert_close(gelu(x), 0.5 * x * (1 + tanh), rtol=0, atol=1e-14)


def test_O_COR_01_variance_divides_by_the_number_of_features():
    x = torch.tensor([0.0, 1, 2, 3, 10])
    close(normalise(x), [-0.902932, -0.620766, -0.338599, -0.056433, 1.918730], 1e-5)
    sample = (x - x.mean()) / torch.sqrt(x.var() + 1e-5)  # the mistake: divided by N - 1
    close(sample[[0, 4]], [-0.807607, 1.716165], 1e-5)


def test_O_COR_02_a_constant_vector_becomes_exactly_zero():
    x = torch.full((4,), 3.0)
    assert torch.equal(normalise(x), torch.zeros(4))


def test_O_COR_03_gelu_is_the_tanh_form():
    close(gelu(torch.tensor([-1.0, 1, 3])), [-0.158808, 0.841192, 2.996363], 1e-6)
    close(F.gelu(torch.tensor([-1.0, 1, 3])), [-0.158655, 0.841345, 2.995950], 1e-6)  # the exact form, by erf


def test_O_COR_03_the_exact_gelu_would_show_in_the_logits(fix_a, monkeypatch):
    usual = fix_a(PROMPT)[0, -1]
    monkeypatch.setattr("playground.gpt.model.gelu", F.gelu)
    assert float((fix_a(PROMPT)[0, -1] - usual).abs().max()) == pytest.approx(0.00293, abs=5e-6)


def test_logits_equal_a_gpt_in_numpy(small):
    weights = {name: value.numpy() for name, value in small.state_dict().items()}
    expected = oracle.gpt(IDS[0].numpy(), weights, n_layers=3, n_heads=2)
    np.testing.assert_allclose(small(IDS)[0].numpy(), expected, rtol=0, atol=1e-10)


def test_logits_equal_hugging_face_on_a_small_model(tmp_path):
    torch.manual_seed(0)
    theirs = GPT2LMHeadModel(GPT2Config(vocab_size=11, n_positions=16, n_embd=8, n_head=2, n_layer=3)).eval()
    for weights in theirs.parameters():
        torch.nn.init.normal_(weights, std=0.3)
    theirs.save_pretrained(tmp_path)
    with torch.inference_mode():
        assert_close(load(tmp_path)(IDS), theirs(IDS).logits, rtol=0, atol=1e-4)


def test_logits_equal_hugging_face_on_a_model_of_124M():
    torch.manual_seed(0)
    theirs = GPT2LMHeadModel(GPT2Config()).eval()
    stored = theirs.state_dict()
    with torch.device("meta"):
        ours = GPTModel(PRESETS["gpt2"]).eval()
    names = {name: hugging_face_name(name) for name in ours.state_dict()}
    state = {ours: stored[name].T if name.endswith(TURNED) else stored[name] for ours, name in names.items()}
    ours.load_state_dict(state, assign=True)
    with torch.inference_mode():
        expected = theirs(PROMPT).logits
        assert expected.std() > 0.1
        assert_close(ours(PROMPT), expected, rtol=0, atol=1e-4)
        assert_close(ours.trace(PROMPT).logits, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("qkv_bias", [True, False])
def test_our_saved_folder_opens_in_transformers_with_the_same_logits(tmp_path, qkv_bias):
    ours = fixture.random_model(replace(fixture.SMALL, qkv_bias=qkv_bias, hidden=24, norm_eps=1e-3))
    save(ours, tmp_path)
    theirs = GPT2LMHeadModel.from_pretrained(tmp_path).eval()
    with torch.inference_mode():
        assert_close(theirs(IDS).logits, ours(IDS), rtol=0, atol=1e-4)


def test_the_tiny_preset_turns_2_by_4_tokens_into_2_by_4_by_100_logits():
    assert GPTModel(PRESETS["tiny"])(torch.arange(8).view(2, 4)).shape == (2, 4, 100)


def test_texts_of_a_batch_do_not_see_each_other(small):
    both = torch.cat([IDS, IDS.flip(1)])
    assert_close(small(both)[1:], small(IDS.flip(1)))


def test_O_COR_04_and_O_CKP_03_fix_a(fix_a):
    rows = fix_a(PROMPT)[0]
    last = rows[-1]
    close(last[:5], [-0.668878, 0.317002, 0.197007, -0.803177, 0.852162], 1e-4)
    assert float(last.sum()) == pytest.approx(187.5354, abs=1e-2)
    assert float(last.logsumexp(0)) == pytest.approx(11.073411, abs=1e-4)
    best = last.softmax(0).topk(5)
    assert best.indices.tolist() == [17442, 42960, 1956, 13363, 33356]
    close(best.values, [1.459506e-4, 1.420342e-4, 1.363501e-4, 1.299036e-4, 1.283886e-4], 1e-8)
    assert rows.argmax(1).tolist() == [20997, 5704, 34454, 17442]


def test_O_COR_05_dropout_is_off_outside_training(fix_a):
    first = fix_a(PROMPT)
    assert fix_a.config.attn_drop == 0.1
    assert all(torch.equal(fix_a(PROMPT), first) for _ in range(20))
    without = GPTModel(replace(fix_a.config, emb_drop=0, attn_drop=0, resid_drop=0)).eval()
    without.load_state_dict(fix_a.state_dict())
    assert torch.equal(without(PROMPT), first)


@pytest.mark.parametrize("name", ["emb_drop", "attn_drop", "resid_drop"])
def test_each_dropout_acts_alone_and_in_training_only(name):
    model = fixture.random_model(replace(fixture.SMALL, **{name: 0.5}))
    calm = model(IDS)
    torch.manual_seed(0)
    wild, again = model.train()(IDS), model(IDS)
    assert not torch.allclose(wild, calm, atol=1e-3)
    assert not torch.allclose(wild, again, atol=1e-3)
    assert torch.equal(model.eval()(IDS), calm)


def test_each_dropout_drops_what_its_name_says():
    def trained(**drops: float):
        torch.manual_seed(0)
        return fixture.random_model(replace(fixture.SMALL, **drops)).train().trace(IDS)

    embeddings = trained(emb_drop=1.0)
    assert not embeddings.blocks[0].before.any()
    weights = trained(attn_drop=1.0)
    assert weights.blocks[0].before.any()
    assert not weights.blocks[0].attention.mixed.any()
    sublayers = trained(resid_drop=1.0)
    assert sublayers.blocks[0].attention.out.any()
    assert torch.equal(sublayers.blocks[-1].after, sublayers.blocks[0].before)


def test_O_COR_06_later_tokens_change_nothing_before_them(fix_a):
    other_end, other_start = PROMPT.clone(), PROMPT.clone()
    other_end[0, 3], other_start[0, 0] = 262, 262
    rows = fix_a(PROMPT)[0]
    assert_close(fix_a(other_end)[0, :3], rows[:3], rtol=0, atol=1e-6)
    assert not torch.allclose(fix_a(other_end)[0, 3], rows[3], atol=1e-2)
    changed = (fix_a(other_start)[0] - rows).abs().amax(1)
    assert (changed > 1e-2).all()


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("gpt2", 124_439_808),
        ("gpt2-medium", 354_823_168),
        ("gpt2-large", 774_030_080),
        ("gpt2-xl", 1_557_611_200),
        ("storyteller", 3_505_152),
    ],
)
def test_O_COR_08_parameters_of_the_sizes_on_offer(name, count):
    with torch.device("meta"):
        model = GPTModel(PRESETS[name])
    assert sum(weights.numel() for weights in model.parameters()) == count
    assert PRESETS[name].n_parameters == count


def test_O_COR_08_counted_with_an_output_head_of_its_own(fix_a):
    assert PRESETS["gpt2"].n_parameters_untied == 163_037_184
    assert replace(PRESETS["gpt2"], qkv_bias=False).n_parameters_untied == 163_009_536
    assert PRESETS["gpt2"].weight_bytes / 2**20 == pytest.approx(474.70, abs=0.005)
    assert sum(weights.numel() for weights in fix_a.parameters()) == fix_a.config.n_parameters == 404_816


def test_O_COR_08_one_table_reads_and_writes_tokens():
    """The logits of a token move with the very row that embeds it, and no other weights are shaped like the table."""
    model = fixture.random_model(fixture.SMALL)
    tables = [name for name, weights in model.named_parameters() if fixture.SMALL.vocab_size in weights.shape]
    assert tables == ["token_embedding.weight"]
    before = model(IDS)
    model.token_embedding.weight[3] = 0  # a token that IDS does not hold
    assert not model(IDS)[..., 3].any()
    assert torch.equal(model(IDS)[..., 4:], before[..., 4:])


@pytest.mark.parametrize("config", [fixture.SMALL, replace(fixture.SMALL, qkv_bias=False, hidden=5)])
def test_the_formula_counts_every_weight(config: GPTConfig):
    assert config.n_parameters == sum(weights.numel() for weights in GPTModel(config).parameters())


def test_a_text_longer_than_the_context_is_refused(small):
    assert small(torch.zeros(1, 16, dtype=torch.long)).shape == (1, 16, 11)
    with pytest.raises(ContextFull) as refused:
        small(torch.zeros(1, 17, dtype=torch.long))
    assert refused.value.values == {"tokens": 17, "limit": 16}
