"""The progress line tells the truth about speed and time left, and never floods a log."""

import io

import pytest
import torch

from playground.gpt import progress
from playground.gpt.progress import ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_terminal_shows_one_line_redrawn_twice_a_second(clock):
    terminal = Terminal()
    line = ProgressLine(terminal, start=100, steps=300, tokens_per_step=50)
    for step in range(101, 201):
        clock[0] += 0.125  # eight steps a second
        line.show(step, torch.tensor(2.5))
    line.note(200, 2.5, 1.75)
    clock[0] += 0.125
    line.show(201, torch.tensor(2.5))
    drawn = terminal.getvalue().split("\r\x1b[K")[1:]
    assert len(drawn) == 25
    assert drawn[9].endswith(" 140/300  loss 2.500  400 tokens/s  0:00:20 left")
    line.close()
    assert terminal.getvalue().count("\n") == 1


def test_the_speed_is_that_of_the_last_draws(clock):
    terminal = Terminal()
    line = ProgressLine(terminal, start=0, steps=1000, tokens_per_step=1)
    clock[0] += 1000  # a slow first step, as when kernels are compiled
    for step in range(1, 200):
        clock[0] += 1
        line.show(step, torch.tensor(1.0))
    assert terminal.getvalue().endswith("199/1,000  loss 1.000  1 tokens/s  0:13:21 left")


def test_a_file_gets_one_line_per_held_out_loss(clock):
    log = io.StringIO()
    line = ProgressLine(log, start=0, steps=10, tokens_per_step=8)
    for step in range(1, 11):
        clock[0] += 2
        line.show(step, torch.tensor(3.0))
        if step % 5 == 0:
            line.note(step, 3.0, 2.5)
    line.close()
    assert log.getvalue().splitlines() == [
        "████████████░░░░░░░░░░░░ 5/10  loss 3.000  held-out 2.500  4 tokens/s  0:00:10 left",
        "████████████████████████ 10/10  loss 3.000  held-out 2.500  4 tokens/s  0:00:00 left",
    ]
