"""The others, each with the weights of ours: Hugging Face's transformers, TransformerLens, nnsight.

A peer that is not installed, or breaks, is left out with the reason why.
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before any of them is imported: nobody is asked for anything
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import torch
from torch import Tensor, nn

from playground.gpt.checkpoints import TURNED, hugging_face_name, laid_out
from playground.gpt.config import GPTConfig
from playground.gpt.model import GPTModel
from playground.gpt.train import initialise

INSTALL = "not installed: pip install -r tests/requirements.txt -r tests/bench/requirements.txt"
CLOSE = 2e-4  # logits of one text by two implementations, in float32; they are about 1


def random_model(config: GPTConfig, seed: int = 0) -> GPTModel:
    """Ours, as a file would be loaded: ready to run, its matrices laid out."""
    model = initialise(GPTModel(config), seed).requires_grad_(False).eval()
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.weight.data = laid_out(module.weight.data)
    return model


def prompt(config: GPTConfig, tokens: int, seed: int = 1) -> list[int]:
    rng = torch.Generator().manual_seed(seed)
    return torch.randint(0, config.vocab_size, (tokens,), generator=rng).tolist()


@dataclass(frozen=True, slots=True)
class Peer:
    """One implementation that was made ready."""

    name: str
    model: Any
    logits: Callable[[Tensor], Tensor]  # (1, T) -> (1, T, V)


def transformers(gpt: GPTModel, attention: str = "sdpa") -> Peer:
    """Hugging Face's GPT-2 with the weights of ours."""
    library, config = import_module("transformers"), gpt.config
    theirs = library.GPT2Config(
        vocab_size=config.vocab_size, n_positions=config.context_length, n_embd=config.emb_dim,
        n_layer=config.n_layers, n_head=config.n_heads, n_inner=config.hidden, layer_norm_epsilon=config.norm_eps,
        attn_implementation=attention, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    model = library.GPT2LMHeadModel(theirs).eval().requires_grad_(False)
    weights = {hugging_face_name(name): value for name, value in gpt.state_dict().items()}
    turned = {name: value.T.contiguous() if name.endswith(TURNED) else value for name, value in weights.items()}
    model.load_state_dict(turned | {"lm_head.weight": weights["transformer.wte.weight"]})
    return Peer(f"transformers {attention}", model, lambda ids: model(ids, use_cache=False).logits)


def transformer_lens(gpt: GPTModel) -> Peer:
    """TransformerLens around Hugging Face's model, as its version 4 does it."""
    bridge = import_module("transformer_lens.model_bridge").TransformerBridge
    theirs = transformers(gpt, "eager").model
    with tempfile.TemporaryDirectory() as folder:
        theirs.config.save_pretrained(folder)
        model = bridge.boot_transformers(folder, hf_model=theirs, device="cpu")
    return Peer("TransformerLens", model, lambda ids: model(ids))


def nnsight(gpt: GPTModel) -> Peer:
    """nnsight around Hugging Face's model."""
    theirs = transformers(gpt, "eager").model
    model = import_module("nnsight").NNsight(theirs)

    def logits(ids: Tensor) -> Tensor:
        with model.trace(ids, use_cache=False):
            saved = model.lm_head.output.save()
        return saved  # noqa: RET504 - known only once the pass is over

    return Peer("nnsight", model, logits)


MAKERS: dict[str, Callable[[GPTModel], Peer]] = {
    "transformers": transformers,
    "transformer_lens": transformer_lens,
    "nnsight": nnsight,
}


def ready(gpt: GPTModel, names: Sequence[str]) -> tuple[dict[str, Peer], dict[str, str]]:
    """The peers that can be had, and why the others cannot."""
    found: dict[str, Peer] = {}
    missing: dict[str, str] = {}
    for name in names:
        try:
            found[name] = MAKERS[name](gpt)
        except ImportError:
            missing[name] = INSTALL
        except Exception as error:
            missing[name] = broken(error)
    return found, missing


def broken(error: Exception) -> str:
    """Why a peer could not be measured, in one line."""
    said = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {said[0]}"[:160]


def disagreement(gpt: GPTModel, peer: Peer, ids: Sequence[int]) -> float:
    """Largest difference between its logits and ours for one text."""
    text = torch.tensor([ids])
    with torch.inference_mode():
        return float((peer.logits(text) - gpt(text)).abs().max())
