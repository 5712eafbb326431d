"""The proof strip: a badge, the table behind it, and that it is always about the run on screen."""

from threading import Event

from playwright.sync_api import expect

from e2e.visitor import written
from playground.analysis.proofs import prove
from playground.gpt.ablation import NOTHING_OFF
from playground.ui import proofs as strip


def test_the_badge_opens_the_very_errors_and_turns_with_the_run(visit, lang):
    home = visit(lang, "n=7")  # not what the page began with: proved on the run that is kept, which is asked for here
    run = written(7)
    proofs = prove(run.model.gpt, run.ids, NOTHING_OFF, run.trace)
    applied = [proof for proof in proofs if not proof.unless]
    badge = home.find("#proofs .badge")
    expect(badge).to_have_text("✓ " + home.say("proofs.badge", held=len(applied), total=len(applied)))
    with home.asking_nobody():
        badge.click()
        dialog = home.find("#proofs dialog")
        expect(dialog).to_be_visible()
        expect(dialog.locator("tbody tr")).to_have_count(len(proofs))
        for proof in proofs:
            row = dialog.locator(f'tr[data-name="{proof.name}"]')
            expect(row.locator("th")).to_have_text(home.say(f"proofs.name_{proof.name}"))
            expect(row).to_have_class("unless" if proof.unless else "holds")
            if not proof.unless:
                error, tolerance = row.locator(".number").all_inner_texts()
                assert float(tolerance) == float(f"{proof.tolerance:.1e}")
                assert float(error) <= float(tolerance)
        home.press("Escape")
        expect(dialog).to_be_hidden()
        expect(badge).to_be_focused()

    home.find("#switches .zero-all").click()
    total = len(applied) + 1  # with every sublayer off the residual identity is one more
    expect(badge).to_have_text("✓ " + home.say("proofs.badge", held=total, total=total))
    home.find("#switches .restore").click()
    expect(badge).to_have_text("✓ " + home.say("proofs.badge", held=len(applied), total=len(applied)))


def test_a_proof_that_comes_too_late_is_not_the_last_word(home, monkeypatch):
    gate, asked, usual = Event(), Event(), strip.proved

    def held(*run):
        asked.set()
        gate.wait(20)
        return usual(*run)

    monkeypatch.setattr(strip, "proved", held)
    home.switch("feed_forward.1").click()
    home.eventually(asked.is_set)
    home.find("#switches .restore").click()
    expect(home.find("#switches .sw.off")).to_have_count(0)
    expect(home.find("#proofs .badge")).to_have_class("pg-button badge good")  # as proved before
    gate.set()
    home.quiet()
    expect(home.find("#proofs .badge")).to_have_class("pg-button badge good")
