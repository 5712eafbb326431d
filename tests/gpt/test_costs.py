"""What the drawing of the architecture says of every part, against torch's own counters and a real trace."""

from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import fixture
from playground.gpt.cache import KVCache
from playground.gpt.config import PRESETS, GPTConfig, forward_flops
from playground.gpt.costs import Part, cache_bytes_per_token, parts
from playground.gpt.model import GPTModel

SHAPES = {**PRESETS, "fix_a": replace(fixture.SMALL, vocab_size=50257), "no qkv bias": GPTConfig(qkv_bias=False)}
TINY = PRESETS["tiny"]
# Where torch counts it: the module that multiplies. The two products of attention are its own, outside any Linear.
MODULES = {
    "qkv": "attention.qkv",
    "out": "attention.out",
    "widen": "feed_forward.widen",
    "narrow": "feed_forward.narrow",
}
# Which recorded tensors a part writes; keys and values of cached tokens were written before.
WRITES = {
    "qkv": ("attention.query", "attention.key", "attention.value"),
    "scores": ("attention.scores",),
    "weights": ("attention.weights",),
    "mixed": ("attention.mixed",),
    "out": ("attention.out",),
    "middle": ("middle",),
    "norm_1": ("norm_1.normalised", "norm_1.after"),
    "norm_2": ("norm_2.normalised", "norm_2.after"),
    "widen": ("feed_forward.hidden",),
    "gelu": ("feed_forward.active",),
    "narrow": ("feed_forward.out",),
    "after": ("after",),
}


def times(part: Part, config: GPTConfig) -> int:
    return config.n_layers if part.repeated else 1


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("gpt2", 124_439_808),
        ("gpt2-medium", 354_823_168),
        ("gpt2-large", 774_030_080),
        ("gpt2-xl", 1_557_611_200),
        ("fix_a", 404_816),
    ],
)
def test_O_COR_08_the_parts_add_up_to_every_parameter(name, count):
    config = SHAPES[name]
    assert sum(part.parameters * times(part, config) for part in parts(config)) == count == config.n_parameters


@pytest.mark.parametrize("name", SHAPES)
def test_parameters_of_a_part_are_those_of_its_module(name):
    with torch.device("meta"):
        model = GPTModel(SHAPES[name])
    block = model.blocks[0]
    modules = {
        **{part: block.get_submodule(path) for part, path in MODULES.items()},
        "norm_1": block.norm_1,
        "norm_2": block.norm_2,
        **{part: getattr(model, part) for part in ("token_embedding", "position_embedding", "final_norm")},
    }
    for part in parts(SHAPES[name]):
        held = sum(p.numel() for p in modules[part.name].parameters()) if part.name in modules else 0
        assert part.parameters == held, part.name


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(("new", "past"), [(12, 0), (1, 11), (3, 9)])
def test_the_parts_add_up_to_the_whole_pass(name, new, past):
    config = SHAPES[name]
    total = sum(part.flops.of(new, past) * times(part, config) for part in parts(config))
    assert total == forward_flops(config, new, past).total


@pytest.mark.parametrize("name", ["tiny", "storyteller", "gpt2"])
def test_flops_of_a_part_are_those_that_torch_counts_in_its_module(name):
    config, new = PRESETS[name], 12
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        GPTModel(config).eval().trace(torch.zeros(1, new, dtype=torch.long))
    torch_says = {module: sum(counts.values()) for module, counts in counter.get_flop_counts().items()}
    flops = {part.name: part.flops.of(new) * times(part, config) for part in parts(config)}
    for part, path in MODULES.items():  # all blocks together
        assert flops[part] == torch_says[f"TransformerBlock.{path}"], part
    inside = torch_says["TransformerBlock.attention"] - flops["qkv"] - flops["out"]
    assert flops["scores"] == flops["mixed"] == inside / 2
    assert flops["logits"] == torch_says["Global"] - torch_says["TransformerBlock"]


def test_flops_of_a_cached_step_are_those_that_torch_counts():
    model, cache = GPTModel(TINY).eval(), KVCache(TINY, 16)
    with torch.inference_mode():
        model(torch.zeros(1, 9, dtype=torch.long), cache=cache)
        with FlopCounterMode(display=False) as counter:
            model.trace(torch.zeros(1, 1, dtype=torch.long), cache=cache)
    assert sum(part.flops.of(1, 9) * times(part, TINY) for part in parts(TINY)) == counter.get_total_flops()


@pytest.mark.parametrize(("new", "past"), [(7, 0), (1, 6), (3, 4)])
def test_numbers_written_are_those_that_the_trace_holds(new, past):
    model, cache = fixture.random_model(TINY), KVCache(TINY, 16)
    with torch.inference_mode():
        if past:
            model(torch.zeros(1, past, dtype=torch.long), cache=cache)
        trace = model.trace(torch.zeros(1, new, dtype=torch.long), cache=cache)
    found = {path: (tensor.numel(), axes) for path, tensor, axes in trace.tensors("")}
    for part in parts(TINY):
        if part.name not in WRITES:
            continue
        held = sum(found[f"blocks.1.{path}"][0] for path in WRITES[part.name])
        if part.name == "qkv":
            held -= 2 * past * TINY.emb_dim
        assert part.values.of(new, past) == held, part.name
    whole = {part.name: part.values.of(new, past) for part in parts(TINY) if not part.repeated}
    assert whole["logits"] == found["logits"][0]
    assert whole["final_norm"] == found["final_norm.normalised"][0] + found["final_norm.after"][0]
    assert whole["token_embedding"] == whole["position_embedding"] == found["tokens"][0]
    assert whole["embedding"] == found["blocks.0.before"][0]


@pytest.mark.parametrize("name", SHAPES)
def test_together_they_write_what_a_trace_takes(name):
    config = SHAPES[name]
    written = sum(part.values.of(12) * times(part, config) for part in parts(config))
    assert 4 * written == config.trace_bytes(12)


def test_axes_are_those_of_the_trace():
    trace = fixture.random_model(TINY).trace(torch.zeros(1, 5, dtype=torch.long))
    declared = {path: axes for path, _, axes in trace.tensors()}
    for part in parts(TINY):
        for path in WRITES.get(part.name, ()):
            assert part.axes.removeprefix("3 ").replace("S", "T") == declared[f"blocks.0.{path}"].replace("S", "T")


def test_a_cached_token_takes_what_the_cache_reserves_for_it():
    cache = KVCache(TINY, 10)
    assert cache_bytes_per_token(TINY) * 10 == cache._store.numel() * 4
    assert cache_bytes_per_token(PRESETS["gpt2"]) == 73_728
