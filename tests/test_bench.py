"""The benchmark counts right; that it runs is tried on a network of four features, with no peer installed."""

import json
import statistics
import sys

import pytest

from playground.gpt.config import GPTConfig
from tests.bench import __main__ as command
from tests.bench import clock, growth, peers, same
from tests.bench.clock import Sample, interleaved, undisturbed
from tests.bench.how import How
from tests.bench.profile import NAMES
from tests.bench.rows import at_least, at_most, compared, limited, not_measured, percentile, rates, short, spread, table

TINY = How(
    GPTConfig(vocab_size=11, context_length=16, emb_dim=4, n_heads=2, n_layers=2),
    rounds=2, prompts=(3,), new=2, lengths=(4,), lens=4, swept=4, drawn=4, steps=2,
)  # fmt: skip
FIELDS = {"name", "ours", "peer", "ratio", "target", "holds"}


@pytest.fixture
def alone_here(monkeypatch):
    """No peer is installed, and nobody waits for others to be quiet."""
    monkeypatch.setattr(clock, "PATIENCE", 0)

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(peers, "import_module", missing)


# Arithmetic.


def test_the_ratio_is_that_of_the_medians_ours_over_theirs():
    row = compared("speed", "tokens/s", [10, 30, 20], [8, 9, 100], "them", at_least(2))
    assert (row.ours, row.peer, row.ratio) == (20, 9, 20 / 9)
    assert (row.target, row.holds) == ("≥ 2", True)
    assert (row.ours_spread.low, row.ours_spread.high, row.ours_spread.count) == (10, 30, 3)
    assert (row.peer_spread.low, row.peer_spread.high) == (8, 100)


@pytest.mark.parametrize(("ours", "holds"), [(1.0, True), (1.1, False)])
def test_at_most_is_reached_by_equality(ours, holds):
    assert compared("memory", "MB", [ours], [1], "them", at_most(1)).holds is holds


def test_a_limit_is_in_the_unit_itself():
    row = limited("lens", "ms", [40, 50, 60], at_most(100))
    assert (row.ours, row.peer, row.ratio, row.target, row.holds) == (50, 100, 0.5, "≤ 100", True)


def test_what_was_not_measured_neither_holds_nor_fails():
    row = not_measured("speed", "tokens/s", "them", at_least(2), "not installed")
    assert (row.ours, row.ratio, row.holds, row.why) == (None, None, None, "not installed")


def test_a_promise_is_told_but_not_kept_where_there_is_none():
    row = compared("speed", "tokens/s", [1], [2], "them")
    assert (row.ratio, row.target, row.holds) == (0.5, None, None)


def test_no_values_have_no_median():
    with pytest.raises(statistics.StatisticsError):
        spread([])


def test_the_95th_percentile_is_a_value_that_was_measured():
    assert percentile([*range(1, 101)], 0.95) == 95
    assert percentile([3, 1, 2], 0.95) == 3
    assert percentile([3, 1, 2], 0.5) == 2
    assert percentile([7], 0.95) == 7


def test_rates_are_counts_over_seconds():
    assert rates([0.5, 2], 4) == [8, 2]


def test_three_digits_that_count():
    assert [short(each) for each in (None, 0.012345, 12.345, 12345.6)] == ["-", "0.0123", "12.3", "12,346"]


def test_the_table_has_a_line_for_each_row_and_marks_what_fails():
    lines = table([
        compared("one", "ms", [3], [1], "them", at_most(1)),
        not_measured("two", "ms", "them", at_most(1), "not installed"),
    ]).splitlines()  # fmt: skip
    assert len(lines) == 3
    assert lines[1].startswith("FAILS")
    assert lines[2].endswith("not installed")


# Turns.


def test_works_take_turns_back_and_forth_and_the_first_round_does_not_count(monkeypatch):
    monkeypatch.setattr(clock, "PATIENCE", 0)
    done: list[str] = []
    seconds = interleaved({name: lambda name=name: done.append(name) for name in "ABC"}, rounds=2)
    assert "".join(done) == "CBAABCCBA"
    assert {name: len(each) for name, each in seconds.items()} == {"A": 2, "B": 2, "C": 2}


def test_samples_that_others_disturbed_are_left_out_if_there_are_better_ones():
    quiet, loud = [Sample(1, 0), Sample(2, 0.01)], [Sample(9, 0.5)]
    assert undisturbed(quiet + loud) == [1, 2]
    assert undisturbed(loud + quiet[:1]) == [9, 1]


def test_memory_at_its_worst_counts_what_was_given_back():
    assert clock.extra_peak(lambda: len(bytearray(50_000_000))) == pytest.approx(50, abs=10)


# The command.


def test_without_the_peers_their_rows_say_how_to_install_them(alone_here):
    rows = same.measure(TINY)
    why = {row.name: row.why for row in rows if row.ours is None}
    assert set(why) == {f"same logits: {name}" for name in same.PEERS}
    assert all("pip install -r tests/bench/requirements.txt" in each or each == peers.INSTALL for each in why.values())


@pytest.mark.parametrize("subject", ["generation", "seeing", "lens", "sweep"])
def test_a_subject_runs_on_a_tiny_network(alone_here, monkeypatch, subject):
    for name in ("generation", "seeing"):
        monkeypatch.setattr(f"tests.bench.{name}.alone", lambda *_, **__: {"why": "another process"})
    rows = command.measured(subject, TINY)
    assert [row.name for row in rows if row.ours is not None or row.why] == [row.name for row in rows]
    assert subject in ("generation",) or any(row.ours is not None for row in rows)


def test_a_subject_that_breaks_says_so_and_the_others_go_on():
    (row,) = command.measured("no_such_subject", TINY)
    assert (row.holds, row.why[:19]) == (None, "ModuleNotFoundError")


def test_the_file_holds_rows_and_the_conditions_of_the_run(alone_here, monkeypatch, tmp_path):
    file = tmp_path / "bench.json"
    monkeypatch.setattr(command, "QUICK", TINY)
    monkeypatch.setattr(sys, "argv", ["bench", "--quick", "--only", "lens", "--json", str(file)])
    command.main()
    told = json.loads(file.read_text("utf-8"))
    assert all(set(row) >= FIELDS for row in told["rows"])
    assert len(told["rows"]) == 3
    assert {"versions", "threads", "load", "machine", "date", "rounds"} <= set(told["conditions"])


def test_where_a_target_fails_the_command_says_which_profile_tells_why():
    (held, failed) = (compared("speed", "ms", [each], [1], "them", at_most(1)) for each in (1, 2))
    assert command.advice("seeing", [held]) == "\n"
    assert command.advice("seeing", [held, failed]).split() == [
        "where", "the", "time", "goes:", "--profile", "plain,", "--profile", "trace",
    ]  # fmt: skip
    assert {name for names in command.PROFILES.values() for name in names} == set(NAMES)


def test_an_unknown_subject_is_refused_by_name():
    with pytest.raises(SystemExit, match="speed: choose from same, generation"):
        command.subjects("speed", growth=False)
    assert command.subjects("", growth=True)[-1] == "growth"


# Curves.


def test_a_curve_bends_where_it_becomes_steeper():
    assert growth.bend([16, 32, 64, 128], [1, 1, 1, 2]) == 64
    assert growth.bend([16, 32, 64, 128], [1, 2, 4, 8]) is None
    assert growth.bend([16, 32, 64], [4, 2, 1]) is None


def test_a_curve_has_a_row_for_each_point_and_one_for_its_bend():
    rows = growth.curve("trace", "ms", "tokens", [(16, [1.0]), (32, [1.0]), (64, [4.0])])
    assert [row.name for row in rows] == [
        "trace at 16 tokens",
        "trace at 32 tokens",
        "trace at 64 tokens",
        "trace bends",
    ]
    assert rows[-1].ours == 32
