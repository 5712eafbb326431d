"""The residual tab says what off means, and how far it reaches."""

import numpy as np
import pytest

from figures.page import decode, received
from playground.analysis.reach import reach, relative_changes
from playground.gpt.ablation import NOTHING_OFF, Ablation
from playground.gpt.tokenizer import tokenizer
from playground.models import Model
from playground.runs import Request, Runs
from playground.text import LANGUAGES, say
from playground.ui.reach import draw_reach
from playground.ui.residual import draw_contributions, draw_identity
from playground.ui.wiring import Look

TEXT = "one two one two one"
EDGE = Ablation(edges=frozenset({(1, 0, 3, 1)}))
ALL = Ablation.all_sublayers(3)


@pytest.fixture(scope="module")
def runs(fix_a) -> Runs:
    model = Model("fix_a", fix_a, tokenizer("gpt2"))
    return Runs(lambda _: model)


def looking(runs, ablation=NOTHING_OFF, lang="en") -> Look:
    request = Request("fix_a", TEXT, (), ablation)
    return Look(request, runs(request), runs(request.baseline), lang)


def test_a_mean_that_concerns_nothing_is_the_run_with_nothing_off(runs):
    look = looking(runs, Ablation(mean=True))
    assert look.run is look.base
    assert not look.is_ablated


@pytest.mark.parametrize(
    ("off", "kind"),
    [
        ({}, "identity_open"),
        ({"mean": True}, "identity_open_mean"),
        ({"attention": ALL.attention, "feed_forward": ALL.feed_forward}, "identity_holds"),
        ({"attention": ALL.attention, "feed_forward": ALL.feed_forward, "mean": True}, "identity_mean"),
        ({"attention": ALL.attention, "residuals": True, "mean": True}, "identity_broken"),
    ],
    ids=["nothing", "nothing, by mean", "all zeroed", "all at their means", "no residuals"],
)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_identity_is_promised_for_zero_only(runs, off, kind, lang):
    told = draw_identity(looking(runs, Ablation(**off), lang))
    assert told["kind"] == kind
    assert (told["difference"] == 0) == (kind == "identity_holds")


def test_a_sublayer_at_its_mean_is_marked_with_what_it_would_add(runs):
    look = looking(runs, Ablation(feed_forward=frozenset({2}), mean=True))
    _, added, missing, _ = received(draw_contributions(look).figure)["data"]
    assert missing["name"] == say("en", "residual.off_mean")
    assert decode(missing["x"]).tolist() == [5]
    assert decode(missing["y"])[0] == pytest.approx(float(look.base.trace.blocks[2].feed_forward.out[-1].norm()))
    assert decode(added["y"])[2] == pytest.approx(float(look.run.trace.blocks[2].feed_forward.out[-1].norm()))


def test_folded_nothing_is_drawn(runs):
    assert draw_reach(looking(runs, EDGE), False) is None


@pytest.mark.parametrize("ablation", [NOTHING_OFF, Ablation(mean=True)], ids=["nothing off", "mean of nothing"])
def test_with_nothing_off_there_is_an_invitation(runs, ablation):
    picture = draw_reach(looking(runs, ablation), True)
    assert not picture.figure.data
    assert set(picture.notes) == {say("en", "reach.nothing")}


def test_the_map_holds_the_measured_changes_within_reach(runs):
    look = looking(runs, EDGE)
    shown = decode(received(draw_reach(look, True).figure)["data"][0]["customdata"])
    within = reach(EDGE, look.run.model.config, 5).numpy()
    changes = relative_changes(look.run.trace, look.base.trace).numpy()
    np.testing.assert_array_equal(np.isnan(shown), ~within)
    np.testing.assert_array_equal(shown[within], changes[within].astype(np.float64))
    assert not changes[~within].any()


def test_every_position_has_its_sentence(runs):
    notes = draw_reach(looking(runs, EDGE), True).notes
    assert notes[0] == say("en", "reach.note_outside", token="one", at=0, outside="0")
    assert notes[3].startswith("“·two” (position 3): within reach from L1 attn on")
    assert notes[4].startswith("“·one” (position 4): within reach from L2 attn on")
    assert len(set(notes)) == 5
    chinese = draw_reach(looking(runs, EDGE, "zh"), True).notes
    assert chinese[4].startswith("“·one”（位置 4）：从“第 2 层注意力”起够得着")
