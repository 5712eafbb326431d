"""What LayerNorm does to one token's vector, and why it is not BatchNorm."""

from dataclasses import dataclass

import torch
from torch import Tensor

from playground.gpt.model import normalise

from .bundled import storyteller, words
from .lesson import Choice, Experiment, Flag, Lesson, Number, Numbers, Text

NEIGHBOURS = {
    "fox": "the fox ran",
    "storm": "a dark storm came",
    "story": "once upon a time there was a little girl who loved to play in the park",
}
SHOWN = 10  # features


@dataclass(frozen=True, slots=True)
class Normed:
    """One vector on its way through LayerNorm. Shapes: (C,) each, mean and variance a number"""

    x: Tensor
    mean: Tensor
    variance: Tensor
    normalised: Tensor
    after: Tensor


def layer_norm(x: Tensor, scale: float, shift: float, eps: float, biased: bool) -> Normed:
    """Subtract the mean, divide by the standard deviation, then scale and shift.

    Shapes: x (C,)
    Source: Ba et al. 2016, eq. 4; GPT-2 divides the sum of squares by C (biased), torch.var by C - 1.
    """
    mean = x.mean()
    variance = (x - mean).square().sum() / (len(x) if biased else len(x) - 1)
    normalised = (x - mean) / torch.sqrt(variance + eps)
    return Normed(x, mean, variance, normalised, scale * normalised + shift)


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector normalised as asked, and the same with one thing different."""

    shown: Normed
    doubled: Normed  # every value twice as large
    flat: Normed  # every value the same
    over_count: Normed  # the variance over C
    over_one_less: Normed  # and over C - 1
    eps: float
    biased: bool


def vector(values: tuple[float, ...], scale: float, shift: float, log_eps: float, biased: bool) -> Vector:
    x, eps = torch.tensor(values, dtype=torch.float64), 10.0**log_eps

    def normed(x: Tensor, biased: bool = biased) -> Normed:
        return layer_norm(x, scale, shift, eps, biased)

    changed = normed(x), normed(2 * x), normed(torch.full_like(x, 3)), normed(x, True), normed(x, False)
    return Vector(*changed, eps, biased)


# LayerNorm beside BatchNorm.


def batch_norm(x: Tensor, counted: Tensor, eps: float = 1e-5) -> Tensor:
    """Give each feature mean 0 and variance 1 over all `counted` tokens of the batch, yours and the neighbours'.

    Shapes: x (B, T, C), counted (B, T) -> (B, T, C)
    Source: Ioffe & Szegedy 2015, algorithm 1
    """
    seen = x[counted]  # (N, C)
    mean, variance = seen.mean(0), seen.var(0, correction=0)
    return (x - mean) / torch.sqrt(variance + eps)


def embedded(texts: list[str]) -> tuple[Tensor, Tensor]:
    """What enters the bundled model's first block, shorter texts filled up with zeros.

    Shapes: (B, T, C), and (B, T): which of them are tokens
    """
    model, ids = storyteller(), [words().encode(text) for text in texts]
    longest = max(map(len, ids))
    x = torch.zeros(len(ids), longest, model.config.emb_dim)
    for row, each in zip(x, ids, strict=True):
        row[: len(each)] = model.token_embedding.weight[each] + model.position_embedding.weight[: len(each)]
    return x, torch.tensor([[t < len(each) for t in range(longest)] for each in ids])


def both(yours: str, neighbours: list[str], padding: bool) -> tuple[Tensor, Tensor]:
    """Your tokens after LayerNorm and after BatchNorm, in a batch with the neighbours. Shapes: (T, C) each"""
    x, real = embedded([yours, *neighbours])
    counted = torch.ones_like(real) if padding else real
    length = int(real[0].sum())
    return normalise(x)[0, :length], batch_norm(x, counted)[0, :length]


@dataclass(frozen=True, slots=True)
class Batch:
    """Your sentence's last token under both, alone and with a neighbour. Shapes: (SHOWN,) each"""

    labels: tuple[str, ...]  # your tokens
    features: Tensor  # those with the largest values
    layer_alone: Tensor
    layer: Tensor
    batch_alone: Tensor
    batch: Tensor
    layer_moved: float  # by a neighbour, at most, over all of your tokens and features
    batch_moved: float
    others: tuple[float, float]  # how far LayerNorm and BatchNorm move from one neighbour to another
    one_word: Tensor  # (C,) BatchNorm of your first token when it is the whole batch
    padding_moved: float  # by counting the zeros that fill up the shorter sentence
    lengths: tuple[int, int]  # tokens: yours, the neighbour's


def batch(yours: str, neighbour: str, padding: str) -> Batch:
    counted = padding == "counted"
    texts = [NEIGHBOURS[neighbour]] if neighbour != "none" else []
    layer_alone, batch_alone = both(yours, [], counted)
    layer, batch = both(yours, texts, counted)
    fox, storm = (both(yours, [NEIGHBOURS[name]], counted) for name in ("fox", "storm"))
    ids = words().encode(yours)
    x, real = embedded([yours])
    beside = texts or [NEIGHBOURS["story"]]
    features = x[0, len(ids) - 1].abs().topk(SHOWN).indices.sort().values
    moved = both(yours, beside, True)[1] - both(yours, beside, False)[1]
    return Batch(
        labels=tuple(map(words().label, ids)),
        features=features,
        layer_alone=layer_alone[-1, features],
        layer=layer[-1, features],
        batch_alone=batch_alone[-1, features],
        batch=batch[-1, features],
        layer_moved=float((layer - layer_alone).abs().max()),
        batch_moved=float((batch - batch_alone).abs().max()),
        others=(float((fox[0] - storm[0]).abs().max()), float((fox[1] - storm[1]).abs().max())),
        one_word=batch_norm(x[:, :1], real[:, :1])[0, 0],
        padding_moved=float(moved.abs().max()),
        lengths=(len(ids), len(words().encode(beside[0]))),
    )


LESSON = Lesson(
    "layer_norm",
    (
        Experiment(
            "vector",
            (
                Numbers("values", (2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0), -10, 10, 0.5),
                Number("scale", 1, -3, 3, 0.1),
                Number("shift", 0, -3, 3, 0.1),
                Number("log_eps", -5, -8, 2, 1),
                Flag("biased", True),
            ),
            vector,
        ),
        Experiment(
            "batch",
            (
                Text("yours", "the cat sat", 40),
                Choice("neighbour", "storm", ("none", *NEIGHBOURS)),
                Choice("padding", "left_out", ("left_out", "counted")),
            ),
            batch,
        ),
    ),
)
