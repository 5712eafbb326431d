"""The commands that made what is shipped: made small, they run to the end, and twice gives the same numbers."""

import json
from dataclasses import replace
from datetime import date

import pytest
import torch

from playground.lessons import run_assistant, run_extrapolation, run_scaling, train_dates, train_masked
from playground.lessons.extrapolation import KINDS, LONGER, Setting
from playground.lessons.scaling_grid import Grid

STORY = "Once upon a time there was a little fox who lived in the forest and loved to play. "


@pytest.fixture(autouse=True)
def as_many_threads_as_before():
    """The commands compute on one thread, so that they repeat; what follows need not."""
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def texts(tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("\n<|endoftext|>\n".join([STORY * 8] * 3), "utf-8")
    return file


def twice(command, out, *arguments, file=""):
    """The results of two runs of a command, but for the time they took."""
    results = []
    for name in ("one", "two"):
        where = out / name if not file else out / name / file
        assert command([*arguments, "--out", str(where)]) == 0
        results.append(json.loads((out / name / "results.json").read_text("utf-8")))
        results[-1].pop("cpu_seconds")
    return results


def test_the_dates_are_trained_again_with_the_same_numbers(tmp_path, monkeypatch):
    chosen = [date(2021, 5, day) for day in range(1, 28)]
    monkeypatch.setattr(train_dates, "days", lambda held_out: chosen[:3] if held_out else chosen[3:])
    one, other = twice(train_dates.main, tmp_path, "--steps", "2", "--batch", "4")
    assert one == other
    assert one["command"].endswith("--steps 2 --batch 4 --learning-rate 0.003 --seed 0")
    assert one["held_out_right"]["all"] == 0  # after two steps
    assert one["parameters"] == 239_296


def test_the_masked_model_is_trained_again_with_the_same_numbers_and_goes_on(tmp_path, texts):
    small = ("--texts", str(texts), "--steps", "2", "--batch", "2", "--length", "16", "--fade", "1")
    one, other = twice(train_masked.main, tmp_path, *small)
    assert one == other
    further = tmp_path / "further"
    assert train_masked.main([*small, "--start", str(tmp_path / "one"), "--out", str(further)]) == 0
    told = json.loads((further / "results.json").read_text("utf-8"))
    assert told["command"].endswith(" --start FOLDER")
    assert told["curve"][-1]["loss"] != one["curve"][-1]["loss"]


def test_the_extrapolation_is_made_again_with_the_same_numbers(tmp_path, texts, monkeypatch):
    tiny = Setting(length=8, width=32, layers=1, steps=3, batch=4, evaluated=4)
    monkeypatch.setattr(run_extrapolation, "SHIPPED", tiny)
    one, other = twice(run_extrapolation.main, tmp_path, "--texts", str(texts), "--steps", "3", file="results.json")
    assert one == other
    assert list(one["losses"]) == list(KINDS)
    assert all(len(losses) == LONGER * 8 for losses in one["losses"].values())


def test_the_grid_is_made_again_with_the_same_numbers(tmp_path, texts, monkeypatch):
    tiny = Grid(((8, 1), (16, 1)), (64, 128), length=16, batch=4, evaluated=4)
    monkeypatch.setattr(run_scaling, "SHIPPED", replace(tiny))
    one, other = twice(run_scaling.main, tmp_path, "--texts", str(texts), "--sizes", "1", file="results.json")
    assert one == other
    assert [(point["width"], point["tokens"]) for point in one["points"]] == [(8, 64), (8, 128)]


def test_the_assistants_trainings_are_made_again_with_the_same_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(run_assistant.policy, "BETAS", {"long": 0.05})
    small = ("--reward-steps", "2", "--policy-steps", "1")
    one, other = twice(run_assistant.main, tmp_path, *small, file="results.json")
    assert one == other
    assert one["command"].endswith("--out FILE --reward-steps 2 --policy-steps 1 --seed 0")
    assert len(one["reward_model"]["head"]) == 192
    assert [len(run["rewards"]) for run in one["policies"]] == [1]
