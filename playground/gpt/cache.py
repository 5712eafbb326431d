"""Keys and values of tokens already read, so that the next token costs one row, not T."""

import torch
from torch import Tensor

from playground.errors import ContextFull

from .config import GPTConfig


class KVCache:
    """Room for `capacity` tokens; owned by whoever generates, one per text, never stored by the model."""

    def __init__(
        self,
        config: GPTConfig,
        capacity: int,
        batch: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        shape = (config.n_layers, 2, batch, config.n_heads, capacity, config.head_dim)
        self._store = torch.empty(shape, dtype=dtype, device=device)
        self.length = 0  # tokens held
        self.capacity = capacity

    def extend(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Write keys and values of new tokens after the held ones and return all of them.

        Shapes: k, v (B, H, T, D) -> (B, H, S, D) each
        Raises: ContextFull when there is no room for them
        """
        end = self.length + k.size(2)
        if end > self.capacity:
            raise ContextFull(tokens=end, limit=self.capacity)
        keys, values = self._store[layer, :, :, :, :end]
        keys[:, :, self.length :], values[:, :, self.length :] = k, v
        return keys, values

    def advance(self, tokens: int) -> None:
        """Count the new tokens as held, once every layer has written its part."""
        self.length += tokens
