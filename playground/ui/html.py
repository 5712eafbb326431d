"""The two classes of our own gr.HTML components; what they look like and say is in components.py."""

import json
from dataclasses import dataclass
from typing import Any

import gradio as gr

from playground.figures.follow import Drawing, as_json


@dataclass(frozen=True, slots=True)
class Pair:
    """Two values for one component, shown side by side; `names` are what they are called, in every language."""

    here: Any
    there: Any
    names: dict[str, list[str]]


class Component(gr.HTML):
    """Its value travels as JSON text. Without a constructor: Gradio makes copies by gr.HTML's arguments."""

    def postprocess(self, value: Any) -> str | None:
        if isinstance(value, Pair):
            both = [self.written(value.here), self.written(value.there)]
            return json.dumps({"pair": both, "names": value.names}, ensure_ascii=False)
        return self.written(value)

    def written(self, value: Any) -> str | None:
        return None if value is None else json.dumps(value, ensure_ascii=False, allow_nan=False)

    def api_info(self) -> dict[str, Any]:
        return {"type": "string"}


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure and, for every position from `start` on, the sentence that says what it shows there."""

    figure: Drawing
    notes: list[str]
    start: int = 0

    def as_json(self) -> str:
        """As figure.js reads it."""
        notes = json.dumps(self.notes, ensure_ascii=False)
        return f'{{"figure": {as_json(self.figure)}, "notes": {notes}, "start": {self.start}}}'


class Figure(Component):
    """Takes a Picture."""

    def written(self, value: Picture | None) -> str | None:
        return None if value is None else value.as_json()
