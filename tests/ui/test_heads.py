"""The attention tab below its map, and the sweep: what their components are sent is what the trace holds."""

import base64
import html
import json
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import fixture
from figures.page import decode, received
from playground.analysis.heads import head_measures, hide_first
from playground.analysis.sweep import sweep
from playground.analysis.unfold import unfold
from playground.errors import InputError
from playground.gpt.ablation import NOTHING_OFF, Ablation
from playground.gpt.config import GPTConfig
from playground.gpt.sampling import GREEDY
from playground.gpt.tokenizer import tokenizer
from playground.models import Model
from playground.runs import Request, Runs, next_token
from playground.text import LANGUAGES, labels, say
from playground.ui import attention, heads
from playground.ui.session import Session
from playground.ui.sweep import Swept, draw_sweep, measure
from playground.ui.wiring import Look

TEXT = "one two one two one"
EDGES = Ablation(edges=frozenset({(1, 0, 3, 1), (1, 1, 2, 0)}))
MEAN = 2  # FIX-A has heads 0 and 1


@pytest.fixture(scope="module")
def runs(fix_a) -> Runs:
    model = Model("fix_a", fix_a, tokenizer("gpt2"))
    return Runs(lambda _: model)


def looking(runs, ablation=NOTHING_OFF, lang="en", text=TEXT) -> Look:
    request = Request("fix_a", text, (), ablation)
    run = runs(request)
    return Look(request, run, run if request == request.baseline else runs(request.baseline), lang)


def drawn(picture):
    return received(picture.figure)


HEADS = {  # FIX-A, `Hello, I am`: a layer's head and its last row
    (0, 0): [0.238786, 0.256426, 0.342785, 0.162003],
    (2, 1): [0.318485, 0.269294, 0.190739, 0.221481],
}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_O_ATT_01_O_ATT_04_O_ATT_05_O_ATT_10_the_picture_of_a_head(runs, lang):
    """Rows look, the future is blank, colours run from 0 to 1, and the title names layer and head."""
    for (layer, head), last in HEADS.items():
        sent = drawn(attention.draw_head(looking(runs, lang=lang, text="Hello, I am"), layer, head, False))
        (heat,), layout = sent["data"], sent["layout"]
        z = decode(heat["z"])
        np.testing.assert_allclose(z[3], last, atol=2e-5)
        assert np.isnan(z).sum() == 6
        assert (z[0, 0], heat["zmin"], heat["zmax"]) == (1, 0, 1)
        assert heat["colorbar"]["title"]["text"] == say(lang, "attention.weight")
        assert {"zh": "0 到 1", "en": "0 to 1"}[lang] in say(lang, "attention.weight")
        assert layout["title"]["text"] == say(lang, "attention.title", layer=layer, head=head)
        asks, asked = say(lang, "attention.query"), say(lang, "attention.key")
        assert (layout["yaxis"]["title"]["text"], layout["xaxis"]["title"]["text"]) == (asks, asked)
        assert heat["hovertemplate"].startswith(f"{asks}: %{{y}}<br>{asked}: %{{x}}<br>")
    counted = {"zh": "从 0 数起", "en": "counted from 0"}[lang]
    assert counted in labels(lang, "attention.layer")["label"]


@pytest.mark.parametrize(("made", "tokens"), [(0, 4), (3, 7), (20, 16)])
def test_O_ATT_12_labels_rows_and_columns_are_as_many_as_the_tokens_read(runs, made, tokens):
    """The newest token is among them; past the context of 16 they are the last 16."""
    request = Request("fix_a", "Hello, I am")
    for _ in range(made):
        request = replace(request, made=(*request.made, next_token(runs(request), GREEDY, 0)))
    run = runs(request)
    sent = drawn(attention.draw_head(Look(request, run, run, "en"), 0, 0, False))
    assert decode(sent["data"][0]["z"]).shape == (tokens, tokens)
    names = [html.unescape(text) for text in sent["layout"]["xaxis"]["ticktext"]]
    assert names == [tokenizer("gpt2").label(token) for token in run.ids[-tokens:]]
    assert sent["layout"]["yaxis"]["ticktext"] == sent["layout"]["xaxis"]["ticktext"]
    assert "the newest included" in say("en", "attention.help")
    assert "刚写出的也在内" in say("zh", "attention.help")


def test_O_ATT_09_144_heads_of_64_tokens_weigh_little():
    config = GPTConfig(vocab_size=4096, context_length=64, emb_dim=24, n_heads=12, n_layers=12)
    model = Model("wide", fixture.random_model(config), tokenizer("storyteller"))
    look = looking(Runs(lambda _: model), text="one " * 80)
    begun = time.monotonic()
    every = heads.draw_overview(look, 0, 0, True)
    shown = [every, attention.draw_thumbs(look, 11, 11), drawn(attention.draw_head(look, 11, 11, False))]
    assert time.monotonic() - begun < 3
    assert len(look.run.labels) == 64
    assert sum(len(json.dumps(part)) for part in shown) < 1_200_000  # of 6 MB; as JSON numbers they were 3.97 MB


@pytest.mark.parametrize("lang", LANGUAGES)
def test_O_ATT_10_the_mean_is_named_so_and_is_the_arithmetic_mean(runs, lang):
    hello = decode(
        drawn(attention.draw_head(looking(runs, lang=lang, text="Hello, I am"), 0, MEAN, False))["data"][0]["z"]
    )
    np.testing.assert_allclose(hello[3], [0.261805, 0.279837, 0.220646, 0.237714], atol=2e-5)
    look = looking(runs, lang=lang)
    picture = attention.draw_head(look, 1, MEAN, False)
    weights = look.run.trace.blocks[1].attention.weights
    z = decode(drawn(picture)["data"][0]["z"])
    np.testing.assert_array_equal(np.nan_to_num(z), weights.mean(0).numpy())
    assert {"zh": "平均", "en": "mean"}[lang] in picture.figure.layout.title.text
    assert "switch" not in drawn(picture)["layout"]["meta"]["follow"]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_hiding_the_first_token_is_said_in_the_title(runs, lang):
    look = looking(runs, lang=lang)
    hidden, shown = (attention.draw_head(look, 1, 0, hide) for hide in (True, False))
    assert hidden.figure.layout.title.text != shown.figure.layout.title.text
    assert {"zh": "归一", "en": "renormalised"}[lang] in hidden.figure.layout.title.text
    z = decode(drawn(hidden)["data"][0]["z"])
    expected = hide_first(look.run.trace.blocks[1].attention.weights[0]).numpy()
    np.testing.assert_array_equal(np.nan_to_num(z), np.nan_to_num(expected))
    assert len(hidden.notes) == len(look.run.labels)


def test_a_forbidden_look_is_crossed_in_its_own_head_only(runs):
    look = looking(runs, EDGES)
    for head, crosses in ((0, [(3, 1)]), (1, [(2, 0)])):
        figure = attention.draw_head(look, 1, head, False).figure
        assert list(zip(figure.data[1].y, figure.data[1].x, strict=True)) == crosses
        assert figure.layout.meta["follow"]["switch"] == f"edge.1.{head}.{{y}}.{{x}}"
        assert heads.draw_edges(look, 1, head, True)["forbidden"] == crosses
    assert len(attention.draw_head(look, 0, 0, False).figure.data) == 1


def test_a_model_with_fewer_heads_shows_its_last(runs):
    assert heads.see(looking(runs), 9, 7).head == 1
    assert heads.see(looking(runs), 9, MEAN).is_mean


@pytest.mark.parametrize("ablation", [NOTHING_OFF, EDGES, Ablation(scaling=True), Ablation(causal_mask=True)], ids=str)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_stages_are_drawn_from_the_trace(runs, ablation, lang):
    look = looking(runs, ablation, lang)
    picture = heads.draw_stages(look, 1, 0, True)
    stages = unfold(look.run.trace, look.run.model.gpt, ablation, 1, 0)
    follow = drawn(picture)["layout"]["meta"]["follow"]
    arrays = [decode(pick["values"]) for pick in follow["pick"] if "trace" in pick]
    for array, name in zip(arrays, heads.STAGES, strict=True):
        np.testing.assert_array_equal(array, getattr(stages, name).numpy())
    assert len(picture.notes) == len(set(picture.notes)) == len(look.run.labels)


def test_what_is_folded_is_not_drawn(runs):
    look = looking(runs)
    for draw in (heads.draw_edges, heads.draw_stages, heads.draw_measures, heads.draw_overview):
        assert draw(look, 0, 0, False) is None


def test_the_mean_has_no_stages(runs):
    picture = heads.draw_stages(looking(runs), 1, MEAN, True)
    assert not picture.figure.data
    assert all("choose a head" in note for note in picture.notes)


def test_the_measures_are_those_of_the_heads_and_of_their_mean(runs):
    look = looking(runs)
    sent = heads.draw_measures(look, 2, 1, True)
    weights = look.run.trace.blocks[2].attention.weights
    every = torch.cat([weights, weights.mean(0)[None]])
    found = head_measures(every, look.run.ids)
    assert [row["entropy"] for row in sent["rows"]] == found.entropy.tolist()
    assert [row["induction"] for row in sent["rows"]] == found.induction.tolist()
    assert len(sent["rows"]) == 3
    assert json.loads(json.dumps(sent, allow_nan=False)) == sent
    assert heads.draw_measures(looking(runs, text="one two"), 2, 1, True)["rows"][0]["induction"] is None


def test_the_overview_holds_every_head_of_every_layer(runs):
    look = looking(runs, Ablation(attention=frozenset({2}), heads=frozenset({(0, 1)})))
    sent = heads.draw_overview(look, 1, 0, True)
    cells = np.frombuffer(base64.b64decode(sent["cells"]), np.uint8).reshape(3, 2, 5, 5)
    for layer, block in enumerate(look.run.trace.blocks):
        np.testing.assert_allclose(cells[layer] / 255, block.attention.weights.numpy(), atol=0.5 / 255)
    assert sorted(sent["off"]) == [(0, 1), (2, 0), (2, 1)]


def swept(runs, position=3, mean=False):
    run = looking(runs).run
    pieces = sweep(run.model.gpt, run.trace, position, run.ids[position + 1], mean)
    effects = tuple(effect for piece in pieces for effect in piece)
    return Swept("fix_a", mean, 0, run.ids[: position + 1], run.ids[position + 1], effects)


@pytest.mark.parametrize("how", ["kl", "logit_change"])
@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_sweep_is_drawn_as_measured_whatever_is_off_now(runs, how, lang):
    found = swept(runs)
    picture = draw_sweep(looking(runs, Ablation(heads=frozenset({(1, 0)})), lang), (found,), how)
    values = decode(drawn(picture)["data"][0]["customdata"])
    assert values.ravel().tolist() == [getattr(effect, how) for effect in found.effects]
    switch = drawn(picture)["layout"]["meta"]["follow"]["switch"]
    assert [word for row in switch for word in row] == [effect.word for effect in found.effects]
    assert (picture.figure.data[1].y, picture.figure.data[1].x) == ((1,), (2,))


def test_a_sweep_of_another_text_is_not_shown(runs):
    found = swept(runs)
    assert not draw_sweep(looking(runs, text="one two two two"), (found,), "kl").figure.data
    invited = draw_sweep(looking(runs), (), "kl")
    assert not invited.figure.data
    assert set(invited.notes) == {
        say("en", "sweep.invite_zero")
    }  # of a figure without data the page shows the note alone
    assert draw_sweep(looking(runs, text=TEXT + " two"), (found,), "kl").figure.data  # the same up to the position


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_sweep_shown_was_measured_by_what_off_means_now(runs, lang):
    kept = (swept(runs), swept(runs, mean=True))
    zeroed, averaged = (
        draw_sweep(looking(runs, Ablation(norms=True, mean=mean), lang), kept, "kl") for mean in (False, True)
    )
    assert zeroed.notes != averaged.notes
    for picture, found in ((zeroed, kept[0]), (averaged, kept[1])):
        values = decode(drawn(picture)["data"][0]["customdata"])
        assert values.ravel().tolist() == [effect.kl for effect in found.effects]
    assert ("均值" if lang == "zh" else "mean") in averaged.figure.layout.title.text
    assert not draw_sweep(looking(runs, Ablation(mean=True)), kept[:1], "kl").figure.data


def measuring(runs, monkeypatch, session, at):
    monkeypatch.setattr("playground.ui.sweep.OFTEN", -1)  # tell of every piece
    monkeypatch.setattr("playground.analysis.sweep.TOGETHER", 12)  # three texts of four tokens
    return measure(SimpleNamespace(runs=runs), session, at)


def test_a_sweep_tells_how_far_it_is_and_ends_with_all_parts(runs, monkeypatch):
    session = Session(looking(runs, Ablation(norms=True)).request)
    *told, (last, (found,)) = measuring(runs, monkeypatch, session, 3)
    assert [progress["done"] for progress, _ in told] == [0, 0, 3, 3, 3, 6, 6, 9, 12]
    assert all(progress["running"] for progress, _ in told)
    assert last == {"done": 12, "total": 12, "mean": False, "running": False}
    assert found == swept(runs)  # with nothing off, whatever is off on the page


def test_a_sweep_measures_by_what_off_means_for_the_switches_and_keeps_that_of_the_other_kind(runs, monkeypatch):
    monkeypatch.setattr("playground.ui.sweep.OFTEN", -1)
    session, other = Session(looking(runs, Ablation(mean=True)).request), swept(runs, 2)
    *_, (_, kept) = measure(SimpleNamespace(runs=runs), session, 3, (other,))
    assert kept == (other, swept(runs, mean=True))
    *_, (_, again) = measure(SimpleNamespace(runs=runs), session, 2, kept)
    assert again == (other, swept(runs, 2, mean=True))


def test_after_the_last_token_the_likeliest_one_is_followed(runs, monkeypatch):
    run = looking(runs).run
    *_, (_, (found,)) = measuring(runs, monkeypatch, Session(looking(runs).request), 4)
    assert found.token == int(run.trace.logits[-1].argmax())


def test_a_cancelled_sweep_measures_nothing_more(runs, monkeypatch):
    session = Session(looking(runs).request)
    work = measuring(runs, monkeypatch, session, 3)
    next(work)
    session.work = None
    ((last, _),) = work
    assert last == {"done": 0, "total": 12, "mean": False, "running": False}


def test_a_second_sweep_ends_the_first(runs, monkeypatch):
    session = Session(looking(runs).request)
    first, second = (measuring(runs, monkeypatch, session, at) for at in (2, 3))
    next(first)
    next(second)
    assert len(list(first)) == 1
    assert list(second)[-1][0]["done"] == 12


@pytest.mark.parametrize("at", [None, -1, 5, "3", float("nan"), True])
def test_a_position_that_is_none_is_refused(runs, monkeypatch, at):
    with pytest.raises(InputError):
        next(measuring(runs, monkeypatch, Session(looking(runs).request), at))
