"""Under what conditions figures were measured."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

PACKAGES = (
    "torch",
    "transformers",
    "transformer-lens",
    "nnsight",
    "bertviz",
    "gradio",
    "plotly",
    "playwright",
    "numpy",
)


def conditions() -> dict[str, Any]:
    """Versions, machine, threads, and how busy the machine is now."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "versions": {name: installed(name) for name in PACKAGES},
        "machine": {"system": platform.system(), "cpu": cpu(), "cores": os.cpu_count()},
        "threads": torch.get_num_threads(),
        "load": list(os.getloadavg()),
    }


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def cpu() -> str:
    """The processor as its maker calls it, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
