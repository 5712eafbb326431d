"""O-CON-04: what waits is told its place in the line; what finds none is told so, and can be asked again."""

from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import expect

import serving
from playground.limits import DEFAULTS
from ui.caller import Caller


def test_a_full_queue_is_one_sentence_that_names_its_length(home):
    queue = "**/gradio_api/queue/join*"
    home.page.route(queue, lambda route: route.fulfill(status=503, json={"detail": "Queue is full."}))
    home.switch("attention.0").click()
    expect(home.alert).to_have_text(home.say("alert.full", limit=64))
    expect(home.find(".toast-wrap")).to_be_hidden()  # Gradio's own word for it, in English only
    expect(home.switch("attention.0")).to_have_attribute("aria-pressed", "false")
    home.page.unroute(queue)
    home.switch("attention.0").click()
    expect(home.alert).to_be_empty()
    expect(home.switch("attention.0")).to_have_attribute("aria-pressed", "true")
    home.find("#switches .restore").click()
    expect(home.find("#switches .sw.off")).to_have_count(0)
    home.errors.clear()  # the browser's own words about the request that was refused


def test_who_waits_is_told_her_place_in_the_line(home):
    """Four others are being answered, which takes as long as somebody holds the network."""
    server, others = serving.server(), [Caller.arrived() for _ in range(DEFAULTS.at_once)]
    with ThreadPoolExecutor() as pool:
        with server.runs._lock:
            asked = [pool.submit(other.ask, "flip", {"off": ["attention.1"]}) for other in others]
            home.eventually(lambda: sum(job is not None for job in server.page._queue.active_jobs) >= len(others))
            home.switch("attention.0").click()
            expect(home.alert).to_have_text(home.say("alert.place", place=1))
        assert all(each.result()["player"]["query"]["off"] == "attention.1" for each in asked)
    expect(home.alert).to_be_empty()
    expect(home.switch("attention.0")).to_have_attribute("aria-pressed", "true")
    home.find("#switches .restore").click()
    expect(home.find("#switches .sw.off")).to_have_count(0)


def test_an_answer_is_not_lost_with_a_stream_that_ends_too_soon(home):
    """The server ends the stream of answers when it knows of no question; here one is asked at that very moment."""
    ended = 'data: {"msg":"close_stream","event_id":null}\n\n'
    answer = {"content_type": "text/event-stream", "body": ended}
    home.page.route("**/gradio_api/queue/data*", lambda route: route.fulfill(**answer), times=1)
    home.switch("attention.0").click()
    expect(home.switch("attention.0")).to_have_attribute("aria-pressed", "true")
    home.find("#switches .restore").click()
    expect(home.find("#switches .sw.off")).to_have_count(0)


def test_of_switches_pressed_while_one_is_under_way_the_last_ones_count(home):
    """Whatever is asked meanwhile, the server reads the text with what the page shows as off."""
    server = serving.server()
    with server.runs._lock:
        for word in ("attention.0", "attention.1", "feed_forward.2"):
            home.switch(word).click()
        home.switch("attention.0").click()
    home.quiet()
    home.address_says(off="attention.1,feed_forward.2")
    home.find("#switches .restore").click()
    home.quiet()
    home.address_says(off=None)


def test_of_guesses_typed_while_one_is_under_way_the_last_one_is_told(home):
    server, box = serving.server(), home.find("#bars .pg-input")
    with server.runs._lock:
        for guess in (" was", "Zebra", " the"):
            box.fill(guess)
            home.page.wait_for_timeout(300)  # longer than it waits for more letters
    expect(home.find("#bars .answer")).to_contain_text("“·the”")
    box.fill("")
