"""Another token than the model's, other words than the visitor's, and how sampling chooses: as a person does it."""

import numpy as np
import pytest
from playwright.sync_api import expect

from e2e.visitor import PROMPT, model, run, written
from playground.gpt.model import GPTModel
from playground.gpt.sampling import Sampling, choose, stages

SAMPLED = {"temperature": 0.8, "top_k": 12, "top_p": 0.9, "seed": 5}


def test_a_click_on_a_candidate_goes_on_from_it(visit):
    visitor = visit("zh", "n=3&at=10")
    other = visitor.bars()[2][0]
    visitor.unfold("settings")
    visitor.find("#new-tokens input[type=number]").fill("4")
    visitor.find("#bars .bar:not(.head)").nth(2).locator("button").click()
    expect(visitor.chips).to_have_count(10 + 4)
    expect(visitor.chips.nth(11)).to_contain_text(other.lstrip("·"))
    ids = run().ids + tuple(written(1).ids[-1:])
    token = next(t for t in range(4096) if model().tokenizer.label(t) == other)
    visitor.address_says(made=".".join(map(str, (*ids[10:], token))), n=4, kept=None)
    chips = visitor.chips.all_inner_texts()
    visitor.reload()
    assert visitor.chips.all_inner_texts() == chips


def test_the_pencil_rewrites_a_token_and_the_text_goes_on(visit):
    visitor = visit("en", "n=2")
    visitor.chips.nth(9).click()
    visitor.button("edit").click()
    field = visitor.find("#player .tok-input")
    expect(field).to_have_value(" fox")
    field.press("Escape")
    expect(visitor.chips).to_have_count(12)
    visitor.button("edit").click()
    field.fill(" big castle")
    field.press("Enter")
    expect(visitor.find("#player .notices")).to_contain_text(visitor.say("notices.cut", kept=9, whole=10))
    expect(visitor.chips.nth(10)).to_contain_text("castle")
    visitor.address_says(kept=9)
    assert visitor.find("#prompt textarea").input_value() == PROMPT  # nothing is lost
    visitor.find("#run").click()
    expect(visitor.find("#player .notices p")).to_have_count(0)
    expect(visitor.chips.nth(9)).to_contain_text("fox")


def staged(at: int, sampling: Sampling, seed: int):
    logits = run().trace.logits[at]
    parts = stages(logits, sampling)
    return parts, choose(parts, sampling, seed, at + 1)


def test_O_UI_07_sampling_is_shown_as_stages_on_the_bars_and_no_slider_makes_a_pass(visit, monkeypatch):
    visitor = visit("en", {"n": 0, **SAMPLED})
    expect(visitor.find("#bars .top_p").first).to_be_attached()
    parts, drawn = staged(9, Sampling(0.8, 12, 0.9), 5)
    for label, probability, logit in visitor.bars():
        token = next(t for t in range(4096) if model().tokenizer.label(t) == label)
        assert probability == pytest.approx(float(parts.after_top_p[token]), rel=1e-6)
        np.testing.assert_allclose(logit, float(parts.logits[token]), rtol=1e-6)
    expect(visitor.find("#bars .note").first).to_contain_text(f"“{model().tokenizer.label(drawn)}”")
    visitor.unfold("settings")
    visitor.quiet()
    monkeypatch.setattr(GPTModel, "trace", lambda *_, **__: pytest.fail("a slider made a pass"))
    slider = visitor.find("#temperature input[type=range]")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    x, y = box["x"], box["y"] + box["height"] / 2
    visitor.page.mouse.move(x + 2, y)
    visitor.page.mouse.down()
    for step in range(41):  # the whole range, in two seconds
        visitor.page.mouse.move(x + 2 + step * (box["width"] - 4) / 40, y)
        visitor.page.wait_for_timeout(50)
    visitor.page.mouse.up()
    expect(visitor.find("#temperature input[type=number]")).to_have_value("2")
    hot = f"{float(staged(9, Sampling(2.0, 12, 0.9), 5)[0].after_top_p.max()):.3f}"
    expect(visitor.find("#bars .bar:not(.head) .p").first).to_have_text(hot)
    visitor.quiet()  # and nothing failed: no pass was made


def test_the_cache_grows_with_every_step(home):
    home.show_tab("generation")
    home.drawn("kv-cache")
    for position in (9, 12):
        home.chips.nth(position).click()
        home.eventually(
            lambda at=position: (
                list(home.figure("kv-cache")["data"][1]["marker"]["opacity"].values())
                == [float(token > at) for token in range(30)]
            )
        )
        held = f"{(position + 1) * 2 * 6 * 192 * 4:,}"
        expect(home.find("#kv-cache .note")).to_contain_text(held)
    keys = written(20).trace.blocks[3].attention.key.square().sum((0, 2)).sqrt()
    np.testing.assert_allclose(home.grid("kv-cache")[3], keys.numpy(), rtol=1e-6)


def test_a_sampled_text_is_written_by_the_seed(visit):
    visitor = visit("en", {"n": 5, **SAMPLED})
    made: tuple[int, ...] = ()
    for place in range(10, 15):
        logits = run(PROMPT, made).trace.logits[-1]
        made = (*made, choose(stages(logits, Sampling(0.8, 12, 0.9)), Sampling(0.8, 12, 0.9), 5, place))
    labels = [model().tokenizer.label(token) for token in made]
    shown = visitor.page.evaluate("playground.state.view.labels")
    assert shown[10:] == labels
