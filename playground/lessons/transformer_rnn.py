"""A Transformer block beside an RNN and an LSTM of the same width: what they cost, how far they reach."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import torch
from torch import Tensor, nn

from playground.gpt.ablation import NOTHING_OFF
from playground.gpt.cache import KVCache
from playground.gpt.config import GPTConfig, forward_flops
from playground.gpt.model import TransformerBlock

from .lesson import Choice, Experiment, Lesson, Number, Progress, Seed
from .recurrent import LSTM, RNN, Recurrent

KINDS = ("block", "rnn", "lstm")
RECURRENT: dict[str, type[Recurrent]] = {"rnn": RNN, "lstm": LSTM}


def block_config(width: int) -> GPTConfig:
    """One block, and heads of 32 features."""
    return GPTConfig(emb_dim=width, n_heads=width // 32, n_layers=1)


# What each costs, by formula.


@dataclass(frozen=True, slots=True)
class Costs:
    """One layer of one kind, at one length. FLOPs count matrix products only, 2 per multiply-add."""

    parameters: int
    token: int  # FLOPs for one more token, after T - 1
    looking: int  # the part of `token` that looks back
    sequence: int  # FLOPs for reading T tokens at once
    kept: int  # numbers that must be kept to go on writing
    path: int  # hand-overs from the first token to the last
    sequential: int  # steps of reading that must wait for one another


def block_costs(width: int, length: int) -> Costs:
    """The Transformer block: 24C² + 4TC FLOPs a token, all tokens at once, one look from anywhere to anywhere.

    Source: Vaswani et al. 2017, table 1, row "self-attention"; projections and feed-forward counted as well
    """
    C, T, config = width, length, block_config(width)
    token, sequence = forward_flops(config, 1, T - 1), forward_flops(config, T)
    return Costs(
        parameters=config.n_block_parameters,
        token=token.attention + token.feed_forward,
        looking=4 * T * C,
        sequence=sequence.attention + sequence.feed_forward,
        kept=2 * T * C,
        path=1,
        sequential=1,
    )


def recurrent_costs(kind: str, width: int, length: int) -> Costs:
    """RNN and LSTM: 4C² FLOPs a token for each gate, however long the text, but one token after the other.

    Source: Vaswani et al. 2017, table 1, row "recurrent"
    """
    C, T, made = width, length, RECURRENT[kind]
    token = made.gates * (2 * C * C + 2 * C * C)  # W_x x and W_h h
    return Costs(
        parameters=made.gates * (2 * C * C + C),
        token=token,
        looking=0,
        sequence=T * token,
        kept=made.n_states * C,
        path=T - 1,
        sequential=T,
    )


def costs(kind: str, width: int, length: int) -> Costs:
    return block_costs(width, length) if kind == "block" else recurrent_costs(kind, width, length)


@cache
def crossing(width: int) -> int:
    """The length from which looking back costs attention as much as the RNN's whole step."""
    step = costs("rnn", width, 1).token
    return next(T for T in range(1, 10 * width) if costs("block", width, T).looking >= step)


@dataclass(frozen=True, slots=True)
class Counts:
    """Costs over length, and at one length."""

    width: int
    length: int
    shown: str  # which of the costs the picture shows
    lengths: list[int]
    over: dict[str, list[Costs]]
    here: dict[str, Costs]
    twice: Costs  # of the block, for a text twice as long
    crossing: int


SHOWN = ("token", "sequence", "kept", "path")
LONGEST = 16  # doublings: 65,536 tokens


def counts(shown: str, width: str, doublings: float) -> Counts:
    C, T = int(width), 2 ** int(doublings)
    lengths = [2**n for n in range(1, LONGEST + 1)]
    return Counts(
        width=C,
        length=T,
        shown=shown,
        lengths=lengths,
        over={kind: [costs(kind, C, each) for each in lengths] for kind in KINDS},
        here={kind: costs(kind, C, T) for kind in KINDS},
        twice=costs("block", C, 2 * T),
        crossing=crossing(C),
    )


# What each takes, by the clock.

READ = (16, 32, 64, 128, 256, 512, 1024)  # tokens read at once
PAST = (16, 64, 256, 1024, 4096, 16384)  # tokens before the one that is written
RUNS, ENOUGH = 4, 0.15  # of one piece: the first run warms up; seconds after which no further one begins
Work = Callable[[], object]
Task = Callable[[nn.Module, int, int], Work]
Piece = tuple[Task, int, str]  # reading or writing, a length, a kind


def reading(made: nn.Module, width: int, length: int) -> Work:
    """A whole text: the block in one pass, the others token after token."""
    x = torch.rand(1, length, width)
    return (lambda: made(x)) if isinstance(made, Recurrent) else (lambda: made(x, NOTHING_OFF, None, False))


def writing(made: nn.Module, width: int, past: int) -> Work:
    """One more token: the block looks at the keys and values of all tokens before it, the others have a state."""
    x = torch.rand(1, 1, width)
    if isinstance(made, Recurrent):
        state = made.start(x)
        return lambda: made.step(x[:, 0], state)
    config = block_config(width)
    cache = KVCache(config, past + 1)
    held = torch.ones(1, config.n_heads, past, config.head_dim)
    cache.extend(0, held, held)
    cache.advance(past)
    return lambda: made(x, NOTHING_OFF, cache, False)


@torch.inference_mode()
def clocked(work: Work) -> list[float]:
    """How long it took, a few times; the first time counts only where there is no other. Units: seconds"""
    took: list[float] = []
    while len(took) < RUNS and sum(took) < ENOUGH:
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return took[1:] or took


Fastest = dict[int, dict[str, float]]  # by length, then by kind: others can only make it slower. Units: seconds


@dataclass(frozen=True, slots=True)
class Times:
    """What was measured so far, at the lengths where every kind was."""

    width: int
    threads: int  # that PyTorch may use
    read: Fastest
    write: Fastest

    @property
    def complete(self) -> bool:
        return len(self.read) == len(READ) and len(self.write) == len(PAST)

    def rate(self, kind: str, length: int) -> float:
        """While reading. Units: FLOPs per second"""
        return costs(kind, self.width, length).sequence / self.read[length][kind]

    def by_formula(self, kind: str) -> list[float]:
        """How long reading would take at each length, were it as long for every FLOP as at the longest."""
        rate = self.rate(kind, max(self.read))
        return [costs(kind, self.width, length).sequence / rate for length in self.read]


def fastest(took: dict[Piece, list[float]], what: Task, lengths: Sequence[int]) -> Fastest:
    """At the lengths where the last kind, and so every kind, was timed."""
    timed = [length for length in lengths if took[what, length, KINDS[-1]]]
    return {length: {kind: min(took[what, length, kind]) for kind in KINDS} for length in timed}


def times(width: str, steps: float) -> Iterator[Progress]:
    """Round after round over all lengths, the kinds in turn, so that a busy moment of the machine hits all of them."""
    C, rounds = int(width), int(steps)
    made = {"block": TransformerBlock(block_config(C), 0), **{kind: of(C) for kind, of in RECURRENT.items()}}
    plan: list[Piece] = [(reading, length, kind) for length in READ for kind in KINDS]
    plan += [(writing, past, kind) for past in PAST for kind in KINDS]
    took: dict[Piece, list[float]] = {piece: [] for piece in plan}
    for done, piece in enumerate(plan * rounds, 1):
        what, length, kind = piece
        took[piece] += clocked(what(made[kind], C, length))
        read, write = fastest(took, reading, READ), fastest(took, writing, PAST)
        yield Progress(done, len(plan) * rounds, Times(C, torch.get_num_threads(), read, write))


# How far back the last token's gradient reaches.

WIDTH, BATCH = 64, 16
QUIET = 0.1  # size of W_x: the RNN's states stay small, where tanh is nearly straight


def random_rnn(radius: float, rng: torch.Generator) -> RNN:
    """W_h turns the state and makes it `radius` times as long: all its eigenvalues have that absolute value."""
    made = RNN(WIDTH).double()
    nn.init.orthogonal_(made.recall.weight, gain=radius, generator=rng)
    nn.init.orthogonal_(made.read.weight, gain=QUIET, generator=rng)
    nn.init.zeros_(made.read.bias)
    return made


Made = TypeVar("Made", bound=nn.Module)


def drawn(made: Made, rng: torch.Generator) -> Made:
    """Matrices that keep the size of what they are given, biases 0, scales 1."""
    for name, weights in made.double().named_parameters():
        if weights.ndim == 2:
            nn.init.normal_(weights, std=weights.size(1) ** -0.5, generator=rng)
        elif not name.endswith("scale"):
            nn.init.zeros_(weights)
    return made


def random_lstm(forget: float, rng: torch.Generator) -> LSTM:
    """A large bias of the forget gate keeps the gate open: the cell forgets little."""
    made = drawn(LSTM(WIDTH), rng)
    nn.init.constant_(made.read.bias[WIDTH : 2 * WIDTH], forget)  # the gates stand in the order i, f, g, o
    return made


def reach(read: Callable[[Tensor], Tensor], length: int, rng: torch.Generator) -> list[float]:
    """Length of the gradient of the last output, read in a random direction, by distance: the own token first.

    Root mean square over a batch of random texts.
    Shapes: read (B, T, C) -> (B, T, C); T numbers
    """
    x = torch.randn(BATCH, length, WIDTH, generator=rng, dtype=torch.float64)
    direction = torch.nn.functional.normalize(torch.randn(BATCH, WIDTH, generator=rng, dtype=torch.float64), dim=1)
    with torch.enable_grad():
        x.requires_grad_()
        last = read(x)[:, -1]
        (gradient,) = torch.autograd.grad((last * direction).sum(), x)
    norms: list[float] = gradient.square().sum(-1).mean(0).sqrt().flip(0).tolist()
    return norms


@dataclass(frozen=True, slots=True)
class Reach:
    """Gradients by distance. Shapes: lists of T numbers"""

    radius: float
    norms: dict[str, list[float]]
    bound: list[float]  # what the RNN's cannot exceed
    at_one: list[float]  # of an RNN with radius 1

    def per_step(self, kind: str) -> float:
        """The factor of one more step back: the mean over all but the own token."""
        norms = self.norms[kind]
        return float((norms[-1] / norms[1]) ** (1 / (len(norms) - 2)))


def reaches(length: str, radius: float, forget: float, seed: int) -> Reach:
    T = int(length)

    def of(make: Callable[[torch.Generator], nn.Module]) -> list[float]:
        rng = torch.Generator().manual_seed(seed)
        made = make(rng)
        if isinstance(made, Recurrent):
            return reach(made, T, rng)
        return reach(lambda x: made(x, NOTHING_OFF, None, False)[0], T, rng)

    norms = {
        "block": of(lambda rng: drawn(TransformerBlock(block_config(WIDTH), 0), rng)),
        "rnn": of(lambda rng: random_rnn(radius, rng)),
        "lstm": of(lambda rng: random_lstm(forget, rng)),
    }
    bound = [QUIET * radius**distance for distance in range(T)]
    return Reach(radius, norms, bound, at_one=of(lambda rng: random_rnn(1.0, rng)))


LESSON = Lesson(
    "transformer_rnn",
    (
        Experiment(
            "counts",
            (
                Choice("shown", "token", SHOWN),
                Choice("width", "768", ("64", "256", "768")),
                Number("doublings", 10, 2, LONGEST, 1),
            ),
            counts,
        ),
        Experiment("times", (Choice("width", "64", ("32", "64", "128")), Number("steps", 5, 1, 20, 1)), times, True),
        Experiment(
            "reach",
            (
                Choice("length", "64", ("32", "64", "128")),
                Number("radius", 0.9, 0.5, 1.5, 0.05),
                Number("forget", 1, 0, 6, 0.5),
                Seed("seed"),
            ),
            reaches,
        ),
    ),
)
