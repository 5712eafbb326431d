"""Attention is blind to order; positions as sines, as a learned table, as rotations, as a bias."""

from dataclasses import dataclass

import torch
from torch import Tensor

from playground.errors import ContextFull
from playground.gpt.ablation import Ablation

from .bundled import storyteller, words
from .lesson import Choice, Experiment, Flag, Lesson, Number, Seed, Text
from .position_encodings import DOUBLE, alibi, angles, rope, sinusoidal, slopes

# Order.


@dataclass(frozen=True, slots=True)
class Order:
    """The same tokens in two orders, read by the bundled model. What was reordered is put back, token beside token."""

    labels: tuple[str, ...]  # in the first order
    other: tuple[str, ...]  # in the second
    weights: tuple[Tensor, Tensor]  # (T, T) of one head
    moved: Tensor  # (T,) the furthest that any feature of a token's output differs
    blind_moved: float  # the same, at most, without positions and without a mask
    masked_moved: float  # without positions, with the causal mask


def read(ids: Tensor, order: Tensor, positions: bool, mask: bool) -> tuple[Tensor, Tensor]:
    """Weights of the first layer's head 0, and what leaves the last block, of tokens in this order, put back.

    Shapes: ids (T,), order (T,) -> (T, T), (T, C)
    """
    trace = storyteller().trace(ids[order][None], Ablation(positions=not positions, causal_mask=not mask)).row(0)
    back = order.argsort()
    return trace.blocks[0].attention.weights[0][back][:, back], trace.blocks[-1].after[back]


def reordered(count: int, how: str) -> Tensor:
    """A permutation: the last first, or each one place further."""
    return torch.arange(count).flip(0) if how == "backwards" else torch.arange(count).roll(1)


def order(text: str, how: str, positions: bool, mask: bool) -> Order:
    ids = torch.tensor(words().encode(text))
    written, other = torch.arange(len(ids)), reordered(len(ids), how)

    def moved(positions: bool, mask: bool) -> Tensor:
        first, second = (read(ids, each, positions, mask)[1] for each in (written, other))
        return (first - second).abs().amax(-1)

    labels = [words().label(token) for token in ids.tolist()]
    return Order(
        labels=tuple(labels),
        other=tuple(labels[i] for i in other.tolist()),
        weights=(read(ids, written, positions, mask)[0], read(ids, other, positions, mask)[0]),
        moved=moved(positions, mask),
        blind_moved=float(moved(False, False).max()),
        masked_moved=float(moved(False, True).max()),
    )


# Sines.


@dataclass(frozen=True, slots=True)
class Sines:
    table: Tensor  # (P, width)
    products: Tensor  # (P,) of the chosen position's row with every row
    at: int
    nearest: float  # least distance between two rows
    turns: tuple[float, float]  # how often the first and the last sine go round over the table
    symmetric: float  # how far PE(at) · PE(at + k) and PE(at) · PE(at - k) differ at most


def sines(width: float, positions: float, at: float) -> Sines:
    count, here = int(positions), min(int(at), int(positions) - 1)
    table = sinusoidal(torch.arange(count), int(width))
    distances = torch.cdist(table, table, compute_mode="donot_use_mm_for_euclid_dist")
    products = table @ table[here]
    reach = min(here, count - 1 - here)
    ahead, behind = products[here : here + reach + 1], products[here - reach : here + 1].flip(0)
    rounds = angles(torch.tensor([count]), int(width))[0] / (2 * torch.pi)
    return Sines(
        table=table,
        products=products,
        at=here,
        nearest=float(distances.fill_diagonal_(torch.inf).min()),
        turns=(float(rounds[0]), float(rounds[-1])),
        symmetric=float((ahead - behind).abs().max()),
    )


# Rotations.


def rotation(shift: int, width: int) -> Tensor:
    """The matrix that takes PE(pos) to PE(pos + shift), whatever pos is: each pair of features turned by its angle.

    Shapes: -> (width, width)
    Source: sin(a + b) = sin a cos b + cos a sin b, cos(a + b) = cos a cos b - sin a sin b
    """
    turned = angles(torch.tensor([shift]), width)[0]
    matrix = torch.zeros(width, width, dtype=DOUBLE)
    for i, (sine, cosine) in enumerate(zip(turned.sin().tolist(), turned.cos().tolist(), strict=True)):
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[cosine, sine], [-sine, cosine]], dtype=DOUBLE)
    return matrix


@dataclass(frozen=True, slots=True)
class Rotated:
    matrix: Tensor  # (width, width)
    start: Tensor  # (width,) PE(pos)
    turned: Tensor  # (width,) the matrix times it
    target: Tensor  # (width,) PE(pos + k)
    error: float  # at this position
    everywhere: float  # at most, over positions 0 to 999
    lengths: tuple[float, float]  # of PE(pos) and PE(pos + k)
    returned: float  # error of going back by the transpose


def rotated(position: float, shift: float, width: float) -> Rotated:
    size, k = int(width), int(shift)
    matrix = rotation(k, size)
    start, target = sinusoidal(torch.tensor([int(position), int(position) + k]), size)
    every = torch.arange(1000)
    return Rotated(
        matrix=matrix,
        start=start,
        turned=matrix @ start,
        target=target,
        error=float((matrix @ start - target).abs().max()),
        everywhere=float((sinusoidal(every, size) @ matrix.T - sinusoidal(every + k, size)).abs().max()),
        lengths=(float(start.norm()), float(target.norm())),
        returned=float((matrix.T @ target - start).abs().max()),
    )


# The learned table of the bundled model.


@dataclass(frozen=True, slots=True)
class Learned:
    similar: Tensor  # (P,) cosine of the chosen row with every row
    every: Tensor  # (n, n) cosine of every STRIDE-th row with every other
    at: int
    nearest: int  # the most similar other position
    rows: int
    beyond: bool  # whether a text one token longer than the table can be read


STRIDE = 4


def learned(at: float) -> Learned:
    model = storyteller()
    table = torch.nn.functional.normalize(model.position_embedding.weight.to(DOUBLE), dim=-1)
    here = int(at)
    similar = table @ table[here]
    others = similar.clone()
    others[here] = -torch.inf
    try:
        model(torch.zeros(1, len(table) + 1, dtype=torch.long))
        beyond = True
    except ContextFull:
        beyond = False
    few = table[::STRIDE]
    return Learned(similar, few @ few.T, here, int(others.argmax()), len(table), beyond)


# RoPE.


@dataclass(frozen=True, slots=True)
class Turned:
    scores: Tensor  # (T, T) of one query with one key, at every pair of positions
    moved: float  # how far the scores move when every position is `shift` larger
    plain: float  # q · k, not turned
    same_place: float  # its score where query and key stand at one position
    lengths: tuple[float, float]  # of the query before and after turning, at the last position
    one_sided: float  # how far the scores move when only the keys are moved


TOKENS, HEAD = 16, 16


def turned(shift: float, seed: int) -> Turned:
    rng = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, HEAD, generator=rng, dtype=DOUBLE)
    places = torch.arange(TOKENS)

    def scores(query_from: int, key_from: int) -> Tensor:
        queries = rope(q.expand(TOKENS, -1), places + query_from)
        keys = rope(k.expand(TOKENS, -1), places + key_from)
        scored: Tensor = queries @ keys.T / HEAD**0.5
        return scored

    here, by = scores(0, 0), int(shift)
    last = rope(q[None], torch.tensor([TOKENS - 1 + by]))[0]
    plain = float(q @ k / HEAD**0.5)
    return Turned(
        scores=here,
        moved=float((scores(by, by) - here).abs().max()),
        plain=plain,
        same_place=float(here[-1, -1]),
        lengths=(float(q.norm()), float(last.norm())),
        one_sided=float((scores(0, by) - here).abs().max()),
    )


# ALiBi.


@dataclass(frozen=True, slots=True)
class Biased:
    slopes: Tensor  # (H,)
    bias: Tensor  # (T, T) of the chosen head; NaN where it may not look
    last: Tensor  # (H, T) weights of the last token in every head when all contents score alike
    reach: Tensor  # (H,) how far back it looks on average
    head: int


SEEN = 32


def biased(heads: str, head: float) -> Biased:
    n = int(heads)
    chosen = min(int(head), n) - 1
    bias = alibi(n, SEEN)
    last = bias[:, -1].softmax(-1)
    back = torch.arange(SEEN - 1, -1, -1, dtype=DOUBLE)
    shown = bias[chosen].masked_fill(bias[chosen].isinf(), torch.nan)
    return Biased(slopes(n), shown, last, last @ back, chosen)


LESSON = Lesson(
    "positions",
    (
        Experiment(
            "order",
            (
                Text("text", "I love you", 40),
                Choice("how", "backwards", ("backwards", "round")),
                Flag("positions", False),
                Flag("mask", False),
            ),
            order,
        ),
        Experiment(
            "sines",
            (Number("width", 32, 4, 64, 4), Number("positions", 64, 8, 128, 8), Number("at", 20, 0, 127, 1)),
            sines,
        ),
        Experiment(
            "rotation",
            (Number("position", 5, 0, 200, 1), Number("shift", 3, -20, 20, 1), Number("width", 8, 4, 16, 2)),
            rotated,
        ),
        Experiment("learned", (Number("at", 60, 0, 255, 1),), learned),
        Experiment("rope", (Number("shift", 7, 0, 1000, 1), Seed("seed")), turned),
        Experiment("alibi", (Choice("heads", "8", ("4", "8", "16")), Number("head", 1, 1, 16, 1)), biased),
    ),
)
