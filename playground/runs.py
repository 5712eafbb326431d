"""Ask the model once, look many times: a request and the run that answers it."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TypeVar

import torch

from playground.errors import MemoryLimit, NotFinite, PromptEmpty, PromptTooLong
from playground.gpt.ablation import NOTHING_OFF, Ablation
from playground.gpt.extend import extend
from playground.gpt.sampling import Sampling, choose, stages
from playground.gpt.tokenizer import repair
from playground.gpt.trace import Trace
from playground.limits import DEFAULTS, Limits
from playground.models import Model, megabytes

GROWS_FROM = 100_000_000  # bytes of weights, more than a cache holds: there one token is read far sooner than the text
AT_A_LOOK = 5  # runs that one look may need: two texts with and without switches, and the first as it grew
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that decides a run. Small and hashable: this, not tensors, travels through the page."""

    model: str
    prompt: str
    made: tuple[int, ...] = ()  # tokens written after the prompt
    ablation: Ablation = NOTHING_OFF
    kept: int | None = None  # of the prompt's tokens only the first so many: the text left it there
    fixed: int = field(default=0, compare=False)  # of `made`, so many are not what writing it again would give
    turn: int = field(default=0, compare=False)  # how often its visitor has begun anew: Run, another token, model
    repaired: int = field(default=0, compare=False)  # so many lone surrogates of the prompt have become U+FFFD

    def __post_init__(self) -> None:
        """No lone surrogate goes further: neither JSON on its way to a browser nor a file takes one."""
        if (sound := repair(self.prompt)) != self.prompt:
            count = sound.count("\ufffd") - self.prompt.count("\ufffd")
            object.__setattr__(self, "repaired", count)
            object.__setattr__(self, "prompt", sound)

    @property
    def baseline(self) -> "Request":
        """The same text read with nothing switched off."""
        return replace(self, ablation=NOTHING_OFF)

    @property
    def plain(self) -> "Request":
        """This request without a switch that changes nothing, so that requests alike share one run."""
        return self.baseline if self.ablation.changes_nothing else self


@dataclass(frozen=True, slots=True)
class Run:
    """One text read by one model. Positions count the whole text; the trace holds those from `start` on."""

    model: Model
    ids: tuple[int, ...]  # the whole text
    n_prompt: int  # of them from the prompt, the rest made
    start: int  # tokens before this one no longer fit the context and were not seen
    trace: Trace  # of that one text: no B axis
    grown: bool = False  # not read at once: new tokens were read behind those that were known

    @property
    def labels(self) -> list[str]:
        """One per token of the trace, as shown on axes."""
        return [self.model.tokenizer.label(token) for token in self.ids[self.start :]]


def prompt_ids(model: Model, prompt: str, limits: Limits, kept: int | None = None) -> tuple[int, ...]:
    """Tokens of a prompt, or the first `kept` of them. Raises: PromptEmpty, PromptTooLong (in characters)"""
    if not prompt:
        raise PromptEmpty()
    if len(prompt) > limits.prompt_characters:
        raise PromptTooLong(characters=len(prompt), limit=limits.prompt_characters)
    return tuple(model.tokenizer.encode(prompt)[:kept])


class Runs:
    """Answers requests, keeping the newest runs up to so many bytes of tensors."""

    def __init__(self, model: Callable[[str], Model], limits: Limits = DEFAULTS) -> None:
        self.model, self.limits = model, limits
        self._kept: OrderedDict[tuple[Request, bool], tuple[Run, int]] = OrderedDict()  # (its request, has it grown)
        self._lock = Lock()  # one traced pass at a time: two would only share the same cores

    def __call__(self, request: Request, at_once: bool = False) -> Run:
        """The run that answers `request`, read now or kept; a large model's text read `at_once`, or as it grew.

        Both give the same numbers but for rounding. Where something is off all is read at once, and so is what it is
        compared with: what the switches cannot reach then differs by exactly 0. A text that grew is kept beside it, so
        that with all switched on again its numbers are those of before, bit for bit. Raises: InputError, ModelError
        """
        model, request = self.model(request.model), request.plain
        at_once = at_once or not request.ablation.changes_nothing
        with self._lock:
            key = self._found(model, request, at_once)
            if key is None:
                grows = not at_once and model.config.weight_bytes >= GROWS_FROM
                begun = self._longer(model, request) if grows else None
                run = begun or read(model, request, self.limits)
                key = request, run.grown
                self._kept[key] = run, run.trace.n_bytes()
            self._kept.move_to_end(key)
            while self._too_many(model):
                self._kept.popitem(last=False)
            return self._kept[key][0]

    def baseline(self, request: Request) -> Run:
        """What `request` is compared with: the same text with nothing off, read at once as a run with switches is."""
        return self(request.baseline, at_once=True)

    def _found(self, model: Model, request: Request, at_once: bool) -> tuple[Request, bool] | None:
        """Where the answer is kept: the one that grew first, for it may be what its visitor has seen so far."""
        for key in ((request, True), (request, False)):
            grown, kept = key[1], self._kept.get(key)
            if kept and kept[0].model is model and not (at_once and grown):
                return key
        return None

    def _longer(self, model: Model, request: Request) -> Run | None:
        """The run that goes on from the longest kept one that `request` begins with, where there is such a one."""
        begun = [
            run
            for (old, _), (run, _) in self._kept.items()
            if run.model is model
            and request.made[: len(old.made)] == old.made
            and replace(request, made=old.made) == old
        ]
        return longer(max(begun, key=lambda run: len(run.ids)), request, self.limits) if begun else None

    def _too_many(self, model: Model) -> bool:
        """Many small runs of many visitors would fill what a few large ones of one visitor may take."""
        traces = sum(size for _, size in self._kept.values())
        spare = len(self._kept) > AT_A_LOOK and traces > self.limits.spare_run_bytes
        return spare or (len(self._kept) > 1 and self._bytes(model) > self.limits.kept_run_bytes)

    def _bytes(self, model: Model) -> int:
        """What is kept alive here: traces, and the models they come from other than the one in use."""
        others = {run.model.name: run.model.config.weight_bytes for run, _ in self._kept.values()}
        others.pop(model.name, None)
        return sum(size for _, size in self._kept.values()) + sum(others.values())

    def in_turn(self, work: Iterator[Item]) -> Iterator[Item]:
        """Long work piece by piece: between two pieces others have their passes, and it may be dropped."""
        while True:
            with self._lock:
                piece = next(work, None)
            if piece is None:
                return
            yield piece


def read(model: Model, request: Request, limits: Limits) -> Run:
    """One traced forward pass over the text, or over its last `context_length` tokens. Raises: InputError"""
    prompt = prompt_ids(model, request.prompt, limits, request.kept)
    ids = prompt + request.made
    start = max(0, len(ids) - model.config.context_length)
    must_fit(model, len(ids) - start, limits)
    with torch.inference_mode():
        trace = model.gpt.trace(torch.tensor([ids[start:]]), request.ablation).row(0)
    return answer(model, ids, len(prompt), start, trace)


def longer(run: Run, request: Request, limits: Limits) -> Run | None:
    """`run` with what `request` has made since: only that is read.

    But for rounding its numbers are those of the whole read anew. None past the context, where every token has a new
    position. Raises: InputError
    """
    model, new = run.model, request.made[len(run.ids) - run.n_prompt :]
    ids = run.ids + new
    if len(ids) > model.config.context_length:
        return None
    must_fit(model, len(ids), limits)
    with torch.inference_mode():
        trace = extend(model.gpt, run.trace, new)
    return replace(answer(model, ids, run.n_prompt, 0, trace), grown=True)


def must_fit(model: Model, tokens: int, limits: Limits) -> None:
    """Raises: MemoryLimit when the trace of so many tokens would be too large"""
    size, most = model.config.trace_bytes(tokens), limits.run_bytes
    if size > most:
        fits = max(t for t in range(tokens) if model.config.trace_bytes(t) <= most)
        raise MemoryLimit(tokens=tokens, limit=fits, need=megabytes(size), have=megabytes(most))


def answer(model: Model, ids: tuple[int, ...], n_prompt: int, start: int, trace: Trace) -> Run:
    """Raises: NotFinite"""
    if not trace.logits.isfinite().all():
        raise NotFinite()
    return Run(model, ids, n_prompt, start, trace)


def next_token(run: Run, sampling: Sampling, seed: int) -> int:
    """The token to write after a run's text: from the logits already traced, so without a forward pass."""
    return choose(stages(run.trace.logits[-1], sampling), sampling, seed, len(run.ids))
