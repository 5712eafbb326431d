"""Who wrote this token: the section of the logit lens tab that shares a logit out among the parts of the network."""

from typing import Any

import gradio as gr
import torch
from torch import Tensor

from playground.analysis.attribution import Attribution, attribute
from playground.analysis.lens import next_tokens
from playground.errors import PlaygroundError
from playground.figures import attribution as pictures
from playground.figures.follow import nothing
from playground.figures.numbers import brief
from playground.models import Model
from playground.runs import Run
from playground.text import say, say_error

from .answers import ASKED_CHARACTERS
from .components import figure
from .html import Picture
from .places import places
from .wiring import Look, Wiring, explanation


def targets(run: Run, asked: Any) -> Tensor:
    """At each position the token to explain: the first of what was typed, or else the one really chosen."""
    typed = run.model.tokenizer.encode(asked[:ASKED_CHARACTERS]) if isinstance(asked, str) and asked else []
    if typed:
        return torch.full((len(run.labels),), typed[0])
    return next_tokens(run.ids[run.start :], run.trace)


def draw_sum(look: Look, asked: Any) -> Picture:
    wanted, tokens = targets(look.run, asked), look.run.labels
    found = share_out(look, wanted)
    if isinstance(found, Picture):
        return found
    named = [look.run.model.tokenizer.label(token) for token in wanted.tolist()]
    first, second, last = (say(look.lang, f"attribution.from_{name}") for name in ("token", "position", "shift"))
    names = [first, second, *places(look)[1:], last]
    words = pictures.SumWords(
        title=[
            say(look.lang, "attribution.sum", target=target, token=token)
            for target, token in zip(named, tokens, strict=True)
        ],
        **{name: say(look.lang, f"attribution.{name}") for name in ("part", "logit", "total")},
    )
    steps, total = found.steps, found.total
    drawn = pictures.attribution_sum(steps.numpy(), names, words, len(tokens) - 1)
    most, least, difference = steps.max(0), steps.min(0), (total - found.logits).abs()
    notes = [
        say(
            look.lang, "attribution.sum_note", target=target,
            total=f"{total[i]:.4f}", logit=f"{found.logits[i]:.4f}", difference=brief(difference[i]),
            most=names[most.indices[i]], high=f"{most.values[i]:+.3f}",
            least=names[least.indices[i]], low=f"{least.values[i]:+.3f}",
        )
        for i, target in enumerate(named)
    ]  # fmt: skip
    return Picture(drawn, notes)


def draw_heads(look: Look, asked: Any) -> Picture:
    wanted, tokens = targets(look.run, asked), look.run.labels
    found = share_out(look, wanted)
    if isinstance(found, Picture):
        return Picture(found.figure, [])  # the sentence stands above, once
    named = [look.run.model.tokenizer.label(token) for token in wanted.tolist()]
    words = pictures.HeadWords(
        title=[say(look.lang, "attribution.heads", target=target) for target in named],
        **{name: say(look.lang, f"attribution.{name}") for name in ("layer", "head", "bias", "logit")},
    )
    drawn = pictures.attribution_heads(found.heads.numpy(), found.bias.numpy(), words, len(tokens) - 1)
    each = found.heads.flatten(0, 1)  # (L · H, T)
    high, low, H = each.max(0), each.min(0), found.heads.size(1)
    notes = [
        say(
            look.lang, "attribution.heads_note", target=target,
            for_layer=int(high.indices[i]) // H, for_head=int(high.indices[i]) % H, high=f"{high.values[i]:+.3f}",
            against_layer=int(low.indices[i]) // H, against_head=int(low.indices[i]) % H, low=f"{low.values[i]:+.3f}",
        )
        for i, target in enumerate(named)
    ]  # fmt: skip
    return Picture(drawn, notes)


def share_out(look: Look, wanted: Tensor) -> Attribution | Picture:
    """The parts, or where there are none a picture that says why."""
    try:
        return attribute(look.run.model.gpt, wanted, look.request.ablation, look.run.trace)
    except PlaygroundError as error:
        tokens = len(look.run.labels)
        return Picture(nothing(tokens), [say_error(look.lang, error)] * tokens)


def heading(_: Model, lang: str) -> dict[str, Any]:
    return {"value": f"<h2>{say(lang, 'attribution.heading')}</h2>"}


def section(wiring: Wiring, tab: str) -> None:
    """Build the section inside the tab that is being built."""
    with gr.Row(elem_classes="beside titled"):
        wiring.fitted(gr.HTML(elem_classes="heading", apply_default_css=False), heading)
        box = wiring.worded(gr.Textbox("", lines=1, max_lines=1, elem_id="target", min_width=220), "attribution.target")
    asked = gr.State("")
    bars = figure("attribution-sum")
    heads = figure("attribution-heads")
    explanation(wiring, "attribution.help")
    wiring.show(tab, draw_sum, bars, [asked])
    wiring.show(tab, draw_heads, heads, [asked])

    def typed(text: Any) -> str:
        return text[:ASKED_CHARACTERS] if isinstance(text, str) else ""

    wiring.on([box.submit, box.blur], typed, [box], [asked], trigger_mode="always_last")
