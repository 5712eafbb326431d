"""Take it home: the run's tensors, the page as one file, and the lines of Python that give the same numbers."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

import gradio as gr
import numpy as np

from playground.errors import FileTooLarge, FileUnwritable, NotAChoice
from playground.limits import Limits
from playground.models import TRAINED, megabytes
from playground.runs import Request, Run

from . import checks
from .components import take_home
from .intake import said
from .session import Session
from .wiring import Look, Wiring

FOLDER = "my-gpt"  # in the file of a model that a visitor trained
SNIPPET = """\
import torch

from playground.gpt.ablation import parse
from playground.models import Models

model = Models({own}).get({name!r})
ids = torch.tensor([{ids}])
off = parse({off}, model.config.n_layers, model.config.n_heads, model.config.context_length)

with torch.inference_mode():
    trace = model.gpt.trace(ids, off)  # every tensor that the page shows

logits = trace.logits[0, __POSITION__]
probabilities = logits.softmax(-1)
for token in logits.argsort(descending=True, stable=True, dim=-1)[:10].tolist():
    print(model.tokenizer.label(token), float(probabilities[token]), float(logits[token]))
"""


def snippet(request: Request, run: Run, own: str = "") -> str:
    """Python that prints the bars of the page; `__POSITION__` stands for the selected token's row in the trace.

    `own` names an operator's own model, of which the visitor must know the place, as of one trained here.
    """
    ids = list(run.ids[run.start :])
    trained = request.model.startswith(TRAINED)
    place = '"the folder of this model"' if request.model == own else f'"{FOLDER}"' if trained else ""
    return SNIPPET.format(own=place, name=FOLDER if trained else request.model, ids=ids, off=request.ablation.words())


def tensors(request: Request, run: Run) -> dict[str, Any]:
    """Everything a run holds, by name: each tensor of the trace, the tokens, and what made them as JSON."""
    about = {
        "model": request.model,
        "config": asdict(run.model.config),
        "prompt": request.prompt,
        "off": request.ablation.words(),
        "first_token_seen": run.start,
    }
    named = {name: tensor.numpy() for name, tensor, _ in run.trace.tensors()}
    return {
        "about": np.array(json.dumps(about, ensure_ascii=False)),
        "ids": np.array(run.ids[run.start :]),
        "labels": np.array(run.labels),
        **named,
    }


def file_name(request: Request, ending: str) -> str:
    words = re.sub(r"[^\w]+", "-", request.prompt, flags=re.ASCII).strip("-")[:40] or "run"
    return f"{words}.{ending}"


def check_size(n_bytes: int, limits: Limits) -> None:
    """Refuse a file before it is written. Raises: FileTooLarge"""
    if n_bytes > limits.file_bytes:
        raise FileTooLarge(need=megabytes(n_bytes), have=megabytes(limits.file_bytes))


def write_npz(folder: Path, request: Request, run: Run) -> Path:
    path = folder / file_name(request, "npz")
    np.savez(path, **tensors(request, run))
    return path


@contextmanager
def room() -> Iterator[None]:
    """Raises: FileUnwritable when what is written inside finds none"""
    try:
        yield
    except OSError as error:
        raise FileUnwritable() from error


def build(wiring: Wiring, own: str) -> tuple[Any, Any]:
    """The buttons at the side, and the file that they make."""
    with wiring.worded(gr.Accordion(open=False, elem_id="take-home-section"), "take_home.section"):
        control = take_home()
        file = gr.File(visible="hidden", elem_id="taken", container=False)

    def draw(look: Look) -> dict[str, Any]:
        return {"snippet": snippet(look.request, look.run, own)}

    wiring.show(None, draw, control)
    return control, file


def wire(wiring: Wiring, control: Any, file: Any, report: Callable[..., Path]) -> None:
    """A file made when asked for; the browser fetches it as soon as it is there."""

    def make(event: gr.EventData, session: Session, lang: str, *values: Any) -> str:
        what = said(event, "what")
        if what not in ("npz", "report"):
            raise NotAChoice(name="what", value=what, choices="npz, report")
        if what == "report":
            last = len(wiring.runs(session.request).ids) - 1
            at = checks.whole("position", said(event, "at"), 0, last)
            return str(made(file, lambda folder: report(folder, at, session, lang, *values)))
        run = wiring.runs(session.request, at_once=True)  # as the snippet reads it, to the last digit
        check_size(run.trace.n_bytes(), wiring.runs.limits)
        return str(made(file, lambda folder: write_npz(folder, session.request, run)))

    known = [wiring.session, wiring.lang, *wiring.controls]
    fetched(wiring.on([control.wanted], make, known, [file], trigger_mode="multiple"), file)


def made(file: gr.File, write: Callable[[Path], Path]) -> Path:
    """What `write` makes in a new folder of Gradio's own. Raises: FileUnwritable

    There Gradio serves the file as it stands and deletes it after a while (`delete_cache`); of a file elsewhere it
    would keep a copy, and ours would stay for ever.
    """
    folder = Path(file.GRADIO_CACHE) / uuid4().hex
    with room():
        folder.mkdir(parents=True)
        return write(folder)


def fetched(event: Any, file: gr.File) -> None:
    """The browser fetches the file of an event as soon as it is there."""
    event.then(None, [file], None, js="(file) => { if (file) playground.fetched(file); return []; }")
