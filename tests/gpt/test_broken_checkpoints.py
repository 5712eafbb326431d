"""What is no model is refused by name before anything is made of it; nothing in a file is ever executed."""

import json
import pickle
import re
import resource
import time
from pathlib import Path

import numpy as np
import pytest
import torch

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
    load,
    read_config,
    save,
)
from playground.text import say_error

PLAYGROUND = Path(__file__).parents[2] / "playground"
WTE = "transformer.wte.weight"


def refused(folder: Path, kind: type[ModelError]) -> dict[str, object]:
    with pytest.raises(kind) as caught:
        load(folder)
    assert type(caught.value) is kind
    return caught.value.values


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
    assert "The embedding size must be a multiple of the number of heads: 10 is none of 4" in said


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
