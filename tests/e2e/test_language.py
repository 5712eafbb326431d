"""O-UI-03: the language changes in place; nothing is lost and no word of the other one is left."""

import re
import tomllib
from functools import cache
from pathlib import Path

from playwright.sync_api import expect

TEXT = Path(__file__).parents[2] / "playground" / "text"
# What a person sees or hears on the page: texts, and the attributes that are read out.
SEEN = """() => {
  const found = [], named = ['aria-label', 'title', 'placeholder'];
  const seen = (element) => element.checkVisibility({ visibilityProperty: true })
    && !element.closest('footer, script, style');
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (seen(node.parentElement)) found.push(node.textContent);
  for (const element of document.body.querySelectorAll('[aria-label], [title], [placeholder]'))
    if (seen(element)) found.push(...named.map((name) => element.getAttribute(name) ?? ''));
  return [...new Set(found.map((text) => text.trim()))].filter(Boolean);
}"""


def sentences(lang):
    """Every sentence of a language, with the key it is found by."""
    for file in TEXT.glob("*.toml"):
        if file.stem.startswith("lesson_"):  # which test_lessons.py walks, in both
            continue
        for key, entry in tomllib.loads(file.read_text("utf-8")).items():
            for sentence in flat(entry[lang]):
                yield f"{file.stem}.{key}", sentence


@cache
def patterns(lang):
    """Every sentence as what it may look like once filled in, unless the other language says just the same."""
    elsewhere = {sentence for _, sentence in sentences({"zh": "en", "en": "zh"}[lang])}
    return [
        (key, re.compile(re.sub(r"\\\{\w+\\\}", ".+", re.escape(sentence))))
        for key, sentence in sentences(lang)
        if sentence not in elsewhere and re.sub(r"\{\w+\}|\W", "", sentence)
    ]


def flat(entry):
    return [entry] if isinstance(entry, str) else list(entry.values())


def leftovers(visitor, lang):
    """Texts on the page that are a sentence of `lang`."""
    seen = visitor.page.evaluate(SEEN)
    assert len(seen) > 100
    return sorted({f"{key}: {text}" for text in seen for key, pattern in patterns(lang) if pattern.fullmatch(text)})


def switch_to(visitor, lang):
    visitor.choose("language", lang)
    visitor.lang = lang
    expect(visitor.find("#run")).to_have_text(visitor.label("page.run", "value"))
    expect(visitor.find("html")).to_have_attribute("lang", "zh-CN" if lang == "zh" else "en")
    visitor.quiet()


def test_O_UI_03_switching_keeps_everything_and_leaves_no_word_behind(visit):
    query = {"prompt": "The cat ", "n": 9, "at": 3, "off": "attention.2", "temperature": 0.9, "seed": 4}
    visitor = visit("en", query)
    visitor.unfold("settings")
    visitor.find('#switches [data-more="1"]').click()
    for tab in ("norms", "residual"):
        visitor.show_tab(tab)
    visitor.find("#prompt textarea").fill("half a new pro")
    chips, bars = visitor.chips.all_inner_texts(), visitor.bars()
    for lang, other in (("zh", "en"), ("en", "zh"), ("zh", "en")):
        switch_to(visitor, lang)
        expect(visitor.find("#prompt textarea")).to_have_value("half a new pro")
        assert visitor.chips.all_inner_texts() == chips
        assert visitor.bars() == bars
        visitor.at(3)
        expect(visitor.switch("attention.2")).to_have_attribute("aria-pressed", "true")
        assert visitor.tab == "residual"
        expect(visitor.find("#temperature input[type=number]")).to_have_value("0.9")
        for tab in ("attention", "norms", "residual"):
            visitor.show_tab(tab)
            visitor.quiet()
            opened = "[document.readyState, performance.now(), playground.state.lang, location.search]"
            assert leftovers(visitor, other) == [], visitor.page.evaluate(opened)
            if lang == "en":
                chinese = [text for text in visitor.page.evaluate(SEEN) if re.search(r"[\u4e00-\u9fff]", text)]
                assert chinese == ["中文"]
        visitor.address_says(lang=lang, n=9, at=3)


def test_O_UI_03_O_UI_05_a_refusal_changes_language_too_and_the_choice_is_kept(visit):
    visitor = visit("en", "n=0")
    visitor.run("")
    expect(visitor.alert).to_have_text(visitor.say("errors.prompt_empty"))
    visitor.choose("language", "zh")
    visitor.lang = "zh"
    expect(visitor.find("#run")).to_have_text(visitor.label("page.run", "value"))
    visitor.quiet()
    visitor.open(lang_in_address=False)
    expect(visitor.find("#run")).to_have_text(visitor.label("page.run", "value"))


def test_the_refusal_itself_is_in_both(home):
    home.run("")
    expect(home.alert).to_have_text(home.say("errors.prompt_empty"))
    home.page.evaluate("playground.setLanguage(playground.state.lang === 'zh' ? 'en' : 'zh')")
    other = {"zh": "en", "en": "zh"}[home.lang]
    home.lang, mine = other, home.lang
    try:
        expect(home.alert).to_have_text(home.say("errors.prompt_empty"))
    finally:
        home.page.evaluate(f"playground.setLanguage('{mine}')")
        home.lang = mine
        home.find("#prompt textarea").fill("Once upon a time, there was a little fox")
