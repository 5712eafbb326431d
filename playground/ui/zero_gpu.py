"""ZeroGPU, the kind of Hugging Face Space that lends a GPU for one call at a time."""

import importlib
import importlib.util
from typing import Any


def on_the_gpu() -> None:
    """What ZeroGPU demands: it stops a Space that marks no function for the GPU.

    Nothing calls it. A trace costs more to carry from one process to another than to compute here, and a visitor's
    minutes on the GPU would soon be spent: the page computes on the CPU, there as everywhere.
    """


def register() -> bool:
    """Mark that function, and no event of the page, for the GPU; whether there is anybody to tell."""
    if importlib.util.find_spec("spaces") is None:
        return False
    spaces: Any = importlib.import_module("spaces")
    spaces.disable_gradio_auto_wrap()  # else each event might run in a copy of this process, which forgets its visitor
    spaces.GPU(on_the_gpu)
    return True
