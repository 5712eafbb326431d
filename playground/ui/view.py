"""What the player holds of a run: for every position the likeliest next tokens, as plain JSON."""

import hashlib
from collections.abc import Sequence
from typing import Any

from playground.analysis import best_ids, kl_divergence, rank, top_tokens
from playground.gpt.ablation import NOTHING_OFF
from playground.gpt.sampling import Sampling, choose, stages
from playground.limits import Limits
from playground.models import megabytes
from playground.runs import Request, Run
from playground.text import LANGUAGES, say, under

from .session import Choice

SHOWN = 10  # tokens drawn as bars
LOOP = 8  # a text that ends in one token, or one short phrase, said again for so long is going round


def model_label(name: str, lang: str) -> str:
    """How the page calls a model: by its name, which is a word only where it is the untrained one."""
    return say(lang, "page.untrained") if name == "untrained" else name


def text_id(request: Request) -> str:
    """Names everything but the tokens written so far: what makes two views parts of one text.

    The same prompt begun anew is another text, for its tokens may be drawn otherwise.
    """
    named = repr((request.model, request.prompt, request.kept, request.turn, request.ablation.words()))
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def steps(run: Run, base: Run | None, first: int) -> list[dict[str, Any]]:
    """For every position from `first` on (counted in the trace): the top tokens, and which one the text took.

    `base` is the run of the same text with nothing off, when something is: then also what it predicted,
    and the KL divergence from it.
    """
    logits = run.trace.logits[first:]
    top = top_tokens(logits, SHOWN)
    was = top_tokens(base.trace.logits[first:], SHOWN) if base else None
    kl = kl_divergence(base.trace.logits[first:], logits).tolist() if base else None
    label = run.model.tokenizer.label
    rows: list[dict[str, Any]] = []
    for i in range(len(logits)):
        place = run.start + first + i + 1
        row: dict[str, Any] = {"top": _row(top, i, label)}
        if place < len(run.ids):
            chosen = run.ids[place]
            probability = float(logits[i].softmax(-1)[chosen])
            row["chosen"] = [chosen, label(chosen), probability, float(logits[i, chosen]), rank(logits[i], chosen)]
        if was is not None and kl is not None:
            row["was"], row["kl"] = _row(was, i, label), kl[i]
        rows.append(row)
    return rows


def _row(top: Any, i: int, label: Any) -> list[Any]:
    columns = top.ids[i].tolist(), top.probabilities[i].tolist(), top.logits[i].tolist()
    return [[token, label(token), probability, logit] for token, probability, logit in zip(*columns, strict=True)]


def staged(run: Run, position: int, choice: Choice) -> dict[str, Any] | None:
    """The choice after a position of the text, stage by stage; None when greedy, which has no stages.

    For the likeliest tokens, the one that this seed draws and the one that the text took; and how many each stage
    leaves.
    """
    sampling, label, place = choice.sampling, run.model.tokenizer.label, position + 1
    if sampling.temperature == 0:
        return None
    logits = run.trace.logits[position - run.start]
    parts = stages(logits, sampling)
    drawn = choose(parts, sampling, choice.seed, place)
    ids = list(dict.fromkeys([*best_ids(logits[None], SHOWN)[0].tolist(), drawn, *run.ids[place : place + 1]]))
    kept = (parts.softmax, parts.after_top_k, parts.after_top_p)
    columns = [part[ids].tolist() for part in (*kept, logits)]
    return {
        "temperature": sampling.temperature,
        "rows": [[token, label(token), *row, rank(logits, token)] for token, *row in zip(ids, *columns, strict=True)],
        "left": [int((part > 0).sum()) for part in kept],
        "drawn": [drawn, label(drawn)],
    }


def whole(
    request: Request,
    run: Run,
    base: Run | None,
    sampling: Sampling,
    query: dict[str, Any],
    limits: Limits,
    **more: Any,
) -> dict[str, Any]:
    """Everything the player shows of a run.

    `more`: `at` to select a position, `goal` to write so many, `stop` for why no more is written.
    """
    return {**_common(request, run, sampling, query, limits), **_part(run, base, run.start), **more}


def grown(
    request: Request, run: Run, base: Run | None, sampling: Sampling, query: dict[str, Any], limits: Limits, known: int
) -> dict[str, Any]:
    """What is new since `known` tokens were shown; the position before comes again, as it now has a choice."""
    if run.start:  # the window moved, and every row with it
        return whole(request, run, base, sampling, query, limits, at=len(run.ids) - 1)
    return {**_common(request, run, sampling, query, limits), **_part(run, base, known)}


def _common(request: Request, run: Run, sampling: Sampling, query: dict[str, Any], limits: Limits) -> dict[str, Any]:
    return {
        "text": text_id(request),
        "start": run.start,
        "n_prompt": run.n_prompt,
        "vocab_size": run.model.config.vocab_size,
        "greedy": sampling.temperature == 0,
        "stop": stop(run, limits),
        "notices": {lang: notices(lang, request, run, sampling) for lang in LANGUAGES},
        "query": query,
    }


def _part(run: Run, base: Run | None, known: int) -> dict[str, Any]:
    shown = run.ids[run.start :]
    decode = run.model.tokenizer.decode
    groups = [
        [run.start + first, run.start + last, text]
        for first, last in run.model.tokenizer.characters(shown)
        if last > first and run.start + last >= known and "\ufffd" not in (text := decode(shown[first : last + 1]))
    ]
    first = max(0, known - run.start - 1)
    return {
        "from": known,
        "labels": run.labels[known - run.start :],
        "groups": groups,
        "steps": steps(run, base, first),
    }


def stop(run: Run, limits: Limits) -> str | None:
    """Why no further token can be written, as the key of a sentence; None while one can."""
    made = len(run.ids) - run.n_prompt
    if made and run.ids[-1] == run.model.config.end_of_text:
        return "end_of_text"
    if made >= limits.new_tokens:
        return "limit"
    window = min(len(run.ids) + 1, run.model.config.context_length)
    return "memory" if run.model.config.trace_bytes(window) > limits.run_bytes else None


def stop_words(limits: Limits) -> dict[str, dict[str, str]]:
    """The player's sentences with the limits that this server has."""
    named = {"stop_limit": {"limit": limits.new_tokens}, "stop_memory": {"limit": megabytes(limits.run_bytes)}}
    return {
        lang: {key: say(lang, f"player.{key}", **named.get(key, {})) for key in under(lang, "player")}
        for lang in LANGUAGES
    }


def notices(lang: str, request: Request, run: Run, sampling: Sampling) -> list[str]:
    """What a reader should know about this run: nothing is dropped, replaced or repeated in silence."""
    found = []
    if run.start:
        limit = run.model.config.context_length
        found.append(say(lang, "notices.dropped", tokens=len(run.ids), limit=limit, dropped=run.start))
    if request.kept is not None:
        whole = len(run.model.tokenizer.encode(request.prompt))
        found.append(say(lang, "notices.cut", kept=request.kept, whole=whole))
    if request.repaired:
        found.append(say(lang, "notices.repaired", count=request.repaired))
    if request.prompt.endswith(" ") and not request.prompt.isspace():
        found.append(say(lang, "notices.trailing_space"))
    if sampling.temperature == 0 and goes_round(request.made):
        found.append(say(lang, "notices.loops"))
    return found


def goes_round(made: Sequence[int]) -> bool:
    """Whether the last tokens are one phrase of up to LOOP tokens, said at least three times (LOOP tokens or more)."""
    for period in range(1, LOOP + 1):
        length = max(3 * period, LOOP)
        tail = made[-length:]
        if len(tail) == length and all(tail[i] == tail[i - period] for i in range(period, length)):
            return True
    return False


def query(request: Request, choice: Choice) -> dict[str, Any]:
    """The part of the URL that says what was computed; what is as by default is left out."""
    sampling, sampled = choice.sampling, choice.sampling.temperature != 0
    return {
        "model": request.model,
        "prompt": request.prompt,
        "kept": request.kept,
        "made": ".".join(map(str, request.made[: request.fixed])) or None,
        "n": len(request.made),
        "off": ",".join(request.ablation.words()) if request.ablation != NOTHING_OFF else None,
        "temperature": sampling.temperature if sampled else None,
        "top_k": sampling.top_k if sampled else None,
        "top_p": sampling.top_p if sampled else None,
        "seed": choice.seed if sampled else None,
    }
