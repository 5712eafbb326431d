"""Side by side: the run beside another one, with nothing off, of another model or of another prompt."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from playground.analysis import kl_divergence
from playground.errors import NotAChoice
from playground.gpt.ablation import NOTHING_OFF
from playground.gpt.tokenizer import repair
from playground.models import Model, Models
from playground.runs import Request
from playground.text import LANGUAGES, labels, say

from . import checks, view
from .answers import Answers
from .components import beside
from .session import Session
from .wiring import Comparison, Look, Wiring

NOTHING, BASELINE, PROMPT = "nothing", "nothing_off", "prompt"


@dataclass(frozen=True, slots=True)
class Beside:
    """What a run is compared with; `kind` is one of the above or the name of a model."""

    kind: str = NOTHING
    prompt: str = ""


def checked(models: Models, kind: Any, prompt: Any) -> Beside:
    """Raises: NotAChoice, PromptEmpty"""
    if kind not in (NOTHING, BASELINE, PROMPT, *models.names):
        raise NotAChoice(name="beside", value=kind, choices=", ".join((NOTHING, BASELINE, PROMPT, *models.names)))
    return Beside(kind, repair(checks.text(prompt))) if kind == PROMPT else Beside(kind)


def other(answers: Answers, compared: Beside, session: Session) -> Request | None:
    """What the session's request is compared with now; another prompt is written on as far as this one is.

    Raises: InputError, ModelError
    """
    request = session.request
    if compared.kind == NOTHING:
        return None
    if compared.kind == BASELINE:
        return request.baseline
    if compared.kind != PROMPT:
        return same_text(answers.models, request, compared.kind)
    begun, fresh = session.beside, Request(request.model, compared.prompt, ablation=request.ablation)
    fits = begun is not None and replace(begun, made=()) == fresh and len(begun.made) <= len(request.made)
    found = begun if begun is not None and fits else fresh
    written = answers.write(found, session.choice, len(request.made) - len(found.made))
    session.beside = written  # meanwhile another answer may store its own
    return written


def same_text(models: Models, request: Request, name: str) -> Request:
    """The request's text read by another model: token by token if both have one vocabulary, else as letters."""
    here, there = models.get(request.model), models.get(name)
    alike = (here.config.n_layers, here.config.n_heads) == (there.config.n_layers, there.config.n_heads)
    off = request.ablation if alike else NOTHING_OFF
    if here.config.vocab_size == there.config.vocab_size:
        return replace(request, model=name, ablation=off)
    ids = [*here.tokenizer.encode(request.prompt)[: request.kept], *request.made]
    return Request(name, here.tokenizer.decode(ids), ablation=off)


def name_of(compared: Beside, lang: str) -> str:
    if compared.kind == PROMPT:
        return f"“{compared.prompt}”"
    return say(lang, "beside.nothing_off") if compared.kind == BASELINE else view.model_label(compared.kind, lang)


def draw_other(look: Look, compared: Beside) -> dict[str, Any]:
    """The other run's text and predictions, and how far they are from this one's where both read the same tokens."""
    if look.other is None:
        return {}
    run, own = look.other.run, look.run
    kl = None
    if (run.ids, run.start, run.model.config.vocab_size) == (own.ids, own.start, own.model.config.vocab_size):
        kl = kl_divergence(own.trace.logits, run.trace.logits).tolist()
    return {
        "kind": compared.kind,
        "prompt": compared.prompt,
        "name": {lang: name_of(compared, lang) for lang in LANGUAGES},
        "labels": run.labels,
        "start": run.start,
        "n_prompt": run.n_prompt,
        "steps": view.steps(run, None, 0),
        "kl": kl,
        "rewritten": compared.kind == PROMPT and look.is_ablated,
    }


def build(wiring: Wiring, models: Models) -> tuple[gr.Dropdown, gr.Textbox]:
    """Its controls, at the side."""

    def choices(_: Model, lang: str) -> dict[str, Any]:
        named = [(say(lang, f"beside.{kind}"), kind) for kind in (NOTHING, BASELINE, PROMPT)]
        offered = [(say(lang, "beside.model", name=view.model_label(name, lang)), name) for name in models.names]
        return {**labels(lang, "beside.choose"), "choices": [*named, *offered]}

    with wiring.worded(gr.Accordion(open=False, elem_id="compare"), "beside.section"):
        kind = wiring.fitted(gr.Dropdown([NOTHING], value=NOTHING, elem_id="beside-kind"), choices)
        prompt = wiring.worded(gr.Textbox("", lines=1, max_lines=4, elem_id="beside-prompt"), "beside.other_prompt")
    return kind, prompt


def comparison(answers: Answers) -> Comparison:
    """Nothing at first."""
    return Comparison(gr.State(Beside()), lambda compared, session: other(answers, compared, session), name_of)


def restore(answers: Answers, query: Mapping[str, str], session: Session) -> Beside:
    """What a URL compares with. Raises: InputError, ModelError"""
    compared = checked(answers.models, query.get("beside", NOTHING), query.get("beside_prompt"))
    other(answers, compared, session)
    return compared


def wire(wiring: Wiring, answers: Answers, kind: gr.Dropdown, prompt: gr.Textbox) -> None:
    """Another run beside this one, whenever another is chosen."""
    chosen = wiring.comparison.chosen

    def choose(session: Session, kind: Any, prompt: Any) -> Beside:
        if kind == PROMPT and not prompt:  # the box is filled next
            return Beside()
        compared = checked(answers.models, kind, prompt)
        other(answers, compared, session)  # what cannot be compared is refused before anything changes
        return compared

    kind.change(None, kind, None, js="(kind) => { document.querySelector('#compare').dataset.kind = kind; return []; }")
    wiring.on([kind.input, prompt.submit, prompt.blur], choose, [wiring.session, kind, prompt], [chosen],
              trigger_mode="always_last")  # fmt: skip


def picture(wiring: Wiring) -> None:
    """The other run's text and predictions, under this one's."""
    wiring.show(None, draw_other, beside(), [wiring.comparison.chosen])
