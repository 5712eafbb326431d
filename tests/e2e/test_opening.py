"""The first minute: nobody has pressed anything, and everything is there."""

import numpy as np
import pytest
from playwright.sync_api import expect

from e2e.visitor import PROMPT, written


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


@pytest.mark.parametrize(("locale", "lang"), [("zh-TW", "zh"), ("fr-FR", "en")])
def test_a_visitor_is_met_in_the_language_of_the_browser(visit, locale, lang):
    visitor = visit(lang, locale=locale, in_address=False)
    expect(visitor.find("#run")).to_have_text(visitor.label("page.run", "value"))
    expect(visitor.find("#language label.selected")).to_have_text({"zh": "中文", "en": "English"}[lang])
