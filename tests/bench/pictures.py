"""Pictures of attention: how heavy they are as the page sends them, and how long a real browser takes over them."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch

from playground.figures.follow import PLOTLY_JS
from playground.gpt.tokenizer import tokenizer
from playground.gpt.trace import Trace
from playground.limits import DEFAULTS
from playground.models import Model
from playground.runs import Request, Run
from playground.ui.attention import draw_head, draw_thumbs
from playground.ui.components import given, inline, scripts
from playground.ui.heads import draw_overview
from playground.ui.html import Component, Figure
from playground.ui.report import style
from playground.ui.wiring import Look

from .how import How
from .peers import INSTALL, broken, prompt, random_model
from .rows import Row, at_most, compared, limited, not_measured
from .visit import TOOLS, Visit, chromium

# Script of the page, what it is called here, MB and milliseconds that it may take.
LIMITS = (
    ("overview", "overview of all heads", 0.4, 150),
    ("figure", "one head", 0.1, 160),
    ("thumbs", "all heads of one layer", 0.3, 250),
)
MARKUP = {
    "overview": '<div class="overview" role="toolbar"></div>',
    "thumbs": '<div class="thumbs" role="toolbar"></div>',
    "figure": '<div class="plot" role="img"></div><p class="note"></p>',
}
DRAW = """async ([script, markup, value]) => {
  const element = document.createElement('div');
  element.className = `pg-${script}`;
  element.innerHTML = markup;
  document.body.replaceChildren(element);
  await new Promise((done) => setTimeout(done, 50));
  const from = performance.now();
  const props = playground.given[script]({ value });
  playground.twice(script, element, props, () => {}, () => {});
  const drawn = () => script !== 'figure' || element.querySelector('[data-drawn]');
  return await bench.painted(drawn) - from;
}"""


def measure(how: How) -> list[Row]:
    look = looked_at(how)
    values = payloads(look)
    rows = []
    for script, name, megabytes, _ in LIMITS:
        size = [len(values[script].encode()) / 1e6]
        rows.append(limited(f"{name}, {how.drawn} tokens: size", "MB", size, at_most(megabytes)))
    rows.append(bertviz(look.run.trace, [len(values["overview"].encode()) / 1e6], look.run.labels))
    took = in_browser(values, how.rounds)
    for script, name, _, milliseconds in LIMITS:
        limit = at_most(milliseconds)
        rows.append(limited(f"{name}, {how.drawn} tokens: drawn", "ms", took[script], limit))
    return rows


def looked_at(how: How) -> Look:
    """A text of random tokens, read by random weights, as a tab is given it."""
    gpt = random_model(how.config)
    model, ids = Model("random", gpt, tokenizer("gpt2")), prompt(how.config, how.drawn)
    with torch.inference_mode():
        trace = gpt.trace(torch.tensor([ids])).row(0)
    run = Run(model, tuple(ids), len(ids), 0, trace)
    return Look(Request("random", "of random tokens"), run, run, "en")


def payloads(look: Look) -> dict[str, str]:
    """What the page is sent."""
    middle = look.run.model.config.n_layers // 2
    found: dict[str, Any] = {
        "overview": Component().written(draw_overview(look, middle, 0, True)),
        "figure": Figure().written(draw_head(look, middle, 0, False)),
        "thumbs": Component().written(draw_thumbs(look, middle, 0)),
    }
    return found


def in_browser(values: dict[str, str], rounds: int) -> dict[str, list[float]]:
    """Milliseconds from the text that arrived to the painted picture, by the page's own scripts."""
    took: dict[str, list[float]] = {script: [] for script in values}
    with chromium() as running:
        visit = Visit(running)
        visit.page.set_content(f"<!doctype html><style>{style()}</style><body></body>")
        known = f"playground.begin('en', true); playground.know({inline(given(DEFAULTS))})"
        for script in (PLOTLY_JS.read_text("utf-8"), scripts(), known, TOOLS):
            visit.page.add_script_tag(content=script)
        for turn in range(-1, rounds):
            for script, value in values.items():
                each = visit.page.evaluate(DRAW, [script, MARKUP[script], value])
                if turn >= 0:
                    took[script].append(each)
        visit.leave()
    return took


def bertviz(trace: Trace, ours: list[float], labels: list[str]) -> Row:
    """The size of BertViz's view of all heads."""
    name, unit, against = f"overview of all heads, {len(labels)} tokens: size", "MB", "BertViz model view"
    try:
        view: Callable[..., Any] = import_module("bertviz").model_view
        attentions = [block.attention.weights[None] for block in trace.blocks]
        page = view(attentions, labels, html_action="return").data
    except ImportError:
        return not_measured(name, unit, against, None, INSTALL)
    except Exception as error:
        return not_measured(name, unit, against, None, broken(error))
    return compared(name, unit, ours, [len(page.encode()) / 1e6], against)
