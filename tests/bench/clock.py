"""Time and memory: several works in turns, so that whatever slows the machine down slows all of them down."""

import ctypes
import gc
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Work = Callable[[], object]
QUIET = 0.08  # of the CPUs' time; a sample of which others took more is left out, if there are better ones
PATIENCE = 1.0  # seconds to wait for others to be done, before each sample


@dataclass(frozen=True, slots=True)
class Sample:
    seconds: float
    others: float  # of the CPUs' time, what other processes took meanwhile: 0..1


def interleaved(works: Mapping[str, Work], rounds: int, warm: int = 1) -> dict[str, list[float]]:
    """Seconds of each work in each round: A B C, then C B A, and so on, after `warm` rounds that do not count."""
    gc.collect()
    samples: dict[str, list[Sample]] = {name: [] for name in works}
    for turn in range(-warm, rounds):
        for name in [*works] if turn % 2 == 0 else [*reversed(works)]:
            sample = timed(works[name])
            if turn >= 0:
                samples[name].append(sample)
    return {name: undisturbed(each) for name, each in samples.items()}


def timed(work: Work) -> Sample:
    """What is made is dropped outside of the time that counts."""
    wait_for_quiet()
    busy, own, begun = *cpu_seconds(), time.perf_counter()
    made = work()
    seconds = time.perf_counter() - begun
    del made
    busy, own = (now - before for now, before in zip(cpu_seconds(), (busy, own), strict=True))
    return Sample(seconds, max(0.0, busy - own) / (seconds * (os.cpu_count() or 1)))


def undisturbed(samples: Sequence[Sample]) -> list[float]:
    """Seconds of those during which others were quiet; of all of them when there are fewer than two."""
    clean = [sample.seconds for sample in samples if sample.others < QUIET]
    return clean if len(clean) > 1 else [sample.seconds for sample in samples]


def wait_for_quiet() -> None:
    """Give others a moment to finish: two threads that wait for each other suffer more from a third than it takes."""
    end, step = time.monotonic() + PATIENCE, 0.1
    while time.monotonic() < end:
        busy = cpu_seconds()[0]
        time.sleep(step)
        if (cpu_seconds()[0] - busy) / (step * (os.cpu_count() or 1)) < 2 * QUIET:
            return


def cpu_seconds() -> tuple[float, float]:
    """CPU time so far of the whole machine, and of this process with its children; 0 where the system does not tell."""
    spent = os.times()
    own = spent.user + spent.system + spent.children_user + spent.children_system
    try:
        fields = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    except OSError:
        return own, own
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK"), own


def extra_peak(work: Work) -> float:
    """How much more memory the process needs at its worst while it works. Units: MB; Linux only"""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = in_status("VmRSS")
    made = work()
    peak = in_status("VmHWM")
    del made
    return (peak - before) / 1e6


def in_status(key: str, process: int | str = "self") -> int:
    """Units: bytes"""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:"))
