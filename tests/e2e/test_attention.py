"""The attention tab: the picture holds the weights themselves, linked to the token strip."""

import numpy as np
import pytest
from playwright.sync_api import expect

from e2e.visitor import numbers, run, written


def weights(run, layer, head):
    return run.trace.blocks[layer].attention.weights[head].numpy()


def test_O_ATT_10_any_layer_and_head_shows_its_weights_and_names_them(home):
    run = written(20)
    for layer, head in ((0, 0), (5, 3)):
        home.choose("layer", layer)
        home.find(f'#thumbs .thumb[data-head="{head}"]').click()
        home.wait_title("attention-map", home.say("attention.title", layer=layer, head=head))
        expect(home.find("#thumbs .thumb")).to_have_count(7)  # six heads and their mean
        expect(home.find("#thumbs .thumb[aria-pressed=true]")).to_have_attribute("data-head", str(head))
        shown, expected = home.grid("attention-map"), weights(run, layer, head)
        lower = np.tril_indices(30)
        np.testing.assert_allclose(shown[lower], expected[lower], atol=2e-5)
        assert np.isnan(shown[np.triu_indices(30, 1)]).all()
        home.address_says(layer=layer, head=head)


def test_O_ATT_03_O_ATT_05_O_ATT_13_the_picture_is_laid_out_as_told(home):
    figure = home.figure("attention-map")
    heat, layout = figure["data"][0], figure["layout"]
    assert (heat["zmin"], heat["zmax"], heat.get("showscale", True)) == (0, 1, True)
    bottom, top = layout["yaxis"]["range"]
    assert (bottom, top) == (29.5, -0.5)  # the first token on top
    assert layout["yaxis"]["title"]["text"] == home.say("attention.query")
    assert layout["xaxis"]["title"]["text"] == home.say("attention.key")
    assert heat["colorbar"]["title"]["text"] == home.say("attention.weight")
    expect(home.find("#tabs")).to_contain_text(home.say("attention.help")[:40])  # O-ATT-13


def test_hovering_the_strip_frames_its_row_and_column(home):
    with home.asking_nobody():
        home.chips.nth(4).hover()
        bands = home.find("#attention-map .band.hover")
        expect(bands).to_have_count(2)
        place = """(band) => { const { xaxis, yaxis } = band.parentElement._fullLayout;
          const [x, y] = [band.offsetLeft + band.offsetWidth / 2, band.offsetTop + band.offsetHeight / 2];
          const across = band.offsetWidth < band.offsetHeight;
          return across ? ['x', Math.round(xaxis.p2l(x - xaxis._offset))]
            : ['y', Math.round(yaxis.p2l(y - yaxis._offset))]; }"""
        assert sorted(bands.nth(i).evaluate(place) for i in (0, 1)) == [["x", 4], ["y", 4]]
        home.page.mouse.move(5, 5)
        expect(bands).to_have_count(0)


def over_cell(visitor, row, column):
    """Put the mouse on a cell of the heatmap."""
    visitor.find("#attention-map .plot").scroll_into_view_if_needed()
    x, y = visitor.page.evaluate(
        """([row, column]) => { const plot = document.querySelector('#attention-map .plot');
          const { xaxis, yaxis } = plot._fullLayout, box = plot.getBoundingClientRect();
          return [box.left + xaxis._offset + xaxis.l2p(column), box.top + yaxis._offset + yaxis.l2p(row)]; }""",
        [row, column],
    )
    visitor.page.mouse.move(x - 2, y - 2)
    visitor.page.mouse.move(x, y)
    return x, y


def test_hovering_a_cell_marks_its_token_in_the_strip_and_clicking_selects_it(home):
    run = written(20)
    home.quiet()
    with home.asking_nobody():
        over_cell(home, 12, 3)
        expect(home.find("#player .tok.hot")).to_have_attribute("data-i", "12")
        expect(home.find("#attention-map .hoverlayer")).to_contain_text(run.labels[12])
        home.page.mouse.move(5, 5)
        expect(home.find("#player .tok.hot")).to_have_count(0)
    x, y = over_cell(home, 20, 8)
    expect(home.find("#player .tok.hot")).to_have_attribute("data-i", "20")
    home.page.mouse.click(x, y)
    home.at(20)


def test_O_ATT_04_a_masked_cell_says_nothing(home):
    over_cell(home, 3, 20)
    expect(home.find("#player .tok.hot")).to_have_count(0)
    expect(home.find("#attention-map .hovertext")).to_have_count(0)


def ticks(visitor, axis):
    return visitor.find(f"#attention-map .{axis}tick text").all_text_contents()


def test_O_ATT_02_O_ATT_07_O_ATT_08_O_TOK_10_O_DEP_06_prompts_that_a_picture_could_misread(visit):
    visitor = visit("en", {"model": "fix_a", "prompt": "the the the the", "n": 0, "layer": 0, "head": 0})
    assert ticks(visitor, "x") == ticks(visitor, "y") == ["the", "·the", "·the", "·the"]  # O-ATT-02
    grid = visitor.grid("attention-map")
    np.testing.assert_allclose(grid[3], [0.208625, 0.317097, 0.285569, 0.188709], atol=2e-5)
    assert np.isnan(grid).sum() == 6

    for prompt, expected in (
        ("1 2 3 10", ["1", "·2", "·3", "·10"]),  # O-ATT-08
        ("<b>x</b> $y$ AT&T", None),  # O-ATT-07
        ("   ", ["·", "·", "·"]),  # O-TOK-10
        ("Hello, I am", ["Hello", ",", "·I", "·am"]),
    ):
        expected = expected or run(prompt, name="fix_a").labels
        visitor.open({"model": "fix_a", "prompt": prompt, "n": 0, "layer": 0, "head": 0})
        assert ticks(visitor, "x") == expected
        assert visitor.figure("attention-map")["layout"]["xaxis"]["type"] == "linear"
        assert visitor.chips.count() == len(expected)
        assert visitor.grid("attention-map").shape == (len(expected), len(expected))

    over_cell(visitor, 3, 2)  # O-DEP-06
    expect(visitor.find("#attention-map .hoverlayer")).to_contain_text("0.3428")


def test_without_the_causal_mask_the_future_is_drawn(home):
    home.switch("causal_mask").click()
    home.eventually(lambda: not np.isnan(home.grid("attention-map")).any())
    np.testing.assert_allclose(home.grid("attention-map").sum(1), 1, atol=1e-5)
    home.find("#switches .restore").click()
    home.eventually(lambda: np.isnan(home.grid("attention-map")).any())


@pytest.mark.parametrize("lang", ["en"])
def test_a_layer_that_is_off_says_so(home):
    home.choose("layer", 0)
    home.switch("attention.0").click()
    expect(home.find("#attention-map .note")).to_contain_text(home.say("attention.off"))
    expect(home.find("#thumbs .thumb.off")).to_have_count(6)
    home.find("#switches .restore").click()
    expect(home.find("#attention-map .note")).not_to_contain_text(home.say("attention.off"))
    assert numbers(home.figure("attention-map")["data"][0]["z"]).shape == (30, 30)
