"""The public endpoints: what the page shows, as JSON, for gradio_client and anybody else."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import gradio as gr

from playground.analysis import kl_divergence, norm_statistics, residual_difference, stream_norms, top_tokens
from playground.errors import PlaygroundError
from playground.gpt.generate import generate
from playground.models import Model
from playground.runs import Request, Run, prompt_ids
from playground.text import say_error

from . import checks, view
from .answers import Answers

SHOWN = 10


def publish(answers: Answers) -> None:
    """Make the four endpoints public, inside gr.Blocks; each checks every value as the page does."""

    def ask(prompt: Any, model: Any, off: Any) -> tuple[Model, Request]:
        chosen = answers.models.get(model)
        return chosen, Request(chosen.name, checks.text(prompt), (), checks.switches(off, chosen.config))

    def read(prompt: Any, model: Any, off: Any) -> Run:
        return answers.runs(ask(prompt, model, off)[1])

    @refusing
    def generate_text(
        prompt: str,
        model: str = "storyteller",
        off: list[str] | None = None,
        max_new_tokens: float = 20,
        temperature: float = 0,
        top_k: float | None = None,
        top_p: float | None = None,
        seed: float = 0,
    ) -> dict[str, Any]:
        chosen, request = ask(prompt, model, off)
        count = checks.whole("max_new_tokens", max_new_tokens, 1, view.MAX_NEW_TOKENS)
        sampling = checks.sampling(temperature, top_k, top_p, chosen.config.vocab_size)
        ids, label = prompt_ids(chosen, request.prompt), chosen.tokenizer.label
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

    @refusing
    def attention(
        prompt: str, model: str = "storyteller", off: list[str] | None = None, layer: float = 0, head: float = 0
    ) -> dict[str, Any]:
        request = ask(prompt, model, off)[1]
        run = answers.runs(request)
        config, all_seen = run.model.config, request.ablation.causal_mask
        at = checks.index("layer", layer, config.n_layers), checks.index("head", head, config.n_heads)
        weights = run.trace.blocks[at[0]].attention.weights[at[1]].tolist()
        rows = [
            [weight if key <= query or all_seen else None for key, weight in enumerate(row)]
            for query, row in enumerate(weights)
        ]
        return {"labels": run.labels, "weights": rows}

    @refusing
    def layer_norm(prompt: str, model: str = "storyteller", off: list[str] | None = None) -> dict[str, Any]:
        run = read(prompt, model, off)
        norms = [
            {
                "layer": norm.layer,
                "name": norm.name,
                **{
                    stage: {"mean": getattr(norm, stage).mean.tolist(), "std": getattr(norm, stage).std.tolist()}
                    for stage in ("before", "normalised", "after")
                },
            }
            for norm in norm_statistics(run.trace)
        ]
        return {"labels": run.labels, "norms": norms}

    @refusing
    def ablate(prompt: str, model: str = "storyteller", off: list[str] | None = None) -> dict[str, Any]:
        request = ask(prompt, model, off)[1]
        after, before = answers.runs(request), answers.runs(request.baseline)
        return {
            "before": likeliest(before),
            "after": likeliest(after),
            "kl_nats": float(kl_divergence(before.trace.logits[-1], after.trace.logits[-1])),
            "residual_difference": residual_difference(after.trace),
            "stream_norms": stream_norms(after.trace)[:, -1].tolist(),
        }

    for name, fn in {"generate": generate_text, "attention": attention, "layer_norm": layer_norm, "ablate": ablate}.items():
        gr.api(fn, api_name=name, concurrency_limit=4)


def likeliest(run: Run) -> list[dict[str, Any]]:
    """The best next tokens after the whole text."""
    top = top_tokens(run.trace.logits[-1:], SHOWN)
    pairs = zip(top.ids[0].tolist(), top.probabilities[0].tolist(), strict=True)
    return [{"label": run.model.tokenizer.label(token), "probability": probability} for token, probability in pairs]


def refusing(fn: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Turn a refusal into gr.Error with one English sentence; endpoints have no language."""

    @wraps(fn)
    def call(*values: Any) -> dict[str, Any]:
        try:
            return fn(*values)
        except PlaygroundError as error:
            raise gr.Error(say_error("en", error), print_exception=False) from error

    return call
