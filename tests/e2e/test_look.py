"""How it looks: on phones and wide screens, in the dark, to a keyboard and to a screen reader."""

import re

import pytest
from axe_core_python.base import AXE_SCRIPT
from playwright.sync_api import expect

from e2e.visitor import TABS as EVERY_TAB

TABS = ("attention", "generation", "norms", "residual")
FIGURES = {
    "attention": ["attention-map"],
    "generation": ["sureness", "kv-cache"],
    "norms": ["norm-by-token", "norms-overview"],
    "residual": ["prediction", "stream", "contributions"],
}
SECTIONS = {"attention": ["unfold", "heads-in-numbers", "all-heads"]}
LEAST = 32  # pixels a control is high


def no_sideways_scroll(visitor):
    assert visitor.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def fills_its_place(visitor, figure):
    visitor.drawn(figure)
    visitor.page.wait_for_function(
        """(figure) => { const plot = document.querySelector(`#${figure} .plot`);
          const width = (element) => element.getBoundingClientRect().width, drawn = plot?.querySelector('svg.main-svg');
          return drawn && Math.abs(width(drawn) - width(plot.parentElement)) <= 5; }""",
        arg=figure,
    )


@pytest.mark.parametrize("width", [1200, 1920])
def test_O_UI_01_a_figure_fills_its_place_when_its_tab_is_first_opened(visit, width):
    visitor = visit("en", "n=3", width=width, height=1000)
    for tab in TABS:
        visitor.show_tab(tab)
        for figure in FIGURES[tab]:
            fills_its_place(visitor, figure)
        no_sideways_scroll(visitor)
    visitor.page.set_viewport_size({"width": width - 200, "height": 1000})
    fills_its_place(visitor, "stream")
    visitor.show_tab("attention")
    fills_its_place(visitor, "attention-map")


SMALL = """(least) => [...document.querySelectorAll(`button, select, textarea, [role=tab], label:has(input[type=radio]),
    input:not([type=radio]):not([type=checkbox]):not([type=range])`)]
  .filter((control) => control.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
  .filter((control) => !control.closest('footer'))
  .map((control) => [control.id || control.className || control.tagName, control.textContent.trim().slice(0, 30),
    Math.round(control.getBoundingClientRect().height * 10) / 10])
  .filter(([, , height]) => height > 0 && height < least)"""


@pytest.mark.parametrize(("lang", "width", "height"), [("zh", 390, 844), ("en", 360, 740)])
def test_O_UI_09_it_works_on_a_phone(visit, lang, width, height):
    visitor = visit(lang, "n=6", width=width, height=height, has_touch=True, is_mobile=True)
    small = []
    for tab in TABS:
        visitor.show_tab(tab)
        visitor.quiet()
        for figure in FIGURES[tab]:
            fills_its_place(visitor, figure)
        no_sideways_scroll(visitor)
        small += visitor.page.evaluate(SMALL, LEAST)
    assert small == []
    visitor.chips.nth(2).tap()
    visitor.at(2)
    strip = visitor.find("#player .strip").bounding_box()
    assert strip["width"] <= width


PICTURED = ", ".join(
    f".plot .{part}" for part in ("xtick text", "ytick text", "gtitle", "xtitle", "ytitle", "cbaxis text")
)
WRITTEN = "#player .tok, #bars .name, #bars .p, #bars .logit, .note, .switches .sw, .effect"
CONTRAST = """([selector, property]) => {
  const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const linear = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  return [...document.querySelectorAll(selector)].filter((e) => e.textContent.trim()).map((element) => {
    const ink = parse(getComputedStyle(element)[property]);
    let ground = [0, 0, 0, 0];
    for (let at = element; at && (ground[3] ?? 1) === 0; at = at.parentElement)
      ground = parse(getComputedStyle(at).backgroundColor);
    const [a, b] = [luminance(ink), luminance(ground)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  });
}"""


def test_O_UI_08_every_text_reads_in_the_dark_and_in_the_light(visit):
    visitor = visit("zh", "n=4&off=attention.0")
    pictured = visitor.figure("attention-map")["data"][0]["colorscale"]
    for dark in (True, False):
        visitor.find("#theme").click()
        expect(visitor.find("body")).to_have_class(re.compile(r"\bdark\b" if dark else r"^(?!.*\bdark\b)"))
        for tab in TABS:
            visitor.show_tab(tab)
            visitor.quiet()
            for selector, property in (
                (PICTURED, "fill"),
                (WRITTEN, "color"),
            ):
                found = visitor.page.evaluate(CONTRAST, [selector, property])
                assert found
                assert min(found) >= 4.5
        visitor.show_tab("attention")
        shown = visitor.figure("attention-map")["data"][0]["colorscale"]
        assert (shown != pictured) is dark


# The whole page once, then what each tab brings. What is drawn has a test of its own above, and of the dark page only
# the colours are news: axe looks at every pixel under a text, for seconds.
AXE = """([place, rules]) => axe.run({ include: [place], exclude: ['.main-svg'] },
  { resultTypes: ['violations'], ...(rules ? { runOnly: rules } : {}) })"""


def test_axe_finds_nothing_on_any_tab_in_the_light_and_in_the_dark(visit):
    visitor = visit("en", "n=4&off=attention.0")
    visitor.unfold("settings")
    visitor.find('#switches [data-more="0"]').click()
    visitor.find("#guide .help").click()
    visitor.page.evaluate(AXE_SCRIPT)
    found = []
    for tab in EVERY_TAB:
        visitor.show_tab(tab)
        for section in SECTIONS.get(tab, []):
            visitor.unfold(section)
        place = "body" if tab == "attention" else f"#tab-{tab.replace('_', '-')}"
        for rules in (None, ["color-contrast"]):  # as it is, then in the dark
            visitor.quiet()
            for violation in visitor.page.evaluate(AXE, [place, rules])["violations"]:
                places = [node["html"][:160] for node in violation["nodes"][:3]]
                found.append((violation["impact"], violation["id"], tab, rules, len(violation["nodes"]), places))
            visitor.page.evaluate("playground.toggleDark()")  # its button lies under the tour
    assert found == []


def test_every_heat_map_has_a_name_and_a_sentence(home):
    named = {"attention": ["attention-map"], "norms": ["norms-overview"], "lens": ["lens-map", "attribution-heads"]}
    for tab, figures in named.items():
        home.show_tab(tab)
        for figure in figures:
            picture = home.find(f"#{figure} .plot")
            expect(picture).to_have_attribute("role", "img")
            expect(picture).to_have_attribute("aria-label", re.compile(r"\S"))
            expect(home.find(f"#{figure} .note")).to_have_text(re.compile(r"\S[.。]$"))
    for thumb in home.find("#thumbs .thumb").all():
        assert thumb.get_attribute("aria-label")


PARTS = ["#run", "#model", "#switches", ".transport", ".strip", "#bars", "#tabs", "#layer", "#thumbs"]
WITHIN = "(parts) => parts.filter((part) => document.activeElement.closest(part)).join()"


def test_the_whole_page_can_be_walked_with_the_keyboard_and_walking_changes_nothing(visit):
    visitor = visit("en", "n=2")
    asked = visitor.address
    visitor.find("#prompt textarea").focus()
    passed = set()
    for _ in range(60):
        visitor.press("Tab")
        passed.add(visitor.page.evaluate(WITHIN, PARTS))
    reached = " ".join(passed)
    for part in PARTS:
        assert part in reached
    visitor.quiet()
    assert visitor.address == asked  # a list that one tabs past says it was given something


def test_alike_buttons_are_one_stop_of_the_tab_key_and_focus_stays_while_they_are_drawn_anew(home):
    focused = home.find(":focus")
    for buttons, name in (("#switches .grid .sw", "data-word"), ("#bars .rows button", "aria-label"),
                          ("#thumbs .thumb", "data-head")):  # fmt: skip
        every = home.find(buttons)
        assert (
            home.page.evaluate("(all) => document.querySelectorAll(`:is(${all})[tabindex='0']`).length", buttons) == 1
        )
        every.first.focus()
        home.press("ArrowDown", "ArrowDown", "ArrowUp")
        expect(focused).to_have_attribute(name, every.nth(1).get_attribute(name) or "none")
    home.find("#bars .rows button").nth(3).focus()
    home.press("ArrowRight")
    home.at(10)
    expect(focused).to_have_attribute("aria-label", home.find("#bars .rows button").nth(3).get_attribute("aria-label"))
