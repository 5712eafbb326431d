"""What leaves the page: its address, its pictures, their numbers, the run and the offline page."""

import csv
import io

import numpy as np
from playwright.sync_api import expect

from e2e.visitor import wait_until, written


def open_section(visitor):
    visitor.find("#take-home-section").locator("button").first.click()
    expect(visitor.find("#take-home .snippet")).to_contain_text("torch")


def taken(visitor, act):
    with visitor.page.expect_download() as download:
        act()
    return download.value


def figure_as(visitor, kind):
    visitor.find("#attention-map .save summary").click()
    button = visitor.find("#attention-map .save").get_by_text(kind, exact=True)
    return taken(visitor, button.click)


def test_a_figure_goes_home_as_pictures_and_as_its_very_numbers(visit, tmp_path):
    visitor = visit("en", "n=3")
    weights = written(3).trace.blocks[4].attention.weights[2].numpy()
    file = figure_as(visitor, "CSV")
    assert file.suggested_filename == "attention-map-9.csv"
    rows = list(csv.DictReader(io.StringIO(file.path().read_text("utf-8-sig"))))
    assert len(rows) == 13 * 14 // 2
    for row in rows:
        assert np.float32(row["value"]) == weights[int(row["y"]), int(row["x"])]
    assert rows[1]["x name"] == "Once"
    assert figure_as(visitor, "PNG").path().read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in figure_as(visitor, "SVG").path().read_text("utf-8")


def test_the_run_goes_home_as_numpy_and_as_a_page_that_lives_offline(visit, tmp_path):
    visitor = visit("zh", "n=3")
    open_section(visitor)
    npz = taken(visitor, visitor.find("#take-home .npz").click)
    with np.load(npz.path()) as held:
        np.testing.assert_array_equal(held["logits"], written(3).trace.logits.numpy())
    visitor.chips.nth(11).click()
    file = tmp_path / "run.html"
    taken(visitor, visitor.find("#take-home .report").click).save_as(file)
    page = visitor.context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: wrong.append(request.url) if request.url.startswith("http") else None)
    page.goto(file.as_uri())
    wait_until(page, "document.querySelector('#attention-map .plot')?.data !== undefined")
    expect(page.locator("#player .tok")).to_have_count(13)
    here = page.locator("#player .tok.here")
    expect(here).to_have_attribute("data-i", "11")  # as it stood on screen
    page.keyboard.press("ArrowLeft")
    expect(here).to_have_attribute("data-i", "10")
    page.locator("#player .pg-button.step").click()
    expect(here).to_have_attribute("data-i", "11")
    expect(page.locator("#player .slow")).to_be_empty()
    page.locator("#player .tok").nth(4).click()
    best = float(written(3).trace.logits[4].softmax(-1).max())
    expect(page.locator("#bars .bar:not(.head) .p").first).to_have_attribute("title", str(best))
    expect(page.locator("#player .stopped")).to_have_text(visitor.say("report.stopped"))
    page.close()
    assert not wrong


def test_the_link_is_copied_even_where_the_clipboard_is_forbidden(visit):
    visitor = visit("en", "n=3")
    open_section(visitor)
    visitor.page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', {value: {writeText: () => Promise.reject(new Error('no'))}})"
    )
    visitor.chips.nth(5).click()
    visitor.find("#take-home .link").click()
    expect(visitor.find("#take-home .note").first).to_have_text(visitor.say("take_home.copied"))
    visitor.page.evaluate("document.execCommand = () => false")
    visitor.find("#take-home .link").click()
    expect(visitor.find("#take-home .note").first).to_have_text(visitor.say("take_home.by_hand"))
    link = visitor.find("#take-home .pg-input").input_value()
    assert "at=5" in link
    assert "lang=en" in link
