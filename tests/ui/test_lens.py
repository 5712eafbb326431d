"""The lens tab and the proof strip in words and numbers, drawn without a server, in both languages."""

import json
from dataclasses import replace

import numpy as np
import pytest

from figures.page import decode, received
from playground.analysis.lens import logit_lens
from playground.gpt.ablation import Ablation
from playground.gpt.tokenizer import tokenizer
from playground.models import Model
from playground.runs import Request, Runs
from playground.text import LANGUAGES, say, under
from playground.ui import attribution, lens, proofs, view
from playground.ui.wiring import Look

HELLO = Request("fix_a", "Hello, I am")
GONE = Request("fix_a", "Hello, I am", ablation=Ablation(residuals=True))


@pytest.fixture(scope="module")
def runs(fix_a) -> Runs:
    model = Model("fix_a", fix_a, tokenizer("gpt2"))
    return Runs(lambda _: model)


@pytest.fixture
def look(runs):
    return lambda request=HELLO, lang="en": Look(request, runs(request), runs(request.baseline), lang)


def lens_of(look):
    run = look.run
    return logit_lens(run.model.gpt, run.ids[run.start :], look.request.ablation, run.trace)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("quantity", lens.QUANTITIES)
def test_every_quantity_is_drawn_with_a_note_for_every_position(runs, look, lang, quantity):
    picture = lens.draw_map(lens_of, look(lang=lang), quantity)
    assert picture.figure.data[0].z.shape == (7, 4)
    assert len(picture.notes) == 4
    assert picture.figure.data[0].colorbar.title.text == say(lang, f"lens.{quantity}")


def test_the_note_says_from_where_on_the_final_answer_leads(runs, look):
    found = lens_of(look())
    notes = lens.draw_map(lens_of, look(), "kl").notes
    for i, note in enumerate(notes):
        since = next(k for k in range(7) if all(found.top[j, i] == found.top[-1, i] for j in range(k, 7)))
        place = "embedding" if since == 0 else f"L{(since - 1) // 2} {'attn' if since % 2 else 'ffn'}"
        assert f"first choice from {place} on" in note
    assert "rank" in notes[-1]


def test_the_path_names_what_every_place_would_answer(runs, look):
    picture = lens.draw_path(lens_of, look())
    label = tokenizer("gpt2").label
    answers = [label(token) for token in (12705, 39621, 11721, 17442)]
    assert [picture.figure.data[0].text[i] for i in (0, 2, 4, 6)] == answers  # O-ACT-06
    assert len(picture.notes) == 4


# A lens that grows.


def test_a_lens_is_shown_place_by_place_until_it_is_complete(runs, look, monkeypatch):
    monkeypatch.setattr(lens, "SLICE", -1)
    monkeypatch.setattr("playground.analysis.lens.TOGETHER", 4)  # one place at a time
    growing = lens.Growing()
    whole = decode(received(lens.draw_map(lens_of, look(), "kl").figure)["data"][0]["z"])
    for done in range(1, 7):
        picture = lens.draw_map(lambda look: growing.grow(runs, look), look(), "kl")
        sent = received(picture.figure)
        assert sent["layout"]["meta"]["follow"]["more"]
        assert picture.notes == [say("en", "lens.growing", done=done, places=7)]
        z, known = decode(sent["data"][0]["z"]), sorted([6, 0, 2, 4, 1, 3, 5][:done])
        np.testing.assert_allclose(z[known], whole[known], atol=1e-5)
        assert np.isnan(np.delete(z, known, 0)).all()
    picture = lens.draw_map(lambda look: growing.grow(runs, look), look(), "kl")
    assert "more" not in received(picture.figure)["layout"]["meta"]["follow"]
    assert len(picture.notes) == 4


def test_meanwhile_the_path_is_of_the_selected_position_alone(runs, look, monkeypatch):
    monkeypatch.setattr(lens, "SLICE", -1)
    growing = lens.Growing()
    for position in (3, 1):
        alone = lens.draw_path(growing.column, replace(look(), at=position))
        whole = lens.draw_path(lens_of, look())
        told = received(alone.figure)["layout"]["meta"]["follow"]
        assert (told["position"], told["redraw"], told["pick"]) == (position, True, [])
        assert alone.notes == [whole.notes[position]]
        kept = {pick["attr"]: pick["values"] for pick in received(whole.figure)["layout"]["meta"]["follow"]["pick"]
                if "attr" in pick}  # fmt: skip
        assert received(alone.figure)["data"][0]["text"] == kept["text"][position]
    growing.grow(runs, replace(look(), whole=True))
    assert received(lens.draw_path(growing.column, look()).figure)["layout"]["meta"]["follow"]["redraw"] is False


def test_who_wants_the_whole_waits_for_it(runs, look, monkeypatch):
    monkeypatch.setattr(lens, "SLICE", -1)
    growing = lens.Growing()
    growing.grow(runs, look())
    assert growing.grow(runs, replace(look(), whole=True)).places == lens_of(look()).places


def test_between_two_places_others_have_their_passes(runs, look, monkeypatch):
    monkeypatch.setattr(lens, "SLICE", 60)
    asked = []
    monkeypatch.setattr(runs, "in_turn", lambda work: asked.append(work) or list(work))
    lens.Growing().grow(runs, look())
    assert len(asked) == 1


@pytest.mark.parametrize("asked", ["", None, 7])
def test_without_a_wish_the_token_chosen_is_explained(look, asked):
    assert attribution.targets(look().run, asked).tolist() == [11, 314, 716, 17442]


def test_a_typed_token_is_explained_at_every_position(look):
    assert attribution.targets(look().run, " dog and cat").tolist() == [3290] * 4
    picture = attribution.draw_sum(look(), " dog")
    assert "“·dog”" in picture.notes[0]
    assert "“·dog”" in picture.figure.layout.title.text


def test_the_bars_end_at_the_models_logit(look):
    picture = attribution.draw_sum(look(), "")
    assert picture.figure.data[1].y[-1] == pytest.approx(2.241168, abs=1e-5)
    assert "2.2412" in picture.notes[-1]


def test_the_heads_note_names_the_strongest_head(look):
    picture = attribution.draw_heads(look(), "")
    heads = attribution.share_out(look(), attribution.targets(look().run, "")).heads[:, :, -1]
    layer, head = divmod(int(heads.argmax()), 2)
    assert f"layer {layer} head {head} ({float(heads.max()):+.3f})" in picture.notes[-1]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_without_residuals_one_sentence_stands_instead_of_the_bars(look, lang):
    bars, heads = (draw(look(GONE, lang), "") for draw in (attribution.draw_sum, attribution.draw_heads))
    assert (len(bars.figure.data), len(heads.figure.data)) == (0, 0)
    assert bars.notes == [say(lang, "errors.attribution_without_residuals")] * 4
    assert heads.notes == []


# The proof strip.


def test_the_badge_is_sent_the_proofs_of_the_text_shown(runs):
    sent = proofs.proved(HELLO, runs(HELLO))
    assert json.loads(json.dumps(sent, allow_nan=False)) == sent
    assert (sent["text"], sent["tokens"]) == (view.text_id(HELLO), 4)
    assert [row["name"] for row in sent["rows"] if row["holds"]] == list(proofs.FORMULAS)[:-1]
    assert sent["rows"][-1]["unless"] == "sublayers"


def test_another_ablation_is_another_text(runs):
    assert proofs.proved(GONE, runs(GONE))["text"] != proofs.proved(HELLO, runs(HELLO))["text"]
    assert sum(row["holds"] for row in proofs.proved(GONE, runs(GONE))["rows"]) == 7


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_identity_and_every_reason_has_its_words(lang):
    said = under(lang, "proofs")
    assert {f"name_{name}" for name in proofs.FORMULAS} == {key for key in said if key.startswith("name_")}
    assert {key for key in said if key.startswith("unless_")} == {
        f"unless_{switch}" for switch in ("causal_mask", "mean", "norms", "residuals", "sublayers")
    }
