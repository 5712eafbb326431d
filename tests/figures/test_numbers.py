"""Numbers are written as a person writes them, and never as 0 when they are not."""

import math

import pytest

from playground.figures.numbers import brief, fixed


@pytest.mark.parametrize(
    ("value", "digits", "written"),
    [(0, 2, "0"), (-0.0, 2, "0"), (123, 2, "120"), (123456, 4, "123500"), (999_999, 6, "999999"), (1.25e6, 3, "1.25e6"),
     (0.1, 2, "0.1"), (0.0056, 2, "0.0056"), (0.00056, 2, "5.6e-4"), (1e-5, 2, "1e-5"), (-4.5e-6, 2, "-4.5e-6"),
     (0.0009999, 2, "0.001"), (math.inf, 2, "inf"), (math.nan, 2, "nan")],
)  # fmt: skip
def test_digits(value, digits, written):
    assert brief(value, digits) == written


@pytest.mark.parametrize(
    ("value", "decimals", "written"),
    [(0, 3, "0"), (1.23456, 3, "1.235"), (0.001, 3, "0.001"), (0.00099, 3, "9.9e-4"),
     (3.8e-5, 4, "3.8e-5"), (-2, 2, "-2.00")],
)  # fmt: skip
def test_decimals(value, decimals, written):
    assert fixed(value, decimals) == written
