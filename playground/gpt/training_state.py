"""An unfinished training as one file: weights, the optimizer's memory and notes, replaced in one step.

Safetensors with the notes as JSON in its header; never pickle.
"""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from .checkpoints import replace_file
from .model import GPTModel

WEIGHTS, OPTIMIZER, NOTES = "weights.", "optimizer.", "notes"


def save_state(file: Path, model: GPTModel, optimizer: torch.optim.Optimizer, notes: dict[str, Any]) -> None:
    """Write everything that the next step depends on; `notes` must fit JSON."""
    tensors = {WEIGHTS + name: value for name, value in model.state_dict().items()}
    for i, memory in optimizer.state_dict()["state"].items():
        tensors |= {f"{OPTIMIZER}{i}.{name}": value for name, value in memory.items()}
    copied = {name: value.detach().to("cpu", copy=True).contiguous() for name, value in tensors.items()}
    replace_file(file, lambda path: save_file(copied, path, {NOTES: json.dumps(notes)}))


def read_notes(file: Path) -> dict[str, Any]:
    """The notes alone. Raises: SafetensorError, OSError, KeyError for a file that `save_state` did not write"""
    with safe_open(file, framework="pt") as stored:
        notes: dict[str, Any] = json.loads(stored.metadata()[NOTES])
    return notes


def load_state(file: Path, model: GPTModel, optimizer: torch.optim.Optimizer) -> None:
    """Put `model` and `optimizer` back where they were when `file` was written, bit for bit."""
    weights: dict[str, Tensor] = {}
    memories: dict[int, dict[str, Tensor]] = {}
    with safe_open(file, framework="pt") as stored:
        for key in stored.keys():  # noqa: SIM118, a file handle and no dict
            value = stored.get_tensor(key)
            if key.startswith(WEIGHTS):
                weights[key.removeprefix(WEIGHTS)] = value
            else:
                i, name = key.removeprefix(OPTIMIZER).split(".")
                memories.setdefault(int(i), {})[name] = value
    model.load_state_dict(weights)
    optimizer.load_state_dict({"state": memories, "param_groups": optimizer.state_dict()["param_groups"]})
