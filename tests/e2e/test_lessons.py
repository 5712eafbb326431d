"""Somebody works through every lesson, in each language."""

import re

from playwright.sync_api import expect

import serving
from e2e.test_look import no_sideways_scroll
from e2e.visitor import PROMPT
from playground.lessons import LESSONS
from playground.runs import Request
from playground.ui.components import asset
from playground.ui.lessons.tab import VIEWS

PARTS = [(lesson.name, part) for lesson in LESSONS for part in lesson.experiments]


def shown(visitor, part):
    """What the experiment found has come, in this language, and its pictures are drawn."""
    expect(visitor.find("#lessons .lessons")).to_have_attribute("data-found", f"{part} {visitor.lang}")
    visitor.page.wait_for_function(
        "[...document.querySelectorAll('#lessons .found .plot')].every((plot) => plot.data !== undefined)"
    )


GUESS = """() => [...document.querySelectorAll('#lessons .question')].map((question) => {
  const reveal = () => question.querySelector('.reveal'), locked = reveal().disabled;
  question.querySelector('input').click();
  reveal().click();
  return [locked, question.querySelectorAll('.pill.right').length, question.querySelector('.verdict').textContent];
})"""


def formulas(part):
    return asset(f"formulas/{VIEWS[part.name].formula}.mathml").count("<math")


def guess_all(visitor, guessed=False):
    """A guess, unless one was made before, and its answer, for every question."""
    answers = visitor.page.evaluate(GUESS)
    assert len(answers) >= 2
    for locked, right, verdict in answers:
        assert locked != guessed
        assert right == 1
        assert re.search(r"\S[.。]$", verdict)


def guess_ahead(visitor):
    """Of what is yet to be trained one guesses, and nothing is revealed."""
    expect(visitor.find("#lessons .questions .note")).to_have_text(visitor.say("lessons.pending"))
    asked = visitor.find("#lessons .question")
    assert asked.count() >= 2
    for number in range(asked.count()):
        asked.nth(number).locator("label").first.click()
        expect(asked.nth(number).locator("input").first).to_be_checked()
        expect(asked.nth(number).locator(".reveal")).to_be_disabled()


def test_every_lesson_is_walked_from_the_first_to_the_last(home):
    home.show_tab("lessons")
    home.find("#lessons .contents a").first.click()
    for lesson, part in PARTS:
        heading = home.find("#lessons h2")
        expect(heading).to_have_text(home.say(f"lessons.title_{lesson}"))
        expect(home.find("#lessons .prose p").first).to_be_visible()
        if not part.trains:
            shown(home, part.name)
            guess_all(home)
        else:
            guess_ahead(home)
        expect(home.find("#lessons .formula math")).to_have_count(formulas(part))
        expect(home.find("#lessons .formula math").first).to_be_visible()
        expect(home.find("#lessons .code .line.marked").first).to_be_visible()
        no_sideways_scroll(home)
        if part is not PARTS[-1][1]:
            home.find("#lessons .next").click()
    expect(home.find("#lessons .next")).to_have_count(0)
    home.address_says(tab="lessons", lesson=PARTS[-1][0], part=PARTS[-1][1].name)


def test_a_lesson_is_restored_from_its_address_and_answers_in_both_languages(visit):
    visitor = visit("zh", {"tab": "lessons", "lesson": "layer_norm", "part": "vector"}, width=390, height=844)
    shown(visitor, "vector")
    before = visitor.figure("lesson-vector")["data"][0]["y"]
    slider = visitor.find("#lessons .upright").first
    slider.focus()
    visitor.press("ArrowUp")
    visitor.eventually(lambda: visitor.figure("lesson-vector")["data"][0]["y"] != before)
    no_sideways_scroll(visitor)
    visitor.choose("language", "en")
    visitor.lang = "en"
    shown(visitor, "vector")
    expect(visitor.find("#lessons h2")).to_have_text(visitor.say("lessons.title_layer_norm"))
    visitor.wait_title("lesson-vector", visitor.say("lesson_vector.picture"))
    assert visitor.figure("lesson-vector")["data"][0]["y"] != before  # what was dragged stays
    visitor.find("#lessons .again").click()
    visitor.eventually(lambda: visitor.figure("lesson-vector")["data"][0]["y"] == before)
    trained_until_stopped(visitor)
    visitor.show_tab("attention")
    expect(visitor.find("#player")).to_be_visible()


SLIDE = "(range, value) => { range.value = value; range.dispatchEvent(new Event('input')); }"


LOOK_AT_BOTH = """() => {
  const slider = document.querySelector('#lessons .stages input'), look = document.querySelector('#lessons .through');
  for (const place of [0, 1]) { slider.value = place; slider.dispatchEvent(new Event('input')); look.click(); }
}"""
STEP = "() => Number(/\\d+/.exec(document.querySelector('#lessons .stages output').textContent)[0])"


def trained_until_stopped(visitor):
    """A training shows its progress and what it found so far, and stops when told to."""
    visitor.find('#lessons .contents a[data-part="gradients"]').click()
    visitor.find('#lessons .steps a[data-part="race"]').click()
    start, stop, said = (visitor.find(f"#lessons .sweep {part}") for part in (".start", ".stop", ".note"))
    expect(said).to_have_text(visitor.say("lessons.invite"))
    visitor.find("#lessons .pill").filter(has_text="12").click()
    visitor.find("#lessons .number input").evaluate(SLIDE, 300)  # with 12 blocks a minute: stopped long before its end
    start.click()
    expect(visitor.find("#lessons progress")).to_be_visible()
    shown(visitor, "race")
    expect(said).to_have_text(re.compile(r"\d of 300$"))
    stop.click()
    expect(said).to_have_text(re.compile(r"^Stopped at step \d+ of 300\.$"))
    expect(start).to_be_enabled()
    guess_ahead(visitor)  # it was stopped: who is best in the end is not known


def test_the_whole_page_looks_through_a_model_trained_before_ones_eyes(visit):
    """Lesson 4: train, go back in time, see the attention of then, and take the model home."""
    visitor = visit("en", {"tab": "lessons", "lesson": "gibberish"})
    visitor.find("#lessons .pill").filter(has_text="small").click()
    visitor.find("#lessons .number input").evaluate(SLIDE, 20)
    guess_ahead(visitor)
    visitor.find("#lessons .sweep .start").click()
    expect(visitor.find("#lessons .sweep .note")).to_have_text(visitor.say("lessons.finished", total=20))
    expect(visitor.find("#lessons .questions .note")).to_have_count(0)
    expect(visitor.find("#lessons .question").first.locator("input").first).to_be_checked()
    guess_all(visitor, guessed=True)
    checkpoint, written = visitor.find("#lessons .stages input"), visitor.find("#lessons .written")
    assert written.inner_text().startswith("Once upon")
    looking = visitor.find("#lessons .stages .note")
    visitor.find("#lessons .through").click()
    expect(looking).to_have_text(visitor.say("lessons.looking", step=20))
    visitor.page.evaluate(LOOK_AT_BOTH)  # the second is asked for when the answer to the first is only just there
    expect(looking).to_have_text(visitor.say("lessons.looking", step=visitor.page.evaluate(STEP)))
    for place in (3, 1, 0):  # the page follows, and ends where the slider does
        checkpoint.evaluate(SLIDE, place)
        visitor.page.wait_for_timeout(350)
    expect(looking).to_have_text(visitor.say("lessons.looking", step=0))
    visitor.eventually(lambda: visitor.address["model"].endswith("-0"))
    name = visitor.address["model"]
    with visitor.page.expect_download() as download:
        visitor.find("#lessons .take").click()
    assert download.value.suggested_filename == f"{name}.zip"
    visitor.show_tab("attention")
    expect(visitor.find("#model input")).to_have_value(visitor.say("page.own_model", step=0))
    visitor.find("#player .pg-button.play").click()
    visitor.chips.nth(3).click()
    run = serving.server().runs(Request(name, PROMPT))
    assert visitor.chips.nth(3).inner_text().startswith("e")
    visitor.eventually(lambda: visitor.bars()[0][2] == float(run.trace.logits[3].max()))


def test_a_picture_that_was_laid_aside_takes_part_in_another_theme_and_size(home):
    home.show_tab("lessons")
    vector, batch = (part.name for _, part in PARTS[:2])
    title = home.find("#lessons .found .gtitle").first
    home.find("#lessons .contents a").first.click()
    home.find(f'#lessons a.pill[data-part="{vector}"]').click()
    shown(home, vector)
    home.find(f'#lessons a.pill[data-part="{batch}"]').click()
    shown(home, batch)
    home.find("#theme").click()
    home.find("#header .projector").click()
    home.find(f'#lessons a.pill[data-part="{vector}"]').click()
    shown(home, vector)
    ink = home.page.evaluate("getComputedStyle(document.body).getPropertyValue('--pg-ink').trim()")
    wanted = home.page.evaluate(
        "(ink) => { const box = document.createElement('i'); box.style.color = ink; return box.style.color; }", ink
    )
    expect(title).to_have_css("fill", wanted)
    large = float(title.evaluate("(text) => parseFloat(text.style.fontSize)"))
    home.find("#header .projector").click()
    home.find("#theme").click()
    home.page.wait_for_function(
        "(large) => parseFloat(document.querySelector('#lessons .found .gtitle').style.fontSize) < large", arg=large
    )
