"""A request that finds no place in the queue is told so, with the limit, and the page can be used again."""

from playwright.sync_api import expect


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
