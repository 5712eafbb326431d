"""Which parts of the network to switch off, for one forward pass."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from playground.errors import UnknownSwitch

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

    @classmethod
    def all_sublayers(cls, n_layers: int) -> "Ablation":
        """Every attention and every feed-forward: what is left is the residual path."""
        layers = frozenset(range(n_layers))
        return cls(attention=layers, feed_forward=layers)

    def heads_off(self, layer: int) -> list[int]:
        return sorted(head for at, head in self.heads if at == layer)

    def words(self) -> list[str]:
        """As the URL and the endpoints write it: `["attention.0", "head.2.1", "norms"]`, in one fixed order."""
        return [
            *(f"attention.{layer}" for layer in sorted(self.attention)),
            *(f"feed_forward.{layer}" for layer in sorted(self.feed_forward)),
            *(f"head.{layer}.{head}" for layer, head in sorted(self.heads)),
            *(name for name in WHAT_IFS if getattr(self, name)),
        ]


NOTHING_OFF = Ablation()


def parse(words: Iterable[str], n_layers: int, n_heads: int) -> Ablation:
    """Read `Ablation.words` back.

    Raises: UnknownSwitch for a word that names no part of a model with so many layers and heads.
    """
    ablation = NOTHING_OFF
    for word in words:
        ablation = _with(ablation, word, n_layers, n_heads)
    return ablation


def _with(ablation: Ablation, word: str, n_layers: int, n_heads: int) -> Ablation:
    if word in WHAT_IFS:
        switched: dict[str, Any] = {word: True}
        return replace(ablation, **switched)
    match = re.fullmatch(r"(attention|feed_forward)\.(\d{1,4})|head\.(\d{1,4})\.(\d{1,4})", word, re.ASCII)
    if match:
        sublayer, layer, head_layer, head = match.groups()
        if sublayer and int(layer) < n_layers:
            return replace(ablation, **{sublayer: getattr(ablation, sublayer) | {int(layer)}})
        if head and int(head_layer) < n_layers and int(head) < n_heads:
            return replace(ablation, heads=ablation.heads | {(int(head_layer), int(head))})
    raise UnknownSwitch(value=word, layers=n_layers, heads=n_heads)
