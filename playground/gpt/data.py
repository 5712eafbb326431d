"""Training text as tokens: documents in, rows of a batch out, and the documents never trained on."""

import lzma
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from .tokenizer import END_OF_TEXT, Tokenizer

HELD_OUT_EVERY = 50  # documents 0, 50, 100, ... of every file are for validation, the same for every model


def documents(path: Path) -> list[str]:
    """The texts of a file (`.txt` or `.txt.xz`), each closed there by a line `<|endoftext|>`.

    Raises: OSError, lzma.LZMAError, UnicodeDecodeError
    """
    raw = path.read_bytes()
    text = (lzma.decompress(raw) if path.suffix == ".xz" else raw).decode("utf-8")
    return [document.strip("\n") for document in text.split(END_OF_TEXT) if document.strip()]


def read_texts(path: Path) -> tuple[list[str], list[str]]:
    """A file's documents for training, and those held out. Raises: as `documents`"""
    texts = documents(path)
    return for_training(texts), held_out(texts)


def held_out(texts: Sequence[str]) -> list[str]:
    return list(texts[::HELD_OUT_EVERY])


def for_training(texts: Sequence[str]) -> list[str]:
    return [text for i, text in enumerate(texts) if i % HELD_OUT_EVERY]


@dataclass(frozen=True)
class Rows:
    """One long line of documents, and where a row of a batch may start in it.

    Rows start where documents do, as prompts will, and every `length` tokens within long ones.
    """

    tokens: Tensor  # (N,) every document followed by end of text
    starts: Tensor  # (R,)
    length: int

    def batch(self, which: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs and, one token later, targets. Shapes: which (B,) -> (B, T), (B, T)"""
        offsets = torch.arange(self.length + 1, device=self.tokens.device)
        rows = self.tokens[(self.starts[which][:, None] + offsets) % self.tokens.numel()]
        return rows[:, :-1].long(), rows[:, 1:].long()

    def to(self, device: str) -> "Rows":
        return Rows(self.tokens.to(device), self.starts.to(device), self.length)


def rows(texts: Iterable[str], tokenizer: Tokenizer, length: int) -> Rows:
    assert tokenizer.end_of_text is not None
    tokens: list[int] = []
    starts: list[int] = []
    for text in texts:
        ids = tokenizer.encode(text)
        starts += range(len(tokens), len(tokens) + len(ids), length)
        tokens += [*ids, tokenizer.end_of_text]
    return Rows(torch.tensor(tokens, dtype=torch.int32), torch.tensor(starts), length)


def with_repeats(inputs: Tensor, targets: Tensor, share: float, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Make the last `share` of a batch's rows say their beginning again and again, words shuffled first.

    What comes next in such a row can be known in one way only: find the same token earlier on and copy
    what followed it. This is what an induction head does (Olsson et al. 2022).
    """
    B, T = inputs.shape
    for row in range(B - round(share * B), B):
        period = int(torch.randint(max(1, T // 8), max(1, T // 2) + 1, (), generator=rng))
        passage = inputs[row, torch.randperm(period, generator=rng).to(inputs.device)]
        line = passage.repeat(T // period + 2)[: T + 1]
        inputs[row], targets[row] = line[:-1], line[1:]
    return inputs, targets
