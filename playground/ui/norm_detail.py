"""One LayerNorm in depth, inside the LayerNorm tab: the values of the selected token, feature by feature."""

from typing import Any

import gradio as gr
import torch
from torch import Tensor

from playground.analysis import STAGES
from playground.analysis.features import NormSite, histogram, norm_site, standing_out
from playground.figures import distribution as pictures
from playground.figures.numbers import brief
from playground.text import say, sentences

from .components import figure
from .html import Picture
from .wiring import Look, Wiring, explanation

BINS = 40
SHOWN = 12  # features that stand out


def chosen(look: Look, which: int) -> tuple[NormSite, str]:
    """The LayerNorm a tab has chosen, and its short name."""
    site = norm_site(look.run.model.gpt, look.run.trace, place(look, which))
    return site, say(look.lang, f"norms.short_{site.name}", layer=site.layer)


def place(look: Look, which: int) -> int:
    """Where it stands among the LayerNorms of a model that may have fewer; the final one stays the final one."""
    last = 2 * look.run.model.config.n_layers
    return last if which == 2 * look.counted.n_layers else min(which, last)


def words(lang: str, *names: str) -> dict[str, str]:
    return {name: say(lang, f"norm_detail.{name}") for name in names}


def tail(look: Look) -> str:
    """What a note adds while LayerNorm is switched off."""
    return say(look.lang, "norm_detail.skipped") if look.request.ablation.norms else ""


def draw_histograms(look: Look, which: int) -> Picture:
    site, name = chosen(look, which)
    counted = [histogram(getattr(site, stage), BINS) for stage in STAGES]
    said = pictures.HistogramWords(
        title=say(look.lang, "norm_detail.histograms", norm=name),
        stages=tuple(say(look.lang, f"norms.{stage}") for stage in STAGES),
        **words(look.lang, "value", "count"),
    )
    edges, counts = [each.edges.numpy() for each in counted], [each.counts.numpy() for each in counted]
    drawn = pictures.value_histograms(edges, counts, said, look.position)
    spans = {
        f"{end}_{stage}": getattr(getattr(site, stage), find)(-1).tolist()
        for stage in STAGES
        for end, find in (("low", "amin"), ("high", "amax"))
    }
    within = (site.normalised.abs() < 1).double().mean(-1).tolist()
    notes = [
        say(
            look.lang, "norm_detail.histograms_note", token=token, features=site.before.size(-1),
            within=f"{within[i]:.1%}", **{name: brief(values[i], 3) for name, values in spans.items()},
        )
        for i, token in enumerate(look.run.labels)
    ]  # fmt: skip
    return Picture(drawn, [sentences(look.lang, note, tail(look)) for note in notes])


def outstanding(site: NormSite) -> tuple[Tensor, dict[str, Tensor]]:
    """The features furthest from 0 before the LayerNorm, and the values of those features. Shapes: (T, k) each"""
    features = standing_out(site.before, SHOWN)
    values = {stage: getattr(site, stage).gather(-1, features) for stage in STAGES}
    return features, values | {name: getattr(site, name)[features] for name in ("scale", "shift")}


def draw_standing_out(look: Look, which: int) -> Picture:
    site, name = chosen(look, which)
    features, values = outstanding(site)
    said = pictures.StandingOutWords(
        title=say(look.lang, "norm_detail.standing_out", count=features.size(-1), norm=name),
        **words(look.lang, "feature", "scale", "shift"),
        **{stage: say(look.lang, f"norms.{stage}") for stage in STAGES},
    )
    arrays = {name: value.numpy() for name, value in values.items()}
    drawn = pictures.standing_out(features.numpy(), **arrays, words=said, position=look.position)
    share = (values["before"].square().sum(-1) / site.before.square().sum(-1)).nan_to_num().tolist()
    notes = [
        say(
            look.lang, "norm_detail.standing_out_note", token=token, count=features.size(-1), share=f"{share[i]:.1%}",
            feature=features[i, 0].item(),
            **{name: brief(value[i, 0], 4) for name, value in values.items()},
        )
        for i, token in enumerate(look.run.labels)
    ]  # fmt: skip
    return Picture(drawn, [sentences(look.lang, note, tail(look)) for note in notes])


def draw_scale_shift(look: Look, which: int) -> Picture:
    site, name = chosen(look, which)
    said = pictures.ScaleShiftWords(
        title=say(look.lang, "norm_detail.scale_shift", norm=name),
        **words(look.lang, "feature", "scale", "shift", "marked"),
    )
    features = standing_out(site.before, SHOWN)
    drawn = pictures.scale_shift(site.scale.numpy(), site.shift.numpy(), features.numpy(), said, look.position)
    numbers: dict[str, Any] = {}
    for kind, values in (("scale", site.scale), ("shift", site.shift)):
        low, high = torch.aminmax(values)
        numbers |= {f"{kind}_low": brief(low, 4), f"{kind}_high": brief(high, 4)}
    note = sentences(look.lang, say(look.lang, "norm_detail.scale_shift_note", **numbers), tail(look))
    return Picture(drawn, [note] * len(look.run.labels))


def build(wiring: Wiring, tab: str, which: Any) -> None:
    """The three pictures below the choice `which` of a LayerNorm, in the tab being built."""
    histograms = figure("norm-histograms")
    with gr.Row(elem_classes="beside"):
        with gr.Column(scale=1, min_width=300):
            outstanding_ = figure("norm-standing-out")
        with gr.Column(scale=1, min_width=300):
            learned = figure("norm-scale-shift")
    explanation(wiring, "norm_detail.help")
    wiring.show(tab, draw_histograms, histograms, [which])
    wiring.show(tab, draw_standing_out, outstanding_, [which])
    wiring.show(tab, draw_scale_shift, learned, [which])
