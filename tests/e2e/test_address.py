"""The address restores the whole page, and one that makes no sense is refused like anything else."""

import pytest
from playwright.sync_api import expect

from e2e.visitor import run, written

EVERYTHING = {
    "model": "storyteller", "prompt": "A bird sang", "n": 4, "at": 2, "off": "attention.1,head.0.3",
    "tab": "attention", "layer": 3, "head": 5, "temperature": 0.7, "top_k": 30, "top_p": 0.9, "seed": 11,
}  # fmt: skip


def test_everything_is_restored(visit, lang):
    visitor = visit(lang, EVERYTHING)
    for _ in ("as asked for", "after a reload"):
        expect(visitor.find("#prompt textarea")).to_have_value("A bird sang")
        expect(visitor.find("#model input")).to_have_value("storyteller")
        visitor.at(2)
        expect(visitor.chips).to_have_count(len(run("A bird sang").ids) + 4)
        expect(visitor.switch("attention.1")).to_have_attribute("aria-pressed", "true")
        expect(visitor.find("#switches .sw.off")).to_have_count(2)
        assert visitor.tab == "attention"
        visitor.wait_title("attention-map", visitor.say("attention.title", layer=3, head=5))
        visitor.address_says(lang=lang, **EVERYTHING)
        assert visitor.alert.inner_text() == ""  # not even for a moment: what asked too early asked in vain
        chips = visitor.chips.all_inner_texts()
        visitor.unfold("settings")
        expect(visitor.find('#choosing input[value="sample"]')).to_be_checked()
        expect(visitor.find("#temperature input[type=number]")).to_have_value("0.7")
        expect(visitor.find("#top-k input")).to_have_value("30")
        expect(visitor.find("#seed input")).to_have_value("11")
        visitor.reload()
        assert visitor.chips.all_inner_texts() == chips


@pytest.mark.parametrize("tab", ["norms", "residual"])
def test_every_tab_is_restored(visit, tab):
    visitor = visit("zh", {"tab": tab, "n": 2})
    assert visitor.tab == tab
    visitor.drawn({"norms": "norm-by-token", "residual": "contributions"}[tab])
    expect(visitor.chips).to_have_count(len(written(2).ids))
    visitor.address_says(tab=tab, n=2)


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ({"model": '<img src=x onerror="window.__pwn=1">../../etc/passwd'}, "errors.not_a_choice"),
        ({"layer": "77"}, "errors.out_of_range"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_O_UI_05_an_address_that_makes_no_sense_is_refused_and_the_page_works(visit, query, key):
    visitor = visit("zh", query)
    begin = visitor.say(key).split("{")[0] or visitor.say(key).split("}")[1].split("{")[0]
    expect(visitor.alert).to_contain_text(begin)
    expect(visitor.alert).to_contain_text(next(iter(query.values())))  # as text, character by character
    expect(visitor.alert.locator("img")).to_have_count(0)
    assert visitor.page.evaluate("window.__pwn") is None
    expect(visitor.chips.first).to_be_visible()
    assert "/" not in visitor.alert.inner_text().replace("../../etc/passwd", "")
    assert "Traceback" not in visitor.alert.inner_text()
    visitor.switch("attention.0").click()
    expect(visitor.find("#switches .effect")).to_contain_text("KL")
    expect(visitor.alert).to_be_empty()
