"""The command: seconds on a tiny text, safe to interrupt, and plain about what it refuses."""

import json
import lzma
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import fixture
from playground.gpt import train_command
from playground.gpt.checkpoints import load, save
from playground.gpt.evaluate import main as evaluate
from playground.gpt.train_command import STATE, STOPPED, main

TINY = [
    *["--layers", "1", "--width", "8", "--heads", "2", "--context", "16"],
    *["--steps", "6", "--batch", "4", "--warmup", "2", "--evaluate-every", "2"],
]


@pytest.fixture
def text(tmp_path) -> Path:
    stories = [f"Once upon a time there were {i} cats. They were happy." for i in range(60)]
    (tmp_path / "stories.txt").write_text("\n<|endoftext|>\n".join(stories), "utf-8")
    return tmp_path / "stories.txt"


def command(text: Path, out: Path, *more: str) -> list[str]:
    return ["--texts", str(text), "--out", str(out), *TINY, *more]


def stop_at_evaluation(monkeypatch: pytest.MonkeyPatch, which: int, number: int) -> None:
    """Send ourselves a signal while the held-out loss is computed for the `which`-th time."""
    calls, real = [], train_command.held_out_loss

    def interrupted(*arguments) -> float:
        calls.append(1)
        if len(calls) == which:
            signal.raise_signal(number)
        return real(*arguments)

    monkeypatch.setattr(train_command, "held_out_loss", interrupted)


def test_it_trains_saves_and_tells_the_curve(text, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(command(text, out, "--last-texts", str(text), "--last-from", "0.5")) == 0
    assert sorted(path.name for path in out.iterdir()) == ["config.json", "model.safetensors", "training.json"]
    model = load(out)
    assert (model.config.n_layers, model.config.emb_dim, model.config.attn_drop) == (1, 8, 0.1)
    log = json.loads((out / "training.json").read_text())
    assert [entry["step"] for entry in log["curve"]] == [2, 4, 6]
    assert log["recipe"]["steps"] == log["step"] == 6
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "6/6" in shown.err
    assert "held-out" in shown.err
    assert "tokens/s" in shown.err
    assert "left" in shown.err

    assert evaluate([str(out), "--texts", str(text)]) == 0
    told = capsys.readouterr().out
    assert told.endswith(" nats per token on 2 held-out documents\n")
    assert float(told.split()[0]) == pytest.approx(log["curve"][-1]["held_out"], abs=0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_interrupted_and_resumed_is_the_same_as_uninterrupted(text, tmp_path, monkeypatch, capsys, number):
    assert main(command(text, tmp_path / "whole")) == 0
    out, handler = tmp_path / "parts", signal.getsignal(number)
    with monkeypatch.context() as patched:
        stop_at_evaluation(patched, 2, number)
        assert main(command(text, out)) == STOPPED
    assert signal.getsignal(number) is handler
    assert "Stopped after step 4, all saved" in capsys.readouterr().err
    assert load(out).config == load(tmp_path / "whole").config
    assert (out / STATE).exists()
    assert main(command(text, out, "--resume")) == 0
    assert not (out / STATE).exists()
    for name in ("model.safetensors", "training.json"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_the_curve_goes_on_where_a_crash_between_two_entries_cut_it(text, tmp_path, monkeypatch):
    """The mean of the losses since the last entry, those before the crash among them."""
    steps = ["--evaluate-every", "3", "--save-every", "1"]
    with monkeypatch.context() as patched:
        patched.setattr(train_command, "held_out_loss", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            main(command(text, tmp_path / "parts", *steps))  # saved after step 2, died in step 3
    assert main(command(text, tmp_path / "parts", *steps, "--resume")) == 0
    assert main(command(text, tmp_path / "whole", *steps)) == 0
    assert (tmp_path / "parts" / "training.json").read_bytes() == (tmp_path / "whole" / "training.json").read_bytes()


def test_a_crash_loses_nothing_that_was_saved(text, tmp_path, monkeypatch):
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(train_command, "held_out_loss", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            main(command(text, out, "--save-every", "1"))
    assert main(command(text, out, "--resume")) == 0
    assert main(command(text, tmp_path / "whole")) == 0
    assert (out / "model.safetensors").read_bytes() == (tmp_path / "whole" / "model.safetensors").read_bytes()


def refused(capsys, arguments: list[str]) -> str:
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert told.startswith("Refused: ")
    assert told.count("\n") == 1
    return told


def test_refusals_are_one_sentence(text, tmp_path, capsys):
    out = tmp_path / "out"
    assert "missing.txt: No such file" in refused(capsys, command(tmp_path / "missing.txt", out))
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    assert "binary.txt is no text" in refused(capsys, command(tmp_path / "binary.txt", out))
    (tmp_path / "cut.txt.xz").write_bytes(lzma.compress(b"text")[:-3])
    assert "cut.txt.xz is no text" in refused(capsys, command(tmp_path / "cut.txt.xz", out))
    (tmp_path / "short.txt").write_text("Only one document.")
    assert "two documents" in refused(capsys, command(tmp_path / "short.txt", out))
    assert "HeadsDoNotDivide: emb_dim 8, n_heads 3" in refused(capsys, command(text, out, "--heads", "3"))
    assert "no unfinished training" in refused(capsys, command(text, out, "--resume"))
    assert not out.exists()


def test_a_resumed_training_must_be_the_same_one(text, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        stop_at_evaluation(patched, 1, signal.SIGTERM)
        assert main(command(text, out)) == STOPPED
    capsys.readouterr()
    assert "unfinished training" in refused(capsys, command(text, out))
    told = refused(capsys, command(text, out, "--resume", "--learning-rate", "0.1"))
    assert "learning_rate was 0.003, is 0.1" in told
    assert "emb_dim was 8, is 16" in refused(capsys, command(text, out, "--resume", "--width", "16"))
    text.write_text(text.read_text() + " More.")
    assert "same texts" in refused(capsys, command(text, out, "--resume"))


def test_a_finished_model_is_not_overwritten(text, tmp_path, capsys):
    assert main(command(text, tmp_path / "out")) == 0
    capsys.readouterr()
    assert "holds a model already" in refused(capsys, command(text, tmp_path / "out"))


@pytest.mark.parametrize(
    "wrong",
    [["--steps", "0"], ["--dropout", "1.5"], ["--repeats", "nan"], ["--learning-rate", "inf"], ["--heads", "x"]],
)
def test_numbers_that_cannot_be_are_refused(text, tmp_path, capsys, wrong):
    with pytest.raises(SystemExit) as left:
        main(command(text, tmp_path / "out", *wrong))
    assert left.value.code == 2
    assert wrong[0] in capsys.readouterr().err


def test_without_a_gpu_cuda_is_refused(text, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "no CUDA device" in refused(capsys, command(text, tmp_path / "out", "--device", "cuda"))


@pytest.mark.parametrize(
    ("precision", "device", "able", "expected"),
    [
        ("auto", "cuda", {}, True),
        ("auto", "cpu", {"amx_bf16": True}, True),
        ("auto", "cpu", {"avx512_bf16": True}, True),
        ("auto", "cpu", {"avx2": True}, False),
        ("bf16", "cpu", {}, True),
        ("float32", "cuda", {"amx_bf16": True}, False),
    ],
)
def test_bfloat16_only_where_the_hardware_multiplies_it(monkeypatch, precision, device, able, expected):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able)
    assert train_command._bfloat16(precision, device) is expected


def test_evaluate_refuses_in_one_sentence(text, tmp_path, capsys):
    assert evaluate([str(tmp_path), "--texts", str(text)]) == 2
    assert capsys.readouterr().err == "Refused: ModelMissing: name config.json.\n"
    save(fixture.random_model(replace(fixture.SMALL, vocab_size=4096)), tmp_path / "model")
    text.write_text("")
    assert evaluate([str(tmp_path / "model"), "--texts", str(text)]) == 2
    assert "no document of two tokens" in capsys.readouterr().err


def test_python_dash_m_starts_it():
    done = subprocess.run(
        [sys.executable, "-m", "playground.gpt.train", "--help"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--last-texts" in done.stdout
    assert done.stderr == ""
