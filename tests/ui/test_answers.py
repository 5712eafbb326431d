"""What a visitor decides: other tokens, other ways to choose, one decision after the other."""

import random
import threading

import gradio as gr
import pytest
import torch

import fixture
from playground.errors import InputError, NotANumber, NotWhole, OutOfRange, TextEmpty, UnknownToken
from playground.gpt.model import GPTModel
from playground.gpt.sampling import Sampling, stages
from playground.models import Models
from playground.runs import Request, Runs
from playground.ui import view
from playground.ui.answers import Answers
from playground.ui.session import Choice, Session

GREEDILY = ("greedy", 0.8, 40, 1, 0)
SAMPLED = ("sample", 0.9, 30, 0.8, 7)
PROMPT = "Hello, I am a fox"


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    models = Models(own=str(fixture.write(tmp_path_factory.mktemp("models") / "fix_a")))
    return Answers(models, Runs(models.get))


@pytest.fixture
def session(answers):
    session = Session(Request("fix_a", PROMPT))
    for _ in range(3):
        step(answers, session)
    return session


def step(answers, session, how=GREEDILY):
    run = answers.runs(session.request)
    return answers.need(session, view.text_id(session.request), len(run.ids), 1, *how)


def branch(answers, session, place, instead, how=GREEDILY):
    return answers.branch(session, view.text_id(session.request), place, instead, 5, *how)


def restored(answers, session, how=GREEDILY):
    """What the address of the page gives back."""
    return from_address(answers, view.query(session.request, answers.choice("fix_a", *how)))


def from_address(answers, query):
    """The request of an address as a browser writes it."""
    written = {name: str(value) for name, value in query.items() if value is not None}
    return answers.restore(written, Request("fix_a", "another beginning"))[0]


@pytest.mark.parametrize(("wrote", "now"), [(GREEDILY, SAMPLED), (SAMPLED, GREEDILY)])
def test_after_a_switch_the_address_says_how_the_text_was_written_not_how_it_would_go_on(answers, wrote, now):
    session = Session(Request("fix_a", PROMPT))
    for _ in range(3):
        step(answers, session, wrote)
    shown = answers.flip(session, ["attention.0"], *now)
    assert shown["greedy"] is (now is GREEDILY)
    assert from_address(answers, shown["query"]) == session.request


def test_the_same_prompt_begun_anew_is_another_text(answers, session):
    old = view.text_id(session.request)
    answers.run(session, PROMPT, 3, *SAMPLED)
    assert view.text_id(session.request) != old
    assert "text" not in answers.need(session, old, len(answers.runs(session.request).ids), 1, *GREEDILY)


def test_a_token_for_a_text_begun_anew_meanwhile_is_not_written(answers, monkeypatch):
    session, real = Session(Request("fix_a", PROMPT)), answers.look

    def looked(request):
        monkeypatch.undo()
        answers.run(session, PROMPT, 0, *GREEDILY)  # the very same request, but another text
        return real(request)

    monkeypatch.setattr(answers, "look", looked)
    step(answers, session)
    assert session.request.made == ()


def test_an_answer_that_was_lost_is_given_again_and_nothing_is_written_twice(answers, session):
    known = len(answers.runs(session.request).ids)
    first = step(answers, session)
    request = session.request
    again = answers.need(session, view.text_id(request), known, 1, *GREEDILY)
    assert again == first
    assert session.request == request
    step(answers, session)
    both = answers.need(session, view.text_id(request), known, 1, *GREEDILY)
    assert both["from"] == known
    assert both["labels"][:1] == first["labels"]
    assert len(both["labels"]) == 2


@pytest.mark.parametrize("how", [GREEDILY, SAMPLED], ids=["greedy", "sampled"])
def test_several_tokens_at_once_are_those_that_come_one_by_one(answers, session, how):
    one_by_one, together = (Session(session.request) for _ in range(2))
    steps = [step(answers, one_by_one, how) for _ in range(4)]
    run = answers.runs(session.request)
    grown = answers.need(together, view.text_id(session.request), len(run.ids), 4, *how)
    assert together.request == one_by_one.request
    assert grown["labels"] == [label for each in steps for label in each["labels"]]
    assert grown["steps"][-1] == steps[-1]["steps"][-1]


@pytest.mark.parametrize("count", [0, 17, -1, 1.5, None, "4", True])
def test_no_more_tokens_are_written_for_one_question_than_a_moment_allows(answers, session, count):
    request = session.request
    with pytest.raises(InputError):
        answers.need(session, view.text_id(request), len(answers.runs(request).ids), count, *GREEDILY)
    assert session.request == request


@pytest.mark.parametrize("known", [None, True, -1, 0, 10**6, "9", 9.0])
def test_a_step_from_where_the_text_is_not_changes_nothing(answers, session, known):
    request = session.request
    assert not {"from", "labels"} & answers.need(session, view.text_id(request), known, 1, *GREEDILY).keys()
    assert session.request == request


@pytest.mark.parametrize("place", range(10))
def test_a_branch_keeps_what_stands_before_it_and_nothing_after(answers, session, place):
    before = answers.runs(session.request).ids
    assert len(before) == 9
    shown = branch(answers, session, place, 17)
    run = answers.runs(session.request)
    assert run.ids == (*before[:place], 17)
    assert (shown["at"], shown["goal"]) == (place, max(5, len(session.request.made)))
    assert run.n_prompt == min(place, 6)


def test_the_text_goes_on_from_a_branch_as_if_it_had_been_typed(answers, session):
    branch(answers, session, 6, " dog")
    step(answers, session)
    run = answers.runs(session.request)
    ids = torch.tensor([run.ids[:-1]])
    assert run.ids[-1] == int(run.model.gpt(ids)[0, -1].argmax())


def test_an_edited_token_may_become_several(answers, session):
    words = " a big castle"
    shown = branch(answers, session, 2, words)
    run = answers.runs(session.request)
    assert run.ids[2:] == tuple(run.model.tokenizer.encode(words))
    assert shown["at"] == len(run.ids) - 1
    assert "2 of its 6 tokens" in shown["notices"]["en"][0]


@pytest.mark.parametrize("seed", range(12))
def test_an_address_restores_every_text_however_it_was_made(answers, seed):
    rng, session = random.Random(seed), Session(Request("fix_a", PROMPT))
    how = GREEDILY
    for _ in range(8):
        act = rng.choice(("step", "step", "branch", "flip", "how"))
        if act == "step":
            step(answers, session, how)
        elif act == "branch":
            length = len(answers.runs(session.request).ids)
            branch(answers, session, rng.randrange(1, length + 1), rng.randrange(100), how)
        elif act == "flip":
            answers.flip(session, rng.choice(([], ["attention.0"], ["norms"])), *how)
        else:
            how = rng.choice((GREEDILY, SAMPLED))
    assert restored(answers, session, how) == session.request


def test_a_plain_text_needs_no_tokens_in_its_address(answers, session):
    assert view.query(session.request, Choice())["made"] is None


def test_a_branch_is_another_text_even_where_it_is_as_long(answers, session):
    old = view.text_id(session.request)
    branch(answers, session, 7, 17)
    assert view.text_id(session.request) != old


def test_an_answer_for_a_text_that_is_gone_changes_nothing(answers, session):
    old = session.request
    answers.branch(session, "somebody else's text", 3, 17, 5, *GREEDILY)
    assert session.request == old


@pytest.mark.parametrize(
    ("place", "instead", "error"),
    [(10, 17, OutOfRange), (-1, 17, OutOfRange), (1.5, 17, NotWhole), (None, 17, NotANumber), (3, -1, UnknownToken),
     (3, 50257, UnknownToken), (3, 10**400, UnknownToken), (3, "", TextEmpty), (3, None, TextEmpty),
     (3, ["a"], InputError), (3, True, InputError)],
)  # fmt: skip
def test_a_branch_that_cannot_be_is_refused_and_nothing_is_lost(answers, session, place, instead, error):
    old = session.request
    with pytest.raises(error):
        branch(answers, session, place, instead)
    assert session.request == old


def test_a_restored_text_is_checked_like_any_other(answers):
    start = Request("fix_a", PROMPT)
    for query in ({"n": "many"}, {"off": "attention.99"}, {"at": "999"}):
        with pytest.raises(InputError):
            answers.restore(query, start)
    for query in ({"kept": "99"}, {"kept": "x"}, {"kept": "0"}, {"kept": "0", "n": "3"},
                  {"made": "1.x"}, {"made": "1..2"}, {"made": "50257"}, {"made": "-1"},
                  {"made": ".".join(["1"] * 201)}):  # fmt: skip
        with pytest.raises(InputError):
            answers.restore(query, start)


def test_the_stages_are_those_that_the_next_token_is_drawn_from(answers, session):
    at = len(answers.runs(session.request).ids) - 1
    staged = answers.stages(session, at, *SAMPLED)["staged"]
    parts = stages(answers.runs(session.request).trace.logits[at], Sampling(0.9, 30, 0.8))
    for token, _, softmax, top_k, top_p, logit, _ in staged["rows"]:
        assert (softmax, top_k, top_p) == tuple(
            float(part[token]) for part in (parts.softmax, parts.after_top_k, parts.after_top_p)
        )
        assert logit == float(parts.logits[token])
    assert staged["left"][1:] == [30, int((parts.after_top_p > 0).sum())]
    step(answers, session, SAMPLED)
    assert session.request.made[-1] == staged["drawn"][0]


def test_looking_at_the_stages_makes_no_pass(answers, session, monkeypatch):
    at = len(answers.runs(session.request).ids) - 1
    monkeypatch.setattr(GPTModel, "trace", lambda *_, **__: pytest.fail("read again"))
    for temperature in (0.1, 0.5, 1, 2):
        answers.stages(session, at, "sample", temperature, 40, 1, 0)


def test_greedy_has_no_stages(answers, session):
    assert answers.stages(session, 3, *GREEDILY)["staged"] is None


def test_a_guess_and_the_stages_say_of_which_text_they_are(answers, session):
    asked = view.text_id(session.request)
    assert answers.ask(session, "the", 3)["text"] == answers.stages(session, 3, *SAMPLED)["text"] == asked
    answers.flip(session, ["attention.0"], *GREEDILY)
    assert answers.ask(session, "the", 3)["text"] == view.text_id(session.request) != asked


def test_a_model_that_comes_when_another_is_wanted_changes_nothing(answers, session, monkeypatch):
    old = session.request

    usual = answers.models.get

    def slowly(name, *report):
        session.wanted = "fix_a"
        return usual(name, *report)

    monkeypatch.setattr(answers.models, "get", slowly)
    assert answers.change_model(session, "untrained", "A fox", 3, lambda *_: None, *GREEDILY) == gr.skip()
    assert session.request == old


def test_two_decisions_at_once_are_both_kept(answers, session):
    flips = threading.Thread(target=answers.flip, args=(session, ["attention.0"], *GREEDILY))
    with session.deciding:
        flips.start()
    answers.run(session, "Another text", 3, *GREEDILY)
    flips.join()
    assert session.request.prompt == "Another text"
    assert session.request.ablation.words() == ["attention.0"]
