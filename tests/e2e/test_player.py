"""The token strip: back and forth over what is known without asking anybody, and one token more at its end."""

import pytest
from playwright.sync_api import expect

from e2e.visitor import model, run, written
from playground.analysis import rank, top_tokens


def test_every_way_to_move_among_known_positions_asks_nobody(home):
    home.at(9)
    with home.asking_nobody():
        home.button("step").click()
        home.at(10)
        home.button("back").click()
        home.button("back").click()
        home.at(8)
        home.button("last").click()
        home.at(29)
        expect(home.button("last")).to_be_disabled()
        home.button("first").click()
        home.at(0)
        expect(home.button("back")).to_be_disabled()
        home.press("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowRight")
        home.at(2)
        home.press("End")
        home.at(29)
        home.press("Home")
        home.at(0)
        home.chips.nth(17).click()
        home.at(17)
        expect(home.find("#player .where")).to_have_text(home.say("player.where", at=17, last=29, made=20))
        home.address_says(at=17)


def test_the_bars_are_the_models_own_numbers_at_every_position(home):
    run = written(20)
    top = top_tokens(run.trace.logits, 10)
    for position in (0, 9, 20, 29):
        home.chips.nth(position).click()
        title = home.say("bars.after", token=run.labels[position])
        expect(home.find("#bars h2")).to_have_text(title)
        shown = home.bars()
        assert [label for label, _, _ in shown[:10]] == [
            run.model.tokenizer.label(t) for t in top.ids[position].tolist()
        ]
        assert [p for _, p, _ in shown[:10]] == pytest.approx(top.probabilities[position].tolist(), abs=2e-6)
        assert [logit for _, _, logit in shown[:10]] == pytest.approx(top.logits[position].tolist(), abs=2e-4)
        if position < 29:
            expect(home.find("#bars .bar.chosen .name")).to_contain_text(run.labels[position + 1])
        else:
            expect(home.find("#bars .bar.best")).to_have_count(1)


def test_the_notes_under_the_figures_follow_the_position(home):
    run = written(20)
    for position in (3, 25):
        home.chips.nth(position).click()
        expect(home.find("#attention-map .note")).to_contain_text(run.labels[position])
        expect(home.find("#attention-map .band.at")).to_have_count(2)


def test_at_the_end_a_step_writes_one_token_more(visit, lang):
    visitor, after = visit(lang, "n=2"), written(3)
    expect(visitor.chips).to_have_count(12)
    visitor.press("End")
    visitor.button("step").click()
    expect(visitor.chips).to_have_count(13)
    visitor.at(12)
    assert visitor.chips.nth(12).get_attribute("class") == "tok made here"
    assert visitor.bars()[0][0] == after.model.tokenizer.label(int(after.trace.logits[-1].argmax()))
    visitor.page.wait_for_function("document.querySelector('#attention-map .plot').data[0].z.shape === '13, 13'")
    visitor.address_says(n=3, at=12)
    visitor.press("ArrowLeft")  # the position before knows now what was chosen
    expect(visitor.find("#bars .bar.chosen .name")).to_contain_text(after.labels[-1])


def test_quick_presses_at_the_end_write_no_token_twice_and_the_next_press_writes_the_next(visit):
    """While a token is being written a press asks for none: a key held down writes no further than it was held."""
    visitor, after = visit("en", "n=0"), written(3)
    visitor.press("End", "ArrowRight", "ArrowRight", "ArrowRight")
    expect(visitor.chips.nth(10)).to_be_visible()
    visitor.quiet()  # how many of the three found a token being written is the server's pace
    for count in range(visitor.chips.count() + 1, 14):
        visitor.press("ArrowRight")
        expect(visitor.chips).to_have_count(count)
    assert [chip.split(": ", 1)[1] for chip in labels(visitor)] == after.labels


def labels(visitor) -> list[str]:
    return visitor.chips.evaluate_all("(chips) => chips.map((chip) => chip.getAttribute('aria-label'))")


def test_playing_runs_over_the_known_and_pausing_stops(home):
    home.press("Home")
    home.find(".pg-speed").select_option("16")
    with home.asking_nobody():
        home.button("play").click()
        expect(home.button("play")).to_have_attribute("aria-pressed", "true")
        expect(home.button("play")).to_contain_text(home.say("player.pause"))
        expect(home.find("#player .tok.here")).not_to_have_attribute("data-i", "0")
        home.button("play").click()
        expect(home.button("play")).to_have_attribute("aria-pressed", "false")
        expect(home.button("play")).to_contain_text(home.say("player.play"))
        stopped = home.find("#player .tok.here").get_attribute("data-i")
        home.page.evaluate("new Promise((done) => setTimeout(done, 150))")  # three steps at this speed
        home.at(int(stopped))


MADE = "playground.state.view.start + playground.state.view.labels.length - playground.state.view.n_prompt"


def test_O_UI_02_playing_on_for_a_hundred_tokens_leaves_nothing_behind(visit):
    """As many figures and frames after the last as after the fifth, as much memory, and the page does not jump."""
    visitor = visit("en", "n=4&model=untrained")  # whose text does not end
    devtools = visitor.context.new_cdp_session(visitor.page)
    visitor.find(".pg-speed").select_option("16")
    visitor.press("End")
    visitor.button("step").click()
    expect(visitor.chips).to_have_count(15)

    def nodes():
        visitor.eventually(lambda: len(visitor.grid("attention-map")) == visitor.chips.count())
        return visitor.page.evaluate(
            """['.plot', '.js-plotly-plot', 'svg.main-svg', '.band', '.modebar', '.thumb', '.hoverlayer', 'canvas']
               .map((part) => document.querySelectorAll(part).length)"""
        )

    def heap():
        devtools.send("HeapProfiler.collectGarbage")
        return devtools.send("Runtime.getHeapUsage")["usedSize"] / 1e6

    before, held, scrolled = nodes(), heap(), visitor.page.evaluate("scrollY")
    visitor.button("play").click()
    expect(visitor.chips.nth(114)).to_be_visible(timeout=90_000)
    visitor.button("play").click()
    visitor.quiet()
    assert nodes() == before
    assert heap() - held < 30  # MB
    assert visitor.page.evaluate("scrollY") == scrolled


WATCH = """() => {
  const strip = document.querySelector('#player .strip');
  window.counts = [];
  new MutationObserver(() => counts.push(strip.childElementCount)).observe(strip, { childList: true });
}"""


def test_O_GEN_03_O_GEN_09_O_UI_06_every_step_is_seen_stop_stops_and_the_newest_prompt_wins(visit):
    visitor = visit("en", "model=fix_a&prompt=Hello,+I+am&n=0")
    label = model("fix_a").tokenizer.label
    visitor.unfold("settings")
    visitor.find("#new-tokens input[type=number]").fill("50")
    visitor.find("#new-tokens input[type=number]").press("Tab")
    visitor.page.evaluate(WATCH)
    visitor.find("#run").click()
    visitor.page.wait_for_function(f"{MADE} >= 5")
    visitor.button("play").click()  # it pauses
    expect(visitor.button("play")).to_have_attribute("aria-pressed", "false", timeout=1000)
    expect(visitor.find("#run")).to_be_enabled(timeout=1000)
    visitor.quiet()
    assert visitor.page.evaluate("counts")[:6] == [4, 5, 6, 7, 8, 9]  # one token after the other
    made = visitor.page.evaluate(MADE)
    assert 5 <= made < 50
    run = written(made, "Hello, I am", name="fix_a")
    assert [each.split(": ", 1)[1] for each in labels(visitor)] == run.labels
    visitor.eventually(lambda: len(visitor.grid("attention-map")) == len(run.labels))
    assert visitor.bars()[0][0] == label(int(run.trace.logits[-1].argmax()))

    visitor.find("#run").click()  # the same prompt begins again
    visitor.page.wait_for_function(f"{MADE} < {made}")
    visitor.page.wait_for_function(f"{MADE} >= 1")
    visitor.button("first").click()
    visitor.quiet()
    assert labels(visitor)[4].endswith(label(17442))

    before = labels(visitor)
    visitor.find("#prompt textarea").fill("the the the the")
    assert labels(visitor) == before  # what is shown still says of which text it is
    visitor.find("#run").click()
    visitor.find("#prompt textarea").fill("1 2 3 10")
    visitor.find("#run").click()
    visitor.page.wait_for_function("playground.state.view.query.prompt === '1 2 3 10'")
    visitor.button("first").click()
    visitor.quiet()
    assert [each.split(": ", 1)[1] for each in labels(visitor)[:4]] == ["1", "·2", "·3", "·10"]
    visitor.address_says(prompt="1 2 3 10")


def test_O_GEN_08_it_stops_where_the_model_ends_its_text_and_says_why(visit, lang):
    visitor = visit(lang, "prompt=The+end.&n=0")
    visitor.press("End")
    visitor.button("step").click()
    expect(visitor.chips.last).to_contain_text("<|endoftext|>")
    expect(visitor.find("#player .stopped")).to_have_text(visitor.say("player.stop_end_of_text"))
    expect(visitor.button("step")).to_be_disabled()
    visitor.address_says(at=3)  # and whatever waits for the player to rest has begun
    with visitor.asking_nobody():
        visitor.press("ArrowRight")
        visitor.button("play").click()
        expect(visitor.button("play")).to_have_attribute("aria-pressed", "false")


def test_a_guess_is_told_its_rank(home):
    logits = run().trace.logits[9]
    for guess in (" was", "Zebra"):
        home.find("#bars .pg-input").fill(guess)
        token = model().tokenizer.encode(guess)[0]
        expect(home.find("#bars .answer")).to_contain_text(f"“{model().tokenizer.label(token)}”")
        said = home.find("#bars .answer").inner_text()
        assert f"{float(logits[token]):.3f}" in said
        assert str(rank(logits, token)) in said
    home.chips.nth(3).click()
    logits = run().trace.logits[3]
    expect(home.find("#bars .answer")).to_contain_text(f"{float(logits[token]):.3f}")


@pytest.mark.parametrize("lang", ["en"])
def test_keys_belong_to_who_types(home):
    for field in ("#prompt textarea", "#bars .pg-input"):
        home.find(field).click()
        home.press("ArrowLeft", "Home", "ArrowRight", "End")
        home.at(9)
    home.chips.nth(9).focus()
    home.press("ArrowRight")
    home.at(10)
    expect(home.chips.nth(10)).to_be_focused()
    home.press("Control+ArrowRight", "Alt+ArrowLeft")
    home.at(10)


def test_O_GEN_02_past_the_context_the_oldest_are_said_to_be_dropped(visit, lang):
    visitor = visit(lang, "model=fix_a&prompt=Hello,+I+am&n=12")
    expect(visitor.find("#player .notices")).not_to_contain_text("16")
    visitor.press("End")
    visitor.button("step").click()
    dropped = visitor.say("notices.dropped", tokens=17, limit=16, dropped=1)
    expect(visitor.find("#player .notices")).to_contain_text(dropped)
    expect(visitor.chips).to_have_count(16)
    expect(visitor.chips.first).to_have_attribute("data-i", "1")
    visitor.at(16)
    visitor.press("Home")
    visitor.at(1)


def test_O_GEN_02_playing_goes_on_past_the_context(visit):
    visitor = visit("en", "model=fix_a&prompt=Hello,+I+am&n=12")
    visitor.find(".pg-speed").select_option("4")
    visitor.press("End")
    visitor.button("play").click()
    visitor.eventually(lambda: visitor.page.evaluate("playground.state.at") > 20)
    expect(visitor.button("play")).to_have_attribute("aria-pressed", "true")
    visitor.button("play").click()
    expect(visitor.chips).to_have_count(16)


def test_O_GEN_04_going_round_is_explained(visit):
    visitor = visit("zh", "model=fix_a&prompt=Hello,+I+am&n=20")
    expect(visitor.find("#player .notices")).to_contain_text(visitor.say("notices.loops"))
