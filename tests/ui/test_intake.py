"""What a handler leaves as it is stays so, and what it changes arrives in its own place."""

import asyncio
from itertools import product

import gradio as gr
import pytest
from gradio.state_holder import SessionState

from playground.ui.intake import Page


@pytest.mark.parametrize("skipped", [*product([False, True], repeat=3)])
def test_skipped_outputs_are_left_away_and_the_answer_is_as_gradio_gives_it(skipped):
    with Page() as page:
        boxes = [gr.Textbox() for _ in skipped]
        gr.Button().click(list, None, boxes)
    (event,) = page.fns.values()
    given = [gr.skip() if skip else str(place) for place, skip in enumerate(skipped)]
    plain = asyncio.run(gr.Blocks.postprocess_data(page, event, list(given), SessionState(page)))
    assert asyncio.run(page.postprocess_data(event, list(given), SessionState(page))) == plain
    assert [value == gr.skip() for value in plain] == list(skipped)
    assert event.outputs == boxes
