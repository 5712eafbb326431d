"""Text as characters, for models so small that a vocabulary of words would be most of them."""

import torch
import torch.nn.functional as F

from playground.gpt.data import Rows
from playground.gpt.model import GPTModel

VOCABULARY = 128  # ASCII; any other character is read as "?"


def rows(text: str, length: int) -> Rows:
    """The text as numbers, one a character, cut into rows of `length`."""
    numbers = torch.frombuffer(bytearray(text.encode("ascii", "replace")), dtype=torch.uint8).int()
    return Rows(numbers, torch.arange(0, numbers.numel() - length, length), length)


@torch.inference_mode()
def losses_by_position(model: GPTModel, text: Rows, n_rows: int) -> torch.Tensor:
    """Mean loss of every position over rows spread evenly through the text.

    Shapes: (T,)
    Units: nats per character
    """
    was_training = model.training
    model.eval()
    picked = torch.linspace(0, text.starts.numel() - 1, n_rows).long()
    sums = torch.zeros(text.length, dtype=torch.float64)
    for group in picked.split(64):
        inputs, targets = text.batch(group)
        logits = model(inputs)  # (B, T, V)
        sums += F.cross_entropy(logits.transpose(1, 2), targets, reduction="none").double().sum(0)
    model.train(was_training)
    return sums / n_rows
