"""What may break around the playground: disks, hubs, its own files. Each is a sentence, and nothing done is lost."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors import SafetensorError

from playground import models as models_module
from playground.errors import AssetDamaged, CacheUnwritable, DownloadFailed, ModelError, ModelOffline
from playground.gpt import checkpoints, tokenizer, train_command, training_state
from playground.gpt.checkpoints import load, replace_file
from playground.gpt.train_command import STATE, main
from playground.models import BUNDLED, Models
from playground.text import LANGUAGES, say_error

ROOT = Path(__file__).parents[1]
TINY = [
    *["--layers", "1", "--width", "8", "--heads", "2", "--context", "16"],
    *["--steps", "4", "--batch", "4", "--warmup", "2", "--evaluate-every", "2", "--save-every", "1"],
]
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def sentences(error) -> list[str]:
    return [say_error(lang, error) for lang in LANGUAGES]


# A file is whole or it is the old one.


def test_a_file_reaches_the_disk_before_its_name(tmp_path, monkeypatch):
    order = []
    monkeypatch.setattr(os, "fsync", lambda _, real=os.fsync: order.append("bytes") or real(_))
    monkeypatch.setattr(Path, "replace", lambda *to, real=Path.replace: order.append("name") or real(*to))
    replace_file(tmp_path / "file", lambda path: path.write_text("new"))
    assert order == ["bytes", "name"]
    assert (tmp_path / "file").read_text() == "new"


@pytest.mark.parametrize("breaks", ["write", "fsync", "replace"])
def test_what_breaks_off_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, breaks):
    def full(*_: object) -> None:
        raise FULL

    def write(path: Path) -> None:
        path.write_text("half")
        if breaks == "write":
            full()

    (tmp_path / "file").write_text("old")
    if breaks != "write":
        monkeypatch.setattr(*((os, "fsync") if breaks == "fsync" else (Path, "replace")), full)
    with pytest.raises(OSError, match="No space left"):
        replace_file(tmp_path / "file", write)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "old"


# A training.


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    stories = [f"Once upon a time there were {i} cats. They were happy." for i in range(60)]
    file = tmp_path_factory.mktemp("texts") / "stories.txt"
    file.write_text("\n<|endoftext|>\n".join(stories), "utf-8")
    return file


@pytest.fixture(scope="module")
def finished(text, tmp_path_factory) -> bytes:
    """The model of a training that nothing disturbed."""
    out = tmp_path_factory.mktemp("whole") / "out"
    assert main(["--texts", str(text), "--out", str(out), *TINY]) == 0
    return (out / "model.safetensors").read_bytes()


@pytest.mark.parametrize("which", range(1, 9))
def test_a_full_disk_ends_a_training_in_one_sentence_and_it_goes_on_to_the_same_model(
    text, tmp_path, monkeypatch, capsys, finished, which
):
    out, writes = tmp_path / "out", []

    def sometimes(path: Path, write: object) -> None:
        writes.append(path.name)
        if len(writes) == which:
            raise FULL if which % 2 else SafetensorError("I/O error: No space left on device (os error 28)")
        replace_file(path, write)

    command = ["--texts", str(text), "--out", str(out), *TINY]
    with monkeypatch.context() as patched:
        for module in (checkpoints, training_state, train_command):
            patched.setattr(module, "replace_file", sometimes)
        assert main(command) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("Refused: step ")
    assert "No space left" in told
    assert "--resume goes on" in told
    assert main([*command, *(["--resume"] if (out / STATE).exists() else [])]) == 0
    assert (out / "model.safetensors").read_bytes() == finished
    assert sorted(path.name for path in out.iterdir()) == ["config.json", "model.safetensors", "training.json"]


def test_a_process_killed_while_it_writes_loses_nothing_finished(text, tmp_path, finished):
    """Killed by the system, in the middle of the second step's weights."""
    out = tmp_path / "out"
    killed = f"""
import os, signal
from playground.gpt import checkpoints, train_command
real, calls = checkpoints.save_file, []
def half(tensors, path, notes):
    calls.append(1)
    if len(calls) == 2:
        path.write_bytes(b"half a file")
        os.kill(os.getpid(), signal.SIGKILL)
    real(tensors, path, notes)
checkpoints.save_file = half
train_command.main({["--texts", str(text), "--out", str(out), *TINY]!r})
"""
    ended = subprocess.run([sys.executable, "-c", killed], cwd=ROOT, capture_output=True, timeout=120, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert load(out).config.n_layers == 1  # of the first step
    assert json.loads((out / "training.json").read_text())["step"] == 1
    assert main(["--texts", str(text), "--out", str(out), *TINY, "--resume"]) == 0
    assert (out / "model.safetensors").read_bytes() == finished
    assert sorted(path.name for path in out.iterdir()) == ["config.json", "model.safetensors", "training.json"]


def test_a_folder_that_cannot_be_made_is_one_sentence(text, tmp_path, capsys):
    (tmp_path / "file").write_text("here")
    assert main(["--texts", str(text), "--out", str(tmp_path / "file" / "out"), *TINY]) == 2
    told = capsys.readouterr().err
    assert told.startswith("Refused: ")
    assert told.endswith("cannot be made (Not a directory).\n")


# A hub, and where its files are kept.


ANSWERS = {
    "forbids it": (403, b"{}"),
    "has gone": (410, b"gone"),
    "is broken": (500, b"<html>error</html>"),
    "answers a page": (200, b"<html>log in to the network of this hotel</html>"),
    "answers null": (200, b"null"),
    "answers a list": (200, b"[]"),
    "answers an empty object": (200, b"{}"),
}


@pytest.mark.parametrize("how", ANSWERS)
def test_whatever_a_hub_answers_the_current_model_stays(cache, hub, how):
    hub(always=ANSWERS[how])
    models = Models()
    before = models.get("storyteller")
    with pytest.raises(ModelError) as refused:
        models.get("gpt2")
    assert isinstance(refused.value, DownloadFailed | ModelOffline)
    assert models.get("storyteller") is before
    for said in sentences(refused.value):
        assert "openai-community/gpt2" in said
        assert "http" not in said


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES], ids=errno.errorcode.get)
def test_a_cache_that_cannot_be_written_is_said_to_be_so(cache, hub, monkeypatch, number):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    hub()
    monkeypatch.setattr(os, "makedirs", refuse)
    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(CacheUnwritable) as refused:
        Models().get("gpt2")
    assert all("HF_HOME" in said for said in sentences(refused.value))


# Memory.


@pytest.mark.parametrize(
    ("most", "used", "stat", "free"),
    [
        ("1000\n", "600\n", "anon 5\ninactive_file 100\nactive_file 7\n", [500]),
        ("1000\n", "1600\n", "anon 5\n", [0]),
        ("max\n", "600\n", "", []),
        (None, "600\n", "", []),
    ],
)
def test_in_a_container_its_share_counts_and_not_the_whole_machine(tmp_path, monkeypatch, most, used, stat, free):
    for name, text in (("max", most), ("current", used), ("stat", stat)):
        if text is not None:
            (tmp_path / f"memory.{name}").write_text(text)
    assert models_module.container_memory(tmp_path) == free
    monkeypatch.setattr(models_module, "container_memory", lambda: free)
    known = models_module.free_memory()
    assert known is None or (known <= free[0] if free else known > 10**7)


# What came with the playground.


def test_the_bundled_files_are_the_ones_whose_checksums_we_hold():
    models_module.check_bundled(BUNDLED / "storyteller")


@pytest.mark.parametrize("name", ["storyteller", "untrained"])
@pytest.mark.parametrize("damage", ["config.json changed", "config.json gone", "model.safetensors changed"])
def test_a_bundled_model_that_is_damaged_is_refused_by_its_file_and_others_run(
    tmp_path, monkeypatch, fix_a_folder, name, damage
):
    file, how = damage.split()
    folder = tmp_path / "storyteller"
    folder.mkdir()
    for each in ("config.json", "model.safetensors"):
        data = (BUNDLED / "storyteller" / each).read_bytes()
        (folder / each).write_bytes(data[:-1] + b" " if each == file else data)
    if how == "gone":
        (folder / file).unlink()
    monkeypatch.setattr(models_module, "BUNDLED", tmp_path)
    models = Models(own=str(fix_a_folder))
    with pytest.raises(AssetDamaged) as refused:
        models.get(name)
    assert refused.value.values == {"file": file}
    assert all(file in said and str(tmp_path) not in said for said in sentences(refused.value))
    assert models.get(models.names[0]).config.n_layers == 3


@pytest.mark.parametrize("file", tokenizer.SHA256)
@pytest.mark.parametrize("damage", ["gone", "cut", "changed", "empty"])
def test_a_vocabulary_that_is_damaged_is_refused_by_its_file(tmp_path, monkeypatch, file, damage):
    data = (tokenizer.VOCAB / file).read_bytes()
    spoilt = {"cut": data[: len(data) // 2], "changed": data[:-20] + bytes(20), "empty": b""}
    if damage in spoilt:
        (tmp_path / file).write_bytes(spoilt[damage])
    monkeypatch.setattr(tokenizer, "VOCAB", tmp_path)
    with pytest.raises(AssetDamaged) as refused:
        tokenizer._ranks.__wrapped__(file)
    assert refused.value.values == {"file": file}


@pytest.mark.parametrize("name", ["js/player.js", "css/page.css", "layer_norm.mathml"])
def test_a_part_of_the_page_that_is_missing_is_named(tmp_path, monkeypatch, name):
    from playground.ui import components

    monkeypatch.setattr(components, "ASSETS", tmp_path)
    with pytest.raises(AssetDamaged) as refused:
        components.asset(name)
    assert all(name in said for said in sentences(refused.value))
