"""The proof strip: a badge that says how many identities hold for the run on screen, and the table behind it."""

from typing import Any

from playground.analysis import proofs
from playground.figures.numbers import brief
from playground.runs import Request, Run, Runs

from . import view
from .html import Component
from .session import Session
from .wiring import Wiring

FORMULAS = {
    "rows": "Σⱼ wᵢⱼ = 1",
    "ahead": "wᵢⱼ = 0, j > i",
    "heads": "Σₕ mixedₕ·Wₕ + b = out",
    "middle": "before + attention.out = middle",
    "after": "middle + feed_forward.out = after",
    "normalised": "mean = 0, var = v / (v + ε)",
    "lens": "LN(after)·tableᵀ = logits",
    "cached": "logits(token, K, V) = logits",
    "fused": "sdpa(q, k, v) = softmax(q·kᵀ/√D)·v",
    "attribution": "token + position + Σ heads + Σ bias + Σ ffn + shift = logit",
    "identity": "after[L − 1] = before[0]",
}


def proved(request: Request, run: Run) -> dict[str, Any]:
    """What the badge shows, and of which text: for another one it says nothing."""
    found = proofs.prove(run.model.gpt, run.ids[run.start :], request.ablation, run.trace)
    rows = [
        {
            "name": proof.name,
            "formula": FORMULAS[proof.name],
            "unless": proof.unless,
            "holds": proof.holds,
            "error": brief(proof.error),
            "tolerance": brief(proof.tolerance),
        }
        for proof in found
    ]
    limits = {"rounding": proofs.ROUNDING, "cached": proofs.CACHED, "fused": proofs.FUSED}
    return {"text": view.text_id(request), "tokens": len(run.ids), "rows": rows, "limits": limits}


def wire(wiring: Wiring, runs: Runs, badge: Component) -> None:
    """The badge asks, once a new run has been on screen for a moment, so that no step waits for it."""

    def prove(session: Session) -> dict[str, Any]:
        request = session.request
        return proved(request, runs(request))

    wiring.on([badge.prove], prove, [wiring.session], [badge], asked=False, trigger_mode="always_last")
