"""The LayerNorm tab: every LayerNorm's numbers are the ones computed."""

import numpy as np
import pytest
from playwright.sync_api import expect

from e2e.visitor import numbers, written
from playground.analysis import norm_statistics

STAGES = ("before", "normalised", "after")


def choose_norm(visitor, name):
    visitor.find("#which-norm input").click()
    visitor.page.get_by_role("option", name=name, exact=True).click()
    visitor.wait_title("norm-by-token", visitor.say("norms.title", norm=name))


def test_every_layer_norm_shows_its_own_numbers(home):
    norms = norm_statistics(written(20).trace)
    home.show_tab("norms")
    for which, name in ((3, home.say("norms.norm_2", layer=1)), (12, home.say("norms.final_norm"))):
        choose_norm(home, name)
        traces = home.figure("norm-by-token")["data"]
        for i, stage in enumerate(STAGES):
            moments = getattr(norms[which], stage)
            np.testing.assert_allclose(numbers(traces[2 * i]["y"]), moments.mean.numpy(), atol=1e-5)
            np.testing.assert_allclose(numbers(traces[2 * i + 1]["y"]), moments.std.numpy(), atol=1e-5)
        home.chips.nth(6).click()
        note = home.find("#norm-by-token .note")
        expect(note).to_contain_text(f"{float(norms[which].before.mean[6]):z.4f}")
        expect(note).to_contain_text(f"{float(norms[which].after.std[6]):z.4f}")
    choose_norm(home, home.say("norms.norm_1", layer=0))


def test_the_overview_shows_all_thirteen_at_any_stage(home):
    norms = norm_statistics(written(20).trace)
    home.show_tab("norms")
    for stage in ("after", "before"):
        home.choose("norm-stage", stage)
        home.wait_title("norms-overview", home.say("norms.overview", count=13, stage=home.say(f"norms.{stage}")))
        means = home.grid("norms-overview")
        np.testing.assert_allclose(means, [getattr(norm, stage).mean.numpy() for norm in norms], atol=1e-5)


@pytest.mark.parametrize("lang", ["en"])
def test_O_ACT_03_the_formula_stands_beside_it(home):
    home.show_tab("norms")
    expect(home.page.get_by_role("math")).to_have_count(3)
    expect(home.find("#tabs")).to_contain_text("not C − 1")  # P8
