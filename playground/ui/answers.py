"""What the page answers to each thing a visitor does."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import gradio as gr

from playground.analysis import rank
from playground.gpt.ablation import WHAT_IFS, Ablation
from playground.gpt.generate import generate
from playground.gpt.sampling import GREEDY
from playground.models import Model, Models, Progress
from playground.runs import Request, Run, Runs, next_token, prompt_ids

from . import checks, view
from .session import Choice, Session

ASKED_CHARACTERS = 200
TOGETHER = 16  # most tokens written for one question of the player


class Answers:
    """Holds nothing of any visitor: sessions come in as arguments."""

    def __init__(self, models: Models, runs: Runs) -> None:
        self.models, self.runs, self.limits = models, runs, runs.limits

    def choice(self, model: str, how: Any, temperature: Any, top_k: Any, top_p: Any, seed: Any) -> Choice:
        """What the sampling controls say. Raises: InputError"""
        if how == "greedy":
            return Choice()
        vocab_size = self.models.get(model).config.vocab_size
        return Choice(checks.sampling(temperature, top_k, top_p, vocab_size), checks.seed(seed))

    def switches(self, words: Any, model: Model) -> Ablation:
        """What is off, by its words. Raises: InputError"""
        return checks.switches(words, model.config, self.limits.switches)

    def look(self, request: Request) -> tuple[Run, Run | None]:
        """The run and, when something is off, the run of the same text with nothing off."""
        run = self.runs(request)
        return run, None if request.ablation.changes_nothing else self.runs.baseline(request)

    def shown(self, request: Request, choice: Choice, wrote: Choice | None = None, **more: Any) -> dict[str, Any]:
        """A text whose next token `choice` will choose; what `wrote` its last ones, where that was another."""
        run, base = self.look(request)
        query = view.query(request, wrote or choice)
        return view.whole(request, run, base, choice.sampling, query, self.limits, **more)

    def write(self, request: Request, choice: Choice, count: int) -> Request:
        """`request` with up to `count` tokens more: those that stepping would write, without a trace for each."""
        if count == 0 or view.stop(self.runs(request), self.limits):
            return request
        model = self.models.get(request.model)
        ids = [*prompt_ids(model, request.prompt, self.limits, request.kept), *request.made]
        room = min(count, self.limits.new_tokens - len(request.made))
        steps = generate(model.gpt, ids, room, choice.sampling, request.ablation, choice.seed)
        return replace(request, made=(*request.made, *(step.token for step in steps)))

    def start(self, request: Request, count: Any, choice: Choice) -> dict[str, Any]:
        """A prompt just read: its last token selected, `count` tokens for the player to ask for one by one."""
        goal = checks.whole("new tokens", count, 0, self.limits.new_tokens)
        at = len(prompt_ids(self.models.get(request.model), request.prompt, self.limits, request.kept)) - 1
        return self.shown(request, choice, at=at, goal=goal)

    def run(self, session: Session, prompt: Any, count: Any, *how: Any) -> dict[str, Any]:
        with session.deciding:
            old = session.request
            choice = self.choice(old.model, *how)
            request = Request(old.model, checks.text(prompt), ablation=old.ablation, turn=old.turn + 1)
            shown = self.start(request, count, choice)
            session.put(request, choice)
        return shown

    def need(self, session: Session, text: Any, known: Any, count: Any, *how: Any) -> Any:
        """`count` tokens more, provided that the player shows what this session's request says. Raises: InputError

        A player that knows fewer tokens than were written asks again, because an answer was lost: it gets the rest.
        """
        old = session.request
        run = self.runs(old)
        if text != view.text_id(old) or type(known) is not int:
            return gr.skip()
        if max(run.n_prompt, run.start) <= known < len(run.ids):
            query = view.query(old, session.choice)
            return view.grown(old, *self.look(old), session.choice.sampling, query, self.limits, known=known)
        if known != len(run.ids) or view.stop(run, self.limits):
            return gr.skip()
        choice = self.choice(old.model, *how)
        if checks.whole("new tokens", count, 1, TOGETHER) == 1:  # the run knows it: no further pass
            written = replace(old, made=(*old.made, next_token(run, choice.sampling, choice.seed)))
        else:
            written = self.write(old, choice, count)
        alike = old.ablation.changes_nothing and choice == session.choice
        new = replace(written, fixed=old.fixed if alike else len(written.made))
        query = view.query(new, choice)
        grown = view.grown(new, *self.look(new), choice.sampling, query, self.limits, known=len(run.ids))
        return grown if session.move(old, new, choice) else gr.skip()

    def branch(self, session: Session, text: Any, place: Any, instead: Any, count: Any, *how: Any) -> Any:
        """Another token (its id) or other words (a text) at `place`; what stood there and after it is left behind.

        The player then writes on until `count` tokens are new. Raises: InputError
        """
        with session.deciding:
            old = session.request
            if text != view.text_id(old):
                return gr.skip()
            choice = self.choice(old.model, *how)
            goal = checks.whole("new tokens", count, 0, self.limits.new_tokens)
            new = self.instead(old, place, instead)
            last = self.runs(new).n_prompt + len(new.made) - 1
            shown = self.shown(new, choice, at=last, goal=max(goal, len(new.made)))
            session.put(new, choice)
        return shown

    def instead(self, old: Request, place: Any, put: Any) -> Request:
        """`old` up to `place`, then the token or text `put`. Raises: InputError"""
        run = self.runs(old)
        place = checks.index("position", place, len(run.ids) + 1)
        kept = min(place, run.n_prompt)
        made = (*run.ids[kept:place], *checks.tokens(put, run.model.tokenizer, ASKED_CHARACTERS))
        checks.whole("new tokens", len(made), 1, self.limits.new_tokens)
        kept_of_prompt = kept if kept < run.n_prompt else old.kept
        return replace(old, made=made, kept=kept_of_prompt, fixed=len(made), turn=old.turn + 1)

    def flip(self, session: Session, off: Any, *how: Any) -> dict[str, Any]:
        """The same text read with other parts off."""
        with session.deciding:
            old = session.request
            request = replace(old, ablation=self.switches(off, self.models.get(old.model)))
            shown = self.shown(request, self.choice(request.model, *how), wrote=session.choice)
            session.put(request, session.choice)
        return shown

    def change_model(self, session: Session, name: Any, prompt: Any, count: Any, progress: Progress, *how: Any) -> Any:
        """The prompt read by another model, with nothing off.

        A model that cannot be had changes nothing, nor does one that came when another was wanted already.
        """
        self.models.get(name, progress)  # which may take minutes
        with session.deciding:
            if session.wanted not in (None, name):
                return gr.skip()
            old = session.request
            request = Request(name, prompt if isinstance(prompt, str) and prompt else old.prompt, turn=old.turn + 1)
            choice = self.choice(name, *how)
            shown = self.start(request, count, choice)
            session.put(request, choice)
        return shown

    def ask(self, session: Session, text: Any, at: Any) -> dict[str, Any]:
        """Rank, probability and logit of the first token of `text`, as the one after position `at`."""
        request = session.request
        run = self.runs(request)
        position = checks.whole("position", at, run.start, len(run.ids) - 1)
        token, *more = checks.tokens(text, run.model.tokenizer, ASKED_CHARACTERS)
        logits = run.trace.logits[position - run.start]
        return {
            "text": view.text_id(request),
            "at": position,
            "label": run.model.tokenizer.label(token),
            "more": bool(more),
            "rank": rank(logits, token),
            "probability": float(logits.softmax(-1)[token]),
            "logit": float(logits[token]),
        }

    def stages(self, session: Session, at: Any, *how: Any) -> dict[str, Any]:
        """How the controls as they stand now would choose the token after position `at`: no pass, the run is kept."""
        request = session.request
        run = self.runs(request)
        position = checks.whole("position", at, run.start, len(run.ids) - 1)
        choice = self.choice(request.model, *how)
        return {"text": view.text_id(request), "at": position, "staged": view.staged(run, position, choice)}

    def restore(self, query: Mapping[str, str], start: Request) -> tuple[Request, Choice, int]:
        """The request, the choice and the position a URL asks for; what it leaves out is as on the first page."""
        model = self.models.get(query.get("model", start.model))
        words = [word for word in query.get("off", "").split(",") if word]
        ablation = self.switches(words, model)
        sampling = GREEDY
        if "temperature" in query:
            numbers = [checks.written(name, query.get(name)) for name in ("temperature", "top_k", "top_p")]
            sampling = checks.sampling(*numbers, model.config.vocab_size)
        choice = Choice(sampling, checks.seed(checks.written("seed", query.get("seed", "0"))))
        same = not query.keys() & {"prompt", "n", "kept", "made"}
        count = checks.written("n", query.get("n", str(len(start.made) if same else 0)))
        count = checks.whole("n", count, 0, self.limits.new_tokens)
        prompt, kept = checks.text(query.get("prompt", start.prompt)), checks.written("kept", query.get("kept"))
        fixed = checks.ids(query.get("made", ""), model.config.vocab_size, self.limits.new_tokens)
        if kept is not None:
            least, most = 0 if fixed else 1, len(prompt_ids(model, prompt, self.limits)) - 1  # a text has a token
            kept = checks.whole("kept", kept, least, max(least, most))
        request = Request(model.name, prompt, fixed, kept=kept, fixed=len(fixed))
        request = self.write(request, choice, max(0, count - len(fixed)))
        run = self.runs(request)
        at = checks.written("at", query.get("at", str(max(0, run.n_prompt - 1))))
        return replace(request, ablation=ablation), choice, checks.index("at", at, len(run.ids))


def shape(model: Model, ablation: Ablation) -> dict[str, Any]:
    """What the switches show."""
    config = model.config
    return {"layers": config.n_layers, "heads": config.n_heads, "off": ablation.words(), "what_ifs": list(WHAT_IFS)}
