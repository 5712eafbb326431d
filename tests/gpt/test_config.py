"""What a model costs is counted exactly, and shapes that cannot be are refused."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from playground.errors import ConfigValue, HeadsAndLayersSwapped, HeadsDoNotDivide
from playground.gpt.cache import KVCache
from playground.gpt.config import PRESETS, GPTConfig, forward_flops
from playground.gpt.model import GPTModel
from playground.text import say_error


@pytest.mark.parametrize("name", PRESETS)
def test_flops_are_those_that_torch_counts(name):
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        GPTModel(PRESETS[name]).eval().trace(torch.zeros(1, 12, dtype=torch.long))
    assert forward_flops(PRESETS[name], new=12).total == counter.get_total_flops()


def test_flops_of_reading_on_from_a_cache_are_those_that_torch_counts():
    model = GPTModel(PRESETS["tiny"]).eval()
    cache = KVCache(model.config, 16)
    with torch.inference_mode():
        model(torch.zeros(1, 9, dtype=torch.long), cache=cache)
        with FlopCounterMode(display=False) as counter:
            model.trace(torch.zeros(1, 3, dtype=torch.long), cache=cache)
    assert forward_flops(model.config, new=3, past=9).total == counter.get_total_flops()


@pytest.mark.parametrize("name", ["vocab_size", "context_length", "emb_dim", "n_heads", "n_layers", "hidden"])
def test_sizes_below_one_are_refused_by_name(name):
    with pytest.raises(ConfigValue) as refused:
        GPTConfig(**{name: 0})
    assert refused.value.values["value"] == 0
    assert str(refused.value.values["name"]).startswith(name)


def test_O_CKP_10_heads_must_divide_the_width():
    with pytest.raises(HeadsDoNotDivide) as refused:
        GPTConfig(emb_dim=10, n_heads=4)
    assert (refused.value.values["emb_dim"], refused.value.values["n_heads"]) == (10, 4)
    assert type(refused.value) is HeadsDoNotDivide


def test_O_CKP_10_a_hint_when_heads_and_layers_look_swapped():
    with pytest.raises(HeadsAndLayersSwapped) as refused:
        GPTConfig(emb_dim=1600, n_heads=48, n_layers=25)
    assert "25, the layers; are the two swapped?" in say_error("en", refused.value)
