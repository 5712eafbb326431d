"""Files from strangers that lie about themselves: refused in a sentence, in no time, and with no memory."""

import json
import os
import struct
import time
from pathlib import Path

import pytest

import fixture
from playground.errors import ConfigUnreadable, ConfigValue, FileIncomplete, ModelError, ModelMissing, TensorDtype
from playground.gpt.checkpoints import MOST_CONFIG_BYTES, load, read_config
from playground.text import LANGUAGES, say_error

NAME = "transformer.ln_f.bias"


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[Path, dict, bytes]:
    """FIX-A taken apart: its folder, the header and the numbers."""
    folder = fixture.write(tmp_path_factory.mktemp("taken apart"))
    raw = (folder / "model.safetensors").read_bytes()
    end = 8 + struct.unpack("<Q", raw[:8])[0]
    return folder, json.loads(raw[8:end]), raw[end:]


def told(header: dict, **changed: object) -> dict:
    """The header with other facts about one tensor."""
    return header | {NAME: header[NAME] | changed}


HEADERS = {
    "begins beyond the file": lambda head: told(head, data_offsets=[10**9, 10**9 + 32]),
    "overlaps another": lambda head: told(head, data_offsets=[0, 32]),
    "begins below 0": lambda head: told(head, data_offsets=[-1, 31]),
    "ends before it begins": lambda head: told(head, data_offsets=head[NAME]["data_offsets"][::-1]),
    "begins between two bytes": lambda head: told(head, data_offsets=[0.5, 32]),
    "begins at infinity": lambda head: told(head, data_offsets=[float("inf"), 32]),
    "has no place": lambda head: head | {NAME: {"dtype": "F32", "shape": [8]}},
    "has a shape that overflows": lambda head: told(head, shape=[2**62, 4]),
    "has a shape beyond 64 bits": lambda head: told(head, shape=[2**64]),
    "has a negative shape": lambda head: told(head, shape=[-8]),
    "has no shape": lambda head: told(head, shape=None),
    "is of another size than its type": lambda head: told(head, dtype="I64"),
    "is of no type": lambda head: told(head, dtype="X32"),
    "has a number for a type": lambda head: told(head, dtype=32),
    "is a list": lambda head: list(head),
    "is null": lambda head: None,
    "has numbers in its notes": lambda head: head | {"__metadata__": {"format": 5}},
}
RAW = {
    "is nested without end": b'{"a":' * 100_000,
    "is no UTF-8": b'{"\xff": 1}',
    "is empty": b"",
    "tells of two tensors by one name": b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, '
    b'"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}',
}


def refused(folder: Path, kind: type[ModelError] = FileIncomplete) -> None:
    begun = time.monotonic()
    with pytest.raises(kind) as caught:
        load(folder)
    assert time.monotonic() - begun < 1
    for lang in LANGUAGES:
        assert str(folder) not in say_error(lang, caught.value)


def put(folder: Path, header: bytes, numbers: bytes, length: int | None = None) -> None:
    size = struct.pack("<Q", len(header) if length is None else length)
    (folder / "model.safetensors").write_bytes(size + header + numbers)


def test_taken_apart_and_put_together_it_loads(whole):
    folder, header, numbers = whole
    put(folder, json.dumps(header).encode(), numbers)
    assert load(folder).config.n_layers == 3


@pytest.mark.parametrize("case", HEADERS)
def test_a_tensor_that_cannot_be(whole, case):
    folder, header, numbers = whole
    put(folder, json.dumps(HEADERS[case](header)).encode(), numbers)
    refused(folder)


@pytest.mark.parametrize("case", RAW)
def test_a_header_that_is_none(whole, case):
    folder, _, numbers = whole
    put(folder, RAW[case], numbers)
    refused(folder)


@pytest.mark.parametrize("length", [0, 1, 10**8 + 1, 2**31, 2**63, 2**64 - 1])
def test_a_header_that_lies_about_its_length(whole, length):
    folder, header, numbers = whole
    put(folder, json.dumps(header).encode(), numbers, length)
    refused(folder)


def test_numbers_that_belong_to_no_tensor(whole):
    folder, header, numbers = whole
    put(folder, json.dumps(header).encode(), numbers + b"more")
    refused(folder)


@pytest.mark.parametrize("dtype", ["U32", "I32"])
def test_a_type_that_no_weight_has_is_named(whole, dtype):
    folder, header, numbers = whole
    put(folder, json.dumps(told(header, dtype=dtype)).encode(), numbers)
    refused(folder, TensorDtype)


@pytest.mark.parametrize("field", ["n_layer", "n_embd", "n_head", "n_positions", "vocab_size", "n_inner"])
@pytest.mark.parametrize(
    "value", [-1, 0, 1.0, True, "8", [8], {}, float("nan"), float("inf"), 2**31, 10**400], ids=repr
)
def test_a_size_that_cannot_be(tmp_path, field, value):
    (tmp_path / "config.json").write_text(json.dumps(fixture.CONFIG | {field: value}), "utf-8")
    with pytest.raises(ConfigValue) as caught:
        read_config(tmp_path)
    for lang in LANGUAGES:
        assert len(say_error(lang, caught.value)) < 200


def test_a_config_of_megabytes_is_not_read_to_its_end(tmp_path):
    with (tmp_path / "config.json").open("wb") as file:
        file.truncate(10**10)  # ten gigabytes of nothing, which take no room on the disk
    begun = time.monotonic()
    with pytest.raises(ConfigUnreadable):
        read_config(tmp_path)
    assert time.monotonic() - begun < 1


def test_a_config_just_small_enough_is_read(tmp_path):
    text = json.dumps(fixture.CONFIG)
    (tmp_path / "config.json").write_text(text + " " * (MOST_CONFIG_BYTES - len(text)), "utf-8")
    assert read_config(tmp_path).n_layers == 3


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_what_is_no_file_is_missing(tmp_path, name):
    """A device has no end, and a pipe keeps its reader waiting."""
    fixture.write(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    refused(tmp_path, ModelMissing)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    refused(tmp_path, ModelMissing)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_link_to_somewhere_else_tells_nothing_of_it(tmp_path, name):
    fixture.write(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/etc/passwd")
    refused(tmp_path, ConfigUnreadable if name == "config.json" else FileIncomplete)


def test_a_config_in_another_encoding_is_none(tmp_path):
    (tmp_path / "config.json").write_bytes(json.dumps(fixture.CONFIG).encode("utf-16"))
    with pytest.raises(ConfigUnreadable):
        read_config(tmp_path)
