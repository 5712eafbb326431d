"""Below the attention map: one query step by step, looks forbidden one by one, the heads in numbers and all at once."""

import numpy as np
from playwright.sync_api import expect

from e2e.visitor import numbers, written
from playground.analysis import kl_divergence
from playground.analysis.heads import head_measures, hide_first
from playground.analysis.unfold import unfold
from playground.gpt.ablation import NOTHING_OFF
from playground.text import say

LAYER, HEAD, AT = 1, 2, 9


def choose_head(visitor):
    visitor.choose("layer", LAYER)
    visitor.find(f'#thumbs .thumb[data-head="{HEAD}"]').click()
    visitor.wait_title("attention-map", visitor.say("attention.title", layer=LAYER, head=HEAD))


def test_a_look_is_unfolded_forbidden_and_restored(home):
    run = written(20)
    choose_head(home)
    home.unfold("unfold")
    home.wait_title("unfolded", home.say("unfold.title", query=run.labels[AT], layer=LAYER, head=HEAD))
    stages = unfold(run.trace, run.model.gpt, NOTHING_OFF, LAYER, HEAD)
    shown = home.figure("unfolded")["data"]
    for trace, name in zip(shown, ("dots", "scaled", "masked", "weights", "mixed", "written"), strict=True):
        expected = getattr(stages, name)[AT].numpy()
        np.testing.assert_allclose(numbers(trace["y"]), expected, atol=1e-4)
    expect(home.find("#edges .keys .sw")).to_have_count(AT + 1)  # nothing ahead may be looked at
    key = home.find('#edges [data-key="8"]')
    named = say(home.lang, "edges.forbid", query=run.labels[AT], key=run.labels[8], at=8)
    expect(key).to_have_attribute("aria-label", named)

    key.click()
    word = f"edge.{LAYER}.{HEAD}.{AT}.8"
    ablated = written(20, off=(word,))
    expect(key).to_have_attribute("aria-pressed", "true")
    weights = ablated.trace.blocks[LAYER].attention.weights[HEAD].numpy()
    home.eventually(lambda: np.nan_to_num(home.grid("attention-map"))[AT, 8] == 0)
    np.testing.assert_allclose(np.nan_to_num(home.grid("attention-map"))[AT], weights[AT], atol=2e-5)
    kl = float(kl_divergence(run.trace.logits[AT], ablated.trace.logits[AT]))
    expect(home.find("#switches .effect")).to_contain_text(f"{kl:.3f}" if kl >= 0.001 else f"{kl:.1e}"[:3])
    expect(home.find("#switches .forbidden")).to_contain_text(home.say("switches.edges", count=1))
    home.address_says(off=word)
    home.find("#edges .restore").click()
    expect(home.find("#switches .forbidden")).to_have_count(0)
    expect(key).to_have_attribute("aria-pressed", "false")


def test_the_mean_of_the_heads_has_nothing_to_unfold_and_says_so(home):
    home.unfold("unfold")
    home.find('#thumbs .thumb[data-head="6"]').click()
    expect(home.find("#unfolded .note")).to_have_text(home.say("unfold.choose_head"))
    expect(home.find("#edges .note")).to_have_text(home.say("edges.choose_head"))
    expect(home.find("#unfolded .plot")).to_be_hidden()
    choose_head(home)


def test_without_the_first_token_the_rows_are_renormalised(home):
    run = written(20)
    choose_head(home)
    home.find("#hide-first input").check()
    shown = home.say("attention.title", layer=LAYER, head=HEAD)
    home.wait_title("attention-map", home.say("attention.hidden", title=shown))
    expected = hide_first(run.trace.blocks[LAYER].attention.weights[HEAD]).numpy()
    np.testing.assert_allclose(np.nan_to_num(home.grid("attention-map")), np.nan_to_num(expected), atol=2e-5)
    assert np.isnan(home.grid("attention-map")[:, 0]).all()
    home.find("#hide-first input").uncheck()
    home.wait_title("attention-map", shown)


def test_the_heads_in_numbers_and_all_of_them_at_a_glance(home):
    run = written(20)
    choose_head(home)
    home.unfold("heads-in-numbers")
    found = head_measures(run.trace.blocks[LAYER].attention.weights, run.ids)
    row = home.find("#measures tbody tr").nth(HEAD).locator("td span")
    expect(row.nth(0)).to_have_text(f"{found.entropy[HEAD]:.3f}")
    expect(row.nth(1)).to_have_text(f"{found.previous[HEAD]:.3f}")
    expect(row.nth(2)).to_have_text(f"{found.first[HEAD]:.3f}")
    home.unfold("all-heads")
    expect(home.find("#overview .thumb")).to_have_count(36)
    home.find('#overview .thumb[data-at="5.3"]').click()
    home.wait_title("attention-map", home.say("attention.title", layer=5, head=3))
    expected = run.trace.blocks[5].attention.weights[3].numpy()
    np.testing.assert_allclose(np.nan_to_num(home.grid("attention-map")), expected, atol=2e-5)
    expect(home.find("#measures thead th").first).to_have_text(home.say("measures.of_layer", layer=5))
    choose_head(home)
