"""The public endpoints: what the page shows, as JSON, for gradio_client and anybody else."""

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import gradio as gr

from playground import log
from playground.analysis import STAGES, kl_divergence, norm_statistics, residual_difference, stream_norms, top_tokens
from playground.errors import PlaygroundError
from playground.gpt.generate import generate
from playground.models import Model
from playground.runs import Request, Run, prompt_ids
from playground.text import say_error

from . import checks
from .answers import Answers

SHOWN = 10
Json = dict[str, Any]


def publish(answers: Answers) -> None:
    """Make the endpoints public, inside gr.Blocks."""
    endpoints = Endpoints(answers)
    for fn in (endpoints.generate, endpoints.attention, endpoints.layer_norm, endpoints.ablate):
        gr.api(refusing(fn, answers.models.names), api_name=fn.__name__, concurrency_limit=answers.limits.at_once)


class Endpoints:
    """Each checks every value as the page does. Arguments are typed as loosely as JSON is."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def _asked(self, prompt: Any, model: Any, off: Any) -> tuple[Model, Request]:
        chosen = self._answers.models.get(model)
        return chosen, Request(chosen.name, checks.text(prompt), (), self._answers.switches(off, chosen))

    def _read(self, prompt: Any, model: Any, off: Any) -> tuple[Run, Request]:
        request = self._asked(prompt, model, off)[1]
        return self._answers.runs(request), request

    def generate(
        self,
        prompt: str,
        model: str = "storyteller",
        off: list[str] | None = None,
        max_new_tokens: float = 20,
        temperature: float = 0,
        top_k: float | None = None,
        top_p: float | None = None,
        seed: float = 0,
    ) -> Json:
        """Continue a text; temperature 0 is greedy, top_k and top_p None (or 0 and 1) mean no limit."""
        chosen, request = self._asked(prompt, model, off)
        count = checks.whole("max_new_tokens", max_new_tokens, 1, self._answers.limits.new_tokens)
        sampling = checks.sampling(temperature, top_k, top_p, chosen.config.vocab_size)
        ids, label = prompt_ids(chosen, request.prompt, self._answers.limits), chosen.tokenizer.label
        steps = list(generate(chosen.gpt, ids, count, sampling, request.ablation, checks.seed(seed)))
        return {
            "text": chosen.tokenizer.decode([*ids, *(step.token for step in steps)]),
            "prompt_ids": list(ids),
            "tokens": [
                {"id": step.token, "label": label(step.token), "probability": step.probability, "logit": step.logit}
                for step in steps
            ],
            "stopped": steps[-1].stop,
        }

    def attention(
        self, prompt: str, model: str = "storyteller", off: list[str] | None = None, layer: float = 0, head: float = 0
    ) -> Json:
        """The weights of one head, rows looking; null where the future is hidden."""
        run, request = self._read(prompt, model, off)
        config = run.model.config
        at = checks.index("layer", layer, config.n_layers), checks.index("head", head, config.n_heads)
        weights = run.trace.blocks[at[0]].attention.weights[at[1]].tolist()
        shown = [row if request.ablation.causal_mask else row[: query + 1] for query, row in enumerate(weights)]
        return {"labels": run.labels, "weights": [row + [None] * (len(weights) - len(row)) for row in shown]}

    def layer_norm(self, prompt: str, model: str = "storyteller", off: list[str] | None = None) -> Json:
        """Mean and standard deviation of every token before, within and after each of the 2L + 1 LayerNorms."""
        run, _ = self._read(prompt, model, off)
        norms = [
            {"layer": norm.layer, "name": norm.name, **{stage: moments(getattr(norm, stage)) for stage in STAGES}}
            for norm in norm_statistics(run.trace)
        ]
        return {"labels": run.labels, "norms": norms}

    def ablate(self, prompt: str, model: str = "storyteller", off: list[str] | None = None) -> Json:
        """The prediction after the whole text with nothing off and with `off`, and the stream's lengths there."""
        request = self._asked(prompt, model, off)[1]
        after, before = self._answers.runs(request), self._answers.runs.baseline(request)
        return {
            "before": likeliest(before),
            "after": likeliest(after),
            "kl_nats": float(kl_divergence(before.trace.logits[-1], after.trace.logits[-1])),
            "residual_difference": residual_difference(after.trace),
            "stream_norms": stream_norms(after.trace)[:, -1].tolist(),
        }


def moments(found: Any) -> Json:
    return {"mean": found.mean.tolist(), "std": found.std.tolist()}


def likeliest(run: Run) -> list[Json]:
    """The best next tokens after the whole text."""
    top = top_tokens(run.trace.logits[-1:], SHOWN)
    pairs = zip(top.ids[0].tolist(), top.probabilities[0].tolist(), strict=True)
    return [{"label": run.model.tokenizer.label(token), "probability": probability} for token, probability in pairs]


def refusing(fn: Callable[..., Json], models: Sequence[str]) -> Callable[..., Json]:
    """Turn a refusal into gr.Error with one English sentence; endpoints have no language."""
    place = list(inspect.signature(fn).parameters).index("model")

    @wraps(fn)
    def call(*values: Any) -> Json:
        asked = values[place] if len(values) > place else None
        try:
            with log.timed(f"/{fn.__name__}", model=asked if asked in models else None):
                return fn(*values)
        except PlaygroundError as error:
            raise gr.Error(say_error("en", error), print_exception=False) from error

    return call
