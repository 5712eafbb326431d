"""Models in Hugging Face's GPT-2 layout, in and out: `config.json` beside `model.safetensors`, and nothing else.

Strict: what does not fit is refused by name, before memory is taken. Pickle is never opened.
"""

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from playground.errors import (
    ConfigUnreadable,
    ConfigValue,
    FileIncomplete,
    FlagUnsupported,
    ModelMissing,
    TensorDtype,
    TensorMisshapen,
    TensorMissing,
    TensorNotFinite,
    TensorUnexpected,
)

from .config import GPTConfig
from .model import GPTModel

PREFIX = "transformer."
OURS_TO_THEIRS = {
    "token_embedding": "wte",
    "position_embedding": "wpe",
    "blocks": "h",
    "norm_1": "ln_1",
    "norm_2": "ln_2",
    "final_norm": "ln_f",
    "attention": "attn",
    "feed_forward": "mlp",
    "qkv": "c_attn",
    "widen": "c_fc",
    "out": "c_proj",
    "narrow": "c_proj",
    "scale": "weight",
    "shift": "bias",
}
TURNED = ("c_attn.weight", "c_fc.weight", "c_proj.weight")  # stored as (in, out), ours are (out, in)
MASK_BUFFERS = (".attn.bias", ".attn.masked_bias")  # in old files, named like biases; no parameters
# On the meta device a model takes no memory before its weights come, but the first one makes torch import its compiler,
# which takes 2.4 s: more than the memory of so few parameters is worth.
SMALL = 20_000_000
MOST_CONFIG_BYTES = 1_000_000  # real ones have about a thousand
DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
CONFIG_FIELDS = {
    "vocab_size": "vocab_size",
    "context_length": "n_positions",
    "emb_dim": "n_embd",
    "n_heads": "n_head",
    "n_layers": "n_layer",
    "emb_drop": "embd_pdrop",
    "attn_drop": "attn_pdrop",
    "resid_drop": "resid_pdrop",
    "hidden": "n_inner",
    "norm_eps": "layer_norm_epsilon",
    "end_of_text": "eos_token_id",
}
# What Hugging Face assumes when a config.json is silent, and the settings whose other values we refuse.
DEFAULTS: dict[str, Any] = {
    "vocab_size": 50257,
    "n_positions": 1024,
    "n_embd": 768,
    "n_head": 12,
    "n_layer": 12,
    "n_inner": None,
    "embd_pdrop": 0.1,
    "attn_pdrop": 0.1,
    "resid_pdrop": 0.1,
    "layer_norm_epsilon": 1e-5,
    "eos_token_id": 50256,
}
HIGHEST = {"n_layer": 4096, "embd_pdrop": 1, "attn_pdrop": 1, "resid_pdrop": 1}  # for the rest, 2**31 - 1
FIXED: dict[str, tuple[Any, ...]] = {
    "model_type": ("gpt2",),
    "activation_function": ("gelu_new", "gelu_pytorch_tanh"),
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "add_cross_attention": (False,),
    "tie_word_embeddings": (True,),
}


def load(folder: str | Path) -> GPTModel:
    """The model in `folder`, in float32, ready to run (dropout off).

    Raises: ModelError, each naming the file, field or tensor at fault.
    """
    config = read_config(folder)
    file = Path(folder) / "model.safetensors"
    if not file.is_file():
        raise ModelMissing(name=file.name)
    expected = {hugging_face_name(name): shape for name, shape in _shapes(config).items()}
    try:
        version = _version(file)
        with safe_open(file, framework="pt") as stored:
            names = _match(stored, expected, config)
        tensors = {ours: _read(file, names[hugging_face_name(ours)]) for ours in _shapes(config)}
        _check_head(file, names.get("lm_head.weight"), tensors["token_embedding.weight"])
        if _version(file) != version:  # another was put in its place meanwhile: half of each was read
            raise FileIncomplete(file=file.name)
    except (SafetensorError, OSError) as error:
        raise FileIncomplete(file=file.name) from error
    with torch.device("meta" if config.n_parameters > SMALL else "cpu"):
        model = GPTModel(config)
    model.load_state_dict(tensors, assign=True)
    return model.requires_grad_(False).eval()


def save(model: GPTModel, folder: str | Path, dtype: torch.dtype = torch.float32) -> None:
    """Write `model` so that `load`, and Hugging Face's GPT2LMHeadModel, read it back.

    Without qkv biases, zeros are written in their place: the same function in a layout that always has them.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config, tensors = model.config, model.state_dict()
    for layer in range(config.n_layers if not config.qkv_bias else 0):
        tensors[f"blocks.{layer}.attention.qkv.bias"] = torch.zeros(3 * config.emb_dim)
    renamed = {hugging_face_name(ours): value.to("cpu", dtype) for ours, value in tensors.items()}
    turned = {name: (value.T if name.endswith(TURNED) else value).contiguous() for name, value in renamed.items()}
    replace_file(folder / "model.safetensors", lambda path: save_file(turned, path, {"format": "pt"}))
    fields = {theirs: getattr(config, ours) for ours, theirs in CONFIG_FIELDS.items()}
    fixed = {name: allowed[0] for name, allowed in FIXED.items()}
    written = {"architectures": ["GPT2LMHeadModel"], **fixed, **fields, "bos_token_id": config.end_of_text}
    text = json.dumps(written, indent=1) + "\n"
    replace_file(folder / "config.json", lambda path: path.write_text(text, "utf-8"))


def read_config(folder: str | Path) -> GPTConfig:
    """The config.json of `folder`.

    Raises: ModelMissing, ConfigUnreadable, ConfigValue, FlagUnsupported, HeadsDoNotDivide, HeadsAndLayersSwapped
    """
    file = Path(folder) / "config.json"
    if not file.is_file():  # nor a device or a pipe, which have no end
        raise ModelMissing(name=file.name)
    try:
        with file.open("rb") as opened:
            raw = opened.read(MOST_CONFIG_BYTES + 1)
        theirs = json.loads(raw.decode("utf-8")) if len(raw) <= MOST_CONFIG_BYTES else None
    except OSError as error:
        raise ModelMissing(name=file.name) from error
    except (ValueError, RecursionError) as error:
        raise ConfigUnreadable(file=file.name) from error
    if not isinstance(theirs, dict):
        raise ConfigUnreadable(file="config.json")
    for flag, allowed in FIXED.items():
        if theirs.get(flag, allowed[0]) not in allowed:
            raise FlagUnsupported(flag=flag, value=theirs[flag], allowed=allowed[0])
    values = {ours: theirs.get(name, DEFAULTS[name]) for ours, name in CONFIG_FIELDS.items()}
    for ours, value in values.items():
        _check_kind(CONFIG_FIELDS[ours], value)
    return GPTConfig(**values)


def stored_as(folder: str | Path) -> str:
    """How the weights are written in the file of a `folder` that loads, such as `float16`."""
    with safe_open(Path(folder) / "model.safetensors", framework="pt") as stored:
        names = [name for name in stored.keys() if not name.endswith(MASK_BUFFERS)]  # noqa: SIM118 - no mapping
        kinds = {stored.get_slice(name).get_dtype() for name in names}
    return ", ".join(name for kind, name in DTYPES.items() if kind in kinds)


def hugging_face_name(ours: str) -> str:
    """`blocks.0.attention.qkv.weight` -> `transformer.h.0.attn.c_attn.weight`."""
    return PREFIX + ".".join(OURS_TO_THEIRS.get(part, part) for part in ours.split("."))


def replace_file(path: Path, write: Any) -> None:
    """Let `write` make a new file and put it in place of `path` in one step: never half a file, not after a crash.

    Raises: OSError, or what `write` does, when there is no room for it; the old file then stays, and nothing else
    """
    new = path.with_name(path.name + ".new")
    try:
        write(new)
        with new.open("rb+") as written:
            os.fsync(written.fileno())  # else the name could reach the disk before the bytes
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _check_kind(name: str, value: Any) -> None:
    whole = name not in ("embd_pdrop", "attn_pdrop", "resid_pdrop", "layer_norm_epsilon")
    if value is None and name in ("n_inner", "eos_token_id"):
        return
    right = isinstance(value, int) if whole else isinstance(value, int | float)
    if isinstance(value, bool) or not right or not 0 <= value <= HIGHEST.get(name, 2**31 - 1):
        raise ConfigValue(name=name, value=value)


def _shapes(config: GPTConfig) -> dict[str, tuple[int, ...]]:
    """Our names and shapes of every parameter, without making any."""
    C, F = config.emb_dim, config.hidden_dim
    block = {
        **{f"{norm}.{part}": (C,) for norm in ("norm_1", "norm_2") for part in ("scale", "shift")},
        "attention.qkv.weight": (3 * C, C),
        "attention.qkv.bias": (3 * C,),
        "attention.out.weight": (C, C),
        "attention.out.bias": (C,),
        "feed_forward.widen.weight": (F, C),
        "feed_forward.widen.bias": (F,),
        "feed_forward.narrow.weight": (C, F),
        "feed_forward.narrow.bias": (C,),
    }
    return {
        "token_embedding.weight": (config.vocab_size, C),
        "position_embedding.weight": (config.context_length, C),
        **{f"blocks.{layer}.{name}": shape for layer in range(config.n_layers) for name, shape in block.items()},
        "final_norm.scale": (C,),
        "final_norm.shift": (C,),
    }


def _match(stored: Any, expected: dict[str, tuple[int, ...]], config: GPTConfig) -> dict[str, str]:
    """Hugging Face's full names -> names in this file, after checking that nothing is amiss but the values."""
    keys = list(stored.keys())
    prefixed = any(key.startswith(PREFIX) for key in keys)
    names = {key if prefixed or key == "lm_head.weight" else PREFIX + key: key for key in keys}
    names = {full: key for full, key in names.items() if not full.endswith(MASK_BUFFERS)}
    missing = [name for name in expected if name not in names]
    if missing:
        raise TensorMissing(name=missing[0], count=len(missing))
    extra = [name for name in names if name not in expected and name != "lm_head.weight"]
    if extra:
        raise TensorUnexpected(name=extra[0], count=len(extra), n_layers=config.n_layers)
    for full, shape in expected.items():
        part = stored.get_slice(names[full])
        wanted = shape[::-1] if full.endswith(TURNED) else shape
        if tuple(part.get_shape()) != wanted:
            raise TensorMisshapen(name=full, found=_times(part.get_shape()), expected=_times(wanted))
        if part.get_dtype() not in DTYPES:
            raise TensorDtype(name=full, found=part.get_dtype(), expected=", ".join(DTYPES))
    return names


def _read(file: Path, key: str) -> Tensor:
    """One tensor as we hold it, a copy: the file is opened for it alone, so that no part of it stays in memory."""
    with safe_open(file, framework="pt") as stored:
        theirs: Tensor = stored.get_tensor(key)
        ours = laid_out(theirs.T) if key.endswith(TURNED) else theirs
        value = ours.to(torch.float32, copy=True)
    if not all(end.isfinite() for end in value.aminmax()):
        broken = int((~value.isfinite()).sum())
        raise TensorNotFinite(name=key if key.startswith(PREFIX) else PREFIX + key, count=broken)
    return value


def laid_out(matrix: Tensor) -> Tensor:
    """The same matrix, column by column in memory if it is taller than wide: one vector times it is then read faster.

    Writing a text is such products, and reading the matrices nearly all of their time. Shapes: (out, in) -> (out, in)
    """
    return matrix.T.contiguous().T if matrix.size(0) > matrix.size(1) else matrix.contiguous()


def _check_head(file: Path, head: str | None, table: Tensor) -> None:
    """A stored output head is only allowed to be the token table again."""
    if head is None:
        return
    with safe_open(file, framework="pt") as stored:
        found = stored.get_slice(head).get_shape()
        if tuple(found) != tuple(table.shape):
            raise TensorMisshapen(name=head, found=_times(found), expected=_times(table.shape))
        if not torch.equal(stored.get_tensor(head).to(torch.float32), table):
            raise FlagUnsupported(flag="tie_word_embeddings", value=False, allowed=True)


def _version(file: Path) -> tuple[int, int, int]:
    found = file.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _times(shape: Any) -> str:
    return "×".join(map(str, shape))
