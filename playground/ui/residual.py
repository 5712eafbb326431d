"""The residual and ablation tab: the stream through the blocks, and what the switches did to the prediction."""

from typing import Any

import gradio as gr

from playground.analysis import (
    contribution_norms,
    kl_divergence,
    residual_difference,
    stream_norms,
    top_tokens,
)
from playground.figures import stream as pictures
from playground.figures.bars import BeforeAfterWords, before_after
from playground.figures.numbers import brief, fixed
from playground.runs import Run
from playground.text import say

from . import reach, sweep
from .components import figure, identity
from .html import Picture
from .places import places
from .wiring import Look, Part, Wiring, explanation

TAB = "residual"
SHOWN = 8


def draw_stream(look: Look) -> Picture:
    norms, tokens = stream_norms(look.run.trace), look.run.labels
    names = places(look)
    words = pictures.StreamWords(
        title=say(look.lang, "residual.stream"),
        **{name: say(look.lang, f"residual.{name}") for name in ("depth", "norm", "current", "baseline")},
    )
    baseline = stream_norms(look.base.trace).numpy() if look.is_ablated else None
    drawn = pictures.stream_norms(norms.numpy(), names, words, len(tokens) - 1, baseline)
    final = look.run.trace.final_norm.after.norm(dim=-1)
    notes = [
        say(
            look.lang,
            "residual.stream_note",
            token=token,
            first=f"{norms[0, i]:.3f}",
            last=f"{norms[-1, i]:.3f}",
            final=f"{final[i]:.3f}",
        )
        for i, token in enumerate(tokens)
    ]
    return Picture(drawn, notes)


def draw_contributions(look: Look) -> Picture:
    norms, tokens = contribution_norms(look.run.trace), look.run.labels
    names = places(look)[1:]
    words = pictures.ContributionWords(
        title=say(look.lang, "residual.contributions"),
        **{name: say(look.lang, f"residual.{name}") for name in ("sublayer", "norm", "attention", "feed_forward")},
        off=say(look.lang, "residual.off_mean" if look.request.ablation.mean else "residual.off"),
    )
    baseline = contribution_norms(look.base.trace).numpy() if look.is_ablated else None
    drawn = pictures.contributions(norms.numpy(), names, words, len(tokens) - 1, baseline, off(look))
    most, least = norms.max(0), norms.min(0)
    notes = [
        say(
            look.lang, "residual.contributions_note", token=token,
            most=names[most.indices[i]], high=f"{most.values[i]:.3f}",
            least=names[least.indices[i]], low=f"{least.values[i]:.3f}",
        )
        if most.values[i] > 0
        else say(look.lang, "residual.contributions_none", token=token)
        for i, token in enumerate(tokens)
    ]  # fmt: skip
    return Picture(drawn, notes)


def off(look: Look) -> list[int]:
    """The sublayers that are switched off, in the order computed."""
    ablation = look.request.ablation
    return [*(2 * layer for layer in ablation.attention), *(2 * layer + 1 for layer in ablation.feed_forward)]


def draw_prediction(look: Look) -> Picture:
    """The likeliest tokens before and the likeliest one after, with their probabilities before and after."""
    before, after = look.base.trace.logits, look.run.trace.logits
    tokens, label = look.run.labels, look.run.model.tokenizer.label
    top, now = top_tokens(before, SHOWN), top_tokens(after, 1)
    absent = (top.ids != now.ids).all(-1)  # (T,): after these tokens the new likeliest was not among the old ones
    ids = top.ids.clone()  # (T, SHOWN)
    ids[absent, -1] = now.ids[absent, 0]
    was, then = (logits.softmax(-1).gather(-1, ids) for logits in (before, after))
    names = [[label(token) for token in row] for row in ids.tolist()]
    words = BeforeAfterWords(
        title=say(look.lang, "residual.prediction"),
        **{name: say(look.lang, f"residual.{name}") for name in ("probability", "before", "after")},
    )
    drawn = before_after(was.numpy(), then.numpy(), names, words, len(tokens) - 1)
    if not look.is_ablated:
        return Picture(drawn, [say(look.lang, "residual.prediction_same")] * len(tokens))
    kl = kl_divergence(before, after).tolist()
    notes = [
        say(
            look.lang, "residual.prediction_note", token=token, kl=fixed(kl[i], 4),
            before=names[i][0], p_before=fixed(top.probabilities[i, 0]),
            after=label(int(now.ids[i, 0])), p_after=fixed(now.probabilities[i, 0]),
        )
        for i, token in enumerate(tokens)
    ]  # fmt: skip
    return Picture(drawn, notes)


def draw_identity(look: Look) -> dict[str, Any]:
    """The residual identity as measured on this very run: of the whole stream, or of the layers that are all off."""
    difference, ablation = residual_difference(look.run.trace), look.request.ablation
    silent = sorted(ablation.attention & ablation.feed_forward)
    key, values = "identity_open", {}
    if ablation.residuals or ablation.averages:
        key = "identity_broken" if ablation.residuals else "identity_mean"
    elif ablation.mean:
        key = "identity_open_mean"
    elif len(silent) == look.run.model.config.n_layers:
        key = "identity_holds"
    elif silent:
        key, values = "identity_layers", {"layers": ", ".join(map(str, silent))}
        difference = max(residual_difference(look.run.trace, layer) for layer in silent)
    shown = brief(difference, 6)
    said = say(look.lang, f"residual.{key}", difference=shown, **values)
    return {"text": said, "kind": key, "difference": difference}


def build(wiring: Wiring, _: Run) -> Part:
    tab: gr.Tab = wiring.worded(gr.Tab(id=TAB, elem_id="tab-residual"), "residual.tab")
    with tab:
        measured = identity()
        with gr.Row(elem_classes="beside"):
            with gr.Column(scale=1, min_width=300):
                prediction = figure("prediction")
            with gr.Column(scale=1, min_width=300):
                path = figure("stream")
        sweep.build(wiring, TAB)
        added = figure("contributions")
        reach.section(wiring, TAB)
        explanation(wiring, "residual.help")
    wiring.show(TAB, draw_identity, measured)
    wiring.show(TAB, draw_prediction, prediction)
    wiring.show(TAB, draw_stream, path)
    wiring.show(TAB, draw_contributions, added)
    return Part(tab, {})
