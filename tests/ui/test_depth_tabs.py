"""The model and feed-forward tabs and LayerNorm in depth: what they hand to the page is what was computed."""

import json
from pathlib import Path

import pytest

from figures.page import received
from playground.figures.style import tick_text
from playground.gpt.ablation import Ablation
from playground.gpt.config import PRESETS
from playground.gpt.costs import parts
from playground.gpt.tokenizer import tokenizer
from playground.models import Model
from playground.runs import Request, Runs
from playground.text import LANGUAGES, say
from playground.ui import feed_forward, model_tab, norm_detail, norms, residual, source
from playground.ui.lessons.tab import VIEWS
from playground.ui.wiring import Look

ROOT = Path(__file__).parents[2]
PICTURES = [
    norm_detail.draw_histograms,
    norm_detail.draw_standing_out,
    norm_detail.draw_scale_shift,
    feed_forward.draw_curve,
    feed_forward.draw_share,
]


@pytest.fixture(scope="module")
def runs(fix_a) -> Runs:
    model = Model("fix_a", fix_a, tokenizer("gpt2"))
    return Runs(lambda _: model)


def look(runs, lang="en", at=None, **off) -> Look:
    request = Request("fix_a", "Hello, I am", (), Ablation(**off))
    return Look(request, runs(request), runs(request.baseline), lang, at)


# The selected position.


@pytest.mark.parametrize(("at", "position"), [(None, 3), (0, 0), (2, 2), (99, 3), (-5, 0)])
def test_a_picture_is_drawn_at_a_position_of_the_trace(runs, at, position):
    assert look(runs, at=at).position == position


@pytest.mark.parametrize("draw", PICTURES, ids=lambda draw: draw.__name__)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_picture_shows_the_position_asked_for_and_has_a_sentence_for_each(runs, draw, lang):
    picture = draw(look(runs, lang, at=1), 99)  # a choice that another model had: the last one instead
    assert received(picture.figure)["layout"]["meta"]["follow"]["position"] == 1
    assert len(picture.notes) == 4


@pytest.mark.parametrize("lang", LANGUAGES)
def test_O_ACT_03_O_ACT_05_numbers_stand_under_their_names(runs, lang):
    """FIX-A's last token in the first LayerNorm: mean -0.1038, variance 0.1033, of which the root is shown."""
    picture = norms.draw_one(look(runs, lang), 0)
    names = [picture.figure.layout[axis].title.text for axis in ("yaxis", "yaxis2")]
    assert names == {"zh": ["均值", "标准差"], "en": ["mean", "standard deviation"]}[lang]
    data = picture.figure.data
    assert [float(trace.y[-1]) for trace in data[:2]] == pytest.approx([-0.103815, 0.103346**0.5], abs=1e-5)
    mean, std = {
        "zh": ("均值 -0.1038 → ", "标准差 0.3215 → "),
        "en": ("mean -0.1038 → ", "standard deviation 0.3215 → "),
    }[lang]
    assert mean in picture.notes[-1]
    assert std in picture.notes[-1]
    assert {"zh": "缩放平移后", "en": "after scale and shift"}[lang] in data[4].name
    assert {"zh": "比 1 略小", "en": "a little under 1"}[lang] in say(lang, "norms.help")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_O_ACT_02_the_stream_before_and_after_the_final_norm_is_told_apart(runs, lang):
    note = residual.draw_stream(look(runs, lang)).notes[-1]
    for length in ("0.956", "2.592", "2.439"):
        assert length in note


# LayerNorm in depth.


def test_standing_out_tells_the_numbers_of_the_trace(runs):
    shown = look(runs)
    bars = norm_detail.draw_standing_out(shown, 0).figure.data
    before = shown.run.trace.blocks[0].before[-1]
    order = before.abs().argsort(descending=True, stable=True)
    assert list(bars[0].x) == before[order].tolist()
    assert list(bars[1].x) == shown.run.trace.blocks[0].norm_1.after[-1][order].tolist()


def test_a_skipped_norm_says_so(runs):
    assert say("en", "norm_detail.skipped") in norm_detail.draw_histograms(look(runs, norms=True), 0).notes[0]
    assert say("en", "norm_detail.skipped") not in norm_detail.draw_histograms(look(runs), 0).notes[0]


# Feed-forward.


def test_the_points_are_what_the_trace_holds(runs):
    shown = look(runs, at=2)
    points = feed_forward.draw_curve(shown, 1).figure.data[1]
    seen = shown.run.trace.blocks[1].feed_forward
    assert list(points.x) == seen.hidden[2].tolist()
    assert list(points.y) == seen.active[2].tolist()


def test_the_table_holds_every_position_or_the_one_asked_for(runs, monkeypatch):
    whole = feed_forward.draw_neurons(look(runs), 1)
    assert (whole["first"], len(whole["rows"]), whole["tokens"]) == (0, 4, ["Hello", ",", "·I", "·am"])
    monkeypatch.setattr(feed_forward, "MOST_WORK", 0)
    one = feed_forward.draw_neurons(look(runs, at=2), 1)
    assert (one["first"], one["rows"], one["tokens"]) == (2, [whole["rows"][2]], ["·I"])
    json.dumps(whole, allow_nan=False)


def test_the_table_is_sorted_by_what_a_neuron_writes(runs):
    shown = look(runs)
    columns = shown.run.model.gpt.blocks[1].feed_forward.narrow.weight
    active = shown.run.trace.blocks[1].feed_forward.active[-1]
    rows = feed_forward.draw_neurons(shown, 1)["rows"][-1]
    lengths = [float((active[row["neuron"]] * columns[:, row["neuron"]]).norm()) for row in rows]
    assert [row["written"] for row in rows] == pytest.approx(lengths, rel=1e-5)
    assert lengths == sorted(lengths, reverse=True)


def test_a_zeroed_layer_is_marked(runs):
    off = look(runs, feed_forward=frozenset({1}))
    assert feed_forward.draw_neurons(off, 1)["off"]
    assert not feed_forward.draw_neurons(off, 0)["off"]
    assert say("en", "feed_forward.off") in feed_forward.draw_curve(off, 1).notes[0]
    averaged = look(runs, feed_forward=frozenset({1}), mean=True)
    assert feed_forward.draw_neurons(averaged, 1)["off"] == "off_mean"
    assert say("en", "feed_forward.off_mean") in feed_forward.draw_curve(averaged, 1).notes[0]


# The model tab.


@pytest.mark.parametrize(
    ("lang", "sentence"),
    [("en", "Each sublayer reads LN(x) and adds its result to x"), ("zh", "每个子层读的是 LN(x)，再把结果加回 x")],
)
def test_O_COR_07_the_drawing_says_pre_norm(lang, sentence):
    assert sentence in say(lang, "architecture.prenorm")


def test_the_drawing_has_the_sizes_of_the_running_model(runs):
    drawn = model_tab.draw(look(runs))
    assert drawn["sizes"] == {"B": 1, "C": 8, "H": 2, "D": 4, "F": 32, "V": 50257, "L": 3}
    assert (drawn["start"], drawn["tokens"], drawn["context"], drawn["cache"]) == (0, 4, 16, 192)
    assert [part["name"] for part in drawn["parts"]] == [part.name for part in parts(runs.model("").config)]
    assert drawn["off"] == {}
    json.dumps(drawn, allow_nan=False)


def test_O_COR_08_the_sizes_side_by_side(runs):
    running, *known = model_tab.draw(look(runs))["models"]
    assert (running["name"], running["running"], running["parameters"]) == ("fix_a", True, 404_816)
    assert [(model["name"], model["parameters"]) for model in known] == [
        ("storyteller", 3_505_152),
        ("gpt2", 124_439_808),
        ("gpt2-medium", 354_823_168),
        ("gpt2-large", 774_030_080),
        ("gpt2-xl", 1_557_611_200),
    ]
    gpt2 = known[1]
    assert (gpt2["untied"], gpt2["bytes"], gpt2["cache"]) == (163_037_184, 497_759_232, 73_728)
    assert "untied" in say("en", "architecture.fact_untied")
    assert "untied" in say("zh", "architecture.fact_untied")


def test_the_running_model_is_not_listed_twice(small):
    names = [model["name"] for model in model_tab.compared(Model("gpt2", small, tokenizer("gpt2")))]
    assert sorted(names) == sorted(set(names))
    assert names[0] == "gpt2"


def test_what_is_off_is_said_in_its_box():
    off = model_tab.switched(Ablation(frozenset({2, 0}), frozenset({1}), frozenset({(1, 3)}), *[True] * 5), "en")
    assert off["out"] == "zeroed in layers 0, 2"
    assert off["mixed"] == "zeroed heads (layer.head): 1.3"
    averaged = model_tab.switched(Ablation(frozenset({0}), heads=frozenset({(1, 3)}), mean=True), "en")
    assert averaged == {
        "out": "mean of earlier positions in layers 0",
        "mixed": "heads at the mean of earlier positions (layer.head): 1.3",
    }
    boxes = {part.name for part in parts(PRESETS["tiny"])}
    assert off.keys() == {"out", "narrow", "mixed", "position_embedding", "scores", "weights", "norm_1", "norm_2",
                          "final_norm", "middle", "after"}  # fmt: skip
    assert off.keys() <= boxes


def test_the_new_likeliest_token_is_among_those_whose_prediction_is_drawn(runs):
    shown = look(runs, attention=frozenset({0, 1}), feed_forward=frozenset({0, 1}))
    tokens = [shown.run.model.tokenizer.label(int(token)) for token in shown.run.trace.logits.argmax(-1)]
    picks = received(residual.draw_prediction(shown).figure)["layout"]["meta"]["follow"]["pick"]
    (names,) = (each["values"] for each in picks if each.get("target") == "yaxis.ticktext")
    assert all(tick_text(token) in row for token, row in zip(tokens, names, strict=True))


# The code behind a box.


def test_every_box_has_its_lines():
    assert source.SHOWN.keys() == {part.name for part in parts(PRESETS["tiny"])} | {"block"}


@pytest.mark.parametrize("part", source.SHOWN)
def test_the_lines_shown_are_those_in_the_file(part):
    for each in source.excerpts()[part]:
        lines = (ROOT / each["file"]).read_text("utf-8").splitlines()
        assert each["lines"] == lines[each["first"] - 1 : each["first"] - 1 + len(each["lines"])]
        assert each["file"] == "playground/gpt/model.py"
        assert each["name"].split(".")[-1] in each["lines"][0]


@pytest.mark.parametrize("part", source.SHOWN)
def test_every_assignment_named_is_found_and_marked(part):
    for shown, names in source.SHOWN[part]:
        found = source.excerpt(shown, names)
        marked = [found.lines[line - found.first].strip() for line in found.marked]
        for name in names:
            assert any(line.startswith(f"{name.strip('()')} = ") for line in marked), name


@pytest.mark.parametrize("experiment", VIEWS)
def test_the_code_of_every_lesson_has_the_assignments_that_are_to_be_marked(experiment):
    for shown, names in VIEWS[experiment].code:
        for name in names:
            assert source.excerpt(shown, (name,)).marked, name


def test_the_marked_lines_compute_what_the_box_says():
    (each,) = source.excerpts()["scores"]
    marked = [each["lines"][line - each["first"]].strip() for line in each["marked"]]
    assert "scores = q * scale @ k.transpose(-2, -1)  # (B, H, T, S)" in marked
    assert each["file"] in source.model.__file__.replace("\\", "/")
