"""What the page takes in: what a control sends is checked by what the control is, before any handler sees it.

Gradio asks of values from the page what it thinks right, in English, and moves files about that they name. Anybody can
send anything to an event by hand, so here every value passes one place, and what is refused is refused by the
handler's guard, in the visitor's language.
"""

from copy import copy
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components.api_component import Api

from playground.errors import InputError

from . import checks


@dataclass(frozen=True, slots=True)
class Refused:
    """Stands where a value should, with the reason why it does not."""

    error: InputError


class Page(gr.Blocks):
    """Its handlers get what was sent, checked; what was left out is as by default, what is too much is left away.

    What they leave as it is costs nothing: Gradio would make each such component anew, all three hundred of them when
    somebody arrives.
    """

    async def preprocess_data(
        self, block_fn: Any, inputs: list[Any], state: Any, explicit_call: bool = False
    ) -> list[Any]:
        left_out = [default(control) for control in block_fn.inputs[len(inputs) :]]
        sent = [*inputs, *left_out]
        return [received(control, value, state) for control, value in zip(block_fn.inputs, sent, strict=False)]

    async def postprocess_data(self, block_fn: Any, predictions: Any, state: Any) -> list[Any]:
        if len(block_fn.outputs) < 2 or isinstance(predictions, dict) or gr.skip() not in predictions:
            return await super().postprocess_data(block_fn, predictions, state)
        stays = [value == gr.skip() for value in predictions]
        changing, values = copy(block_fn), [value for value, same in zip(predictions, stays, strict=True) if not same]
        changing.outputs = [output for output, same in zip(block_fn.outputs, stays, strict=True) if not same]
        found = iter(await super().postprocess_data(changing, values[0] if len(values) == 1 else values, state))
        return [gr.skip() if same else next(found) for same in stays]


def default(control: Any) -> Any:
    """What counts where nothing was sent: an endpoint's own default; of a control's value nothing is known."""
    return control.value if isinstance(control, Api) else None


def received(control: Any, sent: Any, state: Any) -> Any:
    """What a handler is given for `control`: of a State what the session holds, whatever was sent."""
    own = control if state is None else state[control._id]  # as this session's page has it
    if control.stateful:
        return own
    try:
        return checked(own, sent)
    except InputError as error:
        return Refused(error)


def checked(control: Any, value: Any) -> Any:
    """Raises: InputError for what this control cannot have sent"""
    name = control.label or control.elem_id
    if isinstance(control, gr.Radio | gr.Dropdown):
        return checks.choice(name, value, [choice for _, choice in control.choices])
    if isinstance(control, gr.Checkbox):
        return checks.choice(name, value, [True, False])
    if isinstance(control, gr.Slider):
        return checks.number(name, value, control.minimum, control.maximum)
    if isinstance(control, gr.Number):
        return None if value is None else checks.number(name, value, -checks.HIGHEST_SEED, checks.HIGHEST_SEED)
    if isinstance(control, gr.Textbox):
        return checks.typed(name, value)
    if isinstance(control, Api):
        return value  # an endpoint checks every value itself
    raise TypeError(f"{type(control).__name__}: nothing here says what it can have sent")


def said(event: gr.EventData, name: str) -> Any:
    """What an event carries under `name`; None when it does not, or carries no object at all."""
    carried = vars(event)["_data"]
    return carried.get(name) if isinstance(carried, dict) else None
