"""Weights in Hugging Face's layout load exactly or are refused by name; nothing is ever executed or ignored."""

import gc
import hashlib
import json
import math
import pickle
import re
import resource
import struct
import time
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
from playground.errors import (
    ConfigUnreadable,
    ConfigValue,
    FileIncomplete,
    FlagUnsupported,
    HeadsDoNotDivide,
    ModelError,
    ModelMissing,
    TensorDtype,
    TensorMisshapen,
    TensorMissing,
    TensorNotFinite,
    TensorUnexpected,
)
from playground.gpt import checkpoints
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
from playground.text import say_error

PROMPT = torch.tensor([fixture.PROMPT])
PLAYGROUND = Path(__file__).parents[2] / "playground"
WTE = "transformer.wte.weight"


def last(model: GPTModel) -> torch.Tensor:
    return model(PROMPT)[0, -1]


def refused(folder: Path, kind: type[ModelError]) -> dict[str, object]:
    with pytest.raises(kind) as caught:
        load(folder)
    assert type(caught.value) is kind
    return caught.value.values


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


def test_O_CKP_04_a_head_of_its_own_is_refused(tmp_path):
    folder = fixture.write(tmp_path, lambda all: all | {"lm_head.weight": all[WTE] + 1})
    assert refused(folder, FlagUnsupported)["flag"] == "tie_word_embeddings"


def test_O_CKP_05_a_missing_tensor_is_named(tmp_path):
    name = "transformer.h.1.mlp.c_fc.bias"
    folder = fixture.write(tmp_path, lambda all: {key: value for key, value in all.items() if key != name})
    assert refused(folder, TensorMissing) == {"name": name, "count": 1}


def test_O_CKP_06_an_extra_tensor_is_named_with_the_number_of_layers(tmp_path):
    name = "transformer.h.3.ln_1.weight"
    folder = fixture.write(tmp_path, lambda all: all | {name: np.ones(8, np.float32)})
    assert refused(folder, TensorUnexpected) == {"name": name, "count": 1, "n_layers": 3}


def test_O_CKP_07_a_misshapen_tensor_is_named_with_both_shapes(tmp_path):
    name = "transformer.wpe.weight"
    folder = fixture.write(tmp_path, lambda all: all | {name: all[name][:8]})
    assert refused(folder, TensorMisshapen) == {"name": name, "found": "8×8", "expected": "16×8"}


def test_O_CKP_07_shapes_are_told_as_the_file_has_them(tmp_path):
    name = "transformer.h.0.attn.c_attn.weight"
    folder = fixture.write(tmp_path, lambda all: all | {name: np.ascontiguousarray(all[name].T)})
    assert refused(folder, TensorMisshapen) == {"name": name, "found": "24×8", "expected": "8×24"}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_O_CKP_08_weights_that_are_not_finite_are_counted(tmp_path, value):
    def broken(tensors: fixture.Tensors) -> fixture.Tensors:
        tensors[WTE][0, 0] = value
        return tensors

    assert refused(fixture.write(tmp_path, broken), TensorNotFinite) == {"name": WTE, "count": 1}


@pytest.mark.parametrize("size", [1_622_839, 811_420, 7, 0])
def test_O_CKP_09_a_cut_file_is_refused_at_once(tmp_path, size):
    file = fixture.write(tmp_path) / "model.safetensors"
    file.write_bytes(file.read_bytes()[:size])
    begun = time.monotonic()
    values = refused(tmp_path, FileIncomplete)
    assert time.monotonic() - begun < 1
    assert values == {"file": "model.safetensors"}
    assert "file incomplete or not a safetensors file" in say_error("en", FileIncomplete(**values))
    assert "文件不完整，或不是 safetensors 文件" in say_error("zh", FileIncomplete(**values))


def test_O_CKP_10_heads_that_do_not_divide_are_refused(tmp_path):
    values = refused(fixture.write(tmp_path, n_embd=10, n_head=4), HeadsDoNotDivide)
    assert (values["emb_dim"], values["n_heads"]) == (10, 4)
    said = say_error("en", HeadsDoNotDivide(**values))
    assert "The embedding size must be a multiple of heads: 10 is not one of 4" in said


def test_O_CKP_11_the_configs_epsilon_counts(tmp_path):
    logits = last(load(fixture.write(tmp_path, layer_norm_epsilon=1e-3)))
    assert_close(logits[:3], torch.tensor([-0.650414, 0.304066, 0.274919]), rtol=0, atol=1e-4)


def test_O_CKP_11_the_configs_inner_width_counts(tmp_path):
    logits = last(load(fixture.write(tmp_path, n_inner=16)))
    assert int(logits.argmax()) == 26309
    assert_close(logits[:3], torch.tensor([-0.646280, -0.529512, -0.628413]), rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("scale_attn_by_inverse_layer_idx", True),
        ("scale_attn_weights", False),
        ("activation_function", "gelu"),
        ("activation_function", "relu"),
        ("add_cross_attention", True),
        ("tie_word_embeddings", False),
        ("model_type", "llama"),
    ],
)
def test_O_CKP_12_a_flag_that_changes_the_maths_is_refused_by_name(tmp_path, flag, value):
    values = refused(fixture.write(tmp_path, **{flag: value}), FlagUnsupported)
    assert (values["flag"], values["value"]) == (flag, value)


class Bomb:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin", "model.pt"])
@pytest.mark.parametrize("how", [pickle.dump, torch.save], ids=["pickle", "torch"])
def test_O_CKP_13_pickles_are_never_opened(tmp_path, name, how):
    folder, marker = tmp_path / "model", tmp_path / "marker"
    fixture.write(folder)
    (folder / "model.safetensors").unlink()
    with (folder / name).open("wb") as file:
        how(Bomb(marker), file)
    refused(folder, FileIncomplete if name == "model.safetensors" else ModelMissing)
    assert not marker.exists()
    pickle.loads(pickle.dumps(Bomb(marker)))
    assert marker.exists()  # the bomb does go off when opened


def test_O_CKP_13_the_product_never_unpickles():
    code = {path: path.read_text("utf-8") for path in PLAYGROUND.rglob("*.py")}
    assert len(code) > 10
    found = [
        str(path) for path, text in code.items() if re.search(r"torch\.load|import (c?pickle|dill|joblib)\b", text)
    ]
    assert found == []


@pytest.mark.parametrize(
    "sizes",
    [
        {"n_layer": 1000, "n_embd": 12288, "n_head": 96},
        {"n_layer": 4096, "n_embd": 2**20, "n_head": 1},
        {"vocab_size": 2**31 - 1, "n_positions": 2**31 - 1},
    ],
    ids=str,
)
def test_O_CKP_15_sizes_in_a_config_reserve_no_memory(tmp_path, sizes):
    fixture.write(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(fixture.CONFIG | sizes), "utf-8")
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises((TensorMissing, TensorMisshapen)):
        load(tmp_path)
    assert time.monotonic() - begun < 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB


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


def test_integers_are_no_weights(tmp_path):
    folder = fixture.write(tmp_path, lambda all: all | {WTE: all[WTE].astype(np.int32)})
    assert refused(folder, TensorDtype) == {"name": WTE, "found": "I32", "expected": "F64, F32, F16, BF16"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("n_layer", value) for value in ("3", 3.0, -1, 0, 4097, True)],
        *[("n_head", 0), ("n_embd", None), ("vocab_size", 2**31), ("n_inner", 0), ("eos_token_id", [1])],
        *[("attn_pdrop", 1.5), ("embd_pdrop", -0.1), ("layer_norm_epsilon", "tiny")],
        ("layer_norm_epsilon", float("nan")),
    ],
)
def test_a_config_value_that_cannot_be_is_refused(tmp_path, name, value):
    (tmp_path / "config.json").write_text(json.dumps(fixture.CONFIG | {name: value}), "utf-8")
    with pytest.raises(ConfigValue) as caught:
        read_config(tmp_path)
    assert repr(caught.value.values["value"]) == repr(value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", "\x00", "[" * 100_000, '{"n_layer": ' + "9" * 5000 + "}"])
def test_a_config_that_is_none_is_refused(tmp_path, text):
    (tmp_path / "config.json").write_text(text, "utf-8")
    with pytest.raises(ConfigUnreadable):
        read_config(tmp_path)


def test_a_folder_without_the_files_is_refused(tmp_path):
    assert refused(tmp_path / "nowhere", ModelMissing) == {"name": "config.json"}
    fixture.write(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    assert refused(tmp_path, ModelMissing) == {"name": "model.safetensors"}


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


def test_a_file_replaced_while_it_is_read_is_no_mixture_of_two(tmp_path, monkeypatch, fix_a):
    fixture.write(tmp_path)
    usual, read = checkpoints._read, []

    def replaced(file: Path, key: str) -> torch.Tensor:
        if len(read) == 5:
            save(fix_a, tmp_path)
        read.append(key)
        return usual(file, key)

    monkeypatch.setattr(checkpoints, "_read", replaced)
    refused(tmp_path, FileIncomplete)


def test_fix_a_loads_from_float32_without_any_change(fix_a, fix_a_folder):
    stored = load_file(fix_a_folder / "model.safetensors")
    assert np.array_equal(stored["transformer.h.1.attn.c_proj.weight"].T, fix_a.blocks[1].attention.out.weight)
