"""Dates as people write them, and the one way a machine wants them: what the encoder-decoder learns to translate.

Every form has one reading: with slashes the day is named only where it cannot be a month, with dots it comes first,
as in German.
"""

import random
from collections.abc import Callable, Iterator
from datetime import date, timedelta

FIRST, LAST = date(1900, 1, 1), date(2099, 12, 31)
HELD_OUT_EVERY = 10  # every tenth day is never trained on, in any form
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
Form = Callable[[date], str | None]  # None where the form would have two readings


def ordinal(number: int) -> str:
    """1 -> 1st, 2 -> 2nd, 11 -> 11th, 23 -> 23rd."""
    teen = 11 <= number % 100 <= 13
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _month(day: date) -> str:
    return MONTHS[day.month - 1]


def _unmistakable(day: date, text: str) -> str | None:
    return text if day.day > 12 or day.day == day.month else None


FORMS: dict[str, Form] = {
    "ordinal_of": lambda d: f"{ordinal(d.day)} of {_month(d)} {d.year}",
    "the_ordinal_of": lambda d: f"the {ordinal(d.day)} of {_month(d)} {d.year}",
    "month_day": lambda d: f"{_month(d)} {d.day}, {d.year}",
    "month_ordinal": lambda d: f"{_month(d)} {ordinal(d.day)}, {d.year}",
    "day_month": lambda d: f"{d.day} {_month(d)} {d.year}",
    "short_month": lambda d: f"{_month(d)[:3]} {d.day}, {d.year}",
    "dashes": lambda d: f"{d.day}-{_month(d)[:3]}-{d.year}",
    "short_weekday": lambda d: f"{WEEKDAYS[d.weekday()][:3]}, {d.day} {_month(d)[:3]} {d.year}",
    "weekday": lambda d: f"{WEEKDAYS[d.weekday()]}, {_month(d)} {d.day}, {d.year}",
    "year_first": lambda d: f"{d.year}/{d.month}/{d.day}",
    "dots": lambda d: f"{d.day}.{d.month}.{d.year}",
    "padded_dots": lambda d: f"{d.day:02}.{d.month:02}.{d.year}",
    "day_slash": lambda d: _unmistakable(d, f"{d.day}/{d.month}/{d.year}"),
    "month_slash": lambda d: _unmistakable(d, f"{d.month}/{d.day}/{d.year}"),
    "chinese": lambda d: f"{d.year}年{d.month}月{d.day}日",
}


def days(held_out: bool) -> Iterator[date]:
    """Every day from FIRST to LAST that is held out, or every other one."""
    for number in range((LAST - FIRST).days + 1):
        if (number % HELD_OUT_EVERY == 0) == held_out:
            yield FIRST + timedelta(number)


def written(day: date) -> dict[str, str]:
    """The day in every form that can only mean this day, by the form's name."""
    texts = {name: form(day) for name, form in FORMS.items()}
    return {name: text for name, text in texts.items() if text is not None}


def lines(count: int, seed: int, held_out: bool = False) -> str:
    """A text for models that train while one watches: lines such as `3rd of May 2021 = 2021-05-03`, in ASCII."""
    rng, chosen, made = random.Random(seed), list(days(held_out)), []
    for _ in range(count):
        day = rng.choice(chosen)
        text = rng.choice([text for name, text in written(day).items() if name != "chinese"])
        made.append(f"{text} = {day.isoformat()}\n")
    return "".join(made)
