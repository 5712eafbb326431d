"""What residual connections do for gradients, and where the LayerNorm should stand."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from playground.gpt.ablation import NOTHING_OFF, Ablation
from playground.gpt.config import GPTConfig
from playground.gpt.model import FeedForward, LayerNorm, MultiHeadAttention, TransformerBlock

from .lesson import Choice, Experiment, Lesson, Number, Progress, Seed

KINDS = ("pre", "post", "without", "bare")
OFF = {  # of this network's own block
    "pre": NOTHING_OFF,
    "without": Ablation(residuals=True),  # f(LN(x)) in place of x + f(LN(x))
    "bare": Ablation(residuals=True, norms=True),  # f(x)
}


class PostNormBlock(nn.Module):
    """The block of the first Transformer, which the course notes print: add, then normalise; ReLU, not GELU.

    Made of this network's attention, feed-forward and LayerNorm.
    Source: Vaswani et al. 2017, section 3.1
    """

    def __init__(self, config: GPTConfig, layer: int) -> None:
        super().__init__()
        self.norm_1, self.attention = LayerNorm(config), MultiHeadAttention(config, layer)
        self.norm_2, self.feed_forward = LayerNorm(config), FeedForward(config, layer)

    def forward(self, before: Tensor) -> Tensor:
        attended, _ = self.attention(before, NOTHING_OFF, None, False)
        middle, _ = self.norm_1(before + attended, NOTHING_OFF, False)
        thought = self.feed_forward.narrow(F.relu(self.feed_forward.widen(middle)))
        after: Tensor = self.norm_2(middle + thought, NOTHING_OFF, False)[0]
        return after


class Stack(nn.Module):
    """A small GPT of one kind of block."""

    def __init__(self, kind: str, config: GPTConfig) -> None:
        super().__init__()
        self.kind = kind
        self.token_embedding = nn.Embedding(config.vocab_size, config.emb_dim)
        self.position_embedding = nn.Embedding(config.context_length, config.emb_dim)
        made = PostNormBlock if kind == "post" else TransformerBlock
        self.blocks = nn.ModuleList(made(config, layer) for layer in range(config.n_layers))
        self.final_norm = LayerNorm(config)
        self.head = nn.Linear(config.emb_dim, config.vocab_size)

    def streams(self, ids: Tensor) -> list[Tensor]:
        """What enters the first block and what leaves each. Shapes: ids (B, T) -> (B, T, C) each"""
        x = self.token_embedding(ids) + self.position_embedding.weight[: ids.size(1)]
        streams = [x]
        for block in self.blocks:
            x = block(x) if self.kind == "post" else block(x, OFF[self.kind], None, False)[0]
            streams.append(x)
        return streams

    def loss(self, last: Tensor, targets: Tensor) -> Tensor:
        """Cross-entropy of what leaves the last block. Units: nats per token"""
        normed, _ = self.final_norm(last, NOTHING_OFF, False)
        logits: Tensor = self.head(normed)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def stack(kind: str, config: GPTConfig, seed: int) -> Stack:
    """Weights drawn so that every linear map keeps the size of what it is given; the same for every kind."""
    made, rng = Stack(kind, config), torch.Generator().manual_seed(seed)
    for name, weights in made.named_parameters():
        if name.endswith("scale"):
            nn.init.ones_(weights)
        elif weights.ndim == 1:
            nn.init.zeros_(weights)
        else:
            std = 1.0 if "embedding" in name else weights.size(1) ** -0.5
            nn.init.normal_(weights, std=std, generator=rng)
    return made


# Gradients at the start.


@dataclass(frozen=True, slots=True)
class Gradients:
    """Of each kind, before any training. Shapes: lists of one number per block, `sizes` one more"""

    norms: dict[str, list[float]]  # of the gradient of all weights of a block
    sizes: dict[str, list[float]]  # root mean square of the stream, at the start and after each block


def gradients(depth: float, seed: int) -> Gradients:
    config = GPTConfig(vocab_size=32, context_length=16, emb_dim=32, n_heads=4, n_layers=int(depth))
    rng = torch.Generator().manual_seed(seed)
    ids, targets = torch.randint(config.vocab_size, (2, 4, config.context_length), generator=rng)
    norms, sizes = {}, {}
    for kind in KINDS:
        made = stack(kind, config, seed)
        with torch.enable_grad():
            streams = made.streams(ids)
            made.loss(streams[-1], targets).backward()
        sizes[kind] = [float(x.detach().square().mean().sqrt()) for x in streams]
        norms[kind] = [length(block) for block in made.blocks]
    return Gradients(norms, sizes)


def length(block: nn.Module) -> float:
    """Of the gradient, as one vector of all of the block's weights."""
    grads = [weights.grad.flatten() for weights in block.parameters() if weights.grad is not None]
    return float(torch.cat(grads).norm())


# A short training of each, side by side.

RATES = {"small": 0.001, "middle": 0.003, "large": 0.01}
SYMBOLS, LENGTH, BATCH, BACK = 16, 16, 16, 1


def again(rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Random symbols; at every place the target is the symbol that stood BACK places before.

    Shapes: (BATCH, LENGTH) each; the first BACK targets are the symbols themselves
    """
    ids = torch.randint(SYMBOLS, (BATCH, LENGTH), generator=rng)
    targets = ids.roll(BACK, dims=1)
    targets[:, :BACK] = ids[:, :BACK]
    return ids, targets


@dataclass(frozen=True, slots=True)
class Race:
    steps: int
    loss: dict[str, list[float]]  # Units: nats per token
    depth: int


def race(depth: str, rate: str, steps: float, seed: int) -> Iterator[Progress]:
    """All kinds read the same examples, with Adam and no warm-up."""
    config = GPTConfig(vocab_size=SYMBOLS, context_length=LENGTH, emb_dim=32, n_heads=4, n_layers=int(depth))
    runners = {kind: stack(kind, config, seed) for kind in KINDS}
    adam = {kind: torch.optim.Adam(made.parameters(), lr=RATES[rate], fused=True) for kind, made in runners.items()}
    rng, total = torch.Generator().manual_seed(seed), int(steps)
    loss: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for step in range(1, total + 1):
        ids, targets = again(rng)
        for kind, made in runners.items():
            with torch.enable_grad():
                adam[kind].zero_grad()
                now = made.loss(made.streams(ids)[-1], targets)
                now.backward()
            adam[kind].step()
            loss[kind].append(float(now.detach()))
        yield Progress(step, total, Race(step, {kind: list(each) for kind, each in loss.items()}, int(depth)))


# What a block holds.

PRINTED = 213_248  # by the course notes, for width 64 and 256 hidden units
PARTS = ("qkv", "out", "widen", "narrow", "norms")


@dataclass(frozen=True, slots=True)
class Block:
    parts: dict[str, int]  # weights and biases, counted in the block as built
    total: int
    pre_norm: int  # the same of this network's own block
    notes: int  # of the block that the notes print: width 64, 256 hidden
    hidden_needed: float  # the hidden width that PRINTED would take


def count(module: nn.Module) -> int:
    return sum(weights.numel() for weights in module.parameters())


def block_config(width: int, hidden: int) -> GPTConfig:
    return GPTConfig(emb_dim=width, n_heads=4, n_layers=1, hidden=hidden)


def block(width: str, hidden: str) -> Block:
    config = block_config(int(width), int(hidden))
    made = PostNormBlock(config, 0)
    norms = count(made.norm_1) + count(made.norm_2)
    attention, feed_forward = made.attention, made.feed_forward
    counted = map(count, (attention.qkv, attention.out, feed_forward.widen, feed_forward.narrow))
    C = 64
    others = 4 * (C * C + C) + C + 2 * 2 * C  # all but what F decides: 2 C F + F
    return Block(
        parts=dict(zip(PARTS, (*counted, norms), strict=True)),
        total=count(made),
        pre_norm=count(TransformerBlock(config, 0)),
        notes=count(PostNormBlock(block_config(C, 256), 0)),
        hidden_needed=(PRINTED - others) / (2 * C + 1),
    )


LESSON = Lesson(
    "residuals",
    (
        Experiment("gradients", (Number("depth", 24, 2, 48, 1), Seed("seed")), gradients),
        Experiment(
            "race",
            (
                Choice("depth", "6", ("2", "6", "12")),
                Choice("rate", "middle", tuple(RATES)),
                Number("steps", 100, 10, 300, 10),
                Seed("seed"),
            ),
            race,
            trains=True,
        ),
        Experiment(
            "block",
            (Choice("width", "64", ("32", "64", "128")), Choice("hidden", "256", ("128", "256", "512"))),
            block,
        ),
    ),
)
