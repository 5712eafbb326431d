"""Weights in small files: safetensors in float16, or matrices as whole numbers from -127 to 127 with a scale per row.

For the lessons' models, whose size counts; `checkpoints` keeps the layout that everybody reads.
"""

from pathlib import Path
from typing import TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from playground.errors import FileIncomplete, ModelMissing

from .checkpoints import replace_file

M = TypeVar("M", bound=nn.Module)
SCALE = ".row_scale"  # of a packed matrix: weight[i, j] = whole[i, j] * row_scale[i]


def save(module: nn.Module, file: Path, whole_numbers: bool = False) -> None:
    """Write every parameter in float16, or matrices in a byte per number (off by at most half a step of their row)."""
    stored: dict[str, Tensor] = {}
    for name, value in module.state_dict().items():
        if whole_numbers and value.ndim == 2:
            row_scale = value.abs().amax(1).clamp(min=1e-8) / 127
            stored[name] = (value / row_scale[:, None]).round().to(torch.int8)
            stored[name + SCALE] = row_scale
        else:
            stored[name] = value.to(torch.float16)
    file.parent.mkdir(parents=True, exist_ok=True)
    contiguous = {name: value.contiguous() for name, value in stored.items()}
    replace_file(file, lambda path: save_file(contiguous, path, {"format": "pt"}))


def load(module: M, file: Path) -> M:
    """Give `module` the weights in `file`, in float32, ready to run.

    Raises: ModelMissing without the file, FileIncomplete when it does not fit the module
    """
    if not file.is_file():
        raise ModelMissing(name=file.name)
    try:
        with safe_open(file, framework="pt") as stored:
            names = set(stored.keys())
            tensors = {name: stored.get_tensor(name).to(torch.float32) for name in names}
        for name in [name for name in names if name + SCALE in names]:
            tensors[name] *= tensors.pop(name + SCALE)[:, None]
        module.load_state_dict(tensors)
    except (SafetensorError, OSError, RuntimeError) as error:
        raise FileIncomplete(file=file.name) from error
    return module.requires_grad_(False).eval()
