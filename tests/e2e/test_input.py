"""What visitors type: any text is text, and what cannot be is refused in one sentence of their language."""

import pytest
from playwright.sync_api import expect

from e2e.visitor import TABS as EVERY_TAB
from e2e.visitor import run

LABELS = "(chips) => chips.map((chip) => chip.getAttribute('aria-label'))"
HOSTILE = [
    '<img src=x onerror="window.__pwn=1">',
    '"><svg onload=window.__pwn=1>',
    "</script><script>window.__pwn=1</script>",
    '<a href="javascript:window.__pwn=1">x</a><br>',
    "![](http://evil.example/x.png) [x](javascript:alert(1)) # h1",
    r"**bold** $$\frac{1}{0}$$ {{1+1}} ${1+1} %{y}",
]


def one_run(visitor, prompt):
    """Run a prompt without writing on: the first view has the prompt alone."""
    visitor.run(prompt)
    visitor.page.wait_for_function(
        "(prompt) => playground.state.view.query.prompt === prompt && document.querySelector('#player .tok')",
        arg=prompt,
    )
    visitor.button("first").click()  # whatever goes on writing stops


LINKS = ", ".join(f"#stage {each}:not(#lessons *)" for each in ("a", "svg a[href]", "h1", "img"))


def test_O_SEC_01_O_SEC_02_O_SEC_03_O_SEC_04_text_is_never_markup(visit):
    """O-SEC-01 to 04: in the strip, the bars, the figures and the notices of every tab."""
    visitor = visit("en", "n=0")
    dialogs = []
    visitor.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    links = visitor.page.locator(LINKS).count()
    for prompt in HOSTILE:
        one_run(visitor, prompt)
        for tab in (*EVERY_TAB, "attention") if prompt == HOSTILE[0] else ("norms", "residual", "attention"):
            visitor.show_tab(tab)
        visitor.quiet()
        labels = run(prompt).labels
        told = [chip.split(": ", 1)[1] for chip in visitor.chips.evaluate_all(LABELS)]
        assert told[: len(labels)] == labels
        for position in (1, len(labels) - 1):
            visitor.chips.nth(position).click()
            visitor.chips.nth(position).hover()
        assert visitor.page.evaluate("window.__pwn") is None
        assert visitor.page.locator(LINKS).count() == links
        assert visitor.page.locator("#player .katex, #bars .katex, .plot .katex").count() == 0
    assert dialogs == []


def test_O_TOK_09_an_empty_prompt_is_refused_and_the_old_result_stays(home):
    before = home.bars()
    home.run("")
    expect(home.alert).to_have_text(home.say("errors.prompt_empty"))
    expect(home.chips).to_have_count(30)
    assert home.bars() == before
    home.find("#prompt textarea").fill("Once upon a time, there was a little fox")
    home.switch("attention.0").click()  # what succeeds takes the refusal away
    expect(home.alert).to_be_empty()
    home.find("#switches .restore").click()
    expect(home.find("#switches .sw.off")).to_have_count(0)


def test_O_TOK_07_O_UI_05_too_many_characters_are_refused_with_the_limit(home):
    home.run("a" * 20_001)
    expect(home.alert).to_have_text(home.say("errors.prompt_too_long", characters="20,001", limit="20,000"))
    expect(home.chips).to_have_count(30)
    home.find("#prompt textarea").fill("Once upon a time, there was a little fox")


def test_O_UI_04_enter_chooses_a_candidate_and_only_then_runs(visit):
    visitor = visit("zh", "n=0")
    box = visitor.find("#prompt textarea")
    box.fill("ni hao")
    composing = """(box) => {
      const enter = { key: 'Enter', keyCode: 229, isComposing: true, bubbles: true, cancelable: true };
      box.dispatchEvent(new CompositionEvent('compositionstart', { bubbles: true }));
      for (const name of ['keydown', 'keypress']) box.dispatchEvent(new KeyboardEvent(name, enter));
      box.dispatchEvent(new CompositionEvent('compositionend', { bubbles: true })); }"""
    with visitor.asking_nobody():
        box.evaluate(composing)
        visitor.quiet()
    box.press("Enter")
    visitor.page.wait_for_function("playground.state.view.query.prompt === 'ni hao'")
    ran = [asked for asked in visitor.asked if "ni hao" in asked and "queue/join" in asked]
    assert len(ran) == 1


def test_O_TOK_03_chinese_characters_stand_over_their_parts(visit):
    visitor = visit("zh", {"model": "fix_a", "prompt": "你好", "n": 0})
    expect(visitor.chips).to_have_count(4)
    groups = visitor.find("#player .shared")
    assert [groups.nth(i).get_attribute("data-character") for i in (0, 1)] == ["你", "好"]
    assert [groups.nth(i).locator(".tok").count() for i in (0, 1)] == [2, 2]
    assert groups.nth(0).get_attribute("title") == visitor.say("player.shared", character="你")
    for tab in ("norms", "residual", "attention"):
        visitor.show_tab(tab)
        assert "\ufffd" not in visitor.page.content()
    for i in range(4):
        visitor.chips.nth(i).hover()
        assert "\ufffd" not in visitor.page.content()
    expect(visitor.find("#prompt textarea")).to_have_value("你好")


@pytest.mark.parametrize(
    ("lang", "prompt", "key", "values"),
    [("en", "The cat ", "notices.trailing_space", {}), ("zh", "word " * 300, "notices.dropped", None)],
    ids=["a trailing space", "longer than the context"],
)
def test_notices(visit, lang, prompt, key, values):
    visitor = visit(lang, {"prompt": prompt, "n": 0})
    if values is None:
        count = len(run(prompt).ids)
        values = {"tokens": count, "limit": 256, "dropped": count - 256}
        expect(visitor.chips).to_have_count(256)
    expect(visitor.find("#player .notices")).to_contain_text(visitor.say(key, **values))


def test_O_CKP_16_a_model_that_cannot_be_had_offline_is_one_sentence_and_the_old_one_stays(home):
    home.find("#model input").click()
    home.page.get_by_role("option", name="gpt2", exact=True).click()
    expect(home.alert).to_have_text(home.say("errors.model_offline", name="openai-community/gpt2"))
    expect(home.find("#model input")).to_have_value("storyteller")
    expect(home.chips).to_have_count(30)
    home.switch("attention.0").click()
    expect(home.alert).to_be_empty()
    home.find("#switches .restore").click()
    expect(home.find("#switches .sw.off")).to_have_count(0)


def test_another_model_reads_the_same_prompt(visit, lang):
    visitor = visit(lang, "n=0")
    visitor.find("#model input").click()
    visitor.page.get_by_role("option", name=visitor.say("page.untrained"), exact=True).click()
    visitor.page.wait_for_function("playground.state.view.query.model === 'untrained'")
    visitor.button("first").click()
    expect(visitor.find("#side")).to_contain_text({"zh": "权重随机", "en": "random weights"}[lang])
    labels = run(name="untrained").labels
    assert visitor.chips.first.get_attribute("aria-label").endswith(labels[0])
    expect(visitor.find("#prompt textarea")).to_have_value("Once upon a time, there was a little fox")
    visitor.address_says(model="untrained")
