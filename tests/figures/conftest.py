"""Every figure drawn here is also built the way plotly checks: it takes each, and makes the same of it."""

import json

import plotly.graph_objects as go
import pytest

from playground.figures import style


def sent(figure):
    """Without the template: plotly writes into an empty one that points are points."""
    whole = json.loads(figure.to_json())
    assert whole["layout"].pop("template") in ({}, {"data": {"scatter": [{"type": "scatter"}]}})
    return whole


@pytest.fixture(autouse=True)
def checked_by_plotly(monkeypatch):
    built = go.Figure

    def both(*parts, _validate=True, **named):
        figure = built(*parts, _validate=_validate, **named)
        if not _validate:
            assert sent(built(*parts, **named)) == sent(figure)
        return figure

    monkeypatch.setattr(style.go, "Figure", both)
