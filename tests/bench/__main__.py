"""`python -m tests.bench`: us and the others on the same work, in one run; a table on the terminal, JSON in a file.

The exit status says whether every target holds that was measured.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from .conditions import conditions
from .how import QUICK, How
from .peers import broken
from .profile import NAMES, profiled
from .rows import Row, not_measured, table

SUBJECTS = ("same", "generation", "seeing", "lens", "sweep", "pictures", "start", "page")
FURTHER = ("growth",)
PROFILES = {  # of each subject
    "generation": ("generation",),
    "seeing": ("plain", "trace"),
    "lens": ("lens", "plain"),
    "sweep": ("sweep", "heads"),
}


def flags() -> argparse.ArgumentParser:
    known = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    known.add_argument("--quick", action="store_true", help="fewer rounds: minutes, and a wider spread")
    known.add_argument("--rounds", type=int, help="how often each thing is measured (default 5, quick 2)")
    known.add_argument("--threads", type=int, default=2, help="threads of PyTorch (default 2)")
    known.add_argument("--json", type=Path, metavar="FILE", help="write rows, spread and conditions there")
    known.add_argument("--only", default="", metavar="A,B", help=f"of {', '.join(SUBJECTS)}")
    known.add_argument("--growth", action="store_true", help="also over prompt length, model size and visitors")
    known.add_argument("--profile", choices=NAMES, help="instead, show where the time of one thing goes")
    return known


def subjects(only: str, growth: bool) -> list[str]:
    """What to measure, in order. Raises: SystemExit for an unknown name"""
    asked = [name for name in only.split(",") if name]
    if unknown := [name for name in asked if name not in (*SUBJECTS, *FURTHER)]:
        raise SystemExit(f"{unknown[0]}: choose from {', '.join((*SUBJECTS, *FURTHER))}")
    return asked or [*SUBJECTS, *(FURTHER if growth else ())]


def measured(subject: str, how: How) -> list[Row]:
    """The rows of one subject; when it breaks, one that says why, so that the others are still measured."""
    try:
        rows: list[Row] = import_module(f"tests.bench.{subject}").measure(how)
        return rows
    except Exception as error:
        return [not_measured(subject, "", "", None, broken(error))]


def advice(subject: str, rows: Sequence[Row]) -> str:
    """Where to look, when a target does not hold."""
    names = PROFILES.get(subject, ())
    if not names or all(row.holds is not False for row in rows):
        return "\n"
    return f"  where the time goes: {', '.join(f'--profile {name}' for name in names)}\n\n"


def report(rows: Sequence[Row], how: How, begun: dict[str, Any]) -> dict[str, Any]:
    """What the JSON file holds."""
    asked = {"rounds": how.rounds, "steps": how.steps, "load_at_the_end": conditions()["load"]}
    return {"conditions": begun | asked, "rows": [row.as_json() for row in rows]}


def main() -> int:
    given = flags().parse_args()
    torch.set_num_threads(given.threads)
    warnings.simplefilter("ignore")  # the peers' own
    how = QUICK if given.quick else How()
    how = replace(how, rounds=given.rounds or how.rounds)
    if given.profile:
        sys.stdout.write(profiled(given.profile, how))
        return 0
    begun, rows = conditions(), []
    for subject in subjects(given.only, given.growth):
        sys.stderr.write(f"{subject} ...\n")
        found = measured(subject, how)
        sys.stdout.write(table(found) + "\n" + advice(subject, found))
        sys.stdout.flush()
        rows += found
        if given.json:  # after each subject: what is measured stays measured
            given.json.write_text(json.dumps(report(rows, how, begun), indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 1 if any(row.holds is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
