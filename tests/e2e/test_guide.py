"""For a class room and for who comes the first time: the projector's size, and a tour that stands in nobody's way."""

from playwright.sync_api import expect

from e2e.visitor import BEFORE_GOING, TABS

STEPS = ("prompt", "strip", "bars", "map", "switches", "proofs", "language")
TOUR = "#guide .tour"
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


def test_a_first_visit_is_offered_the_tour_once(visit):
    visitor = visit("zh", in_address=False, toured=False, locale="zh-CN")
    card = visitor.find(TOUR)
    expect(card).to_be_visible()
    assert visitor.page.evaluate("document.activeElement === document.body")  # it takes no focus
    walk(visitor)
    visitor.find("#guide .help").click()  # again, by hand
    expect(card.locator(".next")).to_be_focused()
    visitor.choose("language", "en")
    visitor.lang = "en"
    card.locator(".next").focus()
    walk(visitor)

    visitor.find("#guide .help").click()
    visitor.find("#prompt textarea").press("Escape")  # belongs to what is typed
    expect(card).to_be_visible()
    card.locator(".skip").focus()
    visitor.press("Escape")
    expect(card).to_be_hidden()
    expect(visitor.find("#guide .help")).to_be_focused()
    visitor.quiet(BEFORE_GOING)
    with visitor.leaving():
        visitor.page.goto(visitor.url, wait_until="domcontentloaded")
    visitor.settle()
    expect(card).to_be_hidden()


def walk(visitor):
    """Through all steps, with one step back, by mouse and keyboard; the page goes on working under the card."""
    card, said = visitor.find(TOUR), visitor.find(f"{TOUR} p")
    for i, step in enumerate(STEPS):
        expect(said).to_have_text(visitor.say(f"guide.step_{step}"))
        expect(card.locator(".count")).to_have_text(visitor.say("guide.count", at=i + 1, of=len(STEPS)))
        assert visitor.find("[data-toured]").count() in (1, 2)
        box = card.bounding_box()
        assert min(box["x"], box["y"]) >= 0
        assert box["x"] + box["width"] <= 1280
        assert box["y"] + box["height"] <= 900
        if step == "bars":
            card.locator(".back").click()
            expect(said).to_have_text(visitor.say("guide.step_strip"))
            card.locator(".next").press("Enter")
            at = int(visitor.find("#player .tok.here").get_attribute("data-i"))
            visitor.press("ArrowRight")
            visitor.at(at + 1)
        card.locator(".next").click()
    expect(card).to_be_hidden()
    expect(visitor.find("[data-toured]")).to_have_count(0)


def test_a_projector_gets_larger_type_and_nothing_overflows(visit):
    visitor = visit("zh", "n=5", width=1920, height=1080, toured=False)
    expect(visitor.find(TOUR)).to_be_hidden()  # who asks for a view of their own gets no tour
    button = visitor.find("#guide .projector")
    expect(button).to_have_attribute("aria-pressed", "false")
    usual = sizes(visitor)
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    visitor.eventually(lambda: sizes(visitor)["ticks"] > 1.3 * usual["ticks"])
    now = sizes(visitor)
    assert all(now[name] > 1.3 * usual[name] for name in usual), (usual, now)
    for tab in TABS:
        visitor.show_tab(tab)
        assert visitor.page.evaluate(FITS)
    visitor.page.set_viewport_size({"width": 1280, "height": 720})
    assert visitor.page.evaluate(FITS)
    visitor.address_says(projector=1)
    visitor.reload()
    expect(button).to_have_attribute("aria-pressed", "true")
    assert visitor.page.evaluate(FITS)
    button.click()
    visitor.address_says(projector=None)
    expect(button).to_have_attribute("aria-pressed", "false")


def sizes(visitor):
    """How high some things are on screen. Units: pixels"""
    places = {"token": "#player .tok", "bar": "#bars .bar .p", "switch": "#switches .sw", "tab": "#tab-lens-button"}
    heights = {name: visitor.find(place).first.bounding_box()["height"] for name, place in places.items()}
    ticks = "parseFloat(getComputedStyle(document.querySelector('#attention-map .xtick text')).fontSize)"
    return {**heights, "ticks": visitor.page.evaluate(ticks)}
