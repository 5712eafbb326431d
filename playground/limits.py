"""What whoever runs the page decides: how much of everything one visitor, or all together, may take.

What a model is made for, such as its context length, is no limit of this kind and stands in its configuration.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from playground.errors import SettingUnusable

MB = 10**6


def limit(default: int, variable: str, unit: int = 1, high: int = 10**9) -> Any:
    """A field read from `PLAYGROUND_<variable>`, there a whole number of `unit`s from 1 to `high`."""
    return field(default=default * unit, metadata={"variable": f"PLAYGROUND_{variable}", "unit": unit, "high": high})


@dataclass(frozen=True, slots=True)
class Limits:
    """Read once, at the start, and handed down. Units: bytes, where a name says so"""

    prompt_characters: int = limit(20_000, "PROMPT_CHARACTERS")  # counted before it is tokenised
    new_tokens: int = limit(200, "NEW_TOKENS")  # written after one prompt
    switches: int = limit(2_000, "SWITCHES")  # off at once; GPT-2 XL has 1,296 of its own
    run_bytes: int = limit(640, "RUN_MB", MB)  # largest trace made for one visitor
    kept_run_bytes: int = limit(1_200, "RUNS_MB", MB)  # all traces kept for those to come back
    spare_run_bytes: int = limit(100, "SPARE_RUNS_MB", MB)  # above it only as many traces are kept as one look needs
    kept_model_bytes: int = limit(3_200, "MODELS_MB", MB)  # loaded models beyond the newest are dropped above it
    download_bytes: int = limit(7_000, "DOWNLOAD_MB", MB)  # largest model fetched because a visitor chose it
    file_bytes: int = limit(640, "FILE_MB", MB)  # largest file made for a visitor to take home
    training_parameters: int = limit(4_000_000, "TRAINING_PARAMETERS")  # weights that one visitor's training moves
    training_seconds: int = limit(300, "TRAINING_SECONDS")  # one training, however often it is stopped and resumed
    trained_model_bytes: int = limit(400, "TRAINED_MB", MB)  # checkpoints of visitors' models; the oldest go first
    visitors: int = limit(200, "VISITORS")  # pages open at once
    queue: int = limit(64, "QUEUE")  # requests that wait
    at_once: int = limit(4, "AT_ONCE", high=1024)  # requests of one kind that are worked on
    threads: int = limit(2, "THREADS", high=1024)  # of torch: more visitors share the cores, they do not multiply them


DEFAULTS = Limits()


def from_environment(environment: Mapping[str, str]) -> Limits:
    """The limits as the environment sets them. Raises: SettingUnusable"""
    found = {}
    for each in fields(Limits):
        written = environment.get(each.metadata["variable"], "").strip()
        if written:
            found[each.name] = read(written, **each.metadata)
    return Limits(**found)


def read(written: str, variable: str, unit: int, high: int) -> int:
    """One setting. Raises: SettingUnusable"""
    whole = int(written) if written.isascii() and written.isdigit() and len(written) < 20 else 0
    if not 1 <= whole <= high:
        raise SettingUnusable(name=variable, value=written, low=1, high=high)
    return whole * unit


def settings(limits: Limits) -> dict[str, int]:
    """Every limit under its variable's name, in the unit that the variable has."""
    return {each.metadata["variable"]: getattr(limits, each.name) // each.metadata["unit"] for each in fields(Limits)}


def changed(limits: Limits) -> dict[str, int]:
    """The settings that are not as by default."""
    return dict(settings(limits).items() - settings(DEFAULTS).items())
