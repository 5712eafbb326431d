"""Switches: what they do to the prediction, that everything off is the identity, and that restoring restores."""

import numpy as np
import pytest
from playwright.sync_api import expect

from e2e.visitor import numbers, written
from playground.analysis import contribution_norms, kl_divergence, residual_difference, stream_norms
from playground.gpt.ablation import WHAT_IFS

ALL = tuple(f"{kind}.{layer}" for layer in range(6) for kind in ("attention", "feed_forward"))
IDENTITY = "#identity .identity"


def effect(visitor, off, at=9):
    """Wait until the switches tell what `off` did at a position."""
    before, after = written(20).trace.logits[at], written(20, off=off).trace.logits[at]
    kl = float(kl_divergence(before, after))
    shown = f"{kl:.3f}" if kl >= 0.001 else f"{kl:.1e}"[:3]
    expect(visitor.find("#switches .effect")).to_contain_text(shown)


def test_O_ABL_03_zeroing_everything_is_the_identity_and_restoring_is_the_same_bit_for_bit(home):
    home.show_tab("residual")
    before = home.bars()
    home.find("#switches .zero-all").click()
    expect(home.find(IDENTITY)).to_have_attribute("data-difference", "0")
    expect(home.find(IDENTITY)).to_have_text(home.say("residual.identity_holds", difference="0"))
    expect(home.find("#switches .sw.off")).to_have_count(12)
    effect(home, ALL)
    assert home.bars() != before
    home.address_says(off=",".join(sorted(ALL, key=lambda word: (word[0] != "a", word))))
    home.find("#switches .restore").click()
    expect(home.find("#switches .effect")).to_have_text(home.say("switches.nothing_off"))
    assert home.bars() == before
    expect(home.find("#identity .identity_open")).to_be_visible()
    shown = float(home.find(IDENTITY).get_attribute("data-difference"))
    assert shown == pytest.approx(residual_difference(written(20).trace), rel=1e-5)
    home.address_says(off=None)


def test_one_switch_says_what_it_did_and_the_figures_agree(home):
    home.show_tab("residual")
    home.switch("feed_forward.2").click()
    off = ("feed_forward.2",)
    effect(home, off)
    expect(home.switch("feed_forward.2")).to_have_attribute("aria-pressed", "true")
    ablated, base = written(20, off=off), written(20)
    home.page.wait_for_function("document.querySelector('#stream .plot').data.length === 2")
    traces = home.figure("stream")["data"]
    np.testing.assert_allclose(numbers(traces[0]["y"]), stream_norms(base.trace)[:, 9].numpy(), rtol=1e-4)
    np.testing.assert_allclose(numbers(traces[1]["y"]), stream_norms(ablated.trace)[:, 9].numpy(), rtol=1e-4)
    added = home.figure("contributions")["data"]
    np.testing.assert_allclose(numbers(added[0]["y"]), contribution_norms(ablated.trace)[0::2, 9].numpy(), rtol=1e-4)
    assert numbers(added[1]["y"])[2] == 0
    kl = float(kl_divergence(base.trace.logits[9], ablated.trace.logits[9]))
    expect(home.find("#prediction .note")).to_contain_text(f"{kl:.4f}")
    with home.asking_nobody():
        home.chips.nth(15).click()  # every position has its own
        effect(home, off, at=15)
    home.switch("feed_forward.2").click()
    expect(home.find("#switches .effect")).to_have_text(home.say("switches.nothing_off"))


def test_a_single_head_can_be_zeroed(home):
    home.find('#switches [data-more="1"]').click()
    home.switch("head.1.4").click()
    effect(home, ("head.1.4",))
    expect(home.find('#switches [data-more="1"]')).to_have_text("−1")
    home.address_says(off="head.1.4")
    home.find("#switches .restore").click()
    home.find('#switches [data-more="1"]').click()
    expect(home.switch("head.1.4")).to_have_count(0)


@pytest.mark.parametrize("lang", ["en"])
@pytest.mark.parametrize("word", WHAT_IFS)
def test_every_what_if_changes_the_prediction(home, word):
    home.switch(word).click()
    effect(home, (word,))
    if word == "residuals":
        home.show_tab("residual")
        expect(home.find(IDENTITY)).to_contain_text("cannot hold")
    home.find("#switches .restore").click()
    expect(home.find("#switches .effect")).to_have_text(home.say("switches.nothing_off"))


def test_the_text_stays_and_the_step_after_is_written_under_the_switches(visit):
    visitor = visit("en", {"n": 3, "off": "attention.0"})
    expect(visitor.chips).to_have_count(13)
    run = written(3, off=("attention.0",))
    visitor.press("End")
    visitor.button("step").click()
    expect(visitor.chips).to_have_count(14)
    new = visitor.chips.last.get_attribute("aria-label")
    assert new.endswith(run.model.tokenizer.label(int(run.trace.logits[-1].argmax())))


def test_two_visitors_do_not_share_their_switches(visit):
    one, other = visit("en", "n=1"), visit("en", "n=1")
    before = other.bars()
    one.find("#switches .zero-all").click()
    expect(one.find("#switches .sw.off")).to_have_count(12)
    other.press("End", "ArrowRight")
    expect(other.chips).to_have_count(12)
    other.chips.nth(9).click()
    assert other.bars() == before
    expect(other.find("#switches .sw.off")).to_have_count(0)
    expect(one.chips).to_have_count(11)
