"""A training of a lesson: it tells how far it is, stops, goes on where it stopped; its models are lent to the page."""

import json
import zipfile
from types import SimpleNamespace

import pytest
import torch

from playground.errors import InputError, ModelForgotten, NotAChoice, TextTooShort, TrainingTooLarge, TrainingTooLong
from playground.gpt.checkpoints import load
from playground.limits import Limits
from playground.models import TRAINED, Models
from playground.runs import Request, Runs
from playground.text import LANGUAGES
from playground.ui.answers import Answers
from playground.ui.lessons import tab, training
from playground.ui.session import Session
from playground.ui.take_home import snippet

SMALL = {"size": "small", "steps": 20}
GREEDY = ("greedy", 0.8, 40, 1, 0)


@pytest.fixture(autouse=True)
def told_at_once(monkeypatch):
    monkeypatch.setattr(training, "OFTEN", 0)


def served(**limits):
    """What a tab is given."""
    models = Models(limits=Limits(**limits))
    return SimpleNamespace(runs=Runs(models.get, Limits(**limits)), models=models)


def visitor():
    return Session(Request("storyteller", "Once upon a time"))


@pytest.fixture
def session():
    return visitor()


def train(wiring, session, part="dead_units", values=None, anew=False):
    return tab.train(wiring, session, 7, part, {"steps": 10} if values is None else values, anew)


@pytest.fixture(scope="module")
def grown():
    """A model that was trained for a moment, and where it is served."""
    wiring, session = served(), visitor()
    *_, last = train(wiring, session, "grow", SMALL)
    return wiring, session, last


def test_it_tells_how_far_it_has_come_in_both_languages(session):
    told = list(train(served(), session))
    assert [answer["progress"]["done"] for answer in told] == list(range(11))
    assert [answer["progress"]["running"] for answer in told] == [True] * 10 + [False]
    assert all(answer["asked"] == 7 and tuple(answer["shown"]) == LANGUAGES for answer in told)


def stopped(wiring, session, after):
    answers = train(wiring, session)
    for _ in range(after):
        next(answers)
    session.work = None
    return list(answers)


def test_it_ends_when_the_visitor_wants_other_work(session):
    (last,) = stopped(served(), session, 1)
    assert last["progress"] == {"done": 1, "total": 10, "running": False}


def test_it_goes_on_where_it_was_stopped_as_if_nothing_had_been(session):
    wiring = served()
    (last,) = stopped(wiring, session, 4)
    assert last["progress"]["done"] == 4
    resumed = list(train(wiring, session))
    assert [answer["progress"]["done"] for answer in resumed] == [5, 6, 7, 8, 9, 10]
    *_, whole = train(wiring, Session(session.request))
    assert resumed[-1]["shown"] == whole["shown"]


@pytest.mark.parametrize(
    ("values", "anew"), [({"steps": 10}, True), ({"steps": 20}, False)], ids=["from the start", "other values"]
)
def test_it_begins_again_when_asked_to_or_when_something_else_is_wanted(session, values, anew):
    wiring = served()
    stopped(wiring, session, 4)
    first = next(train(wiring, session, values=values, anew=anew))
    assert first["progress"]["done"] == 0


@pytest.mark.parametrize("earlier", [False, True], ids=["none", "another that waits"])
def test_one_that_is_refused_is_refused_again_and_takes_nothings_place(session, earlier):
    wiring = served()
    if earlier:
        stopped(wiring, session, 4)
    kept, short = session.training, {"text": "mine", "mine": "too short"}
    for _ in range(2):
        with pytest.raises(TextTooShort):
            next(train(wiring, session, "grow", short))
        assert session.training is kept


def test_one_that_breaks_off_begins_again(session, monkeypatch):
    wiring = served()
    with monkeypatch.context() as broken:
        broken.setattr(torch.optim.AdamW, "step", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            list(train(wiring, session, "grow", SMALL))
    assert session.training is None
    assert next(train(wiring, session, "grow", SMALL))["progress"]["done"] == 0


def test_one_that_is_over_holds_nothing_more(session):
    list(train(served(), session))
    assert session.training.work.gi_frame is None


def test_the_next_one_gives_the_models_of_the_last_back_but_for_the_one_in_use(session):
    wiring = served()
    *_, first = train(wiring, session, "grow", SMALL)
    session.put(Request(first["models"][2], "Once"), session.choice)
    list(train(wiring, session, "grow", {**SMALL, "seed": 1}))
    assert [step for step, name in first["models"].items() if wiring.models.lent(name)] == [2]


def test_one_that_is_over_begins_again(session):
    wiring = served()
    assert len(list(train(wiring, session))) == len(list(train(wiring, session))) == 11


# Limits.


def test_a_model_larger_than_the_operator_allows_is_refused_before_it_begins(session):
    wiring = served(training_parameters=100_000)
    with pytest.raises(TrainingTooLarge) as refused:
        next(train(wiring, session, "grow", SMALL))
    assert refused.value.values == {"parameters": 124_672, "limit": 100_000}
    assert session.training is None


@pytest.mark.parametrize("part", ["sft", "policy"])
def test_a_copy_of_the_bundled_model_counts_too(session, part):
    with pytest.raises(TrainingTooLarge) as refused:
        next(train(served(training_parameters=3_000_000), session, part, {}))
    assert refused.value.values["parameters"] == 3_505_152


def test_time_is_over_for_good_and_what_was_learned_stays(session, monkeypatch):
    wiring = served(training_seconds=3)
    seconds = iter(range(1_000)).__next__  # every look at the clock is a second
    monkeypatch.setattr(training, "time", SimpleNamespace(monotonic=seconds))
    told = []
    for _ in range(2):
        with pytest.raises(TrainingTooLong):
            told += train(wiring, session)
        assert not told[-1]["progress"]["running"]
    assert told[-1]["progress"] == told[-2]["progress"]
    assert 0 < session.training.last.done < 10


def test_visitors_models_make_room_for_one_another(session):
    wiring = served(trained_model_bytes=3 * 4 * 124_672)
    *_, last = train(wiring, session, "grow", SMALL)
    kept = [step for step, name in last["models"].items() if wiring.models.lent(name)]
    assert kept == sorted(last["models"])[-3:]
    with pytest.raises(ModelForgotten) as refused:
        wiring.models.get(last["models"][0])
    assert refused.value.values["name"] == last["models"][0]


# The whole page looks through it.


def test_every_checkpoint_is_lent_under_a_name_nobody_guesses(grown):
    wiring, session, last = grown
    assert list(last["models"]) == [stage["step"] for stage in last["shown"]["en"]["stages"]]
    assert {name.rpartition("-")[0] for name in last["models"].values()} == {TRAINED + session.training.key}
    assert len(session.training.key) == 12
    assert not set(last["models"].values()) & set(wiring.models.names)


def test_the_page_reads_the_prompt_with_the_model_of_that_moment(grown):
    wiring, session, last = grown
    answers = Answers(wiring.models, wiring.runs)
    logits = []
    for name in (last["models"][0], last["models"][20]):
        answers.change_model(session, name, "The cat", 0, lambda *_: None, *GREEDY)
        run = wiring.runs(session.request)
        assert run.model.name == name
        assert run.labels == list("The·cat")
        logits.append(run.trace.logits[-1])
    untrained, trained = (each.softmax(-1).max() for each in logits)
    assert trained > 2 * untrained


@pytest.mark.parametrize("name", ["storyteller", "gpt2-xl", "", None, 5, ["trained-x-1"], {"trained-": 1}])
def test_by_that_door_no_other_model_comes_in(grown, name):
    with pytest.raises(NotAChoice):
        training.borrowed(grown[0].models, name)


def test_a_name_that_was_never_lent_is_one_sentence(grown):
    with pytest.raises(ModelForgotten):
        training.borrowed(grown[0].models, "trained-000000000000-5")
    with pytest.raises(InputError):
        grown[0].models.get("train")


def test_the_file_opens_here_and_in_transformers_with_the_same_logits(grown, tmp_path):
    from transformers import GPT2LMHeadModel

    model = grown[0].models.get(grown[2]["models"][20])
    file = training.write_zip(tmp_path, model, "en")
    assert [*tmp_path.iterdir()] == [file]
    with zipfile.ZipFile(file) as packed:
        packed.extractall(tmp_path / "taken")
    folder = tmp_path / "taken" / "my-gpt"
    assert "my-gpt" in (folder / "README.md").read_text("utf-8")
    ids = torch.tensor([model.tokenizer.encode("Once upon")])
    with torch.inference_mode():
        ours = model.gpt(ids)
        torch.testing.assert_close(load(folder)(ids), ours, rtol=0, atol=1e-6)
        torch.testing.assert_close(GPT2LMHeadModel.from_pretrained(folder)(ids).logits, ours, rtol=0, atol=1e-4)
    own = Models(str(folder))
    assert own.names[0] == "my-gpt"
    assert own.get("my-gpt").tokenizer.encode("Once") == model.tokenizer.encode("Once")


def test_its_snippet_names_the_folder_of_the_file(grown):
    wiring, _, last = grown
    request = Request(last["models"][20], "The cat")
    assert "Models(\"my-gpt\").get('my-gpt')" in snippet(request, wiring.runs(request))


def test_what_the_page_receives_is_json(grown):
    json.dumps(grown[2], allow_nan=False)
