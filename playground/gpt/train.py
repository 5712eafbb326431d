"""Training: show the model text, nudge every weight towards the token that really came next, repeat.

`python -m playground.gpt.train --help` trains from the command line; `train` is the same as a generator.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .data import Rows, with_repeats
from .model import GPTModel


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides how a training goes; the same recipe and seed give the same model."""

    steps: int
    batch: int = 32
    learning_rate: float = 3e-3
    warmup: int = 100  # steps over which the learning rate rises to its peak
    weight_decay: float = 0.1
    clip: float = 1.0  # longest gradient, as a vector of all weights
    repeats: float = 0.0  # share of rows that repeat a shuffled passage, see data.with_repeats
    last_rows_from: float = 1.0  # share of the steps after which only the second set of rows is read
    seed: int = 0


@dataclass(frozen=True, slots=True)
class TrainStep:
    """One step of training. Units: loss in nats per token, before this step's update."""

    step: int  # from 1
    loss: Tensor  # (); a tensor, so that nobody waits for the device who does not look
    learning_rate: float


def initialise(model: GPTModel, seed: int) -> GPTModel:
    """Random weights as GPT-2's: normal, std 0.02, smaller where many sublayers add up.

    Source: Radford et al. 2019, section 2.3
    """
    rng = torch.Generator().manual_seed(seed)
    into_stream = 0.02 / math.sqrt(2 * model.config.n_layers)
    for name, weights in model.named_parameters():
        if name.endswith("scale"):
            nn.init.ones_(weights)
        elif weights.ndim == 1:
            nn.init.zeros_(weights)
        else:
            std = into_stream if name.endswith(("out.weight", "narrow.weight")) else 0.02
            nn.init.normal_(weights, std=std, generator=rng)
    return model


def learning_rate(recipe: Recipe, step: int) -> float:
    """Rise in a straight line, fall along half a cosine to a hundredth. `step` counts from 0."""
    if step < recipe.warmup:
        return recipe.learning_rate * (step + 1) / recipe.warmup
    done = (step - recipe.warmup) / max(1, recipe.steps - recipe.warmup)
    return recipe.learning_rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


def optimizer_for(model: GPTModel, recipe: Recipe) -> torch.optim.AdamW:
    """AdamW; matrices decay, biases and LayerNorm's scale and shift do not."""
    matrices = [w for w in model.parameters() if w.ndim == 2]
    vectors = [w for w in model.parameters() if w.ndim == 1]
    groups = [{"params": matrices, "weight_decay": recipe.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=(0.9, 0.98), fused=True)


def pick_rows(rows: Rows, recipe: Recipe, step: int) -> Tensor:
    """Which rows step `step` reads: every pass over them in a new order that the seed decides.

    A function of the step alone, so that a resumed training reads on where it stopped.
    """
    R, first = rows.starts.numel(), step * recipe.batch
    picked = []
    for at in range(first // R, (first + recipe.batch - 1) // R + 1):
        order = torch.randperm(R, generator=torch.Generator().manual_seed(recipe.seed * 100_003 + at))
        picked.append(order[max(0, first - at * R) : first + recipe.batch - at * R])
    return torch.cat(picked)


def train(
    model: GPTModel,
    rows: Rows,
    recipe: Recipe,
    optimizer: torch.optim.Optimizer,
    start: int = 0,
    last_rows: Rows | None = None,
    bfloat16: bool = False,
) -> Iterator[TrainStep]:
    """Train `model` in place, one yield per step, from step `start` on; stop by not asking for more.

    With `bfloat16` matrix products are computed in that format, everything else in float32.
    """
    device = model.token_embedding.weight.device
    model.train()
    for step in range(start, recipe.steps):
        late = step >= recipe.last_rows_from * recipe.steps
        source = last_rows if late and last_rows is not None else rows
        inputs, targets = source.batch(pick_rows(source, recipe, step).to(device))
        if recipe.repeats:
            rng = torch.Generator().manual_seed(recipe.seed * 100_003 + step)
            inputs, targets = with_repeats(inputs, targets, recipe.repeats, rng)
        rate = learning_rate(recipe, step)
        with torch.random.fork_rng(enabled=device.type == "cpu"):
            torch.manual_seed(recipe.seed * 100_003 + step)  # decides what dropout drops
            with torch.autocast(device.type, torch.bfloat16, enabled=bfloat16):
                logits = model(inputs)  # (B, T, V)
            loss = F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())
            take_step(model, optimizer, loss, rate, recipe.clip)
        yield TrainStep(step + 1, loss.detach(), rate)


def take_step(model: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor, rate: float, clip: float = 1.0) -> None:
    """One update of all weights, against the gradient of `loss`. Shapes: loss ()"""
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()


@torch.inference_mode()
def held_out_loss(model: GPTModel, documents: list[list[int]]) -> float:
    """Mean loss over documents never trained on, each read from its start, at most a context long.

    Every token but a document's first is predicted from those before it.
    Units: nats per token, every token counting alike
    """
    was_training = model.training
    model.eval()
    device = model.token_embedding.weight.device
    T = model.config.context_length
    texts = [ids[:T] for ids in documents if len(ids) > 1]
    total, count = 0.0, 0
    for first in range(0, len(texts), 32):
        group = texts[first : first + 32]
        width = max(map(len, group))
        padded = torch.tensor([ids + [-1] * (width - len(ids)) for ids in group], device=device)
        logits = model(padded[:, :-1].clamp(min=0))  # (B, T - 1, V); padding comes last and is not seen
        losses = F.cross_entropy(logits.flatten(0, 1), padded[:, 1:].flatten(), ignore_index=-1, reduction="sum")
        total, count = total + float(losses), count + int((padded[:, 1:] >= 0).sum())
    model.train(was_training)
    return total / count


if __name__ == "__main__":
    from .train_command import main

    raise SystemExit(main())
