"""What a visitor set the controls of an experiment to: checked here, and nowhere else, before anything is computed."""

from typing import Any

from playground.errors import NotAChoice, TooManyCharacters
from playground.lessons.lesson import Choice, Control, Experiment, Flag, Number, Numbers, Seed
from playground.ui import checks


def checked(experiment: Experiment, given: Any) -> dict[str, Any]:
    """A value for every control: what is `given`, or else the one it begins with.

    Raises: NotANumber, OutOfRange, NotAChoice, TextEmpty, TooManyCharacters
    """
    given = given if isinstance(given, dict) else {}
    return {
        control.name: value(control, given[control.name]) if control.name in given else control.value
        for control in experiment.controls
    }


def value(control: Control, given: Any) -> Any:
    name = control.name
    match control:
        case Number():
            return number(control, given)
        case Numbers():
            if not isinstance(given, list) or len(given) != len(control.value):
                raise NotAChoice(name=name, value=given, choices=f"{len(control.value)} numbers")
            return tuple(number(control, each) for each in given)
        case Choice():
            return checks.choice(name, given, control.choices)
        case Flag():
            return checks.choice(name, given, (True, False))
        case Seed():
            return checks.whole(name, given, 0, control.high)
    written = "" if given == "" and control.empty else checks.text(given, name)
    if len(written) > control.longest:
        raise TooManyCharacters(characters=len(written), limit=control.longest)
    return written


def number(control: Number | Numbers, given: Any) -> float:
    """Whole where the control moves in whole steps from a whole number."""
    whole = float(control.step).is_integer() and float(control.low).is_integer()
    return (checks.whole if whole else checks.number)(control.name, given, control.low, control.high)
