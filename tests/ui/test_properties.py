"""Whatever is typed, written into an address or sent to an endpoint: a true answer or a refusal in a sentence.

Texts hold lone surrogates, NUL, marks that turn the writing round, heaps of accents and markup; numbers are NaN,
infinite and huge. The examples are the same in every run.
"""

import json
import math
from typing import Any

import gradio as gr
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fixture
from figures.page import received
from playground import limits
from playground.analysis import top_tokens
from playground.errors import PlaygroundError, PromptEmpty
from playground.gpt.tokenizer import repair, tokenizer
from playground.models import Models
from playground.runs import Request, Runs
from playground.text import LANGUAGES, say_error
from playground.ui import attention, feed_forward, generation, norms, residual, view
from playground.ui.answers import Answers
from playground.ui.api import Endpoints, refusing
from playground.ui.session import Choice, Session
from playground.ui.wiring import Look
from ui.caller import Caller

HOSTILE = (
    "\0\x1b\x7f\u0085\u00ad\u200d\u202e\u2066\u2028\ufeff\ufffd\ud800\udbff\udc0b\U000e0001⟨⟩·↵<>&\"'$%{}#\\\n\r\t "
)
LETTERS = st.one_of(st.characters(), st.sampled_from(HOSTILE))
HEAPS = st.builds(
    lambda mark, count: "a" + mark * count, st.sampled_from("\u0301\u0489\ufe0f\u0e49😀"), st.integers(1, 40)
)
TEXTS = st.one_of(
    st.text(LETTERS, max_size=24), HEAPS, st.sampled_from(["<|endoftext|>", "<b>x</b> $y$", "你好 🦊", ""])
)
NUMBERS = st.one_of(st.integers(), st.floats(), st.sampled_from([0, 1, -1, 2, 10**400, 1e308, math.nan, math.inf, 0.5]))
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=2), max_leaves=4
)
OWN = "fix_a"
WORDS = st.sampled_from(
    ["attention.0", "feed_forward.2", "head.1.1", "edge.0.0.1.0", "norms", "causal_mask", "mean", "positions"]
)


def examples(count: int) -> Any:
    return settings(
        max_examples=count, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> Answers:
    models = Models(own=str(fixture.write(tmp_path_factory.mktemp("models") / OWN)))
    return Answers(models, Runs(models.get))


def sent(value: Any) -> Any:
    """As it arrives: JSON without NaN, in UTF-8 that any browser reads."""
    return json.loads(json.dumps(value, allow_nan=False).encode("utf-8"))


def sentence(error: PlaygroundError) -> None:
    for lang in LANGUAGES:
        one_sentence(say_error(lang, error))


def one_sentence(said: str) -> None:
    """On one line, short, and in UTF-8 that any browser reads."""
    assert said.isprintable()
    assert said[-1] in ".。"
    assert 5 < len(said) < 600
    assert said.encode("utf-8")


@examples(200)
@given(TEXTS)
def test_every_text_comes_back_and_every_token_can_be_seen(text):
    for known in (tokenizer("gpt2"), tokenizer("storyteller")):
        ids = known.encode(text)
        assert known.decode(ids) == repair(text)
        shown = [known.label(token) for token in ids]
        assert all(label.isprintable() and not label.isspace() and label for label in shown)
        assert known.end_of_text not in ids
        covered = [place for first, last in known.characters(ids) for place in range(first, last + 1)]
        assert covered == list(range(len(ids)))


@examples(40)
@given(TEXTS)
def test_every_prompt_gets_the_numbers_of_its_repaired_text(answers, text):
    request = Request(OWN, text)
    if not text:
        with pytest.raises(PromptEmpty):
            answers.runs(request)
        return
    shown = sent(answers.shown(request, Choice()))
    model = answers.models.get(OWN)
    ids = model.tokenizer.encode(repair(text))[-16:]
    with torch.inference_mode():
        top = top_tokens(model.gpt.trace(torch.tensor([ids])).logits[0], view.SHOWN)
    assert shown["labels"] == [model.tokenizer.label(token) for token in ids]
    for step, tokens, probabilities in zip(shown["steps"], top.ids.tolist(), top.probabilities.tolist(), strict=True):
        assert [row[0] for row in step["top"]] == tokens
        assert [row[2] for row in step["top"]] == pytest.approx(probabilities, rel=1e-6)
    alone = repair(text).count("\ufffd") - text.count("\ufffd")
    told = [notice for notice in shown["notices"]["en"] if "surrogate" in notice]
    assert [f"{alone} lone" in notice for notice in told] == [True] * bool(alone)


PICTURES = [
    lambda look: attention.draw_head(look, 1, 1, False),
    lambda look: attention.draw_head(look, 0, 2, True),
    lambda look: norms.draw_one(look, 3),
    lambda look: norms.draw_all(look, "after"),
    generation.draw_sureness,
    lambda look: feed_forward.draw_curve(look, 1),
    residual.draw_stream,
    residual.draw_contributions,
    residual.draw_prediction,
]


@examples(6)
@given(TEXTS.filter(bool), st.lists(WORDS, max_size=2))
def test_every_picture_of_every_prompt_is_json_with_a_sentence_for_each_token(answers, text, off):
    session = Session(Request(OWN, text))
    try:
        answers.flip(session, off, "greedy", 1, None, None, 0)
    except PlaygroundError as refused:  # a text of one token has no edge to forbid
        sentence(refused)
    run, base = answers.look(session.request)
    for draw in PICTURES:
        picture = draw(Look(session.request, run, base or run, "zh"))
        sent(received(picture.figure)["layout"])
        assert len(picture.notes) == len(run.labels)
        assert all(note.isprintable() for note in picture.notes)


QUERIES = st.fixed_dictionaries(
    {},
    optional={
        "model": st.sampled_from([OWN, OWN, "storyteller"]) | TEXTS,
        "prompt": TEXTS,
        "n": st.sampled_from(["0", "3", "20", "200", "201", "-1", "nan", "1e999"]) | TEXTS,
        "at": st.sampled_from(["0", "2", "nan", "-inf", "1e3", "0.5"]) | TEXTS,
        "off": st.lists(WORDS | TEXTS, max_size=3).map(",".join),
        "kept": st.sampled_from(["0", "1", "99"]) | TEXTS,
        "made": st.sampled_from(["1.2.3", "1..2", "50256", "50257", "٣", "1e2"]) | TEXTS,
        "temperature": st.sampled_from(["0", "1", "0.5", "nan", "1e-9"]) | TEXTS,
        "top_k": st.sampled_from(["0", "5", "60000", "-1"]) | TEXTS,
        "top_p": st.sampled_from(["1", "0.5", "0", "nan"]) | TEXTS,
        "seed": st.sampled_from(["0", "7", "1e400", "-1"]) | TEXTS,
    },
)


@examples(60)
@given(QUERIES)
def test_every_address_is_restored_or_refused(answers, query):
    start = Request(OWN, "Hello, I am")
    try:
        request, choice, at = answers.restore(query, start)
        shown = sent(answers.shown(request, choice, at=at))
    except PlaygroundError as refused:
        sentence(refused)
        return
    assert 0 <= at < shown["start"] + len(shown["labels"])
    assert len(request.made) <= limits.DEFAULTS.new_tokens
    again = {name: str(value) for name, value in shown["query"].items() if value is not None}
    assert answers.restore(again, start)[0] == request


LOOKS = st.dictionaries(
    st.sampled_from(["tab", "layer", "head", "norm", "beside", "beside_prompt", "lang", "__theme", "n"]),
    st.sampled_from(["attention", "lens", "0", "2", "99", "nan", "prompt", "nothing_off", "gpt3"]) | TEXTS.map(repair),
    min_size=1,
)


@examples(8)
@given(LOOKS)
def test_every_address_is_answered_over_http(query):
    answer = Caller().ask("restore", query={"model": OWN, "prompt": "Hello, I am", **query})
    assert answer["alert"] or answer["player"]["labels"][:4] == ["Hello", ",", "·I", "·am"]


PAYLOADS = st.fixed_dictionaries(
    {"prompt": TEXTS | VALUES},
    optional={
        "model": st.just(OWN) | VALUES,
        "off": st.lists(WORDS, max_size=3) | VALUES,
        "max_new_tokens": st.integers(1, 4) | VALUES,
        "temperature": st.sampled_from([0, 1, 0.7]) | VALUES,
        "top_k": st.sampled_from([None, 0, 40]) | VALUES,
        "top_p": st.sampled_from([None, 1, 0.9]) | VALUES,
        "seed": st.integers(0, 9) | VALUES,
        "layer": st.integers(0, 2) | VALUES,
        "head": st.integers(0, 1) | VALUES,
    },
)
TAKES = {
    "generate": ("max_new_tokens", "temperature", "top_k", "top_p", "seed"),
    "attention": ("layer", "head"),
    "layer_norm": (),
    "ablate": (),
}
DEFAULTS = {"model": OWN, "off": None, "max_new_tokens": 2, "temperature": 0, "seed": 0, "layer": 0, "head": 0}


@examples(120)
@given(st.sampled_from(sorted(TAKES)), PAYLOADS)
def test_every_payload_gets_json_or_one_sentence(answers, endpoint, payload):
    values = DEFAULTS | payload
    asked = [values.get(name) for name in ("prompt", "model", "off", *TAKES[endpoint])]
    try:
        answer = sent(refusing(getattr(Endpoints(answers), endpoint), answers.models.names)(*asked))
    except gr.Error as refused:
        one_sentence(refused.message)
        return
    if endpoint == "attention":
        assert all(math.isclose(sum(w for w in row if w is not None), 1, abs_tol=1e-5) for row in answer["weights"])
    if endpoint == "generate":
        assert 1 <= len(answer["tokens"]) <= limits.DEFAULTS.new_tokens
        assert all(0 <= token["probability"] <= 1 for token in answer["tokens"])
    if endpoint == "ablate":
        assert answer["kl_nats"] >= 0


EVENTS = ("run", "need", "branch", "flip", "ask", "stages")
HOW = st.tuples(st.sampled_from(["greedy", "sample"]) | VALUES, *[st.sampled_from([0, 1, 0.8]) | VALUES] * 4)


@examples(120)
@given(st.sampled_from(EVENTS), st.lists(VALUES, min_size=3, max_size=3), HOW, st.booleans())
def test_every_event_of_the_page_is_answered_or_refused_and_the_session_lives_on(answers, event, values, how, known):
    session = Session(Request(OWN, "Hello, I am"))
    text = view.text_id(session.request) if known else values[0]
    asked = {
        "run": (values[1], 2),
        "need": (text, 4 if known else values[1], values[2]),
        "branch": (text, values[1], values[2], 2),
        "flip": (values[1],),
        "ask": (values[1], values[2]),
        "stages": (values[1],),
    }[event]
    try:
        answer = getattr(answers, event)(session, *asked, *(() if event == "ask" else how))
        sent(answer)
    except PlaygroundError as refused:
        sentence(refused)
    assert answers.runs(session.request).trace.logits.isfinite().all()
