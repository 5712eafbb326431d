"""The table of cases.md: every acceptance case has a test, and the tests it names exist and name the case."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
TABLE = re.findall(r"^\| (O-\w+-\d\d) \| (.*) \|$", (TESTS / "cases.md").read_text("utf-8"), re.MULTILINE)
ROWS = dict(TABLE)
GROUPS = {
    "TOK": 11,
    "COR": 12,
    "CKP": 16,
    "GEN": 9,
    "ATT": 13,
    "ACT": 6,
    "ABL": 7,
    "UI": 9,
    "CON": 7,
    "SEC": 6,
    "DEP": 6,
}
CASES = [f"O-{group}-{number:02}" for group, count in GROUPS.items() for number in range(1, count + 1)]
ELSEWHERE = {"under load": {"O-CON-05", "O-CON-06"}, "of the deployment": {"O-DEP-04"}}


def functions() -> dict[str, str]:
    """Every test as `file::name`, with what its decorators say."""
    return {
        f"{path.relative_to(TESTS)}::{node.name}": "\n".join(map(ast.unparse, node.decorator_list))
        for path in TESTS.rglob("test_*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


FUNCTIONS = functions()


def named(row: str) -> list[str]:
    return re.findall(r"`([^`]+)`", row)


def test_there_are_102_cases_and_each_has_its_row():
    assert len(CASES) == 102
    assert sorted(case for case, _ in TABLE) == sorted(CASES)


@pytest.mark.parametrize("case", CASES)
def test_the_tests_of_a_case_exist_and_name_it(case):
    for test in named(ROWS[case]):
        assert test in FUNCTIONS
        file, name = test.split("::")
        assert case.replace("-", "_") in name or case in (TESTS / file).read_text("utf-8")
    if not named(ROWS[case]):
        assert case in ELSEWHERE[ROWS[case]]


def test_every_test_that_names_a_case_stands_in_its_row():
    found = defaultdict(set)
    for test, decorators in FUNCTIONS.items():
        for case in re.findall(r"O_[A-Z]+_\d\d", test) + re.findall(r"O-[A-Z]+-\d\d", decorators):
            found[case.replace("_", "-")].add(test)
    assert {case: tests for case, tests in found.items() if not tests <= set(named(ROWS.get(case, "")))} == {}
