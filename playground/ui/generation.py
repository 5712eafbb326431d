"""The generation tab: the KV cache as it grows, and how sure the model was at every step."""

from typing import Any

import gradio as gr
import torch

from playground.analysis.generation import cached_norms, entropies, step_cost, surprises
from playground.figures.generation import CacheWords, SurenessWords, kv_cache, sureness
from playground.figures.numbers import fixed
from playground.gpt.costs import cache_bytes_per_token
from playground.models import Model
from playground.runs import Run
from playground.text import labels, say, sentences

from .components import figure
from .html import Picture
from .wiring import Look, Part, Wiring, explanation

TAB = "generation"
KEPT = ("key", "value")


def draw_cache(look: Look, kept: str) -> Picture:
    lang, tokens, config = look.lang, look.run.labels, look.run.model.config
    words = CacheWords(
        title=say(lang, f"generation.cache_{kept}"),
        **{name: say(lang, f"generation.{name}") for name in ("layer", "token", "length", "not_yet")},
    )
    drawn = kv_cache(cached_norms(look.run.trace, kept).numpy(), tokens, words, len(tokens) - 1)
    costs = [step_cost(config, i) for i in range(len(tokens))]
    notes = [
        say(
            lang, "generation.cache_note", token=token, count=i + 1, held=f"{cost.held:,}",
            numbers=f"{2 * config.n_layers * config.emb_dim:,}", each=f"{cache_bytes_per_token(config):,}",
            cached=f"{cost.with_cache:,}", whole=f"{cost.without:,}", times=f"{cost.without / cost.with_cache:.1f}",
        )
        for i, (token, cost) in enumerate(zip(tokens, costs, strict=True))
    ]  # fmt: skip
    if look.request.ablation.uncached:
        why = say(lang, f"generation.unusable_{look.request.ablation.uncached}")
        notes = [sentences(lang, note, why) for note in notes]
    return Picture(drawn, notes)


def draw_sureness(look: Look) -> Picture:
    lang, run = look.lang, look.run
    entropy = entropies(run.trace.logits)
    surprise = surprises(run.trace.logits, torch.tensor(run.ids[run.start :]))
    names = ("token", "nats", "entropy", "surprise")
    words = SurenessWords(
        title=say(lang, "generation.sureness"), **{name: say(lang, f"generation.{name}") for name in names}
    )
    drawn = sureness(entropy.numpy(), surprise.numpy(), run.labels, words, len(run.labels) - 1)
    notes = []
    for i, token in enumerate(run.labels):
        key = "sureness_first" if i == 0 else "sureness_note"
        was = fixed(surprise[i - 1]) if i else ""
        notes.append(say(lang, f"generation.{key}", token=token, was=was, open=fixed(entropy[i])))
    return Picture(drawn, notes)


def kinds(_: Model, lang: str) -> dict[str, Any]:
    choices = [(say(lang, f"generation.kept_{kept}"), kept) for kept in KEPT]
    return {**labels(lang, "generation.kept"), "choices": choices}


def build(wiring: Wiring, _: Run) -> Part:
    tab: gr.Tab = wiring.worded(gr.Tab(id=TAB, elem_id="tab-generation"), "generation.tab")
    with tab:
        sure = figure("sureness")
        kept = wiring.fitted(gr.Radio(list(KEPT), value=KEPT[0], elem_id="kept", elem_classes="choices"), kinds)
        cache = figure("kv-cache")
        explanation(wiring, "generation.help")
    wiring.show(TAB, draw_sureness, sure)
    wiring.show(TAB, draw_cache, cache, [kept])
    return Part(tab, {})
