"""Off as the mean of earlier positions, and how far a switch reaches, as a visitor sees them."""

import numpy as np
from playwright.sync_api import expect

from e2e.visitor import numbers, written
from playground.analysis import kl_divergence
from playground.analysis.reach import reach, relative_changes
from playground.gpt.ablation import Ablation


def wait_effect(visitor, off, at=9):
    """Until the switches tell what `off` did at a position."""
    kl = float(kl_divergence(written(20).trace.logits[at], written(20, off=off).trace.logits[at]))
    expect(visitor.find("#switches .effect")).to_contain_text(f"{kl:.3f}")


def test_off_can_mean_the_mean_of_earlier_positions(home):
    """By keyboard alone; the prediction is the library's, the choice is in the address, and zero comes back."""
    home.show_tab("residual")
    before = home.bars()
    home.find(".kind-zero").focus()
    home.press("ArrowRight")
    expect(home.find(".kind-mean")).to_be_checked()
    expect(home.find(".kind-mean")).to_be_focused()
    expect(home.find("#off-kind")).to_have_text(home.say("switches.about_mean"))
    expect(home.find("#switches .effect")).to_have_text(home.say("switches.nothing_off"))
    expect(home.find("#identity .identity_open_mean")).to_be_visible()
    assert home.bars() == before  # by itself it changes nothing
    expect(home.find("#sweep .start")).to_have_text(home.say("sweep.start_mean", token="·fox"))

    home.switch("feed_forward.0").click()
    off = ("feed_forward.0", "mean")
    wait_effect(home, off)
    home.address_says(off="feed_forward.0,mean")
    expect(home.find("#identity .identity_mean")).to_be_visible()
    after = written(20, off=off)
    probabilities, label = after.trace.logits[9].softmax(-1), after.model.tokenizer.label
    token, probability, _ = home.bars()[0]
    assert token == label(int(probabilities.argmax()))
    np.testing.assert_allclose(probability, float(probabilities.max()), rtol=1e-4)

    home.find(".kind-zero").check()
    wait_effect(home, off[:1])
    home.find("#switches .restore").click()
    expect(home.find("#switches .effect")).to_have_text(home.say("switches.nothing_off"))
    home.address_says(off=None)
    assert home.bars() == before


def test_a_sweep_by_the_mean_measures_what_a_click_on_its_cell_does(visit):
    visitor = visit("en", {"n": 3, "tab": "residual", "off": "mean"})
    visitor.find("#sweep .start").click()
    expect(visitor.find("#sweep [role=status]")).to_have_text(visitor.say("sweep.finished", total=48))
    visitor.drawn("sweep-map")
    swept = visitor.figure("sweep-map")["data"][0]["customdata"]
    kl = kl_divergence(written(3).trace.logits[9], written(3, off=("attention.2", "mean")).trace.logits[9])
    np.testing.assert_allclose(numbers(swept)[2][0], float(kl), rtol=1e-3)
    visitor.page.evaluate("playground.say('switch', { toggle: ['attention.2'] })")  # as the figure does at a click
    expect(visitor.find("#switches .effect")).to_contain_text(f"{float(kl):.3f}")
    visitor.find(".kind-zero").check()
    expect(visitor.find("#sweep-map .empty")).to_have_count(1)
    visitor.find(".kind-mean").check()  # what was measured is still there
    expect(visitor.find("#sweep-map .empty")).to_have_count(0)


def test_a_forbidden_look_opens_a_cone(visit):
    edge = Ablation(edges=frozenset({(2, 1, 9, 3)}))
    visitor = visit("en", {"tab": "residual", "off": edge.words()[0], "at": 4})
    visitor.find("#reach > button").click()
    visitor.drawn("reach-map")
    ablated, base = written(20, off=tuple(edge.words())), written(20)
    within = reach(edge, base.model.config, 30).numpy()
    shown = visitor.grid("reach-map")
    np.testing.assert_array_equal(~np.isnan(shown), within)
    changes = relative_changes(ablated.trace, base.trace).numpy()
    np.testing.assert_allclose(10 ** shown[within], np.maximum(changes[within], changes.max() / 10**4), rtol=1e-3)
    assert within[5].tolist() == [i == 9 for i in range(30)]
    assert within[7].tolist() == [i >= 9 for i in range(30)]
    note = visitor.find("#reach-map .note")
    expect(note).to_have_text(visitor.say("reach.note_outside", token=base.labels[4], at=4, outside="0"))
    with visitor.asking_nobody():
        visitor.chips.nth(9).click()
        expect(note).to_contain_text(visitor.say("residual.short_attention", layer=2))
    visitor.find("#switches .forbidden button").click()
    expect(visitor.find("#reach-map .empty")).to_have_count(1)
