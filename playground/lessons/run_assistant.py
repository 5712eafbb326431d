"""`python -m playground.lessons.run_assistant --out FILE`: make the reward model and the shipped trainings again."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from . import policy, reward_model
from .little_stories import preferences


def train_head(steps: int, seed: int) -> dict[str, Any]:
    """A reward model as it is shipped: the row of weights, rounded, and what centres its rewards."""
    for step in reward_model.train_reward("happy", steps, seed):
        found = step.found
    held_out = reward_model.states_of(preferences(reward_model.HELD_OUT, seed, new=True)) @ found.head
    return {
        "held_out_right": found.right[-1],
        "head": [round(weight, 4) for weight in found.head.tolist()],
        "bias": round(-float(held_out.mean()), 4),
    }


def improve(goal: policy.Goal, steps: int, seed: int) -> dict[str, Any]:
    """One training of a policy, its numbers rounded and four of its stories kept."""
    for step in policy.improve(goal, steps, seed):
        found = step.found
    result = asdict(found)
    del result["clipped"]  # which only a training that one watches shows
    for name in ("rewards", "kl"):
        result[name] = [round(each, 3) for each in result[name]]
    for name in ("before", "after"):
        result[name]["texts"] = result[name]["texts"][:4]
        result[name]["rewards"] = {judge: round(each, 3) for judge, each in result[name]["rewards"].items()}
        result[name]["diversity"] = round(result[name]["diversity"], 3)
    return result | {"beginnings": result["beginnings"][:4]}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m playground.lessons.run_assistant", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the results go, as JSON")
    parser.add_argument("--reward-steps", type=int, default=60)
    parser.add_argument("--policy-steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    began = time.process_time()
    head = train_head(args.reward_steps, args.seed)
    results: dict[str, Any] = {
        "command": f"python -m playground.lessons.run_assistant --out FILE --reward-steps {args.reward_steps}"
        f" --policy-steps {args.policy_steps} --seed {args.seed}",
        "reward_model": head,
        "policies": [],
    }
    for beta in policy.BETAS.values():
        results["policies"].append(
            improve(policy.Goal("model", beta, reward_model.Head.of(head)), args.policy_steps, args.seed)
        )
        sys.stderr.write(f"beta {beta}: {results['policies'][-1]['after']}  {time.process_time() - began:.0f} s\n")
    results["cpu_seconds"] = round(time.process_time() - began)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(results) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
