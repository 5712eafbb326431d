"""One line on a terminal that tells how a training goes; in a file, one line per entry of the loss curve."""

import time
from collections import deque
from datetime import timedelta
from typing import TextIO

from torch import Tensor

WIDTH, SECONDS_BETWEEN = 24, 0.5
MARKS = 60  # draws over which the speed is measured: half a minute on a terminal


class ProgressLine:
    """Loss, held-out loss, tokens per second and time left, drawn at most twice a second."""

    def __init__(self, stream: TextIO, start: int, steps: int, tokens_per_step: int) -> None:
        self._stream, self._steps, self._tokens = stream, steps, tokens_per_step
        self._marks = deque([(time.monotonic(), start)], maxlen=MARKS)
        self._held_out = ""

    def note(self, step: int, loss: float, held_out: float) -> None:
        """Remember a held-out loss; where lines cannot be redrawn, write one now."""
        self._held_out = f"  held-out {held_out:.3f}"
        if not self._stream.isatty():
            self._stream.write(self._text(step, loss) + "\n")
            self._stream.flush()

    def show(self, step: int, loss: Tensor) -> None:
        """Redraw, if it is time to: only then is the loss waited for."""
        if self._stream.isatty() and time.monotonic() - self._marks[-1][0] >= SECONDS_BETWEEN:
            self._stream.write("\r\x1b[K" + self._text(step, float(loss)))
            self._stream.flush()

    def close(self) -> None:
        if self._stream.isatty():
            self._stream.write("\n")

    def _text(self, step: int, loss: float) -> str:
        now, (since, first) = time.monotonic(), self._marks[0]
        self._marks.append((now, step))
        speed = max(1, step - first) / max(1e-9, now - since)  # steps per second
        bar = "█" * (WIDTH * step // self._steps)
        left = timedelta(seconds=round((self._steps - step) / speed))
        return (
            f"{bar:░<{WIDTH}} {step:,}/{self._steps:,}  loss {loss:.3f}{self._held_out}"
            f"  {speed * self._tokens:,.0f} tokens/s  {left} left"
        )
