"""Looking changes nothing, and what is seen is what was computed."""

import copy
from itertools import pairwise

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import fixture
from playground.gpt.cache import KVCache
from playground.gpt.config import PRESETS
from playground.gpt.model import GPTModel
from playground.gpt.trace import Trace

IDS = torch.tensor([[1, 5, 2, 2, 9, 0, 7], [4, 4, 8, 10, 3, 6, 1]])
PROMPT = torch.tensor([fixture.PROMPT])
under_every_ablation = pytest.mark.parametrize("ablation", fixture.ABLATIONS, ids=fixture.shown)


@pytest.fixture(scope="module")
def trace(fix_a) -> Trace:
    return fix_a.trace(PROMPT).row(0)


@under_every_ablation
def test_looking_changes_nothing(small, ablation):
    assert_close(small.trace(IDS, ablation).logits, small(IDS, ablation), rtol=0, atol=1e-12)


@pytest.mark.parametrize("ablation", fixture.CACHED, ids=fixture.shown)
def test_looking_changes_nothing_when_part_of_the_text_is_cached(small, ablation):
    seen, unseen = (KVCache(small.config, 7, batch=2, dtype=torch.float64) for _ in range(2))
    for piece in IDS.split([3, 4], 1):
        looked = small.trace(piece, ablation, seen).logits
        assert_close(looked, small(piece, ablation, unseen), rtol=0, atol=1e-12)


@under_every_ablation
def test_every_tensor_has_its_declared_axes(small, ablation):
    check_axes(small.trace(IDS, ablation), T=7)


def test_every_tensor_has_its_declared_axes_when_part_of_the_text_is_cached(small):
    cache = KVCache(small.config, 7, batch=2, dtype=torch.float64)
    small(IDS[:, :3], cache=cache)
    check_axes(small.trace(IDS[:, 3:], cache=cache), T=4)


def check_axes(trace: Trace, T: int) -> None:
    sizes = {"B": 2, "T": T, "S": 7, "C": 8, "H": 2, "D": 4, "F": 32, "V": 11}
    recorded = list(trace.tensors())
    assert len(recorded) == 2 + 3 * 17 + 3
    for path, value, axes in recorded:
        assert list(value.shape) == [sizes[name] for name in axes.split()], path


@pytest.mark.parametrize(("name", "tokens"), [("tiny", 1), ("tiny", 16), ("storyteller", 5)])
def test_the_formula_tells_the_bytes_of_a_trace(name, tokens):
    with torch.inference_mode():
        trace = GPTModel(PRESETS[name]).eval().trace(torch.zeros(1, tokens, dtype=torch.long))
    assert trace.n_bytes() == PRESETS[name].trace_bytes(tokens)


def test_a_row_is_the_record_of_one_text(small):
    for (path, value, _), (_, alone, _) in zip(
        small.trace(IDS).row(1).tensors(), small.trace(IDS[1:]).tensors(), strict=True
    ):
        assert_close(value, alone[0], msg=path)


def test_the_residual_stream_adds_up(small):
    trace = small.trace(IDS)
    assert torch.equal(trace.blocks[0].before, trace.tokens + trace.positions)
    for block in trace.blocks:
        assert torch.equal(block.middle, block.before + block.attention.out)
        assert torch.equal(block.after, block.middle + block.feed_forward.out)
    for block, following in pairwise(trace.blocks):
        assert torch.equal(block.after, following.before)


def test_normalised_vectors_have_mean_0_and_variance_1(small):
    trace = small.trace(IDS)
    norms = [norm for block in trace.blocks for norm in (block.norm_1, block.norm_2)] + [trace.final_norm]
    for norm in norms:
        assert_close(norm.normalised.mean(-1), torch.zeros(2, 7).double(), rtol=0, atol=1e-12)
        assert_close(norm.normalised.var(-1, correction=0), torch.ones(2, 7).double(), rtol=0, atol=1e-3)


def test_attention_rows_sum_to_one_and_never_look_ahead(small):
    for block in small.trace(IDS).blocks:
        assert_close(block.attention.weights.sum(-1), torch.ones(2, 2, 7).double())
        assert not block.attention.weights.triu(1).any()


def test_the_heads_parts_and_the_bias_add_up_to_the_attention_output(small):
    for block, weights in zip(small.trace(IDS).blocks, small.blocks, strict=True):
        out = weights.attention.out
        parts = [
            block.attention.mixed[:, head] @ out.weight[:, 4 * head : 4 * head + 4].T
            for head in range(small.config.n_heads)
        ]
        assert_close(sum(parts) + out.bias, block.attention.out)


def test_O_COR_07_norms_of_the_residual_stream(trace):
    stream = [trace.blocks[0].before, *(block.after for block in trace.blocks), trace.final_norm.after]
    norms = torch.stack([x[-1].norm() for x in stream])
    close(norms, [0.955503, 1.946435, 2.241941, 2.591585, 2.439400], 1e-5)


def test_O_COR_12_the_first_token_can_only_look_at_itself(fix_a):
    for block in fix_a.trace(PROMPT).blocks:
        first = block.attention.weights[0, :, 0]
        assert torch.equal(first, torch.tensor([1.0, 0, 0, 0]).expand(2, 4))


def test_O_ATT_01_rows_are_the_tokens_that_look(trace):
    weights = trace.blocks[0].attention.weights[0]
    expected = [
        [1, 0, 0, 0],
        [0.540292, 0.459708, 0, 0],
        [0.273647, 0.563106, 0.163247, 0],
        [0.238786, 0.256426, 0.342785, 0.162003],
    ]
    assert_close(weights, torch.tensor(expected), rtol=0, atol=2e-5)
    close(trace.blocks[2].attention.weights[1, -1], [0.318485, 0.269294, 0.190739, 0.221481], 2e-5)


def test_O_ATT_11_the_weights_are_those_of_the_pass_that_made_the_logits(fix_a, trace):
    weights = torch.stack([block.attention.weights for block in trace.blocks])
    assert weights.shape == (3, 2, 4, 4)
    exact = copy.deepcopy(fix_a).double()
    assert_close(exact.trace(PROMPT).logits, exact(PROMPT), rtol=0, atol=1e-12)
    assert_close(trace.logits, fix_a(PROMPT)[0], rtol=0, atol=4e-6)  # float32 added up in another order


def test_O_ATT_06_rows_of_every_head_sum_to_1(trace):
    for block in trace.blocks:
        assert_close(block.attention.weights.sum(-1), torch.ones(2, 4), rtol=0, atol=1e-6)


def test_O_ATT_02_repeated_tokens_keep_their_own_columns(fix_a):
    weights = fix_a.trace(torch.tensor([[1169, 262, 262, 262]])).blocks[0].attention.weights[0, 0]
    close(weights[-1], [0.208625, 0.317097, 0.285569, 0.188709], 2e-5)


def test_O_ACT_01_statistics_before_and_after_each_layer_norm(trace):
    sites = []
    for block in trace.blocks:
        sites += [(block.before, block.norm_1.after), (block.middle, block.norm_2.after)]
    sites.append((trace.blocks[-1].after, trace.final_norm.after))
    found = torch.tensor([[f(x[-1]) for x in site for f in (mean, variance)] for site in sites])
    expected = [
        [-0.103815, 0.103346, -0.027114, 0.981207],
        [-0.107385, 0.332812, -0.107552, 0.931453],
        [0.195345, 0.435416, -0.005944, 0.991001],
        [0.208549, 0.236100, 0.020173, 1.046535],
        [-0.014213, 0.628086, -0.061751, 0.659350],
        [-0.137231, 0.616599, -0.037082, 0.830195],
        [-0.656300, 0.408810, -0.041859, 0.742082],
    ]
    assert_close(found, torch.tensor(expected), rtol=0, atol=1e-5)


def test_O_ABL_07_the_sublayers_contributions_are_the_whole_stream(trace):
    parts = [trace.blocks[0].before]
    for block in trace.blocks:
        parts += [block.attention.out, block.feed_forward.out]
    assert_close(sum(part[-1] for part in parts), trace.blocks[-1].after[-1], rtol=0, atol=1e-6)
    norms = torch.stack([part[-1].norm() for part in parts])
    close(norms, [0.955503, 1.145451, 1.540645, 1.172786, 2.251512, 0.675820, 1.901531], 1e-5)


def close(found: Tensor, expected: list[float], tolerance: float) -> None:
    assert_close(found, torch.tensor(expected), rtol=0, atol=tolerance)


def mean(x: Tensor) -> float:
    return float(x.mean())


def variance(x: Tensor) -> float:
    return float(x.var(correction=0))
