"""The table of lessons."""

from playground.lessons import LESSONS

EXPERIMENTS = [experiment for lesson in LESSONS for experiment in lesson.experiments]


def test_no_two_lessons_or_experiments_have_one_name():
    for names in ([lesson.name for lesson in LESSONS], [experiment.name for experiment in EXPERIMENTS]):
        assert len(set(names)) == len(names)


def test_what_trains_can_be_made_short():
    for experiment in EXPERIMENTS:
        assert not experiment.trains or "steps" in {control.name for control in experiment.controls}


def test_the_value_a_control_begins_with_is_one_it_allows():
    for experiment in EXPERIMENTS:
        for control in experiment.controls:
            if hasattr(control, "low"):
                values = control.value if isinstance(control.value, tuple) else (control.value,)
                assert all(control.low <= value <= control.high for value in values)
            if hasattr(control, "choices"):
                assert control.value in control.choices
