"""Between the page and a handler: a refusal reaches the alert, whatever else the event shows."""

import json
from functools import partial

import gradio as gr
import pytest

from playground.errors import PromptEmpty
from playground.text import LANGUAGES, say_error
from playground.ui.components import alert
from playground.ui.guard import guarded, texts


def refusing():
    raise PromptEmpty()


def refusing_later():
    yield "a first answer"
    raise PromptEmpty()


@pytest.fixture
def shown():
    with gr.Blocks():
        return alert()


def sentences(said):
    told = json.loads(said)
    return {lang: told[lang] for lang in LANGUAGES}


EMPTY = {lang: say_error(lang, PromptEmpty()) for lang in LANGUAGES}


def test_an_event_that_shows_nothing_tells_the_alert_alone(shown):
    """Of an event with one output Gradio takes the value, not a list of one."""
    assert sentences(guarded(refusing, 0, asked=True, write=partial(texts, [shown]))()) == EMPTY


def test_a_refusal_leaves_what_the_event_shows_as_it_is(shown):
    *others, said = guarded(refusing, 2, asked=True, write=partial(texts, [shown] * 3))()
    assert others == [gr.skip(), gr.skip()]
    assert sentences(said) == EMPTY


def test_what_was_answered_before_a_refusal_counts(shown):
    (first, done), (second, said) = guarded(refusing_later, 1, asked=True, write=partial(texts, [shown] * 2))()
    assert json.loads(first) == "a first answer"
    assert done is None
    assert second == gr.skip()
    assert sentences(said) == EMPTY


def test_what_nobody_asked_for_leaves_the_alert_as_it_is(shown):
    assert guarded(lambda: 1, 1, asked=False, write=partial(texts, [shown] * 2))() == ["1", gr.skip()]
