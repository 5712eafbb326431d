"""The tabs that look inside: logit lens, attribution, feed-forward, one LayerNorm's values, and the model as code."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from e2e.visitor import numbers, written
from playground.analysis.attribution import attribute
from playground.analysis.features import norm_site, standing_out
from playground.analysis.lens import logit_lens, next_tokens
from playground.analysis.neurons import share_on, strongest, written_norms
from playground.gpt.ablation import NOTHING_OFF
from playground.gpt.costs import parts

ROOT = Path(__file__).parents[2]


def test_the_lens_shows_what_every_place_would_answer(home):
    run = written(20)
    lens = logit_lens(run.model.gpt, run.ids, NOTHING_OFF, run.trace)
    label = run.model.tokenizer.label
    home.show_tab("lens")
    np.testing.assert_allclose(home.grid("lens-map"), lens.probability.numpy(), atol=1e-4)
    with home.asking_nobody():
        home.chips.nth(6).click()
        home.wait_title("lens-path", home.say("lens.path", token=run.labels[6]))
        bars = home.figure("lens-path")["data"][0]
        np.testing.assert_allclose(numbers(bars["x"]), lens.probability[:, 6].numpy(), atol=1e-4)
        assert bars["text"] == [label(token) for token in lens.top[:, 6].tolist()]
        note = home.find("#lens-map .note")
        expect(note).to_contain_text(f"{lens.probability[-1, 6]:.3f}")
        expect(note).to_contain_text(label(int(lens.chosen[6])))
    home.choose("lens-quantity", "rank")
    ranks = lens.rank.numpy()
    home.eventually(lambda: np.array_equal(numbers(home.figure("lens-map")["data"][0]["customdata"]), ranks))
    home.choose("lens-quantity", "probability")
    home.eventually(lambda: home.grid("lens-map").max() <= 1)


def test_who_wrote_a_token_adds_up_to_its_logit(home):
    run = written(20)
    label = run.model.tokenizer.label
    home.show_tab("lens")
    home.chips.nth(9).click()
    typed = run.model.tokenizer.encode(" was")[0]
    for text, target in (("", int(next_tokens(run.ids, run.trace)[9])), (" was", typed)):
        box = home.find("#target input, #target textarea")
        box.fill(text)
        box.press("Enter")
        home.wait_title("attribution-sum", home.say("attribution.sum", target=label(target), token=run.labels[9]))
        found = attribute(run.model.gpt, next_tokens(run.ids, run.trace) * 0 + target, NOTHING_OFF, run.trace)
        _, bars = home.figure("attribution-sum")["data"]
        shares = numbers(bars["customdata"])
        np.testing.assert_allclose(shares[:-1], found.steps[:, 9].numpy(), atol=1e-4)
        assert shares[:-1].sum() == pytest.approx(float(run.trace.logits[9, target]), abs=1e-3)
        expect(home.find("#attribution-sum .note")).to_contain_text(f"{found.logits[9]:.4f}")
        heads = numbers(home.figure("attribution-heads")["data"][0]["z"]).reshape(6, 7)
        np.testing.assert_allclose(heads[:, :6], found.heads[:, :, 9].numpy(), atol=1e-4)
        np.testing.assert_allclose(heads[:, 6], found.bias[:, 9].numpy(), atol=1e-4)
    box.fill("")
    box.press("Enter")


def test_the_feed_forward_shows_the_neurons_of_the_selected_token(home):
    run = written(20)
    home.show_tab("feed_forward")
    home.choose("ff-layer", 2)
    home.wait_title("gelu-points", home.say("feed_forward.curve_title", layer=2))
    seen, module = run.trace.blocks[2].feed_forward, run.model.gpt.blocks[2].feed_forward
    lengths = written_norms(module, seen.active)
    with home.asking_nobody():
        for at in (9, 14):
            home.chips.nth(at).click()
            heading = home.say("feed_forward.table_title", token=run.labels[at], layer=2)
            expect(home.find("#neurons h3")).to_have_text(heading)
            best = strongest(lengths, 8)[at].tolist()
            assert home.find("#neurons tbody th").all_inner_texts() == [str(neuron) for neuron in best]
            first = home.find("#neurons tbody tr").first.locator("td")
            expect(first.nth(0)).to_have_text(f"{seen.hidden[at, best[0]]:.3f}")
            expect(first.nth(2)).to_have_text(f"{lengths[at, best[0]]:.3f}")
            home.eventually(
                lambda at=at: np.allclose(
                    numbers(home.figure("gelu-points")["data"][1]["y"]), seen.active[at].numpy(), atol=1e-4
                )
            )
            expect(home.find("#gelu-points .note")).to_contain_text(f"{share_on(seen.hidden)[at]:.1%}")
    shares = [float(share_on(block.feed_forward.hidden)[14]) for block in run.trace.blocks]
    np.testing.assert_allclose(numbers(home.figure("neurons-on")["data"][0]["y"]), shares, atol=1e-6)


def test_one_layer_norm_is_shown_value_by_value(home):
    run = written(20)
    site = norm_site(run.model.gpt, run.trace, 0)
    home.show_tab("norms")
    with home.asking_nobody():
        home.chips.nth(7).click()
        counts = [numbers(bars["y"]) for bars in home.figure("norm-histograms")["data"]]
        assert [each.sum() for each in counts] == [192] * 3  # every feature is in some bar
        expect(home.find("#norm-histograms .note")).to_contain_text(f"{float(site.before[7].max()):.3g}")
        features = standing_out(site.before, 12)[7]
        shown = home.figure("norm-standing-out")["data"]
        np.testing.assert_allclose(numbers(shown[2]["x"]), site.normalised[7][features].numpy(), atol=1e-5)
        expect(home.find("#norm-standing-out .note")).to_contain_text(str(int(features[0])))
        learned = home.figure("norm-scale-shift")["data"]
        np.testing.assert_allclose(numbers(learned[0]["y"]), site.scale.numpy(), atol=1e-6)
        np.testing.assert_allclose(numbers(learned[1]["x"]), features.numpy())


def test_a_box_of_the_model_opens_the_very_lines_that_compute_it(home):
    home.show_tab("model")
    config = written(20).model.config
    costs = {part.name: part for part in parts(config)}
    with home.asking_nobody():
        for name, line in (("weights", "softmax"), ("gelu", "tanh"), ("middle", "middle = ")):
            home.find(f'#architecture .box[data-part="{name}"]').click()
            details = home.find("#architecture .details")
            expect(details.locator("h3")).to_have_text(home.say(f"architecture.part_{name}"))
            shown = details.locator("pre").first.locator(".line")
            first = int(shown.first.get_attribute("data-line"))
            source = (ROOT / "playground/gpt/model.py").read_text("utf-8").splitlines()
            assert [text.rstrip("\n") for text in shown.all_text_contents()] == source[first - 1 :][: shown.count()]
            assert line in "".join(details.locator("pre").all_text_contents())
            expect(details).to_contain_text("playground/gpt/model.py")
        home.find('#architecture .box[data-part="qkv"]').click()
        expect(home.find("#architecture .details")).to_contain_text(f"{costs['qkv'].parameters:,}")
        for at in (9, 4):  # the shapes are those of what is read so far
            home.chips.nth(at).click()
            seen = at + 1
            expect(home.find('#architecture .box[data-part="scores"] code')).to_have_text(
                f"(B, H, T, S) = (1, 6, {seen}, {seen})"
            )
        total = home.find("#architecture .pass tbody tr").last.locator("td").first
        expect(total).to_have_text(f"{config.n_parameters:,}")
