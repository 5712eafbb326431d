"""What one forward pass computed, named in the order it was computed.

Axes as in model.py, where D = C/H and, in GPT-2, F = 4C; L layers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, dataclass_transform

from torch import Tensor


def axes(names: str) -> Any:
    """Declare a recorded tensor and its axes; tests check every shape against this."""
    return field(metadata={"axes": names})


@dataclass_transform(frozen_default=True, field_specifiers=(axes,))
def record(cls: type[Any]) -> Any:
    """A frozen dataclass whose fields are declared by `axes` or are records themselves."""
    return dataclass(frozen=True, slots=True)(cls)


@dataclass(frozen=True, slots=True)
class Record:
    """Tensors and further records, which can be walked and sliced."""

    def row(self, i: int) -> Self:
        """The record of text `i` of the batch: the same fields without the B axis."""

        def take(value: Any) -> Any:
            if isinstance(value, Record):
                return value.row(i)
            return tuple(map(take, value)) if isinstance(value, tuple) else value[i]

        return replace(self, **{f.name: take(getattr(self, f.name)) for f in fields(self)})

    def tensors(self, prefix: str = "") -> Iterator[tuple[str, Tensor, str]]:
        """Every recorded tensor as (path, value, axes), in the order computed."""
        for f in fields(self):
            value, path = getattr(self, f.name), f"{prefix}{f.name}"
            if isinstance(value, Record):
                yield from value.tensors(f"{path}.")
            elif isinstance(value, tuple):
                for i, item in enumerate(value):
                    yield from item.tensors(f"{path}.{i}.")
            else:
                yield path, value, f.metadata["axes"]

    def n_bytes(self) -> int:
        """Memory held, a tensor that appears under two names counted once. Units: bytes."""
        stores = (value.untyped_storage() for _, value, _ in self.tensors())
        return sum({store.data_ptr(): store.nbytes() for store in stores}.values())


@record
class NormTrace(Record):
    normalised: Tensor = axes("B T C")  # mean 0, variance 1 over C
    after: Tensor = axes("B T C")  # scaled and shifted


@record
class AttentionTrace(Record):
    query: Tensor = axes("B H T D")
    key: Tensor = axes("B H S D")
    value: Tensor = axes("B H S D")
    scores: Tensor = axes("B H T S")  # q·k / sqrt(D), before the mask
    weights: Tensor = axes("B H T S")  # after mask and softmax; rows sum to 1
    mixed: Tensor = axes("B H T D")  # weights @ value, one vector per head
    out: Tensor = axes("B T C")  # heads joined and projected


@record
class FeedForwardTrace(Record):
    hidden: Tensor = axes("B T F")  # before GELU
    active: Tensor = axes("B T F")  # after GELU
    out: Tensor = axes("B T C")


@record
class BlockTrace(Record):
    before: Tensor = axes("B T C")  # residual stream entering the block
    norm_1: NormTrace
    attention: AttentionTrace
    middle: Tensor = axes("B T C")  # before + attention.out
    norm_2: NormTrace
    feed_forward: FeedForwardTrace
    after: Tensor = axes("B T C")  # middle + feed_forward.out


@record
class Trace(Record):
    tokens: Tensor = axes("B T C")  # token embedding
    positions: Tensor = axes("B T C")  # position embedding
    blocks: tuple[BlockTrace, ...]
    final_norm: NormTrace
    logits: Tensor = axes("B T V")
