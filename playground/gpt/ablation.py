"""Which parts of the network to switch off, for one forward pass."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from playground.errors import UnknownEdge, UnknownSwitch

WHAT_IFS = ("positions", "causal_mask", "scaling", "norms", "residuals")


@dataclass(frozen=True, slots=True)
class Ablation:
    """Parts to switch off; `Ablation()` is the model as trained. Hashable, so it can key a cache."""

    attention: frozenset[int] = frozenset()  # layers whose attention adds exactly 0, output bias included
    feed_forward: frozenset[int] = frozenset()  # layers whose feed-forward adds exactly 0
    heads: frozenset[tuple[int, int]] = frozenset()  # (layer, head) zeroed before the output projection
    positions: bool = False  # add no position vectors
    causal_mask: bool = False  # let tokens see the future
    scaling: bool = False  # do not divide scores by sqrt(D)
    norms: bool = False  # skip every LayerNorm
    residuals: bool = False  # replace x + f(x) by f(x)
    edges: frozenset[tuple[int, int, int, int]] = frozenset()  # (layer, head, query, key): positions that may not look
    mean: bool = False  # what is off of the first three hands on not 0 but the mean of its own earlier outputs

    @classmethod
    def all_sublayers(cls, n_layers: int) -> "Ablation":
        """Every attention and every feed-forward: what is left is the residual path."""
        layers = frozenset(range(n_layers))
        return cls(attention=layers, feed_forward=layers)

    @property
    def averages(self) -> bool:
        """Whether `mean` concerns any part, for by itself it switches nothing off."""
        return self.mean and bool(self.attention or self.feed_forward or self.heads)

    @property
    def changes_nothing(self) -> bool:
        """Whether this is the model as trained, `mean` or not."""
        return replace(self, mean=False) == NOTHING_OFF

    @property
    def uncached(self) -> str | None:
        """The word under which keys and values of tokens already read do not suffice to read the next one.

        Without the causal mask a new token changes what the old ones computed; a mean is taken over outputs of theirs
        that no KV cache holds.
        """
        if self.causal_mask:
            return "causal_mask"
        return "mean" if self.averages else None

    def heads_off(self, layer: int) -> list[int]:
        return sorted(head for at, head in self.heads if at == layer)

    def edges_off(self, layer: int) -> list[tuple[int, int, int]]:
        return sorted((head, query, key) for at, head, query, key in self.edges if at == layer)

    def words(self) -> list[str]:
        """As the URL and the endpoints write it: `["attention.0", "head.2.1", "norms"]`, in one fixed order."""
        return [
            *(f"attention.{layer}" for layer in sorted(self.attention)),
            *(f"feed_forward.{layer}" for layer in sorted(self.feed_forward)),
            *(f"head.{layer}.{head}" for layer, head in sorted(self.heads)),
            *("edge." + ".".join(map(str, edge)) for edge in sorted(self.edges)),
            *(name for name in (*WHAT_IFS, "mean") if getattr(self, name)),
        ]


NOTHING_OFF = Ablation()


def parse(words: Iterable[str], n_layers: int, n_heads: int, context_length: int = 0) -> Ablation:
    """Read `Ablation.words` back; an edge's positions lie below `context_length`.

    Raises: UnknownSwitch, UnknownEdge for a word that names no part of such a model.
    """
    limits: dict[str, tuple[int, ...]] = {
        "attention": (n_layers,),
        "feed_forward": (n_layers,),
        "head": (n_layers, n_heads),
        "edge": (n_layers, n_heads, context_length, context_length),
    }
    found: dict[str, set[Any]] = {kind: set() for kind in limits}
    gone: dict[str, Any] = {}
    for word in words:
        kind = word.partition(".")[0]
        if word in (*WHAT_IFS, "mean"):
            gone[word] = True
        elif kind in limits and (numbers := _numbers(word, limits[kind])):
            found[kind].add(numbers)
        elif kind == "edge":
            raise UnknownEdge(value=word, layers=n_layers, heads=n_heads, positions=context_length)
        else:
            raise UnknownSwitch(value=word, layers=n_layers, heads=n_heads)
    for kind in ("attention", "feed_forward"):
        gone[kind] = frozenset(layer for (layer,) in found[kind])
    return replace(NOTHING_OFF, heads=frozenset(found["head"]), edges=frozenset(found["edge"]), **gone)


def _numbers(word: str, limits: tuple[int, ...]) -> tuple[int, ...] | None:
    """The numbers of `head.2.1`, if they are as many as the limits and each below its own."""
    if not re.fullmatch(r"[a-z_]+(\.\d{1,4})+", word, re.ASCII):
        return None
    numbers = tuple(map(int, word.split(".")[1:]))
    fits = len(numbers) == len(limits) and all(n < limit for n, limit in zip(numbers, limits, strict=True))
    return numbers if fits else None
