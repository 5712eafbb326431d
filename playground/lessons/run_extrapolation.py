"""`python -m playground.lessons.run_extrapolation --texts FILE --out FILE`: make the shipped losses again."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import torch

from playground.gpt.data import read_texts

from .characters import rows
from .extrapolation import KINDS, LONGER, SHIPPED, experiment


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m playground.lessons.run_extrapolation", description=__doc__)
    parser.add_argument("--texts", type=Path, required=True, metavar="FILE", help=".txt or .txt.xz, see gpt/data.py")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the results go, as JSON")
    parser.add_argument("--steps", type=int, default=SHIPPED.steps)
    parser.add_argument("--seed", type=int, default=SHIPPED.seed)
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    setting = replace(SHIPPED, steps=args.steps, seed=args.seed)
    texts, held_out = read_texts(args.texts)
    text, unseen = rows("\n\n".join(texts), setting.length), rows("\n\n".join(held_out), LONGER * setting.length)
    began, losses = time.process_time(), {}
    for progress in experiment(setting, text, unseen):
        if progress.by_position is not None:
            losses[progress.kind] = [round(loss, 4) for loss in progress.by_position.tolist()]
        if progress.step % 100 == 0:
            sys.stderr.write(
                f"{progress.kind} {progress.step} {progress.loss:.3f} {time.process_time() - began:.0f} s\n"
            )
    results = {
        "command": f"python -m playground.lessons.run_extrapolation --texts {args.texts.name} --out FILE"
        f" --steps {args.steps} --seed {args.seed}",
        "setting": asdict(setting),
        "cpu_seconds": round(time.process_time() - began),
        "losses": {kind: losses[kind] for kind in KINDS},
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(results) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
