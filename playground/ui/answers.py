"""What the page answers to each thing a visitor does."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from playground.analysis import rank
from playground.gpt.ablation import WHAT_IFS, Ablation
from playground.gpt.generate import generate
from playground.gpt.sampling import GREEDY, Sampling
from playground.models import Model, Models, Progress
from playground.runs import Request, Run, Runs, next_token, prompt_ids

from . import checks, view
from .session import Session

ASKED_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Choice:
    """How the next token is chosen, as the sampling controls say."""

    sampling: Sampling = GREEDY
    seed: int = 0


class Answers:
    """Holds nothing of any visitor: sessions come in as arguments."""

    def __init__(self, models: Models, runs: Runs) -> None:
        self.models, self.runs = models, runs

    def choice(self, model: str, how: Any, temperature: Any, top_k: Any, top_p: Any, seed: Any) -> Choice:
        """Raises: InputError"""
        if how == "greedy":
            return Choice()
        vocab_size = self.models.get(model).config.vocab_size
        return Choice(checks.sampling(temperature, top_k, top_p, vocab_size), checks.seed(seed))

    def look(self, request: Request) -> tuple[Run, Run | None]:
        """The run and, when something is off, the run of the same text with nothing off."""
        run = self.runs(request)
        return run, None if request.ablation.changes_nothing else self.runs(request.baseline)

    def shown(self, request: Request, choice: Choice, **more: Any) -> dict[str, Any]:
        query = view.query(request, choice.sampling, choice.seed)
        return view.whole(request, *self.look(request), choice.sampling, query, **more)

    def write(self, request: Request, choice: Choice, count: int) -> Request:
        """`request` with up to `count` tokens more: those that stepping would write, without a trace for each."""
        if count == 0 or view.stop(self.runs(request)):
            return request
        model = self.models.get(request.model)
        ids = [*prompt_ids(model, request.prompt), *request.made]
        room = min(count, view.MAX_NEW_TOKENS - len(request.made))
        steps = generate(model.gpt, ids, room, choice.sampling, request.ablation, choice.seed)
        return replace(request, made=(*request.made, *(step.token for step in steps)))

    def start(self, request: Request, count: Any, choice: Choice) -> dict[str, Any]:
        """A prompt just read: its last token selected, `count` tokens for the player to ask for one by one."""
        goal = checks.whole("new tokens", count, 0, view.MAX_NEW_TOKENS)
        at = len(prompt_ids(self.models.get(request.model), request.prompt)) - 1
        return self.shown(request, choice, at=at, goal=goal)

    def run(self, session: Session, prompt: Any, count: Any, *how: Any) -> dict[str, Any]:
        choice = self.choice(session.request.model, *how)
        request = replace(session.request, prompt=checks.text(prompt), made=())
        shown = self.start(request, count, choice)
        session.request = request
        return shown

    def need(self, session: Session, text: Any, known: Any, *how: Any) -> Any:
        """One token more, provided that the player shows what this session's request says."""
        old = session.request
        run = self.runs(old)
        if text != view.text_id(old) or known != len(run.ids) or view.stop(run):
            return gr.skip()
        choice = self.choice(old.model, *how)
        new = replace(old, made=(*old.made, next_token(run, choice.sampling, choice.seed)))
        query = view.query(new, choice.sampling, choice.seed)
        grown = view.grown(new, *self.look(new), choice.sampling, query, known=len(run.ids))
        return grown if session.move(old, new) else gr.skip()

    def flip(self, session: Session, off: Any, *how: Any) -> dict[str, Any]:
        """The same text read with other parts off."""
        ablation = checks.switches(off, self.models.get(session.request.model).config)
        request = replace(session.request, ablation=ablation)
        shown = self.shown(request, self.choice(request.model, *how))
        session.request = request
        return shown

    def change_model(
        self, session: Session, name: Any, prompt: Any, count: Any, progress: Progress, *how: Any
    ) -> dict[str, Any]:
        """The prompt read by another model, with nothing off; a model that cannot be had changes nothing."""
        self.models.get(name, progress)
        request = Request(name, prompt if isinstance(prompt, str) and prompt else session.request.prompt)
        shown = self.start(request, count, self.choice(name, *how))
        session.request = request
        return shown

    def ask(self, session: Session, text: Any, at: Any) -> dict[str, Any]:
        """Rank, probability and logit of the first token of `text`, as the one after position `at`."""
        run = self.runs(session.request)
        position = checks.index("position", at, len(run.ids))
        token = run.model.tokenizer.encode(checks.text(text)[:ASKED_CHARACTERS])[0]
        logits = run.trace.logits[max(0, position - run.start)]
        return {
            "at": position,
            "label": run.model.tokenizer.label(token),
            "rank": rank(logits, token),
            "probability": float(logits.softmax(-1)[token]),
            "logit": float(logits[token]),
        }

    def restore(self, query: Mapping[str, str], start: Request) -> tuple[Request, Choice, int]:
        """The request, the choice and the position a URL asks for; what it leaves out is as on the first page."""
        model = self.models.get(query.get("model", start.model))
        words = [word for word in query.get("off", "").split(",") if word]
        ablation = checks.switches(words, model.config)
        sampling = GREEDY
        if "temperature" in query:
            numbers = [checks.written(name, query.get(name)) for name in ("temperature", "top_k", "top_p")]
            sampling = checks.sampling(*numbers, model.config.vocab_size)
        choice = Choice(sampling, checks.seed(checks.written("seed", query.get("seed", "0"))))
        same = "prompt" not in query and "n" not in query
        count = checks.written("n", query.get("n", str(len(start.made) if same else 0)))
        request = Request(model.name, checks.text(query.get("prompt", start.prompt)))
        request = self.write(request, choice, checks.whole("n", count, 0, view.MAX_NEW_TOKENS))
        run = self.runs(request)
        at = checks.written("at", query.get("at", str(run.n_prompt - 1)))
        return replace(request, ablation=ablation), choice, checks.index("at", at, len(run.ids))


def shape(model: Model, ablation: Ablation) -> dict[str, Any]:
    """What the switches show."""
    config = model.config
    return {"layers": config.n_layers, "heads": config.n_heads, "off": ablation.words(), "what_ifs": list(WHAT_IFS)}
