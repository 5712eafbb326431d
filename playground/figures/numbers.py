"""How a number is written in sentences and at ticks; the page's scripts write theirs alike, see `number` there."""

import math

PLAIN = range(-3, 6)  # powers of ten that are written without an exponent


def brief(value: float, digits: int = 2) -> str:
    """So many digits of a number: 0.0056, 12, 4.5e-6. It is 0 only of 0."""
    if not math.isfinite(value):
        return f"{value:g}"
    mantissa, exponent = f"{value:z.{digits - 1}e}".split("e")
    power = int(exponent)
    return f"{float(f'{mantissa}e{power}'):.9g}" if power in PLAIN else f"{float(mantissa):g}e{power}"


def fixed(value: float, decimals: int = 3) -> str:
    """So many decimals of a number; of a smaller one its first two digits."""
    return f"{value:.{decimals}f}" if abs(value) >= 10.0**-decimals else brief(value)
