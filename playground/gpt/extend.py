"""The trace of a longer text from the trace of its beginning: what was read stays, and only what is new is read."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from .cache import KVCache
from .model import GPTModel
from .trace import AttentionTrace, BlockTrace, Record, Trace

Kind = TypeVar("Kind", bound=Record)


def extend(model: GPTModel, trace: Trace, tokens: Sequence[int]) -> Trace:
    """What `model.trace` records of the text with `tokens` behind it; `trace` was made with nothing off.

    Shapes: a trace of one text, without the B axis; so is the one returned
    Raises: ContextFull
    """
    known = len(trace.tokens)
    new = model.trace(torch.tensor([tokens]), cache=held(model, trace, known, known + len(tokens))).row(0)
    blocks: list[BlockTrace] = []
    for old_block, new_block in zip(trace.blocks, new.blocks, strict=True):
        attention = _attention(old_block.attention, new_block.attention)
        held_once = {"before": blocks[-1].after} if blocks else {}
        blocks.append(_joined(old_block, new_block, attention=attention, **held_once))
    return _joined(trace, new, blocks=tuple(blocks))


def held(model: GPTModel, trace: Trace, known: int, capacity: int) -> KVCache:
    """A cache that holds the keys and values of a trace's first `known` tokens, with room up to `capacity`."""
    cache = KVCache(model.config, capacity, dtype=trace.tokens.dtype, device=trace.tokens.device)
    for layer, block in enumerate(trace.blocks):
        cache.extend(layer, block.attention.key[None, :, :known], block.attention.value[None, :, :known])
    cache.advance(known)
    return cache


def _joined(old: Kind, new: Kind, **known: Any) -> Kind:
    """The new tokens' rows below the old ones' in every tensor that is not `known` already."""

    def both(name: str) -> Any:
        first, second = getattr(old, name), getattr(new, name)
        return torch.cat([first, second], dim=-2) if isinstance(first, Tensor) else _joined(first, second)

    return replace(old, **known, **{f.name: both(f.name) for f in fields(old) if f.name not in known})


def _attention(old: AttentionTrace, new: AttentionTrace) -> AttentionTrace:
    """An old token gives the new ones a score, as it does all that come after it, and no weight."""
    unseen = new.weights.size(-2)
    scale = old.query.size(-1) ** -0.5
    ahead = old.query * scale @ new.key[:, -unseen:].transpose(-2, -1)  # (H, T, new tokens)
    return _joined(
        old,
        new,
        key=new.key,
        value=new.value,
        scores=torch.cat([torch.cat([old.scores, ahead], dim=-1), new.scores], dim=-2),
        weights=torch.cat([F.pad(old.weights, (0, unseen)), new.weights], dim=-2),
    )
