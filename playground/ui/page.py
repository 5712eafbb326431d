"""The whole page: what is asked at the left, the token strip on top, the tabs that look at the answer below."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from playground.errors import PlaygroundError
from playground.limits import Limits
from playground.models import TRAINED, Model, Models, Progress
from playground.runs import Request, Run, Runs
from playground.text import labels, say

from . import (
    api,
    attention,
    checks,
    compare,
    feed_forward,
    generation,
    lens,
    model_tab,
    norms,
    proofs,
    report,
    residual,
    take_home,
    view,
    zero_gpu,
)
from .answers import Answers, shape
from .components import alert, bars, guide, player, switches
from .components import proofs as proof_badge
from .html import Component
from .intake import Page, said
from .lessons import tab as lessons
from .lessons.training import borrowed
from .session import Choice, Session
from .wiring import Part, Wiring

PROMPT = "Once upon a time, there was a little fox"
NEW_TOKENS, MOST_AT_ONCE = 20, 100
TABS = (attention, generation, norms, feed_forward, residual, lens, model_tab, lessons)
PROGRESS = gr.Progress()
FILES_KEPT = (600, 1800)  # seconds: how often to look for files that visitors took, and how old they may be


@dataclass(frozen=True, slots=True)
class Controls:
    """What a visitor can ask with."""

    prompt: gr.Textbox
    run: gr.Button
    model: gr.Dropdown
    count: gr.Slider
    how: list[Any]  # choosing, temperature, top_k, top_p, seed
    switches: Component
    player: Component
    bars: Component


def build(models: Models, runs: Runs, model: str, lang: str) -> gr.Blocks:
    """The page, showing a finished run of `model` before anybody asks. Raises: ModelError"""
    zero_gpu.register()
    answers = Answers(models, runs)
    first = answers.write(Request(model, PROMPT), Choice(), NEW_TOKENS)
    with Page(title="GPT Playground", analytics_enabled=False, delete_cache=FILES_KEPT) as page:
        session = gr.State(Session(first))
        with gr.Row(elem_id="header"):
            title = gr.HTML(elem_id="title", apply_default_css=False)
            badge = proof_badge(proofs.proved(first, runs(first)))
            choices = [("中文", "zh"), ("English", "en")]
            language = gr.Radio(choices, value=lang, show_label=False, container=False, elem_id="language")
            guide()
            theme = gr.Button("", size="sm", elem_id="theme", min_width=96)
        wiring = Wiring(models, runs, session, language, alert(), compare.comparison(answers))
        wiring.fitted(title, heading)
        wiring.worded(theme, "page.theme")
        wiring.worded(language, "page.language")
        with gr.Row(elem_id="main"):
            with gr.Column(elem_id="side", scale=0, min_width=280):
                asked = build_side(wiring, models, first, runs.limits)
                beside = compare.build(wiring, models)
                taken = take_home.build(wiring, models.own_name)
            with gr.Column(elem_id="stage", scale=1, min_width=320):
                value = answers.shown(first, Choice(), at=runs(first).n_prompt - 1)
                strip = player(value, [part.TAB for part in TABS])
                with gr.Row(elem_id="cols"):
                    with gr.Column(scale=0, min_width=300, elem_id="left"):
                        next_bars = bars()
                        compare.picture(wiring)
                    with gr.Column(scale=1, min_width=320, elem_id="right"):
                        tabs = gr.Tabs(selected=attention.TAB, elem_id="tabs", overflow_behavior="wrap")
                        with tabs:
                            parts = {part.TAB: part.build(wiring, runs(first)) for part in TABS}
        controls = Controls(*asked, strip, next_bars)
        wire_run(wiring, answers, controls)
        wire_model(wiring, answers, controls, parts)
        compare.wire(wiring, answers, *beside)
        take_home.wire(wiring, *taken, partial(report.write, wiring, answers))
        proofs.wire(wiring, runs, badge)
        wire_page(page, wiring, answers, controls, first, tabs, parts, beside)
        theme.click(None, None, None, js="() => { playground.toggleDark(); return []; }")
        wiring.connect(lambda tab: getattr(strip, f"see_{tab}"))
        wiring.begin(Session(first), lang, attention.TAB)
        api.publish(answers)
    return page


def heading(_: Model, lang: str) -> dict[str, Any]:
    return {"value": f"<h1>{say(lang, 'page.title')} <small>{say(lang, 'page.subtitle')}</small></h1>"}


def about(offered: Sequence[str], model: Model, lang: str) -> dict[str, Any]:
    """What the list of models says: what is offered, and besides a model of the visitor's own while it is in use."""
    choices = [(view.model_label(name, lang), name) for name in offered]
    if model.name not in offered:
        choices.append((say(lang, "page.own_model", step=model.name.rpartition("-")[2]), model.name))
    return {"choices": choices, "info": description(model, lang), **labels(lang, "page.model")}


def description(model: Model, lang: str) -> str:
    other = "trained" if model.name.startswith(TRAINED) else "other"
    kind = {"storyteller": "bundled", "untrained": "untrained"}.get(model.name, other)
    config = model.config
    counts = {"parameters": f"{config.n_parameters:,}", "vocab": f"{config.vocab_size:,}", "width": config.emb_dim}
    sizes = {"layers": config.n_layers, "heads": config.n_heads, "context": f"{config.context_length:,}"}
    values = {"name": model.name, "stored": model.stored, **sizes, **counts}
    return say(lang, f"page.about_{kind}", **values)


def choosing(_: Model, lang: str) -> dict[str, Any]:
    choices = [(say(lang, f"page.choosing_{how}"), how) for how in ("greedy", "sample")]
    return {**labels(lang, "page.choosing"), "choices": choices}


def build_side(wiring: Wiring, models: Models, first: Request, limits: Limits) -> list[Any]:
    """The first six of Controls."""
    worded, fitted, most = wiring.worded, wiring.fitted, min(MOST_AT_ONCE, limits.new_tokens)
    prompt = worded(gr.Textbox(PROMPT, lines=1, max_lines=6, elem_id="prompt"), "page.prompt")
    run = worded(gr.Button("", variant="primary", elem_id="run"), "page.run")
    model = fitted(gr.Dropdown(models.names, value=first.model, elem_id="model"), partial(about, models.names))
    with worded(gr.Accordion(open=False, elem_id="settings"), "page.more_settings"):
        how = [
            fitted(gr.Radio(["greedy", "sample"], value="greedy", elem_id="choosing"), choosing),
            worded(gr.Slider(0.05, 2, 0.8, step=0.05, elem_id="temperature"), "page.temperature"),
            worded(gr.Number(40, precision=0, elem_id="top-k"), "page.top_k"),
            worded(gr.Slider(0.05, 1, 1, step=0.05, elem_id="top-p"), "page.top_p"),
            worded(gr.Number(0, precision=0, elem_id="seed"), "page.seed"),
        ]
        count = worded(gr.Slider(0, most, min(NEW_TOKENS, most), step=1, elem_id="new-tokens"), "page.new_tokens")
    return [prompt, run, model, count, how, switches(shape(models.get(first.model), first.ablation))]


def wire_run(wiring: Wiring, answers: Answers, controls: Controls) -> None:
    """A new run, one token more, another token instead, other switches, a guess."""
    session, how, on = wiring.session, controls.how, wiring.on

    def branch(event: gr.EventData, session: Session, *given: Any) -> Any:
        wanted = [said(event, name) for name in ("text", "place", "instead")]
        return answers.branch(session, *wanted, *given)

    def stages(event: gr.EventData, session: Session, *how: Any) -> Any:
        return echoed(event, answers.stages(session, said(event, "at"), *how))

    def flip(event: gr.EventData, session: Session, *how: Any) -> Any:
        return echoed(event, answers.flip(session, said(event, "off"), *how))

    def ask(event: gr.EventData, session: Session) -> Any:
        return echoed(event, answers.ask(session, said(event, "text"), said(event, "at")))

    begin = [controls.run.click, controls.prompt.submit]
    on(
        begin,
        answers.run,
        [session, controls.prompt, controls.count, *how],
        [controls.player],
        trigger_mode="always_last",
    )
    for part in TABS:
        wire_need(wiring, answers, controls, part.TAB)
    on([controls.switches.flip], flip, [session, *how], [controls.player], trigger_mode="multiple")
    on([controls.player.branch, controls.bars.branch], branch, [session, controls.count, *how], [controls.player])
    on([controls.bars.stages], stages, [session, *how], [controls.bars], trigger_mode="multiple")
    gr.on([control.change for control in how], None, None, None, js="() => { playground.say('choosing'); return []; }")
    on([controls.bars.ask], ask, [session], [controls.bars], trigger_mode="multiple")


def echoed(event: gr.EventData, answer: dict[str, Any]) -> dict[str, Any]:
    """The answer with the number of its question, by which the page, that asks one at a time, goes on to the next."""
    return {**answer, "turn": checks.whole("turn", said(event, "turn") or 0, 0, 10**9)}


def wire_need(wiring: Wiring, answers: Answers, controls: Controls, tab: str) -> None:
    """More tokens, and the open tab drawn with them: one question instead of two."""
    together = wiring.in_sight(tab)
    draw = wiring.drawing(tab, together)
    known = [wiring.session, wiring.lang, wiring.comparison.chosen]
    values = [control for shown in together for control in shown.controls]

    def need(event: gr.EventData, session: Session, lang: str, compared: Any, *given: Any) -> list[Any]:
        how, own = given[: len(controls.how)], given[len(controls.how) :]
        grown = answers.need(session, *(said(event, name) for name in ("text", "from", "count")), *how)
        unseen = [gr.skip()] * len(together)
        if "text" not in grown:  # skipped
            return [grown, *unseen]
        try:
            return [{**grown, "drawn": tab}, *draw(session, lang, compared, *own)]
        except PlaygroundError:  # the page asks for the picture alone, and hears why there is none
            return [grown, *unseen]

    need.__name__ = f"need_{tab}"  # as Gradio lists it
    wiring.on([getattr(controls.player, need.__name__)], need, [*known, *controls.how, *values],
              [controls.player, *(shown.component for shown in together)], trigger_mode="multiple")  # fmt: skip


def wire_model(wiring: Wiring, answers: Answers, controls: Controls, parts: dict[str, Part]) -> None:
    """Another model, with a progress bar while it downloads; what cannot be had leaves everything as it is."""

    def read(session: Session, lang: str, name: Any, report: Progress, *asked: Any) -> list[Any]:
        prompt, count, *how = asked
        session.wanted = name
        shown = answers.change_model(session, name, prompt, count, report, *how)
        if shown == gr.skip():
            return [shown] * len(outputs)
        model = answers.models.get(name)
        begun = openings(parts, answers.runs(session.request))
        return [shown, shape(model, session.request.ablation), *wiring.dress(lang, model), *begun, *[0] * len(reset)]

    def change(session: Session, lang: str, name: Any, prompt: Any, count: Any, choosing: Any, temperature: Any,
               top_k: Any, top_p: Any, seed: Any, progress: gr.Progress = PROGRESS) -> list[Any]:  # fmt: skip
        def report(share: float, total: int) -> None:
            size = f"{total / 1e6:,.0f} MB"
            progress(share, desc=say(lang, "notices.downloading", name=name, share=f"{share:.0%}", size=size))

        if name == session.request.model:  # the list says `input` when one merely tabs past it
            session.wanted = name
            return [gr.skip()] * len(outputs)
        return read(session, lang, name, report, prompt, count, choosing, temperature, top_k, top_p, seed)

    def through(event: gr.EventData, session: Session, lang: str, *asked: Any) -> list[Any]:
        own = borrowed(wiring.models, said(event, "model"))
        shown, *others = read(session, lang, own.name, lambda *_: None, *asked)
        return [shown if shown == gr.skip() else echoed(event, shown), *others]

    reset = [control for part in parts.values() for control in part.reset]
    asked = [controls.model, controls.prompt, controls.count, *controls.how]
    begin = [control for control, _ in named(parts).values()]
    outputs = [controls.player, controls.switches, *wiring.dressed, *begin, *reset]
    known = [wiring.session, wiring.lang]
    changed = [
        wiring.on([controls.model.input], change, [*known, *asked], outputs,
                  show_progress="full", show_progress_on=[controls.model], trigger_mode="multiple"),
        *(
            wiring.on([part.through], through, [*known, *asked[1:]], outputs, trigger_mode="multiple")
            for part in parts.values()
            if part.through
        ),
    ]  # fmt: skip
    for each in changed:
        each.then(lambda session: session.request.model, wiring.session, controls.model,
                  show_progress="hidden", api_visibility="private")  # fmt: skip


def wire_page(page: gr.Blocks, wiring: Wiring, answers: Answers, controls: Controls, first: Request, tabs: gr.Tabs,
              parts: dict[str, Part], beside: tuple[gr.Dropdown, gr.Textbox]) -> None:  # fmt: skip
    """The language, the open tab, and what the URL restores."""
    page.load(None, None, wiring.lang, js="() => playground.language()")
    wiring.lang.change(None, wiring.lang, None, js="(lang) => { playground.setLanguage(lang); return []; }")
    for name, part in parts.items():
        part.tab.select(None, None, None, js=f"() => {{ playground.open('{name}'); return []; }}")

    served = wiring.lang.value
    places = named(parts)
    outputs = [controls.prompt, controls.model, *controls.how, controls.player, controls.switches, tabs,
               wiring.comparison.chosen, *beside, *wiring.dressed,
               *(control for control, _ in places.values())]  # fmt: skip

    def restore(lang: str, session: Session, visit: gr.Request) -> list[Any]:
        session.arrived = True
        query = dict(visit.query_params)
        if not query and lang == served:  # the page as it came is what is wanted
            return [gr.skip()] * len(outputs)
        tab = query["tab"] if query.get("tab") in parts else attention.TAB
        request, choice, at = answers.restore(query, first)
        model = answers.models.get(request.model)
        shown = [answers.shown(request, choice, at=at), shape(model, request.ablation)]
        begun = openings(parts, answers.runs(request))
        found = [
            restored(query, name, count(model), value)
            for (name, (_, count)), value in zip(places.items(), begun, strict=True)
        ]
        prompt = request.prompt if "prompt" in query else gr.skip()  # somebody may be typing there already
        written = [prompt, model.name, *as_controls(choice)]
        compared = restore_both(answers, session, request, choice, query)
        besides = [compared, compared.kind, compared.prompt]
        return [*written, *shown, gr.Tabs(selected=tab), *besides, *wiring.dress(lang, model), *found]

    arrived = wiring.on([page.load], restore, [wiring.lang, wiring.session], outputs, arriving=True,
                        js="(lang, session) => [playground.language(), session]")  # fmt: skip
    arrived.then(None, None, None, js="() => { playground.settle(); return []; }")


def restore_both(answers: Answers, session: Session, request: Request, choice: Choice, query: Mapping[str, str]) -> Any:
    """Put what the URL asks for and what it is compared with; neither, where that is refused.

    Raises: InputError, ModelError
    """
    before = session.request, session.choice
    session.put(request, choice)
    try:
        return compare.restore(answers, query, session)
    except PlaygroundError:
        session.put(*before)
        raise


def named(parts: dict[str, Part]) -> dict[str, tuple[Any, Callable[[Model], int]]]:
    """Every control that the URL restores."""
    return {name: found for part in parts.values() for name, found in part.restored.items()}


def openings(parts: dict[str, Part], run: Run) -> list[int]:
    """The values with which those controls begin."""
    return [value for part in parts.values() for value in part.opening(run)]


def restored(query: dict[str, str], name: str, count: int, otherwise: int) -> int:
    """The value a URL gives to a control, if it does. Raises: NotANumber, OutOfRange"""
    return checks.index(name, checks.written(name, query[name]), count) if name in query else otherwise


def as_controls(choice: Choice) -> list[Any]:
    """What the sampling controls show for a choice; greedy leaves the others as they are."""
    sampling = choice.sampling
    if sampling.temperature == 0:
        return ["greedy", *[gr.skip()] * 4]
    return ["sample", sampling.temperature, sampling.top_k or 0, sampling.top_p or 1, choice.seed]
