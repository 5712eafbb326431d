"""A measurement as one row: ours, theirs, the ratio of the two, and whether it is what we promise."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Target:
    """What the ratio ours / peer must be."""

    bound: float
    at_least: bool

    def holds(self, ratio: float) -> bool:
        return ratio >= self.bound if self.at_least else ratio <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}"


def at_least(bound: float) -> Target:
    return Target(bound, at_least=True)


def at_most(bound: float) -> Target:
    return Target(bound, at_least=False)


@dataclass(frozen=True, slots=True)
class Spread:
    """Several measurements of one thing."""

    median: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison. `ratio` is ours / peer, so whether more or less is better depends on the unit, and the target."""

    name: str
    unit: str  # of ours and peer
    against: str  # who or what the peer is
    ours: float | None  # None: not measured, `why` says the reason
    peer: float | None
    ratio: float | None
    target: str | None  # None: told, not promised
    holds: bool | None
    ours_spread: Spread | None = None
    peer_spread: Spread | None = None
    why: str | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def spread(values: Sequence[float]) -> Spread:
    """Raises: statistics.StatisticsError for no values"""
    return Spread(statistics.median(values), min(values), max(values), len(values))


def percentile(values: Sequence[float], share: float) -> float:
    """The least value that at least this share of all do not exceed."""
    ordered = sorted(values)
    least = next(i for i in range(1, len(ordered) + 1) if i >= share * len(ordered) - 1e-9)
    return ordered[least - 1]


def compared(
    name: str, unit: str, ours: Sequence[float], peer: Sequence[float], against: str, target: Target | None = None
) -> Row:
    """Medians of the same run and their ratio."""
    mine, theirs = spread(ours), spread(peer)
    ratio = mine.median / theirs.median
    told = None if target is None else str(target)
    holds = None if target is None else target.holds(ratio)
    return Row(name, unit, against, mine.median, theirs.median, ratio, told, holds, mine, theirs)


def limited(name: str, unit: str, ours: Sequence[float], target: Target) -> Row:
    """The median against a limit in its own unit."""
    mine, limit = spread(ours), target.bound
    ratio = mine.median / limit if limit else None
    return Row(name, unit, "the limit", mine.median, limit, ratio, str(target), target.holds(mine.median), mine)


def told(name: str, unit: str, ours: Sequence[float]) -> Row:
    """A figure with nothing to compare it with."""
    mine = spread(ours)
    return Row(name, unit, "nobody", mine.median, None, None, None, None, mine)


def not_measured(name: str, unit: str, against: str, target: Target | None, why: str) -> Row:
    return Row(name, unit, against, None, None, None, None if target is None else str(target), None, why=why)


def rates(seconds: Sequence[float], count: float) -> list[float]:
    """How many in a second, where `count` took so long."""
    return [count / each for each in seconds]


def table(rows: Sequence[Row]) -> str:
    """All rows, one a line, as wide as they need."""
    lines = [("", "name", "unit", "ours", "peer", "ratio", "target", "against")]
    for row in rows:
        mark = {True: "holds", False: "FAILS", None: ""}[row.holds]
        numbers = (short(row.ours), short(row.peer), short(row.ratio))
        lines.append((mark, row.name, row.unit, *numbers, row.target or "", row.why or row.against))
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]) - 1)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]).rstrip()
        for line in lines
    )


def short(value: float | None) -> str:
    """Three digits that count."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
