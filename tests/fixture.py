"""The two models of the tests: SMALL with random weights, and FIX-A.

FIX-A is a GPT-2 whose every weight comes from an integer hash, so that all machines agree on every number.

Weight j of tensor t (in the sorted list of names) is 2u - 1 with u = mix(j + 1000003 t + 20250) / 2^32, times
0.5 for tables and matrices and 0.1 for biases; a LayerNorm's scale is 1 + 0.2 (2u - 1). Layout and names are
Hugging Face's.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save_file

from playground.gpt.ablation import NOTHING_OFF, Ablation
from playground.gpt.config import GPTConfig
from playground.gpt.model import GPTModel
from playground.gpt.sampling import GREEDY
from playground.models import Models
from playground.runs import Request, Runs, next_token

SMALL = GPTConfig(vocab_size=11, context_length=16, emb_dim=8, n_heads=2, n_layers=3)
SIZES = {"vocab_size": 50257, "n_positions": 16, "n_embd": 8, "n_layer": 3, "n_head": 2}
CONFIG = {
    "model_type": "gpt2",
    "architectures": ["GPT2LMHeadModel"],
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5,
    "attn_pdrop": 0.1,
    "embd_pdrop": 0.1,
    "resid_pdrop": 0.1,
    "bos_token_id": 50256,
    "eos_token_id": 50256,
    **SIZES,
}
PROMPT = [15496, 11, 314, 716]  # Hello, I am
ABLATIONS = [
    NOTHING_OFF,
    Ablation(attention=frozenset({1})),
    Ablation(feed_forward=frozenset({0})),
    Ablation(heads=frozenset({(2, 1)})),
    Ablation(heads=frozenset({(0, 0), (0, 1), (1, 0)})),
    Ablation(edges=frozenset({(0, 1, 6, 2), (2, 0, 4, 4), (2, 1, 5, 0)})),
    Ablation(positions=True),
    Ablation(causal_mask=True),
    Ablation(scaling=True),
    Ablation(norms=True),
    Ablation(residuals=True),
    Ablation.all_sublayers(3),
    Ablation(attention=frozenset({1}), mean=True),
    Ablation(feed_forward=frozenset({0, 2}), mean=True),
    Ablation(attention=frozenset({2}), heads=frozenset({(0, 1), (2, 0)}), norms=True, mean=True),
    Ablation(
        frozenset({0}), frozenset({2}), frozenset({(1, 1)}), True, True, True, True, True, frozenset({(1, 0, 2, 2)})
    ),
]
CACHED = [ablation for ablation in ABLATIONS if ablation.uncached is None]
Tensors = dict[str, np.ndarray]


def write(folder: Path, edit: Callable[[Tensors], Tensors] = dict, **changed: Any) -> Path:
    """Make `folder` hold FIX-A, with config fields `changed` and the tensors as `edit` returns them."""
    folder.mkdir(parents=True, exist_ok=True)
    config = CONFIG | changed
    save_file(edit(tensors(config)), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    return folder


def tensors(config: dict[str, Any] = CONFIG) -> Tensors:
    return {name: _values(t, name, shape) for t, (name, shape) in enumerate(sorted(_shapes(config).items()))}


def _shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    C, F = config["n_embd"], config.get("n_inner") or 4 * config["n_embd"]
    block = {
        **{f"{norm}.{part}": (C,) for norm in ("ln_1", "ln_2") for part in ("weight", "bias")},
        **_linear("attn.c_attn", C, 3 * C),
        **_linear("attn.c_proj", C, C),
        **_linear("mlp.c_fc", C, F),
        **_linear("mlp.c_proj", F, C),
    }
    return {
        "transformer.wte.weight": (config["vocab_size"], C),
        "transformer.wpe.weight": (config["n_positions"], C),
        "transformer.ln_f.weight": (C,),
        "transformer.ln_f.bias": (C,),
        **{f"transformer.h.{i}.{name}": shape for i in range(config["n_layer"]) for name, shape in block.items()},
    }


def _linear(name: str, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (inputs, outputs), f"{name}.bias": (outputs,)}


def _values(t: int, name: str, shape: tuple[int, ...]) -> np.ndarray:
    v = 2 * (_mix(np.arange(np.prod(shape), dtype=np.uint64) + np.uint64(1000003 * t + 20250)) / 2**32) - 1
    if name.endswith("bias"):
        return (0.1 * v).reshape(shape).astype(np.float32)
    return (1 + 0.2 * v if ".ln_" in name else 0.5 * v).reshape(shape).astype(np.float32)


def _mix(x: np.ndarray) -> np.ndarray:
    """The 32-bit finaliser of MurmurHash3."""
    x = x & np.uint64(2**32 - 1)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = ((x ^ (x >> np.uint64(shift))) * np.uint64(factor)) & np.uint64(2**32 - 1)
    return x ^ (x >> np.uint64(16))


def random_model(config: GPTConfig, seed: int = 0) -> GPTModel:
    """Weights far from their initial values, so that every part matters to the answer."""
    model, rng = GPTModel(config).eval().requires_grad_(False), torch.Generator().manual_seed(seed)
    for weights in model.parameters():
        weights.copy_(torch.randn(weights.shape, generator=rng) * 0.3)
    return model


def shown(value: Any) -> str | None:
    """How a test's report names an ablation."""
    return "+".join(value.words()) or "nothing off" if isinstance(value, Ablation) else None


def answer(models: Models, name: str) -> int:
    """The next token that a model writes: it loaded, and it runs."""
    return next_token(Runs(models.get)(Request(name, "Hello, I am")), GREEDY, 0)
