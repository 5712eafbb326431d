"""Encoder and decoder: a Transformer as first published, small enough to watch, that rewrites dates.

The encoder reads "3rd of May 2021" with both sides in view; the decoder writes 2021-05-03 one character at a time,
looking at what it has written (masked self-attention) and at what was read (cross-attention). Attention, feed-forward
and LayerNorm are those of playground.gpt.model; only the cross-attention is new. LayerNorm stands before each sublayer
(pre-norm), as in our GPT; Vaswani et al. put it after.

Axes as in playground.gpt.trace, with S for the characters read and T for those written.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from playground.errors import CharacterUnknown, TextEmpty, TooManyCharacters
from playground.gpt import packed
from playground.gpt.ablation import NOTHING_OFF, Ablation
from playground.gpt.config import GPTConfig
from playground.gpt.model import FeedForward, LayerNorm, MultiHeadAttention, TransformerBlock

from .lesson import Choice, Experiment, Lesson, Number, Text

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789 ,./-年月日"
NUMBER = {character: i for i, character in enumerate(ALPHABET)}
START = len(ALPHABET)  # the decoder's first input, before it has written anything
WRITTEN = len("2021-05-03")
CONFIG = GPTConfig(vocab_size=len(ALPHABET) + 1, context_length=32, emb_dim=64, n_heads=4, n_layers=2)
FOLDER = Path(__file__).parents[2] / "assets" / "lessons" / "dates"
BOTH_SIDES = Ablation(causal_mask=True)  # the encoder's attention: ours without the mask


class CrossAttention(nn.Module):
    """Each written character looks at every character read: queries from the decoder, keys and values from the encoder.

    Source: Vaswani et al. 2017, section 3.2.3
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.q = nn.Linear(config.emb_dim, config.emb_dim)
        self.kv = nn.Linear(config.emb_dim, 2 * config.emb_dim)
        self.out = nn.Linear(config.emb_dim, config.emb_dim)

    def forward(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """What to add to x, and the weights. Shapes: x (B, T, C), memory (B, S, C) -> (B, T, C), (B, H, T, S)"""
        B, T, C = x.shape
        q = self.q(x).view(B, T, self.n_heads, -1).transpose(1, 2)  # (B, H, T, D)
        k, v = self.kv(memory).view(B, memory.size(1), 2, self.n_heads, -1).permute(2, 0, 3, 1, 4)  # (B, H, S, D)
        weights = (q @ k.transpose(-2, -1) * q.size(-1) ** -0.5).softmax(-1)  # (B, H, T, S); no mask: all was read
        return self.out((weights @ v).transpose(1, 2).reshape(B, T, C)), weights


class DecoderBlock(nn.Module):
    """Look at what is written, look at what was read, then think."""

    def __init__(self, config: GPTConfig, layer: int) -> None:
        super().__init__()
        self.norm_1, self.attention = LayerNorm(config), MultiHeadAttention(config, layer)
        self.norm_2, self.cross_attention = LayerNorm(config), CrossAttention(config)
        self.norm_3, self.feed_forward = LayerNorm(config), FeedForward(config, layer)

    def forward(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The stream, and the weights of both attentions. Shapes: (B, T, C), (B, H, T, T), (B, H, T, S)"""
        attended, record = self.attention(self.norm_1(x, NOTHING_OFF, False)[0], NOTHING_OFF, None, True)
        x = x + attended
        crossed, cross_weights = self.cross_attention(self.norm_2(x, NOTHING_OFF, False)[0], memory)
        x = x + crossed
        x = x + self.feed_forward(self.norm_3(x, NOTHING_OFF, False)[0], NOTHING_OFF, False)[0]
        return x, record.weights, cross_weights


class EncoderDecoder(nn.Module):
    """Characters in, and at every written position a score for each character that may come next."""

    def __init__(self, config: GPTConfig = CONFIG) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(config.vocab_size, config.emb_dim)  # reads and writes, both sides
        self.source_positions = nn.Embedding(config.context_length, config.emb_dim)
        self.target_positions = nn.Embedding(WRITTEN, config.emb_dim)
        self.encoder = nn.ModuleList(TransformerBlock(config, layer) for layer in range(config.n_layers))
        self.encoder_norm = LayerNorm(config)
        self.decoder = nn.ModuleList(DecoderBlock(config, layer) for layer in range(config.n_layers))
        self.decoder_norm = LayerNorm(config)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """What was read, and who looked at whom. Shapes: source (B, S) -> (B, S, C), (L, B, H, S, S)"""
        x, weights = self.token_embedding(source) + self.source_positions.weight[: source.size(1)], []
        for block in self.encoder:
            x, record = block(x, BOTH_SIDES, None, True)
            weights.append(record.attention.weights)
        return self.encoder_norm(x, NOTHING_OFF, False)[0], torch.stack(weights)

    def decode(self, target: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of the next character, and the weights of both attentions.

        Shapes: target (B, T), memory (B, S, C) -> (B, T, V), (L, B, H, T, T), (L, B, H, T, S)
        """
        x, own, cross = self.token_embedding(target) + self.target_positions.weight[: target.size(1)], [], []
        for block in self.decoder:
            x, own_weights, cross_weights = block(x, memory)
            own.append(own_weights)
            cross.append(cross_weights)
        logits = self.decoder_norm(x, NOTHING_OFF, False)[0] @ self.token_embedding.weight.T
        return logits, torch.stack(own), torch.stack(cross)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Scores as in training, the right answer shown so far. Shapes: (B, S), (B, T) -> (B, T, V)"""
        return self.decode(target, self.encode(source)[0])[0]


@dataclass(frozen=True, slots=True)
class Read:
    """What the encoder made of a text."""

    text: str  # as read: lower case
    memory: Tensor  # (1, S, C), what cross-attention looks at
    weights: Tensor  # (L, H, S, S), encoder self-attention


@dataclass(frozen=True, slots=True)
class Wrote:
    """One character written and where the decoder looked for it."""

    character: str
    probabilities: Tensor  # (V - 1,) over ALPHABET
    own: Tensor  # (L, H, T), masked self-attention: START, then the T - 1 characters written before
    cross: Tensor  # (L, H, S), cross-attention: the characters read


@cache
def translator() -> EncoderDecoder:
    """Our trained model. Raises: ModelError"""
    return packed.load(EncoderDecoder(), FOLDER / "model.safetensors")


def ids(text: str) -> list[int]:
    """Characters as numbers; capital letters are read as small ones, white space around is left out.

    Raises: TextEmpty, TooManyCharacters, CharacterUnknown
    """
    text = text.strip().lower()
    if not text:
        raise TextEmpty()
    if len(text) > CONFIG.context_length:
        raise TooManyCharacters(characters=len(text), limit=CONFIG.context_length)
    for character in text:
        if character not in NUMBER:
            raise CharacterUnknown(value=character, alphabet="a-z 0-9 , . / - 年 月 日")
    return [NUMBER[character] for character in text]


@torch.inference_mode()
def read(model: EncoderDecoder, text: str) -> Read:
    """Let the encoder read. Raises: as `ids`"""
    source = ids(text)
    memory, weights = model.encode(torch.tensor([source]))
    return Read("".join(ALPHABET[i] for i in source), memory, weights[:, 0])


def write(model: EncoderDecoder, read: Read) -> Iterator[Wrote]:
    """Write the date, the likeliest character each time: one yield per character, ten in all."""
    target = [START]
    for _ in range(WRITTEN):
        with torch.inference_mode():
            logits, own, cross = model.decode(torch.tensor([target]), read.memory)
            probabilities = logits[0, -1, :START].softmax(-1)
        best = int(probabilities.argmax())
        yield Wrote(ALPHABET[best], probabilities, own[:, 0, :, -1], cross[:, 0, :, -1])
        target.append(best)


@torch.inference_mode()
def translate(model: EncoderDecoder, texts: Sequence[str]) -> list[str]:
    """The same answers for many texts, those of one length together. Raises: as `ids`"""
    sources, answers = [ids(text) for text in texts], [""] * len(texts)
    for length in {len(source) for source in sources}:
        which = [i for i, source in enumerate(sources) if len(source) == length]
        memory, _ = model.encode(torch.tensor([sources[i] for i in which]))
        target = torch.full((len(which), 1), START)
        for _ in range(WRITTEN):
            best = model.decode(target, memory)[0][:, -1, :START].argmax(-1, keepdim=True)
            target = torch.cat([target, best], 1)
        for i, row in zip(which, target[:, 1:].tolist(), strict=True):
            answers[i] = "".join(ALPHABET[j] for j in row)
    return answers


# The experiment.

NO_DAY = "31 February 2021"


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text read and rewritten up to a step, one layer and head looked at. Rows not written yet are NaN."""

    text: str
    written: str  # all ten characters
    step: int  # characters written so far, from 1
    probabilities: Tensor  # (V - 1,) of the character at that step
    encoder: Tensor  # (S, S)
    own: Tensor  # (10, 10), columns: START, then the characters written
    cross: Tensor  # (10, S)
    ahead: tuple[float, float]  # share of looks that go to the right: in the encoder, in masked self-attention
    no_day: str  # what it makes of a day there is not


def decode(text: str, step: int, layer: str, head: str) -> Decoded:
    """`head` is a number, or `all` for the mean of them. Raises: TextEmpty, TooManyCharacters, CharacterUnknown"""
    seen = read(translator(), text)
    steps = list(write(translator(), seen))

    def looked(weights: Tensor) -> Tensor:
        """Shapes: (L, H, ...) -> (...)"""
        of_layer = weights[int(layer)]
        return of_layer.mean(0) if head == "all" else of_layer[int(head)]

    own, cross = torch.full((WRITTEN, WRITTEN), torch.nan), torch.full((WRITTEN, len(seen.text)), torch.nan)
    for t, each in enumerate(steps[:step]):
        own[t, : t + 1], cross[t] = looked(each.own), looked(each.cross)
    encoder = looked(seen.weights)
    ahead = float(encoder.triu(1).sum() / len(encoder)), float(own[:step].nan_to_num().triu(1).sum() / step)
    written = "".join(each.character for each in steps)
    (no_day,) = translate(translator(), [NO_DAY])
    return Decoded(seen.text, written, step, steps[step - 1].probabilities, encoder, own, cross, ahead, no_day)


@cache
def training() -> dict[str, Any]:
    """How the model was trained and how often it is right: `command`, `held_out_right`, `curve`."""
    results: dict[str, Any] = json.loads((FOLDER / "results.json").read_text("utf-8"))
    return results


LESSON = Lesson(
    "encoder_decoder",
    (
        Experiment(
            "decode",
            (
                Text("text", "3rd of May 2021", CONFIG.context_length),
                Number("step", WRITTEN, 1, WRITTEN, 1),
                Choice("layer", "1", ("0", "1")),
                Choice("head", "all", ("all", "0", "1", "2", "3")),
            ),
            decode,
        ),
    ),
)
