"""A lesson's training: begun, told of while it runs, stopped and resumed; its models are lent to the whole page."""

import secrets
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playground.errors import NotAChoice, TrainingTooLarge, TrainingTooLong
from playground.gpt.checkpoints import save
from playground.gpt.tokenizer import tokenizer_for
from playground.lessons.lesson import Progress
from playground.limits import Limits
from playground.models import TRAINED, Model, Models
from playground.runs import Runs
from playground.text import say
from playground.ui.session import Session, Training
from playground.ui.take_home import FOLDER

from .view import View

OFTEN = 0.4  # seconds between two reports of progress


def begin(view: View, values: Mapping[str, Any], session: Session, anew: bool, limits: Limits) -> Training:
    """The session's training if it stopped at just these values, else a new one. Raises: InputError"""
    if not view.experiment.trains:
        raise NotAChoice(name="lesson", value=view.experiment.name, choices="those that train")
    check_size(view, values, limits)
    old = session.training
    if old is not None and (old.part, old.values) == (view.experiment.name, values) and not (old.over or anew):
        return old
    return Training(view.experiment.name, values, view.experiment.run(**values), secrets.token_hex(6))


def check_size(view: View, values: Mapping[str, Any], limits: Limits) -> None:
    """Raises: TrainingTooLarge"""
    parameters = view.parameters(**values) if view.parameters else 0
    if parameters > limits.training_parameters:
        raise TrainingTooLarge(parameters=parameters, limit=limits.training_parameters)


def run(training: Training, session: Session, runs: Runs, models: Models) -> Iterator[tuple[Progress, bool]]:
    """How far it is, now and then, and whether it goes on; it stops once the session wants other work.

    Raises: TrainingTooLong when its time is over, for the server is not one visitor's alone
    """
    limit = runs.limits.training_seconds
    session.work = mine = object()
    told = 0.0
    try:
        for last in runs.in_turn(pieces(training, models, limit)):
            take_place(session, training, models)
            if session.work is not mine or training.over:
                break
            if time.monotonic() - told > OFTEN:
                told = time.monotonic()
                yield last, True
    except Exception:
        if session.training is training:  # what broke off cannot go on
            session.training = None
        raise
    if training.over:
        training.work.close()  # and with it goes what only the training needs
    if training.last is not None:
        yield training.last, False
    if training.seconds >= limit and not training.over:
        raise TrainingTooLong(limit=limit)


def take_place(session: Session, training: Training, models: Models) -> None:
    """The session's training is now this one; the models of the last are no longer wanted, but for one in use."""
    old = session.training
    if old is not None and old is not training:
        models.give_back(name for name in old.models.values() if name != session.request.model)
    session.training = training


def pieces(training: Training, models: Models, limit: int) -> Iterator[Progress]:
    """Its work, until its time is over; what others did meanwhile does not count. It goes on where it was left."""
    while training.seconds < limit:
        begun = time.monotonic()
        piece = next(training.work, None)
        training.seconds += time.monotonic() - begun
        if piece is None:
            return
        keep(training, piece, models)
        yield piece


def keep(training: Training, made: Progress, models: Models) -> None:
    """Remember what came last, without the model: that is lent by its name, as long as there is room for it."""
    if made.model is not None:
        name = f"{TRAINED}{training.key}-{made.done}"
        models.lend(Model(name, made.model, tokenizer_for(made.model.config.vocab_size)))
        training.models[made.done] = name
    training.last = Progress(made.done, made.total, made.found)


def borrowed(models: Models, name: Any) -> Model:
    """A visitor's own model, and none of the others. Raises: NotAChoice, ModelForgotten"""
    if not isinstance(name, str) or not name.startswith(TRAINED):
        raise NotAChoice(name="model", value=name, choices=f"{TRAINED}…")
    return models.get(name)


def write_zip(folder: Path, model: Model, lang: str) -> Path:
    """The model in GPT-2 layout, with a word on how to open it: one file, for Gradio deletes no others."""
    path = folder / f"{model.name}.zip"
    with TemporaryDirectory() as temporary, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        save(model.gpt, temporary)
        for file in sorted(Path(temporary).iterdir()):
            packed.write(file, f"{FOLDER}/{file.name}")
        packed.writestr(f"{FOLDER}/README.md", readme(model, lang) + "\n")
    return path


def readme(model: Model, lang: str) -> str:
    config = model.config
    shape = {"layers": config.n_layers, "heads": config.n_heads, "width": config.emb_dim}
    sizes = {"parameters": f"{config.n_parameters:,}", "context": config.context_length, "folder": FOLDER}
    return say(lang, "lesson_grow.readme", name=model.name, **shape, **sizes)
