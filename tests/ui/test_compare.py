"""Side by side: what the other run reads, and that each half of a picture is its own run's."""

import json

import pytest
import torch

import fixture
from playground.errors import NotAChoice, PromptEmpty
from playground.gpt.ablation import Ablation, parse
from playground.models import Models
from playground.runs import Request, Runs
from playground.ui import norm_detail
from playground.ui.answers import Answers
from playground.ui.compare import BASELINE, NOTHING, PROMPT, Beside, checked, draw_other, other
from playground.ui.heads import see
from playground.ui.html import Component, Pair
from playground.ui.session import Session
from playground.ui.wiring import Look

GREEDILY = ("greedy", 0.8, 40, 1, 0)
HEAD_OFF = parse(["head.2.1"], 6, 6)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    models = Models(own=str(fixture.write(tmp_path_factory.mktemp("models") / "fix_a")))
    return Answers(models, Runs(models.get))


def session(prompt="A fox", made=(5, 6), ablation=HEAD_OFF, model="storyteller"):
    return Session(Request(model, prompt, made, ablation))


def test_nothing_is_compared_unless_asked(answers):
    assert other(answers, Beside(NOTHING), session()) is None


def test_with_nothing_off_the_text_stays(answers):
    assert other(answers, Beside(BASELINE), session()) == Request("storyteller", "A fox", (5, 6))


def test_a_model_of_one_vocabulary_reads_the_very_tokens_with_the_same_parts_off(answers):
    assert other(answers, Beside("untrained"), session()) == Request("untrained", "A fox", (5, 6), HEAD_OFF)


def test_a_model_of_another_vocabulary_reads_the_same_letters(answers):
    text = "A fox was here"
    made = tuple(answers.models.get("storyteller").tokenizer.encode(" was here"))
    found = other(answers, Beside("fix_a"), session("A fox", made))
    assert found == Request("fix_a", text)  # whose layers are others: nothing is off
    assert found.ablation == Ablation()


def test_the_mean_over_the_heads_and_the_final_norm_are_those_of_either_model(answers):
    """The controls count the heads and the LayerNorms of this run's model; the other may have fewer or more."""
    large, little = (answers.runs(Request(name, "A fox")) for name in ("storyteller", "fix_a"))
    for here, there in ((large, little), (little, large)):
        look = Look(Request("fix_a", "A fox"), there, there, "en", set_for=here)
        config, own = here.model.config, there.model.config
        assert see(look, 0, config.n_heads).is_mean
        assert not any(see(look, 0, head).is_mean for head in range(config.n_heads))
        assert norm_detail.place(look, 2 * config.n_layers) == 2 * own.n_layers
        assert norm_detail.place(look, 1) == 1


def test_another_prompt_is_written_on_as_far_as_this_one(answers):
    visitor = session(made=(), ablation=Ablation())
    written = []
    for _ in range(3):
        written.append(other(answers, Beside(PROMPT, "There was a wolf"), visitor))
        visitor.request = Request("storyteller", "A fox", (*visitor.request.made, 5))
    assert [len(request.made) for request in written] == [0, 1, 2]
    run = answers.runs(written[-1])
    ids = torch.tensor([run.ids])
    greedy = run.model.gpt(ids)[0].argmax(-1).tolist()
    assert run.ids[run.n_prompt :] == tuple(greedy[run.n_prompt - 1 : -1])


def test_what_cannot_be_compared_is_refused(answers):
    with pytest.raises(NotAChoice):
        checked(answers.models, "no such model", None)
    with pytest.raises(PromptEmpty):
        checked(answers.models, PROMPT, "")


def look(answers, request):
    run = answers.runs(request)
    return Look(request, run, run, "en")


def test_the_divergence_is_that_of_the_two_answers_and_only_for_one_text(answers):
    here = look(answers, Request("storyteller", "A little fox"))
    told = draw_other(Look(here.request, here.run, here.run, "en", None, look(answers, Request("untrained", "A little fox"))), Beside("untrained"))  # fmt: skip # noqa: E501
    log_p, log_q = (
        answers.runs(Request(name, "A little fox")).trace.logits.double().log_softmax(-1)
        for name in ("storyteller", "untrained")
    )
    expected = (log_p.exp() * (log_p - log_q)).sum(-1).tolist()
    assert told["kl"] == pytest.approx(expected, rel=1e-5)
    another = look(answers, Request("storyteller", "A big wolf"))
    assert draw_other(Look(here.request, here.run, here.run, "en", None, another), Beside(PROMPT, "x"))["kl"] is None


def test_two_values_travel_as_two_texts():
    sent = json.loads(
        Component().postprocess(Pair({"a": 1}, {"b": "你"}, {"zh": ["这", "那"], "en": ["this", "that"]}))
    )
    assert [json.loads(text) for text in sent["pair"]] == [{"a": 1}, {"b": "你"}]
