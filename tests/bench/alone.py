"""What must be measured in a process of its own: `python -m tests.bench.alone WHAT JSON` prints JSON."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from playground.gpt.config import GPTConfig

from .how import How

ROOT = Path(__file__).parents[2]
PATIENCE = 600  # seconds


def alone(subject: str, how: How, **more: Any) -> dict[str, Any]:
    """What `measured_alone` of a subject finds in a new process; {"why": ...} when that process fails."""
    told = json.dumps({"how": asdict(how), "threads": torch.get_num_threads(), "more": more})
    command = [sys.executable, "-m", "tests.bench.alone", subject, told]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return {"why": f"took longer than {PATIENCE} s"}
    if done.returncode:
        return {"why": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1][:160]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    subject, text = sys.argv[1:]
    told = json.loads(text)
    torch.set_num_threads(told["threads"])
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in told["how"].items()}
    how = How(**fields | {"config": GPTConfig(**fields["config"])})
    measured: Callable[..., dict[str, Any]] = import_module(f"tests.bench.{subject}").measured_alone
    sys.stdout.write(json.dumps(measured(how, **told["more"])) + "\n")


if __name__ == "__main__":
    main()
