"""O-SEC-01 to 04: what a visitor typed is shown as typed, everywhere, and never becomes code, a link or a request."""

import csv
import io
import json
import re
from urllib.parse import quote

import httpx
from playwright.sync_api import expect

import handlers
import serving
from e2e.visitor import TABS, run, wait_until

PROMPT = (
    '<img src=x onerror="window.__pwn=1"><script>window.__pwn=1</script><a href="javascript:x">x</a><br>'
    "${window.__pwn=1}{{1}}%{z}&amp;<b>b</b>$x$![](http://evil.example/x)\n# h1\n=1"
)
# Of every figure: each text in it, in the data and the layout that plotly holds.
TEXTS = """() => {
  const found = [];
  const walk = (value) => {
    if (typeof value === 'string') found.push(value);
    else if (value && typeof value === 'object' && !ArrayBuffer.isView(value)) Object.values(value).forEach(walk);
  };
  for (const plot of document.querySelectorAll('.plot')) if (plot.data) { walk(plot.data); walk(plot.layout); }
  return found;
}"""
# What markup would have made. Gradio's own links and pictures, and an axis' own line breaks, are none of it.
MADE = """() => ({
  ran: window.__pwn ?? null,
  pictures: [...document.querySelectorAll('img')].map((each) => each.src).filter((src) => /evil|x$/.test(src)),
  links: [...document.querySelectorAll('a')].map((each) => each.getAttribute('href') ?? each.href?.baseVal)
    .filter((href) => /^javascript|evil/.test(href ?? '')),
  bold: document.querySelectorAll('#player b, .note b, .plot b, .plot tspan[style*="bold"]').length,
  headings: [...document.querySelectorAll('h1')].filter((each) => each.textContent.trim() === 'h1').length,
  formulas: document.querySelectorAll('.katex, mjx-container').length,
  scripts: [...document.scripts].filter((each) => each.textContent.trim() === 'window.__pwn=1').length,
})"""
CHIPS = """() => [...document.querySelectorAll('#player .tok')].map((each) => {
  const copy = each.cloneNode(true);
  copy.querySelector('sup')?.remove();
  return copy.textContent;
})"""
NOTHING = {"ran": None, "pictures": [], "links": [], "bold": 0, "headings": 0, "formulas": 0, "scripts": 0}


def texts_are_literal(page):
    """No text of a figure holds what plotly would read as markup or a formula, but for our own `<br>` and `<extra>`."""
    texts = page.evaluate(TEXTS)
    assert texts
    for text in texts:
        assert not {"<", "$"} & set(re.sub("<br>|</?extra>", "", text)), text


GOT_IN = """async () => {
  const box = document.createElement('div');
  box.innerHTML = '<img src="data:," onerror="window.__pwn=1"><svg onload="window.__pwn=1"></svg>';
  document.body.append(box);
  const script = document.createElement('script');
  script.textContent = 'window.__pwn=1';
  document.body.append(script);
  await new Promise((done) => setTimeout(done, 300));
  box.remove();
}"""


def names_in_csv(visitor):
    """In a table a formula is text, behind an apostrophe."""
    visitor.show_tab("attention")
    visitor.find("#attention-map .save summary").first.click()
    with visitor.page.expect_download() as download:
        visitor.find("#attention-map .save").first.get_by_text("CSV", exact=True).click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text("utf-8-sig"))))
    names = {int(row["x"]): row["x name"] for row in rows}
    return [names[at] for at in range(len(names))]


def report_of(visitor, folder, tokens):
    """The file is the page again, with nobody to ask."""
    visitor.find("#take-home-section .label-wrap").click()
    with visitor.page.expect_download() as download:
        visitor.find("#take-home .report").click()
    file = folder / "report.html"
    download.value.save_as(file)
    opened = visitor.context.new_page()
    said = []
    opened.on("console", lambda each: said.append(each.text) if each.type == "error" else None)
    opened.goto(file.as_uri())
    expect(opened.locator("#player .tok")).to_have_count(tokens)
    wait_until(opened, "[...document.querySelectorAll('.plot')].every((each) => each.data)")
    texts_are_literal(opened)
    assert opened.evaluate(MADE) == NOTHING
    assert "<img src=x onerror=" in opened.title()
    assert said == []
    return opened


def test_a_hostile_prompt_is_text_in_every_tab_and_in_what_is_taken_home(visit, tmp_path):
    hostile = visit("en", {"prompt": PROMPT, "tab": "<svg onload=window.__pwn=1>"})
    page = hostile.page
    read = run(PROMPT)
    expect(hostile.chips).to_have_count(len(read.labels))
    assert page.evaluate(CHIPS) == read.labels
    assert hostile.address["prompt"] == PROMPT
    for tab in TABS:
        hostile.show_tab(tab)
        for section in {"attention": ("unfold", "heads-in-numbers", "all-heads"), "residual": ("reach",)}.get(tab, ()):
            hostile.unfold(section)
        if tab != "lessons":  # which hide the player
            hostile.chips.nth(5).hover()
        hostile.quiet()
        if TABS[tab]:
            texts_are_literal(page)
            hostile.find(f"#{TABS[tab]} .plot").first.hover()
        assert page.evaluate(MADE) == NOTHING, tab
    # A refusal that quotes it, and a request that names it.
    page.evaluate("playground.say('switch', { toggle: ['<img src=x onerror=window.__pwn=1>'] })")
    expect(hostile.alert).to_contain_text("<img src=x onerror=window.__pwn=1>")
    assert page.evaluate(MADE) == NOTHING
    assert page.title() == "GPT Playground"
    assert names_in_csv(hostile) == [
        f"'{shown}" if shown[0] in "=+-@" else shown
        for shown in (label if len(label) <= 14 else f"{label[:13]}…" for label in read.labels)
    ]
    report = report_of(hostile, tmp_path, len(read.labels))
    # And where markup got in after all, the policy of the page and of the file lets none of it run.
    for each in (page, report):
        each.evaluate(GOT_IN)
        assert each.evaluate("window.__pwn ?? null") is None
    blocked = [each for each in hostile.errors if "Content Security Policy" in each]
    assert len(blocked) >= 2
    hostile.errors[:] = [each for each in hostile.errors if each not in blocked]


def test_in_a_frame_of_another_page_it_works_and_calls_nobody_else(chromium):
    """As a Space shows it; and nothing is complained of."""
    url = serving.server().url
    context = chromium.new_context(locale="eo", viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    errors = []
    page.on("console", lambda each: errors.append(each.text) if each.type == "error" else None)
    page.on("pageerror", lambda each: errors.append(str(each)))
    with handlers.framing(f"{url}/?lang={quote('<tlh>')}") as elsewhere:
        page.goto(elsewhere)
        frame = page.frame_locator("iframe")
        expect(frame.locator("#player .tok")).to_have_count(30)
        expect(frame.locator("html")).to_have_attribute("lang", "en")  # a language that nobody here speaks
        expect(frame.locator("#attention-map .plot .main-svg").first).to_be_visible()
        context.close()
    assert errors == []


def test_what_the_page_is_sent_from_an_address_is_no_script_of_it():
    """The configuration that stands in the document, with whatever address it was asked by."""
    asked = f"{serving.server().url}/?prompt={quote(PROMPT)}&lang={quote(PROMPT)}&__theme={quote(PROMPT)}"
    text = httpx.get(asked, trust_env=False).text
    assert "window.__pwn=1</script>" not in text
    assert 'onerror="window' not in text
    assert json.dumps(PROMPT)[1:30] not in text
