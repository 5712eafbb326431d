"""`python -m playground.lessons.train_dates --out FOLDER`: train the encoder-decoder on dates of our own."""

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from playground.gpt import packed

from .date_forms import days, written
from .encoder_decoder import ALPHABET, START, EncoderDecoder, ids, translate


def initialised(seed: int) -> EncoderDecoder:
    """Random weights: matrices so that a sublayer keeps about the size of its input, tables with deviation 0.1."""
    rng, model = torch.Generator().manual_seed(seed), EncoderDecoder()
    for name, weights in model.named_parameters():
        if weights.ndim == 2:
            table = name.endswith(("embedding.weight", "positions.weight"))
            nn.init.normal_(weights, std=0.1 if table else weights.size(1) ** -0.5 / 2, generator=rng)
        elif not name.endswith("scale"):
            nn.init.zeros_(weights)
    return model


def pairs() -> dict[int, tuple[Tensor, Tensor]]:
    """Everything to learn from, by the length of what is read: so that nothing is ever padded.

    Shapes: (N, S) texts and (N, 10) answers, as numbers
    """
    grouped: dict[int, tuple[list[list[int]], list[list[int]]]] = {}
    for day in days(held_out=False):
        answer = ids(day.isoformat())
        for text in written(day).values():
            source = ids(text)
            sources, answers = grouped.setdefault(len(source), ([], []))
            sources.append(source)
            answers.append(answer)
    packed_pairs = sorted(grouped.items())
    return {n: (torch.tensor(s, dtype=torch.uint8), torch.tensor(a, dtype=torch.uint8)) for n, (s, a) in packed_pairs}


def train(model: EncoderDecoder, steps: int, batch: int, peak: float, seed: int) -> Iterator[float]:
    """Train `model` in place, one loss per step; a batch holds texts of one length. Units: nats per character"""
    examples, rng = pairs(), torch.Generator().manual_seed(seed)
    lengths = list(examples)
    # Short and long texts are few; the root shows them more often than their share.
    chances = torch.tensor([len(examples[n][0]) for n in lengths]).sqrt()
    optimizer = torch.optim.AdamW(model.parameters(), lr=peak, betas=(0.9, 0.98), weight_decay=0.01)
    for step in range(steps):
        sources, answers = examples[lengths[int(torch.multinomial(chances, 1, generator=rng))]]
        picked = torch.randint(len(sources), (batch,), generator=rng)
        source, answer = sources[picked].long(), answers[picked].long()
        target = F.pad(answer[:, :-1], (1, 0), value=START)
        for group in optimizer.param_groups:
            group["lr"] = peak * min((step + 1) / 100, 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * step / steps)))
        loss = F.cross_entropy(model(source, target).flatten(0, 1), answer.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield float(loss.detach())


def accuracy(model: EncoderDecoder, every: int = 20) -> dict[str, float]:
    """Share of days never trained on that come out right to the last character, by form and over all."""
    right: dict[str, list[bool]] = {}
    chosen = list(days(held_out=True))[::every]
    texts = [(name, text, day.isoformat()) for day in chosen for name, text in written(day).items()]
    answers = translate(model, [text for _, text, _ in texts])
    for (name, _, expected), answer in zip(texts, answers, strict=True):
        right.setdefault(name, []).append(answer == expected)
        right.setdefault("all", []).append(answer == expected)
    return {name: sum(each) / len(each) for name, each in right.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m playground.lessons.train_dates", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where model and results go")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--batch", type=int, default=96)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    model, began, curve = initialised(args.seed), time.process_time(), []
    for step, loss in enumerate(train(model, args.steps, args.batch, args.learning_rate, args.seed), 1):
        if step % 100 == 0 or step == args.steps:
            curve.append({"step": step, "loss": round(loss, 5)})
            sys.stderr.write(f"{step}/{args.steps}  loss {loss:.4f}  {time.process_time() - began:.0f} s\n")
    packed.save(model, args.out / "model.safetensors")
    results = {
        "command": f"python -m playground.lessons.train_dates --out FOLDER --steps {args.steps} --batch {args.batch}"
        f" --learning-rate {args.learning_rate} --seed {args.seed}",
        "alphabet": ALPHABET,
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "cpu_seconds": round(time.process_time() - began),
        "held_out_right": accuracy(packed.load(EncoderDecoder(), args.out / "model.safetensors"), every=1),
        "curve": curve,
    }
    (args.out / "results.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    sys.stderr.write(f"held out: {results['held_out_right']}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
