"""The LayerNorm tab: one LayerNorm over the tokens, and all of them over the whole depth."""

from typing import Any

import gradio as gr
import torch

from playground.analysis import STAGES, Moments, NormStatistics, norm_statistics
from playground.figures import norms as pictures
from playground.models import Model
from playground.runs import Run
from playground.text import labels, say

from . import norm_detail
from .components import asset, figure
from .html import Picture
from .wiring import Look, Part, Wiring, explanation

TAB = "norms"


def norm_name(norm: NormStatistics, lang: str, short: bool = False) -> str:
    return say(lang, f"norms.{'short_' * short}{norm.name}", layer=norm.layer)


def arrays(moments: Moments) -> pictures.Moments:
    return pictures.Moments(moments.mean.numpy(), moments.std.numpy())


def draw_one(look: Look, which: int) -> Picture:
    norm = norm_statistics(look.run.trace)[norm_detail.place(look, which)]
    say_norm = {name: say(look.lang, f"norms.{name}") for name in ("mean", "std", "token", *STAGES)}
    words = pictures.NormWords(title=say(look.lang, "norms.title", norm=norm_name(norm, look.lang)), **say_norm)
    tokens = look.run.labels
    drawn = pictures.norm_by_token(*(arrays(getattr(norm, stage)) for stage in STAGES), tokens, words, len(tokens) - 1)
    numbers = {
        f"{kind}_{stage}": getattr(getattr(norm, stage), kind).tolist() for stage in STAGES for kind in ("mean", "std")
    }
    notes = [
        say(look.lang, "norms.note", token=token, **{name: f"{values[i]:z.4f}" for name, values in numbers.items()})
        for i, token in enumerate(tokens)
    ]
    return Picture(drawn, notes)


def draw_all(look: Look, stage: str) -> Picture:
    norms, tokens = norm_statistics(look.run.trace), look.run.labels
    names = [norm_name(norm, look.lang, short=True) for norm in norms]
    mean, std = (torch.stack([getattr(getattr(norm, stage), kind) for norm in norms]) for kind in ("mean", "std"))
    said = say(look.lang, f"norms.{stage}")
    words = pictures.OverviewWords(
        title=say(look.lang, "norms.overview", count=len(norms), stage=said),
        **{name: say(look.lang, f"norms.{name}") for name in ("norm", "mean", "std", "token")},
    )
    drawn = pictures.norms_overview(mean.numpy(), std.numpy(), names, tokens, words, len(tokens) - 1)
    least, most = std.min(0), std.max(0)
    notes = [
        say(
            look.lang, "norms.overview_note", token=token, stage=said,
            low=f"{least.values[i]:.4f}", lowest=names[least.indices[i]],
            high=f"{most.values[i]:.4f}", highest=names[most.indices[i]],
        )
        for i, token in enumerate(tokens)
    ]  # fmt: skip
    return Picture(drawn, notes)


def norms_of(model: Model, lang: str) -> dict[str, Any]:
    names = [say(lang, f"norms.norm_{half}", layer=layer) for layer in range(model.config.n_layers) for half in (1, 2)]
    choices = [(name, i) for i, name in enumerate([*names, say(lang, "norms.final_norm")])]
    return {**labels(lang, "norms.which"), "choices": choices}


def stages(_: Model, lang: str) -> dict[str, Any]:
    return {**labels(lang, "norms.stage"), "choices": [(say(lang, f"norms.{stage}"), stage) for stage in STAGES]}


def build(wiring: Wiring, _: Run) -> Part:
    tab: gr.Tab = wiring.worded(gr.Tab(id=TAB, elem_id="tab-norms"), "norms.tab")
    with tab:
        which = wiring.fitted(gr.Dropdown(list(range(13)), value=0, elem_id="which-norm"), norms_of)
        with gr.Row(elem_classes="beside"):
            with gr.Column(scale=3, min_width=300):
                one = figure("norm-by-token")
            with gr.Column(scale=2, min_width=220, elem_classes="help"):
                gr.HTML(asset("formulas/layer_norm.mathml"), apply_default_css=False)
                explanation(wiring, "norms.help")
        norm_detail.build(wiring, TAB, which)
        stage = wiring.fitted(gr.Radio(list(STAGES), value=STAGES[0], elem_id="norm-stage"), stages)
        every = figure("norms-overview")
    wiring.show(TAB, draw_one, one, [which])
    wiring.show(TAB, draw_all, every, [stage])
    return Part(tab, {}, reset=[which])
