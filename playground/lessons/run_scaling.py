"""`python -m playground.lessons.run_scaling --texts FILE --out FILE`: train the grid of the scaling lesson again."""

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
from .scaling_grid import SHIPPED, sweep


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m playground.lessons.run_scaling", description=__doc__)
    parser.add_argument("--texts", type=Path, required=True, metavar="FILE", help=".txt or .txt.xz, see gpt/data.py")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the results go, as JSON")
    parser.add_argument("--sizes", type=int, default=len(SHIPPED.sizes), metavar="N", help="the N smallest sizes only")
    parser.add_argument("--seed", type=int, default=SHIPPED.seed)
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    grid = replace(SHIPPED, sizes=SHIPPED.sizes[: args.sizes], seed=args.seed)
    texts, held_out = read_texts(args.texts)
    text, unseen = rows("\n\n".join(texts), grid.length), rows("\n\n".join(held_out), grid.length)
    began, points = time.process_time(), []
    args.out.parent.mkdir(parents=True, exist_ok=True)
    for progress in sweep(grid, text, unseen):
        if progress.point is None:
            continue
        points.append(asdict(progress.point) | {"loss": round(progress.point.loss, 4)})
        seconds = round(time.process_time() - began)
        sys.stderr.write(f"{progress.done}/{progress.total} {points[-1]} {seconds} s\n")
        results = {
            "command": f"python -m playground.lessons.run_scaling --texts {args.texts.name} --out FILE"
            f" --sizes {args.sizes} --seed {args.seed}",
            "grid": asdict(grid),
            "cpu_seconds": seconds,
            "points": points,
        }
        args.out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
