"""Weights in Hugging Face's layout load exactly, whatever precision and names their file has."""

import gc
import hashlib
import json
import math
import re
import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from torch.testing import assert_close

import fixture
from playground.gpt.checkpoints import (
    TURNED,
    _shapes,
    hugging_face_name,
    laid_out,
    load,
    read_config,
    save,
    stored_as,
)
from playground.gpt.config import PRESETS
from playground.gpt.model import GPTModel

PROMPT = torch.tensor([fixture.PROMPT])
WTE = "transformer.wte.weight"


def last(model: GPTModel) -> torch.Tensor:
    return model(PROMPT)[0, -1]


def test_tall_matrices_lie_column_by_column_and_are_the_same(fix_a):
    attention, feed_forward = fix_a.blocks[0].attention, fix_a.blocks[0].feed_forward
    strides = [
        layer.weight.stride() for layer in (attention.qkv, feed_forward.widen, attention.out, feed_forward.narrow)
    ]
    assert strides == [(1, 24), (1, 32), (8, 1), (32, 1)]
    assert fix_a.token_embedding.weight.stride() == (8, 1)
    for matrix in (torch.arange(6.0).view(3, 2), torch.arange(6.0).view(2, 3)):
        assert torch.equal(laid_out(matrix), matrix)


def test_the_fixture_is_the_file_that_the_cases_mean(fix_a_folder):
    raw = (fix_a_folder / "model.safetensors").read_bytes()
    assert hashlib.sha256(raw).hexdigest() == "5501aef6d67be4adee9a9f41d61b8316c5df3501144b65361a7022f05f2f9934"
    assert (fix_a_folder / "model.safetensors").stat().st_size == 1_622_840
    stored = load_file(fix_a_folder / "model.safetensors")
    assert len(stored) == 40
    np.testing.assert_allclose(stored[WTE][0, :4], [-0.413562, -0.407578, 0.060507, -0.423777], atol=1e-6)


@pytest.mark.parametrize("qkv_bias", [True, False])
def test_what_is_saved_is_loaded_bit_for_bit(tmp_path, qkv_bias):
    config = replace(fixture.SMALL, qkv_bias=qkv_bias, attn_drop=0.2, hidden=5, norm_eps=1e-6, end_of_text=10)
    model = fixture.random_model(config)
    save(model, tmp_path)
    again = load(tmp_path)
    assert again.config == replace(config, qkv_bias=True)
    ids = torch.tensor([[1, 5, 2]])
    assert all(torch.equal(again.get_parameter(name), weights) for name, weights in model.named_parameters())
    assert_close(again(ids), model(ids), rtol=0, atol=1e-6)  # laid out otherwise, sums come in another order
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]


def test_a_loaded_model_is_ready_to_run(fix_a):
    assert not fix_a.training
    assert not any(weights.requires_grad for weights in fix_a.parameters())
    assert {weights.dtype for weights in fix_a.parameters()} == {torch.float32}


def test_O_CKP_01_names_without_the_prefix(fix_a, tmp_path):
    bare = fixture.write(tmp_path, lambda all: {name.removeprefix("transformer."): v for name, v in all.items()})
    assert torch.equal(load(bare)(PROMPT), fix_a(PROMPT))


def test_O_CKP_02_mask_buffers_of_old_files_are_no_weights(fix_a, tmp_path):
    def with_masks(tensors: fixture.Tensors) -> fixture.Tensors:
        for layer in range(3):
            tensors[f"transformer.h.{layer}.attn.bias"] = np.tri(16, dtype=np.uint8)[None, None]
            tensors[f"transformer.h.{layer}.attn.masked_bias"] = np.array(-1e4, np.float32)
        return tensors

    model = load(fixture.write(tmp_path, with_masks))
    assert torch.equal(model(PROMPT), fix_a(PROMPT))
    assert sum(weights.numel() for weights in model.parameters()) == 404_816


def test_O_CKP_03_a_forgotten_transpose_would_show_though_the_matrix_is_square(tmp_path):
    def turned(tensors: fixture.Tensors) -> fixture.Tensors:
        return {n: np.ascontiguousarray(v.T) if n.endswith("attn.c_proj.weight") else v for n, v in tensors.items()}

    logits = last(load(fixture.write(tmp_path, turned)))
    assert int(logits.argmax()) == 20431
    assert_close(logits[:3], torch.tensor([-0.766168, 0.209554, -0.447298]), rtol=0, atol=1e-4)


def test_O_CKP_04_a_stored_head_may_be_the_table_again(fix_a, tmp_path):
    model = load(fixture.write(tmp_path, lambda all: all | {"lm_head.weight": all[WTE]}))
    assert torch.equal(model(PROMPT), fix_a(PROMPT))
    assert sum(weights.numel() for weights in model.parameters()) == 404_816


def test_O_CKP_11_the_configs_epsilon_counts(tmp_path):
    logits = last(load(fixture.write(tmp_path, layer_norm_epsilon=1e-3)))
    assert_close(logits[:3], torch.tensor([-0.650414, 0.304066, 0.274919]), rtol=0, atol=1e-4)


def test_O_CKP_11_the_configs_inner_width_counts(tmp_path):
    logits = last(load(fixture.write(tmp_path, n_inner=16)))
    assert int(logits.argmax()) == 26309
    assert_close(logits[:3], torch.tensor([-0.646280, -0.529512, -0.628413]), rtol=0, atol=1e-4)


def test_O_CKP_15_the_estimate_needs_no_model(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"n_layer": 1000, "n_embd": 12288, "n_head": 96}), "utf-8")
    assert read_config(tmp_path).weight_bytes == pytest.approx(7.25e12, rel=1e-3)


@pytest.mark.parametrize("kind", ["float16", "float64"])
def test_O_COR_11_other_precisions_are_computed_in_float32(tmp_path, kind):
    model = load(fixture.write(tmp_path, lambda all: {name: value.astype(kind) for name, value in all.items()}))
    assert {weights.dtype for weights in model.parameters()} == {torch.float32}
    logits = last(model)
    expected = [-0.669882, 0.316745, 0.196633] if kind == "float16" else [-0.668878, 0.317002, 0.197007]
    assert int(logits.argmax()) == 17442
    assert_close(logits[:3], torch.tensor(expected), rtol=0, atol=1e-4)
    assert stored_as(tmp_path) == kind


def test_bfloat16_is_read_too(fix_a, tmp_path):
    save(fix_a, tmp_path, torch.bfloat16)
    again = load(tmp_path)
    assert torch.equal(again.token_embedding.weight, fix_a.token_embedding.weight.bfloat16().float())
    assert stored_as(tmp_path) == "bfloat16"


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch, fix_a):
    fixture.write(tmp_path)
    monkeypatch.setattr("playground.gpt.checkpoints.save_file", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save(fix_a, tmp_path)
    monkeypatch.undo()
    assert torch.equal(load(tmp_path)(PROMPT), fix_a(PROMPT))


def memory() -> float:
    """What this process has in memory now. Units: MB"""
    return int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1e3


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")
def test_O_DEP_05_a_checkpoint_of_124M_takes_no_more_memory_than_its_weights(tmp_path):
    """Its file is all zeros and takes no room on the disk."""
    config, header, end = PRESETS["gpt2"], {}, 0
    for ours, shape in _shapes(config).items():
        name, begin, end = hugging_face_name(ours), end, end + 4 * math.prod(shape)
        stored = shape[::-1] if name.endswith(TURNED) else shape
        header[name] = {"dtype": "F32", "shape": stored, "data_offsets": [begin, end]}
    written = json.dumps(header).encode()
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(written)) + written)
        file.truncate(file.tell() + end)
    (tmp_path / "config.json").write_text("{}")
    gc.collect()
    before, most, loaded = memory(), 0.0, Event()

    def watch() -> None:
        nonlocal most
        while not loaded.wait(0.005):
            most = max(most, memory() - before)

    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch)
        model = load(tmp_path)
        loaded.set()
        watching.result()
    assert end == model.config.weight_bytes == 497_759_232
    assert most <= 620
    assert memory() - before <= 620


def test_fix_a_loads_from_float32_without_any_change(fix_a, fix_a_folder):
    stored = load_file(fix_a_folder / "model.safetensors")
    assert np.array_equal(stored["transformer.h.1.attn.c_proj.weight"].T, fix_a.blocks[1].attention.out.weight)
