"""Weights in small files: what is lost, and what is refused."""

import pytest
import torch
from torch import nn

from playground.errors import FileIncomplete, ModelMissing
from playground.gpt import packed


@pytest.fixture
def layer() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(64, 48)


def test_half_precision_is_read_back_as_written(layer, tmp_path):
    packed.save(layer, tmp_path / "model.safetensors")
    again = packed.load(nn.Linear(64, 48), tmp_path / "model.safetensors")
    assert torch.equal(again.weight, layer.weight.half().float())
    assert again.weight.dtype == torch.float32
    assert not again.weight.requires_grad


def test_whole_numbers_are_off_by_at_most_half_a_step_of_their_row(layer, tmp_path):
    packed.save(layer, tmp_path / "model.safetensors", whole_numbers=True)
    again = packed.load(nn.Linear(64, 48), tmp_path / "model.safetensors")
    step = layer.weight.abs().amax(1, keepdim=True) / 127
    assert ((again.weight - layer.weight).abs() <= step / 2 + 1e-7).all()
    assert torch.equal(again.bias, layer.bias.half().float())  # a vector is not packed


def test_a_row_of_zeros_stays_zero(tmp_path):
    layer = nn.Linear(4, 2)
    nn.init.zeros_(layer.weight)
    packed.save(layer, tmp_path / "model.safetensors", whole_numbers=True)
    assert not packed.load(nn.Linear(4, 2), tmp_path / "model.safetensors").weight.any()


def test_whole_numbers_take_a_byte_each(layer, tmp_path):
    sizes = []
    for whole_numbers in (False, True):
        packed.save(layer, tmp_path / "model.safetensors", whole_numbers)
        sizes.append((tmp_path / "model.safetensors").stat().st_size)
    assert sizes[0] - sizes[1] > 64 * 48 - 48 * 4 - 200  # half of the matrix, less the scales and their names


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ModelMissing) as refused:
        packed.load(nn.Linear(2, 2), tmp_path / "model.safetensors")
    assert refused.value.values == {"name": "model.safetensors"}


@pytest.mark.parametrize("broken", ["cut off", "of another shape"])
def test_a_file_that_does_not_fit_is_refused(layer, tmp_path, broken):
    file = tmp_path / "model.safetensors"
    packed.save(layer, file)
    if broken == "cut off":
        file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(FileIncomplete):
        packed.load(nn.Linear(64, 48) if broken == "cut off" else nn.Linear(64, 47), file)
