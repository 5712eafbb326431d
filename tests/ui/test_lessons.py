"""Every lesson as the page receives it: complete in both languages, and what a visitor sets is checked."""

import json
import xml.etree.ElementTree as ElementTree
from functools import cache
from types import SimpleNamespace

import pytest

from playground.errors import InputError, NotAChoice, NotANumber, NotWhole, OutOfRange, TextEmpty, TooManyCharacters
from playground.lessons import LESSONS
from playground.lessons.lesson import Choice, Experiment, Flag, Number, Numbers, Seed, Text
from playground.runs import Request, Runs
from playground.text import LANGUAGES, say
from playground.ui.lessons import tab
from playground.ui.lessons.tab import VIEWS
from playground.ui.lessons.values import checked
from playground.ui.session import Session

SERVED = SimpleNamespace(runs=Runs(lambda _: None), models=None)


def least(view):
    """The values that make an experiment short."""
    values = checked(view.experiment, {})
    if view.experiment.trains:
        values["steps"] = next(control.low for control in view.experiment.controls if control.name == "steps")
    return values


@cache
def found(name):
    """What an experiment finds as it first stands."""
    view = VIEWS[name]
    ran = view.experiment.run(**least(view))
    return list(ran)[-1].found if view.experiment.trains else ran


def test_every_experiment_has_its_view_and_its_titles():
    names = [experiment.name for lesson in LESSONS for experiment in lesson.experiments]
    assert list(VIEWS) == names
    for name in [*names, *(lesson.name for lesson in LESSONS)]:
        assert say("en", f"lessons.title_{name}")


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", VIEWS)
def test_an_experiment_is_complete_in_each_language(name, lang):
    about = tab.about(name, lang)
    assert all(about["sentences"])
    assert about["code"]
    ElementTree.fromstring(f"<all>{about['formula']}</all>")
    told = tab.told_of(name, lang, VIEWS[name].draw(found(name), lang))
    json.dumps([about, told], allow_nan=False)
    assert told["pictures"]
    for picture in told["pictures"].values():
        assert all(json.loads(picture)["notes"])
    for table in told["samples"]:
        assert table["title"]
        assert all(len(row) == len(table["columns"]) and all(row) for row in table["rows"])
    assert 2 <= len(told["questions"]) <= 3
    for question in told["questions"]:
        assert question["right"] in dict(question["choices"])
        assert "{" not in "".join([question["asks"], question["why"], *dict(question["choices"]).values()])


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", [name for name, view in VIEWS.items() if view.experiment.trains])
def test_what_trains_asks_before_it_is_started_what_it_answers_at_its_end(name, lang):
    ahead = tab.about(name, lang)["questions"]
    answered = tab.told_of(name, lang, VIEWS[name].draw(found(name), lang))["questions"]
    assert ahead
    assert ahead == [{part: each[part] for part in ("name", "asks", "choices")} for each in answered]


def test_no_two_pictures_have_one_name():
    names = [picture for name in VIEWS for picture in VIEWS[name].draw(found(name), "en").pictures]
    assert len(set(names)) == len(names)


# What a visitor sets.

KINDS = Experiment(
    "all",
    (
        Number("number", 1, 0, 2, 0.5),
        Number("whole", 3, 1, 9, 2),
        Numbers("numbers", (1.0, 2.0), -3, 3, 0.5),
        Choice("choice", "a", ("a", "b")),
        Flag("flag", True),
        Seed("seed"),
        Text("text", "once", 10),
        Text("optional", "", 10, empty=True),
    ),
    dict,
)
FIRST = {
    "number": 1, "whole": 3, "numbers": (1.0, 2.0), "choice": "a", "flag": True, "seed": 0, "text": "once",
    "optional": "",
}  # fmt: skip
ODD = [
    ("number", 2.5, OutOfRange), ("number", "1", NotANumber), ("number", float("nan"), NotANumber),
    ("number", True, NotANumber), ("whole", 1.5, NotWhole), ("whole", 10**400, OutOfRange),
    ("numbers", [1.0], NotAChoice), ("numbers", [1.0, float("inf")], NotANumber), ("numbers", "12", NotAChoice),
    ("numbers", [1.0, 9.0], OutOfRange), ("choice", "c", NotAChoice), ("choice", ["a"], NotAChoice),
    ("flag", 1, NotAChoice), ("flag", None, NotAChoice), ("seed", -1, OutOfRange), ("text", "", TextEmpty),
    ("text", "x" * 11, TooManyCharacters), ("text", 5, NotAChoice),
]  # fmt: skip


def test_what_is_not_given_is_as_the_control_begins():
    assert checked(KINDS, None) == checked(KINDS, {}) == checked(KINDS, {"unknown": 1}) == FIRST


def test_what_is_allowed_is_taken():
    given = {"number": 0, "whole": 9, "numbers": [-3, 0.5], "choice": "b", "flag": False, "seed": 7, "text": "x" * 10}
    assert checked(KINDS, given) == {**given, "numbers": (-3, 0.5), "optional": ""}


@pytest.mark.parametrize(("name", "value", "refused"), ODD)
def test_anything_else_is_refused(name, value, refused):
    with pytest.raises(refused):
        checked(KINDS, {name: value})


@pytest.mark.parametrize("name", [None, "nothing", 5, ["vector"], {}])
def test_an_unknown_lesson_is_refused(name):
    with pytest.raises(NotAChoice):
        tab.look(1, name, {}, False, "en")


def test_what_does_not_train_cannot_be_trained():
    with pytest.raises(InputError):
        next(tab.train(SERVED, Session(Request("none", "x")), 1, "vector", {}, False))


def test_what_never_changes_is_sent_once():
    assert "about" in tab.look(1, "vector", {}, False, "zh")
    assert "about" not in tab.look(2, "vector", {}, True, "zh")
