"""What is not there yet, takes long or never comes is said in the visitor's language."""

from threading import Event

from playwright.sync_api import expect

from playground.ui import answers, residual
from playground.ui.answers import Answers

MOVING = """[...document.querySelectorAll('*')].some((element) => {
  const style = getComputedStyle(element), takes = (time) => time.split(',').some((each) => parseFloat(each) > 0);
  return (style.animationName !== 'none' && takes(style.animationDuration))
    || (style.transitionProperty !== 'none' && takes(style.transitionDuration)); })"""


def held_back(monkeypatch, name) -> Event:
    """What the page asks of `Answers.name` is answered when the event is set."""
    gate, usual = Event(), getattr(Answers, name)

    def held(self, *asked):
        gate.wait(20)
        return usual(self, *asked)

    monkeypatch.setattr(answers.Answers, name, held)
    return gate


def begin_to_open(visitor, query) -> None:
    """Until the page is there as it was served; what its address asks for may not be."""
    with visitor.leaving():
        visitor.page.goto(f"{visitor.url}/?{query}", wait_until="domcontentloaded")
    expect(visitor.chips.nth(1)).to_be_visible()


def test_a_server_that_is_gone_is_one_sentence_and_the_page_comes_back_with_it(visit):
    visitor = visit("zh", "n=2&off=attention.3")
    visitor.context.set_offline(True)
    visitor.switch("attention.0").click()
    expect(visitor.alert).to_have_text(visitor.say("alert.lost"))
    expect(visitor.find(".toast-wrap")).to_be_hidden()
    expect(visitor.switch("attention.0")).to_have_attribute("aria-pressed", "false")  # as what is on screen
    visitor.press("ArrowRight")  # what is known is still there
    visitor.at(10)
    visitor.address_says(at=10)
    visitor.context.set_offline(False)
    expect(visitor.alert).to_be_empty()
    visitor.settle()
    visitor.at(10)
    expect(visitor.switch("attention.3")).to_have_attribute("aria-pressed", "true")
    visitor.errors.clear()  # the browser's own words about the requests that failed


def test_an_answer_that_takes_long_is_said_to_and_what_is_shown_pales(home, monkeypatch):
    gate = held_back(monkeypatch, "flip")
    home.switch("feed_forward.1").click()
    expect(home.find("#player .slow")).to_have_text(home.say("player.slow"))
    expect(home.find("#attention-map .plot")).to_have_css("opacity", "0.45")
    gate.set()
    expect(home.find("#player .slow")).to_be_empty()
    expect(home.find("#attention-map .plot")).to_have_css("opacity", "1")
    home.find("#switches .restore").click()
    expect(home.find("#switches .sw.off")).to_have_count(0)


def test_who_presses_run_before_the_page_has_arrived_is_answered_then(visit, monkeypatch):
    visitor = visit("zh")
    gate = held_back(monkeypatch, "restore")
    for query in ("lang=zh", "lang=zh&n=2&prompt=A%20fox"):
        gate.clear()
        begin_to_open(visitor, query)
        visitor.find("#prompt textarea").fill("The dog")
        visitor.find("#run").click()
        gate.set()
        expect(visitor.chips.nth(1)).to_contain_text("dog")
        expect(visitor.find("#prompt textarea")).to_have_value("The dog")
        visitor.settle()
        visitor.address_says(prompt="The dog")


def test_what_is_pressed_before_the_page_has_arrived_counts_then(visit, monkeypatch):
    visitor = visit("zh")
    gate = held_back(monkeypatch, "restore")
    begin_to_open(visitor, "lang=zh&n=2&off=attention.3&prompt=A%20fox")
    visitor.press("Home")
    visitor.switch("attention.0").click()
    visitor.find('#switches [data-more="3"]').click()
    visitor.find("#tab-residual-button").click()
    visitor.find("#switches .kinds label").nth(1).click()
    gate.set()
    visitor.settle()
    for word in ("attention.0", "attention.3"):
        expect(visitor.switch(word)).to_have_attribute("aria-pressed", "true")
    expect(visitor.find("#switches .kind-mean")).to_be_checked()
    expect(visitor.switch("head.3.0")).to_be_visible()
    visitor.at(0)
    visitor.address_says(off="attention.0,attention.3,mean", at=0, tab="residual", prompt="A fox")


def test_a_press_that_waited_and_asks_nobody_leaves_nothing_pale(visit, monkeypatch):
    visitor = visit("en")
    gate = held_back(monkeypatch, "restore")
    begin_to_open(visitor, "lang=en&n=2&prompt=A%20fox")
    visitor.press("Home")
    expect(visitor.find("#player .slow")).to_have_text(visitor.say("player.slow"))
    gate.set()
    visitor.settle()
    visitor.at(0)
    expect(visitor.find("#player .slow")).to_be_empty()
    expect(visitor.find("#attention-map .plot")).to_have_css("opacity", "1")


def test_what_is_asked_while_the_same_is_being_answered_counts_after_it(visit, monkeypatch):
    visitor = visit("en", "n=0")
    gate = held_back(monkeypatch, "run")
    visitor.run("The first")
    visitor.run("A second")
    gate.set()
    expect(visitor.chips.nth(1)).to_contain_text("second")
    visitor.address_says(prompt="A second")


def test_of_two_models_the_one_that_was_chosen_last_is_shown(visit, monkeypatch):
    visitor = visit("zh", "n=0")
    gate = held_back(monkeypatch, "change_model")
    for name in (visitor.say("page.untrained"), "storyteller"):
        visitor.find("#model input").click()
        visitor.page.get_by_role("option", name=name, exact=True).click()
    gate.set()
    visitor.quiet()
    expect(visitor.find("#model input")).to_have_value("storyteller")
    visitor.address_says(model="storyteller")
    assert visitor.chips.all_inner_texts()[0].startswith("Once")


def test_an_answer_may_come_before_the_queue_has_told_the_questions_name(visit, monkeypatch):
    """Over the stream that another question holds open; nothing then waits for what has come."""
    visitor = visit("en", "n=1")
    gate, asked = Event(), Event()
    usual = Answers.ask

    def held(self, *what):
        asked.set()
        gate.wait(60)
        return usual(self, *what)

    def late(route):
        told = route.fetch()
        visitor.page.wait_for_timeout(1000)  # its answer comes, which Gradio holds until it has the name
        route.fulfill(response=told)

    monkeypatch.setattr(answers.Answers, "ask", held)
    awaited = "Array.from({ length: 100 }, (_, number) => number).filter(playground.awaits)"
    visitor.find("#bars .pg-input").fill(" was")
    visitor.eventually(asked.is_set)
    before = visitor.page.evaluate(awaited)
    visitor.page.route("**/queue/join*", late)
    visitor.button("last").click()
    visitor.button("step").click()
    expect(visitor.chips).to_have_count(12)
    visitor.eventually(lambda: visitor.page.evaluate(awaited) == before)
    gate.set()
    expect(visitor.find("#bars .answer")).to_contain_text("was")
    visitor.quiet()  # the badge asks too, and its question is held up like the others
    visitor.page.unroute("**/queue/join*")


def test_a_tab_that_is_still_being_drawn_says_so(visit, monkeypatch):
    visitor = visit("zh", "n=2")
    gate = Event()
    usual = residual.stream_norms

    def held(*asked):
        gate.wait(20)
        return usual(*asked)

    monkeypatch.setattr(residual, "stream_norms", held)
    visitor.find("#tab-residual-button").click()
    expect(visitor.find("#stream .note")).to_have_text(visitor.say("figure.waiting"))
    gate.set()
    visitor.drawn("stream")
    expect(visitor.find("#stream .note")).not_to_have_text(visitor.say("figure.waiting"))
    assert not visitor.page.evaluate(MOVING)  # motion is reduced
