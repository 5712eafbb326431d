"""The sweep: begun, followed, cancelled, finished; a cell of it is the switch it stands for."""

from threading import Event

import numpy as np
from playwright.sync_api import expect

from e2e.visitor import numbers, written
from playground.analysis.sweep import sweep
from playground.ui import sweep as tab


def test_a_sweep_can_be_cancelled_before_it_has_shown_anything(home, monkeypatch):
    gate = Event()

    def held(*asked):
        for done, effects in enumerate(sweep(*asked)):
            if done == 3:
                gate.wait(20)
            yield effects

    monkeypatch.setattr(tab, "sweep", held)
    home.show_tab("residual")
    expect(home.find("#sweep-map .note")).to_have_text(home.say("sweep.invite_zero"))
    home.find("#sweep .start").click()
    expect(home.find("#sweep .note")).to_have_text(home.say("sweep.progress", done=0, total=48))
    expect(home.find("#sweep progress")).to_have_attribute("value", "0")
    expect(home.find("#sweep .start")).to_be_disabled()
    home.find("#sweep .stop").click()
    gate.set()
    expect(home.find("#sweep .start")).to_be_enabled()
    expect(home.find("#sweep progress")).to_be_hidden()
    home.quiet()
    expect(home.find("#sweep-map .note")).to_have_text(home.say("sweep.invite_zero"))


def test_a_finished_sweep_holds_every_effect_and_its_cells_are_switches(home):
    run = written(20)
    home.show_tab("residual")
    home.find("#sweep .start").click()
    expect(home.find("#sweep .note")).to_have_text(home.say("sweep.finished", total=48))
    home.wait_title("sweep-map", home.say("sweep.title_zero", token=run.labels[9], value=home.say("sweep.kl")))
    pieces = sweep(run.model.gpt, run.trace, 9, run.ids[10])
    effects = {effect.word: effect for piece in pieces for effect in piece}
    columns = ["attention.{}", "feed_forward.{}", *(f"head.{{}}.{head}" for head in range(6))]
    words = [[column.format(layer) for column in columns] for layer in range(6)]
    shown = numbers(home.figure("sweep-map")["data"][0]["customdata"])
    np.testing.assert_allclose(shown, [[effects[word].kl for word in row] for row in words], atol=1e-5, rtol=1e-3)
    most = max(effects.values(), key=lambda effect: effect.kl)
    expect(home.find("#sweep-map .note")).to_contain_text(f"{most.kl:.3f}")

    home.find("#sweep-map .plot").scroll_into_view_if_needed()
    x, y = home.page.evaluate(
        """() => { const plot = document.querySelector('#sweep-map .plot'), box = plot.getBoundingClientRect();
          const { xaxis, yaxis } = plot._fullLayout;
          return [box.left + xaxis._offset + xaxis.l2p(1), box.top + yaxis._offset + yaxis.l2p(2)]; }"""
    )
    home.page.mouse.move(x - 2, y - 2)
    home.page.mouse.move(x, y)
    expect(home.find("#sweep-map .hoverlayer")).to_contain_text(home.say("sweep.feed_forward"))
    home.page.mouse.click(x, y)
    expect(home.switch("feed_forward.2")).to_have_attribute("aria-pressed", "true")
    expect(home.find("#switches .effect")).to_contain_text(f"{effects['feed_forward.2'].kl:.3f}")
    home.find("#switches .restore").click()
    expect(home.find("#switches .sw.off")).to_have_count(0)
