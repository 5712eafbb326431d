"""Scaling laws: how loss falls with parameters and data, fitted to models that we trained, and what training costs.

N parameters, D tokens read in training, C floating-point operations (FLOPs); losses in nats per token.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from playground.errors import OutOfRange
from playground.gpt.config import GPTConfig

Floats = NDArray[np.float64]


class Law(NamedTuple):
    """loss = floor + a / N^alpha + b / D^beta.

    Source: Hoffmann et al. 2022, eq. 2
    """

    floor: float  # E, what no model of this text can save: its entropy
    a: float
    alpha: float
    b: float
    beta: float

    def loss(self, parameters: float, tokens: float) -> float:
        return float(self.floor + self.a / parameters**self.alpha + self.b / tokens**self.beta)

    def optimum(self, flops: float) -> "Budget":
        """The N and D with 6ND = flops whose loss is lowest.

        Source: Hoffmann et al. 2022, eq. 4
        """
        ratio = (self.alpha * self.a / (self.beta * self.b)) ** (1 / (self.alpha + self.beta))
        parameters = ratio * (flops / 6) ** (self.beta / (self.alpha + self.beta))
        return Budget(parameters, flops / (6 * parameters))


class Budget(NamedTuple):
    parameters: float
    tokens: float


class PowerLaw(NamedTuple):
    """loss = (constant / x)^exponent, a straight line in a picture with logarithmic axes."""

    exponent: float
    constant: float
    standard_error: float = 0.0  # of the exponent

    def loss(self, x: float) -> float:
        return float((self.constant / x) ** self.exponent)


# Published laws. Kaplan's N leaves the tables of tokens and positions out; Hoffmann's counts them.
KAPLAN_N = PowerLaw(0.076, 8.8e13)  # Kaplan et al. 2020, eq. 1.1
KAPLAN_D = PowerLaw(0.095, 5.4e13)  # eq. 1.2, in tokens
HOFFMANN = Law(1.69, 406.4, 0.34, 410.7, 0.28)  # Hoffmann et al. 2022, eq. 10 (approach 3)
BESIROGLU = Law(1.8172, 482.01, 0.3478, 2085.43, 0.3658)  # Besiroglu et al. 2024: the same runs, fitted again
TOKENS_PER_PARAMETER = 20  # the rule of thumb that Hoffmann's first two approaches give
PF_DAY = 1e15 * 24 * 3600  # FLOPs


@dataclass(frozen=True, slots=True)
class Fit:
    """A law fitted to losses, with the range in which nine of ten bootstrap fits put each constant."""

    law: Law
    low: Law  # 5 % of the bootstrap fits lie below, constant by constant
    high: Law  # 5 % lie above
    error: float  # root mean square of log(fitted / measured)


def fit(parameters: Sequence[float], tokens: Sequence[float], losses: Sequence[float], bootstraps: int = 200) -> Fit:
    """Least squares on log(loss); its uncertainty by dealing the residuals out anew.

    Raises: OutOfRange for fewer than 6 losses: five constants would pass through five points, whatever they are.
    """
    n, d, measured = (np.asarray(each, dtype=np.float64) for each in (parameters, tokens, losses))
    if len(measured) < 6:
        raise OutOfRange(name="losses", value=len(measured), low=6, high="∞")
    theta = _refine(_start(n, d, measured), n, d, measured)
    fitted = np.exp(_log_loss(theta, n, d)[0])
    residuals = np.log(measured / fitted)
    # Five constants have bent the curve towards the points, so the residuals are a little too small.
    residuals = (residuals - residuals.mean()) * np.sqrt(len(measured) / (len(measured) - 5))
    rng, again = np.random.default_rng(0), []
    # A floor near 0 hardly bends the curve and would stay there: each fit begins with one that does.
    begin = theta.copy()
    begin[0] = max(theta[0], np.log(measured.min() / 2))
    for _ in range(bootstraps):
        dealt = fitted * np.exp(rng.choice(residuals, len(measured)))
        again.append(_law(_refine(begin, n, d, dealt, 60)))
    low, high = np.percentile(np.array(again), [5, 95], axis=0)
    error = float(np.sqrt(np.mean(np.log(measured / fitted) ** 2)))
    return Fit(_law(theta), Law(*low.tolist()), Law(*high.tolist()), error)


def _law(theta: Floats) -> Law:
    log_floor, log_a, alpha, log_b, beta = theta.tolist()
    return Law(float(np.exp(log_floor)), float(np.exp(log_a)), alpha, float(np.exp(log_b)), beta)


def _log_loss(theta: Floats, n: Floats, d: Floats) -> tuple[Floats, Floats]:
    """log of the law's loss at every point, and its derivatives by the five constants. Shapes: (P,), (P, 5)"""
    log_floor, log_a, alpha, log_b, beta = theta
    floor, by_n, by_d = np.exp(log_floor), np.exp(log_a - alpha * np.log(n)), np.exp(log_b - beta * np.log(d))
    loss = floor + by_n + by_d
    slopes = [np.full_like(loss, floor), by_n, -by_n * np.log(n), by_d, -by_d * np.log(d)]
    return np.log(loss), np.stack(slopes, 1) / loss[:, None]


def _start(n: Floats, d: Floats, losses: Floats) -> Floats:
    """The best law whose exponents lie on a grid; for given exponents the other constants are a linear problem."""
    best, best_error = np.log([1.0, 1.0, np.e, 1.0, np.e]), np.inf
    for alpha in np.linspace(0.05, 1.2, 24):
        for beta in np.linspace(0.05, 1.2, 24):
            columns = np.stack([np.ones_like(n), n**-alpha, d**-beta], 1) / losses[:, None]
            solved, *_ = np.linalg.lstsq(columns, np.ones_like(n), rcond=None)
            error = float(np.sum((columns @ solved - 1) ** 2))
            if solved.min() > 0 and error < best_error:
                floor, a, b = np.log(solved)
                best, best_error = np.array([floor, a, alpha, b, beta]), error
    return best


def _refine(theta: Floats, n: Floats, d: Floats, losses: Floats, rounds: int = 300) -> Floats:
    """Levenberg-Marquardt: steps of least squares on the tangent, shorter whenever one did not help."""
    damping, (value, jacobian) = 1e-3, _log_loss(theta, n, d)
    gap = np.log(losses) - value
    for _ in range(rounds):
        square = jacobian.T @ jacobian
        step = np.linalg.solve(square + damping * np.diag(np.diag(square) + 1e-12), jacobian.T @ gap)
        tried = theta + step
        with np.errstate(over="ignore", invalid="ignore"):  # a step far too long; it is taken back
            new_value, new_jacobian = _log_loss(tried, n, d)
            new_gap = np.log(losses) - new_value
            better = bool(new_gap @ new_gap <= gap @ gap)
        if better:
            theta, gap, jacobian, damping = tried, new_gap, new_jacobian, damping / 3
            if np.abs(step).max() < 1e-9:
                break
        else:
            damping = min(damping * 5, 1e9)
    return theta


def power_law(x: Sequence[float], losses: Sequence[float]) -> PowerLaw:
    """The straight line through log(loss) over log(x), with the standard error of its slope. Needs 3 points or more."""
    log_x, log_loss = np.log(np.asarray(x, dtype=np.float64)), np.log(np.asarray(losses, dtype=np.float64))
    centred = log_x - log_x.mean()
    slope = float(centred @ log_loss / (centred @ centred))
    residuals = log_loss - log_loss.mean() - slope * centred
    error = float(np.sqrt(residuals @ residuals / (len(log_x) - 2) / (centred @ centred)))
    # log loss = exponent (log constant - log x)
    return PowerLaw(-slope, float(np.exp(log_x.mean() - log_loss.mean() / slope)), error)


# What training costs.

GPT_3 = GPTConfig(vocab_size=50257, context_length=2048, emb_dim=12288, n_heads=96, n_layers=96)
GPT_3_PAPER = Budget(175e9, 300e9)  # Brown et al. 2020, table 2.1: the sizes everybody quotes
CHINCHILLA = Budget(70e9, 1.4e12)  # Hoffmann et al. 2022
GPUS = {"v100": 125e12, "a100": 312e12, "h100": 989e12}  # FLOPs per second, dense, 16 bit, as the makers say
ADAM_BYTES = 16  # a parameter: weight and gradient in 16 bit; weight, mean and square in 32 (Rajbhandari et al. 2020)
HALF_BYTES = 2  # of a weight that is only used


@dataclass(frozen=True, slots=True)
class Cost:
    """What one training takes, under the assumptions that it was asked for."""

    flops: float  # 6ND: 2 for each weight forward, 4 backward
    weight_bytes: float  # to use the model, in 16 bit
    training_bytes: float  # weights, gradients and Adam's memory; activations come on top
    gpu_hours: float
    tokens_per_parameter: float


def cost(parameters: float, tokens: float, gpu: str = "a100", utilisation: float = 0.4) -> Cost:
    """The calculator: `utilisation` is the share of the GPU's highest speed that training reaches.

    Raises: OutOfRange
    """
    for name, value, high in (("parameters", parameters, 1e15), ("tokens", tokens, 1e18)):
        if not 1 <= value <= high:
            raise OutOfRange(name=name, value=value, low=1, high=high)
    if not 0 < utilisation <= 1:
        raise OutOfRange(name="utilisation", value=utilisation, low=0, high=1)
    flops = training_flops(parameters, tokens)
    hours = flops / (GPUS[gpu] * utilisation) / 3600
    return Cost(flops, HALF_BYTES * parameters, ADAM_BYTES * parameters, hours, tokens / parameters)


def training_flops(parameters: float, tokens: float) -> float:
    """C = 6ND, without attention's products of tokens with tokens. Source: Kaplan et al. 2020, section 2.1"""
    return 6 * parameters * tokens


def rule_of_twenty(flops: float) -> Budget:
    """Chinchilla's optimum by the rule of thumb: D = 20 N and 6ND = flops, so N = sqrt(flops / 120)."""
    parameters = (flops / (6 * TOKENS_PER_PARAMETER)) ** 0.5
    return Budget(parameters, TOKENS_PER_PARAMETER * parameters)
