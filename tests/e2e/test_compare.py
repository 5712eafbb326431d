"""Two runs side by side."""

import numpy as np
from playwright.sync_api import expect

import serving
from e2e.visitor import numbers, run, written


def halves(visitor, figure):
    """What both plots of a figure hold."""
    visitor.page.wait_for_function(
        "(id) => [...document.querySelectorAll(`#${id} .plot`)].filter((plot) => plot.data).length === 2", arg=figure
    )
    return visitor.page.evaluate(
        "(id) => [...document.querySelectorAll(`#${id} .plot`)].map(({ data }) => data.at(-1).z ?? data.at(-1).y)",
        figure,
    )


def test_a_model_beside_another(visit):
    visitor = visit("zh", "beside=untrained")
    expect(visitor.find("#beside h2")).to_have_text(visitor.say("beside.title", name=visitor.say("page.untrained")))
    run_here, run_there = written(20), run(made=written(20).ids[10:], name="untrained")
    sent = halves(visitor, "attention-map")
    for z, each in zip(sent, (run_here, run_there), strict=True):
        weights = each.trace.blocks[4].attention.weights[2].numpy()
        drawn = numbers(z)
        np.testing.assert_array_equal(drawn[~np.isnan(drawn)], weights[np.tril_indices(30)])
    best = float(run_there.trace.logits[9].softmax(-1).max())
    title = visitor.find("#beside .bar .p").first.get_attribute("title")
    np.testing.assert_allclose(float(title), best, rtol=1e-6)
    names = visitor.page.evaluate(
        "[...document.querySelectorAll('#attention-map .half')].map((half) => half.dataset.name)"
    )
    assert names == [visitor.say("beside.this_run"), visitor.say("page.untrained")]
    visitor.chips.nth(14).click()
    visitor.address_says(at=14, beside="untrained")
    expect(visitor.find("#beside .bar .p").first).to_have_attribute("title", str(float(run_there.trace.logits[14].softmax(-1).max())))  # fmt: skip # noqa: E501


def test_the_other_half_counts_its_own_layers_heads_and_positions(visit):
    """FIX-A has three layers of two heads and sees the last 16 tokens alone."""
    visitor = visit("zh", {"n": 20, "beside": serving.OWN, "layer": 4, "head": 6, "at": 9})
    own = written(20)
    other = run(own.model.tokenizer.decode(own.ids), name=serving.OWN)
    assert other.start > 9
    expect(visitor.find("#beside .note").first).to_have_text(visitor.say("beside.unseen", first=other.start))
    visitor.unfold("heads-in-numbers")
    visitor.find("#measures .there .pg-button").last.click()  # the mean: the third row there, the seventh here
    visitor.choose("language", "en")
    visitor.lang = "en"
    expect(visitor.find("#measures .there th").first).to_have_text(visitor.say("measures.of_layer", layer=2))
    visitor.address_says(layer=4, head=6)
    visitor.reload()
    expect(visitor.alert).to_be_empty()

    visitor.find('#thumbs .half:not(.there) .thumb[data-head="0"]').click()
    visitor.unfold("unfold")
    at = other.start + 2
    visitor.chips.nth(at).click()
    label = other.labels[2]
    expect(visitor.find("#attention-map .there .note")).to_contain_text(label)
    expect(visitor.find("#edges .there h3")).to_have_text(visitor.say("edges.title", query=label, layer=2, head=0))
    expect(visitor.find("#edges .there .keys .sw")).to_have_text(other.labels[:3])


def test_with_switches_against_without_and_back_to_one(visit):
    visitor = visit("en", "off=attention.4&n=0")
    visitor.find("#compare").locator("button").first.click()
    visitor.find("#beside-kind input").click()
    visitor.page.get_by_role("option", name=visitor.say("beside.nothing_off")).click()
    expect(visitor.find("#beside-prompt")).to_be_hidden()
    expect(visitor.find("#beside .bar").first).to_be_visible()
    visitor.show_tab("residual")
    here, there = (numbers(y) for y in halves(visitor, "stream"))
    assert not np.array_equal(here, there)
    visitor.find("#beside-kind input").click()
    visitor.page.get_by_role("option", name=visitor.say("beside.nothing"), exact=True).click()
    expect(visitor.find("#beside .bar")).to_have_count(0)
    expect(visitor.find("#stream .half.there")).to_be_hidden()
    visitor.address_says(beside=None)


def test_another_prompt_has_its_own_words(visit):
    visitor = visit("en", {"n": 2, "beside": "prompt", "beside_prompt": "<b>A wolf</b>"})
    other = written(2, "<b>A wolf</b>")
    expect(visitor.find("#beside .tok")).to_have_count(len(other.ids))
    assert visitor.find("#beside .tok").all_inner_texts() == other.labels
    expect(visitor.find("#beside-prompt textarea")).to_have_value("<b>A wolf</b>")  # the link has opened the fold
    expect(visitor.find("#beside .note").last).to_be_empty()
    visitor.switch("attention.0").click()
    expect(visitor.find("#beside .note").last).to_have_text(visitor.say("beside.rewritten"))


def test_another_prompt_is_asked_for_where_it_is_chosen(visit):
    visitor = visit("zh", "n=1")
    visitor.unfold("compare")
    expect(visitor.find("#beside-prompt")).to_be_hidden()
    visitor.find("#beside-kind input").click()
    visitor.page.get_by_role("option", name=visitor.say("beside.prompt")).click()
    visitor.find("#beside-prompt textarea").fill("A wolf")
    visitor.press("Enter")
    expect(visitor.find("#beside .tok")).to_have_text(written(1, "A wolf").labels)
    visitor.address_says(beside="prompt", beside_prompt="A wolf")
