"""What an operator decides: read once from the environment, obeyed at every door, named where it is felt."""

import re
from dataclasses import fields, replace

import pytest

from playground.errors import MemoryLimit, OutOfRange, PromptTooLong, SettingUnusable, TooManySwitches
from playground.limits import DEFAULTS, Limits, changed, from_environment, settings
from playground.models import Models
from playground.runs import Request, Runs
from playground.text import LANGUAGES, say_error
from playground.ui import view
from playground.ui.answers import Answers
from playground.ui.api import Endpoints
from playground.ui.components import given
from playground.ui.page import build
from playground.ui.session import Session

MODELS = Models()
GREEDY = ("greedy", 0.8, 40, 1, 0)
STORY = Request("storyteller", "Once upon a time")


def under(**limits):
    """The page's answers under these limits, and a visitor."""
    return Answers(MODELS, Runs(MODELS.get, Limits(**limits))), Session(STORY)


# Reading them.


def test_nothing_set_is_the_default():
    assert from_environment({}) == from_environment({"PLAYGROUND_QUEUE": " "}) == DEFAULTS
    assert changed(DEFAULTS) == {}


@pytest.mark.parametrize("each", fields(Limits), ids=lambda each: each.metadata["variable"])
def test_each_variable_sets_one_limit(each):
    variable, unit = each.metadata["variable"], each.metadata["unit"]
    found = from_environment({variable: "7", "OTHER": "x"})
    assert found == replace(DEFAULTS, **{each.name: 7 * unit})
    assert changed(found) == {variable: 7}
    assert unit == 10**6 * ("_MB" in variable) or unit == 1
    assert settings(DEFAULTS)[variable] * unit == each.default


@pytest.mark.parametrize("written", ["two", "0", "-1", "1.5", "1e3", "nan", "１", "9" * 30, "7 8", "0x10"])
def test_a_value_that_is_none_is_one_sentence(written):
    with pytest.raises(SettingUnusable) as refused:
        from_environment({"PLAYGROUND_THREADS": written})
    assert refused.value.values == {"name": "PLAYGROUND_THREADS", "value": written, "low": 1, "high": 1024}
    for lang in LANGUAGES:
        sentence = say_error(lang, refused.value)
        assert {"PLAYGROUND_THREADS", "1,024"} <= set(re.findall(r"[\w,]*\w", sentence, re.ASCII))


# Obeying them.


def test_a_prompt_is_refused_at_every_door():
    answers, visitor = under(prompt_characters=16)
    answers.run(visitor, "x" * 16, 0, *GREEDY)
    doors = [
        lambda: answers.run(visitor, "x" * 17, 0, *GREEDY),
        lambda: answers.change_model(visitor, "untrained", "x" * 17, 0, lambda *_: None, *GREEDY),
        lambda: answers.restore({"prompt": "x" * 17}, STORY),
        lambda: Endpoints(answers).generate("x" * 17),
        lambda: Endpoints(answers).attention("x" * 17),
    ]
    for door in doors:
        with pytest.raises(PromptTooLong) as refused:
            door()
        assert refused.value.values == {"characters": 17, "limit": 16}


def test_switches_are_refused_at_every_door():
    answers, visitor = under(switches=1)
    answers.flip(visitor, ["attention.0"], *GREEDY)
    two = ["attention.0", "attention.1"]
    doors = [
        lambda: answers.flip(visitor, two, *GREEDY),
        lambda: answers.restore({"off": ",".join(two)}, STORY),
        lambda: Endpoints(answers).ablate("Once", off=two),
    ]
    for door in doors:
        with pytest.raises(TooManySwitches) as refused:
            door()
        assert refused.value.values == {"count": 2, "limit": 1}


def test_no_more_tokens_are_written_than_may_be_and_the_page_says_how_many():
    answers, visitor = under(new_tokens=3)
    doors = [
        lambda: answers.run(visitor, "Once", 4, *GREEDY),
        lambda: answers.restore({"n": "4"}, STORY),
        lambda: answers.restore({"made": "5.5.5.5"}, STORY),
        lambda: Endpoints(answers).generate("Once", max_new_tokens=4),
    ]
    for door in doors:
        with pytest.raises(OutOfRange) as refused:
            door()
        assert refused.value.values["high"] == 3
    written, choice, _ = answers.restore({"n": "3"}, STORY)
    assert len(written.made) == 3
    assert view.stop(answers.runs(written), answers.limits) == "limit"
    assert answers.write(written, choice, 1) == written
    for lang in LANGUAGES:
        assert "3" in given(answers.limits)["player"]["words"][lang]["stop_limit"]


def test_a_trace_is_refused_with_its_size_and_the_limit():
    answers, visitor = under(run_bytes=1_000_000)
    with pytest.raises(MemoryLimit) as refused:
        answers.run(visitor, "Once upon a time " * 20, 0, *GREEDY)
    for lang in LANGUAGES:
        assert "1 MB" in say_error(lang, refused.value)
        assert "1 MB" in given(answers.limits)["player"]["words"][lang]["stop_memory"]


def test_a_full_queue_is_told_with_its_length():
    for lang in LANGUAGES:
        assert "9" in given(Limits(queue=9))["alert"]["words"][lang]["full"]


def test_the_page_offers_no_more_tokens_than_may_be_written():
    page = build(MODELS, Runs(MODELS.get, Limits(new_tokens=5)), "storyteller", "en")
    slider = next(block for block in page.blocks.values() if block.elem_id == "new-tokens")
    assert (slider.maximum, slider.value) == (5, 5)
