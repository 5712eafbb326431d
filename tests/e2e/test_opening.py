"""The first minute: nobody has pressed anything, and everything is there."""

import numpy as np
import pytest
from playwright.sync_api import expect

from e2e.visitor import PROMPT, written

COUNT_FRAMES = """window.frames_asked = 0;
  const frame = window.requestAnimationFrame;
  window.requestAnimationFrame = (draw) => { window.frames_asked++; return frame.call(window, draw); };"""
FRAMES_OF_A_SECOND = """new Promise((told) => {
  const before = window.frames_asked;
  setTimeout(() => told(window.frames_asked - before), 1000); })"""


def test_O_DEP_01_the_page_opens_with_a_finished_run_and_asks_nobody_else(home):
    run = written(20)
    expect(home.chips).to_have_count(len(run.ids))
    expect(home.find("#player .tok.made")).to_have_count(20)
    expect(home.find("#prompt textarea")).to_have_value(PROMPT)
    expect(home.find("#run")).to_have_text(home.label("page.run", "value"))
    expect(home.find("#bars .bar.head span").nth(0)).to_have_text(home.say("bars.column_token"))
    home.at(run.n_prompt - 1)
    assert len(home.bars()) >= 10
    grid = home.grid("attention-map")
    assert grid.shape == (30, 30)
    assert np.nansum(grid) == pytest.approx(30, abs=1e-4)
    expect(home.alert).to_be_empty()


def test_a_page_at_rest_draws_next_to_nothing(visit):
    """Gradio's pages ask for sixty frames a second for ever: in a classroom that is thirty fans."""
    visitor = visit()
    visitor.page.add_init_script(COUNT_FRAMES)
    visitor.reload()
    visitor.eventually(lambda: visitor.page.evaluate(FRAMES_OF_A_SECOND) <= 12)
    visitor.press("ArrowRight")  # and goes on at once
    visitor.at(10)


@pytest.mark.parametrize(("locale", "lang"), [("zh-TW", "zh"), ("fr-FR", "en")])
def test_a_visitor_is_met_in_the_language_of_the_browser(visit, locale, lang):
    visitor = visit(lang, locale=locale, in_address=False)
    expect(visitor.find("#run")).to_have_text(visitor.label("page.run", "value"))
    expect(visitor.find("#language label.selected")).to_have_text({"zh": "中文", "en": "English"}[lang])
