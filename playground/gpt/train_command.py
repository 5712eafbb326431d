"""`python -m playground.gpt.train`: train a model on texts, watch it learn, stop and go on at will."""

import argparse
import hashlib
import json
import lzma
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn, cast

import torch
from safetensors import SafetensorError

from playground.errors import PlaygroundError

from .checkpoints import replace_file, save
from .config import GPTConfig
from .data import Rows, read_texts, rows
from .model import GPTModel
from .progress import ProgressLine
from .tokenizer import Tokenizer, tokenizer
from .train import Recipe, held_out_loss, initialise, optimizer_for, train
from .training_state import load_state, read_notes, save_state

STATE, LOG = "training.safetensors", "training.json"  # the first exists while a training is unfinished
STOPPED = 130  # exit status, as a shell reports an interrupted command


class RefusedError(Exception):
    """Why a training cannot start, or go on, as one sentence for the terminal."""


@dataclass
class Training:
    """Everything one run of the command holds."""

    out: Path
    model: GPTModel
    recipe: Recipe
    rows: Rows
    last_rows: Rows | None
    held_out: list[list[int]]
    optimizer: torch.optim.Optimizer
    identity: dict[str, Any]  # what must not change when a training is resumed
    start: int = 0
    curve: list[dict[str, float]] = field(default_factory=list)
    losses: list[float] = field(default_factory=lambda: [0.0, 0.0])  # their sum and count since the curve's last entry

    def save(self, step: int) -> None:
        """State first: should the process die in between, the model is older, never lost.

        Raises: RefusedError when there is no room; what was saved before is still there
        """
        notes = {"identity": self.identity, "step": step, "curve": self.curve, "losses": self.losses}
        log = json.dumps({**self.identity, "step": step, "curve": self.curve}, indent=1) + "\n"
        try:
            save_state(self.out / STATE, self.model, self.optimizer, notes)
            save(self.model, self.out, torch.float16)
            replace_file(self.out / LOG, lambda path: path.write_text(log, "utf-8"))
        except (OSError, SafetensorError) as error:
            raise RefusedError(
                f"step {step} cannot be written to {self.out} ({reason(error)}). What was saved before is still "
                "there: make room, then --resume goes on from it."
            ) from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 done, 130 stopped by a signal with everything saved, 2 refused."""
    args = _parser().parse_args(arguments)
    try:
        return _train(_prepare(args), args)
    except (RefusedError, PlaygroundError) as error:
        return refuse(error)


def _train(training: Training, args: argparse.Namespace) -> int:
    fast = cast(GPTModel, torch.compile(training.model, dynamic=False)) if args.compile else training.model
    if args.device == "cuda":
        torch.set_float32_matmul_precision("high")
    with _signals() as asked_to_stop:
        step = _run(training, fast, args, asked_to_stop)
    if step < training.recipe.steps:
        sys.stderr.write(f"Stopped after step {step}, all saved. The same command with --resume goes on.\n")
        return STOPPED
    (training.out / STATE).unlink()
    return 0


def _run(training: Training, fast: GPTModel, args: argparse.Namespace, asked_to_stop: list[int]) -> int:
    """Train to the end or until asked to stop; returns the last step done."""
    recipe, step = training.recipe, training.start
    line = ProgressLine(sys.stderr, training.start, recipe.steps, recipe.batch * training.model.config.context_length)
    losses = torch.tensor(training.losses, device=args.device)
    steps = train(
        fast,
        training.rows,
        recipe,
        training.optimizer,
        training.start,
        training.last_rows,
        _bfloat16(args.precision, args.device),
    )
    for done in steps:
        step, last = done.step, done.step == recipe.steps
        losses += torch.stack([done.loss, torch.ones_like(done.loss)])
        if step % args.evaluate_every == 0 or last:
            held_out, mean = held_out_loss(training.model, training.held_out), float(losses[0] / losses[1])
            training.curve.append({"step": step, "loss": round(mean, 4), "held_out": round(held_out, 4)})
            losses.zero_()
            line.note(step, mean, held_out)
        line.show(step, done.loss)
        if step % args.save_every == 0 or last or asked_to_stop:
            training.losses = losses.tolist()
            training.save(step)
        if asked_to_stop:
            break
    line.close()
    return step


def _prepare(args: argparse.Namespace) -> Training:
    words = tokenizer(args.vocabulary)
    config, recipe = _config(args, words), _recipe(args)
    if args.device == "cuda" and not torch.cuda.is_available():
        raise RefusedError("there is no CUDA device here; use --device cpu.")
    all_rows, held_out = _read(args.texts, args)
    last_rows, last_held_out = _read(args.last_texts, args) if args.last_texts else (None, held_out)
    identity = {"config": asdict(config), "recipe": asdict(recipe), "texts": _fingerprint(all_rows, last_rows)}
    _check_folder(args.out, args.resume, identity)

    model = initialise(GPTModel(config), recipe.seed).to(args.device)
    training = Training(
        out=args.out,
        model=model,
        recipe=recipe,
        rows=all_rows.to(args.device),
        last_rows=last_rows.to(args.device) if last_rows else None,
        held_out=last_held_out,
        optimizer=optimizer_for(model, recipe),
        identity=identity,
    )
    if args.resume:
        notes = read_notes(args.out / STATE)
        load_state(args.out / STATE, model, training.optimizer)
        training.start, training.curve, training.losses = notes["step"], notes["curve"], notes["losses"]
    try:
        args.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RefusedError(f"{args.out} cannot be made ({reason(error)}).") from error
    return training


def _config(args: argparse.Namespace, words: Tokenizer) -> GPTConfig:
    return GPTConfig(
        vocab_size=words.vocab_size,
        context_length=args.context,
        emb_dim=args.width,
        n_heads=args.heads,
        n_layers=args.layers,
        emb_drop=args.dropout,
        attn_drop=args.dropout,
        resid_drop=args.dropout,
        end_of_text=words.end_of_text,
    )


def _recipe(args: argparse.Namespace) -> Recipe:
    return Recipe(
        steps=args.steps,
        batch=args.batch,
        learning_rate=args.learning_rate,
        warmup=args.warmup,
        weight_decay=args.weight_decay,
        repeats=args.repeats,
        last_rows_from=args.last_from,
        seed=args.seed,
    )


def _read(paths: list[Path], args: argparse.Namespace) -> tuple[Rows, list[list[int]]]:
    """Rows to train on and held-out documents as tokens."""
    words = tokenizer(args.vocabulary)
    texts, held_out = read_or_refuse(paths)
    held_out_ids = [words.encode(text) for text in held_out]
    if not texts or not any(len(ids) > 1 for ids in held_out_ids):
        raise RefusedError("the texts must hold at least two documents: every 50th, the first included, is held out.")
    return rows(texts, words, args.context), held_out_ids


def read_or_refuse(paths: list[Path]) -> tuple[list[str], list[str]]:
    """The documents for training and those held out. Raises: RefusedError, naming the file"""
    texts: list[str] = []
    held_out: list[str] = []
    for path in paths:
        try:
            more, more_held_out = read_texts(path)
        except OSError as error:
            raise RefusedError(f"cannot read {path}: {reason(error)}.") from error
        except (lzma.LZMAError, UnicodeDecodeError) as error:
            raise RefusedError(f"{path} is no text in UTF-8, plain or packed by xz.") from error
        texts, held_out = texts + more, held_out + more_held_out
    return texts, held_out


def _check_folder(out: Path, resume: bool, identity: dict[str, Any]) -> None:
    if not resume:
        if (out / STATE).exists():
            raise RefusedError(f"{out} holds an unfinished training; go on with --resume, or remove {STATE} there.")
        if (out / "model.safetensors").exists():
            raise RefusedError(f"{out} holds a model already; choose another folder.")
        return
    try:
        before = read_notes(out / STATE)["identity"]
    except (OSError, SafetensorError, KeyError, TypeError) as error:
        raise RefusedError(f"{out} holds no unfinished training that could be resumed.") from error
    for part in ("config", "recipe"):
        for name, value in identity[part].items():
            if before[part].get(name) != value:
                raise RefusedError(
                    f"--resume needs the same settings: {name} was {before[part].get(name)}, is {value}."
                )
    if before["texts"] != identity["texts"]:
        raise RefusedError("--resume needs the same texts, in the same order.")


def _fingerprint(*sets: Rows | None) -> list[str]:
    return [hashlib.sha256(one.tokens.numpy().tobytes()).hexdigest() for one in sets if one is not None]


def _bfloat16(precision: str, device: str) -> bool:
    """Whether to compute in bfloat16: with `auto` only where the hardware multiplies such matrices."""
    if precision != "auto":
        return precision == "bf16"
    able = torch.cpu.get_capabilities()
    return device == "cuda" or bool(able.get("amx_bf16") or able.get("avx512_bf16"))


@contextmanager
def _signals() -> Iterator[list[int]]:
    """A list that the first SIGINT or SIGTERM is put into; a second one acts as it would without us."""
    received: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def receive(number: int, _frame: object) -> None:
        received.append(number)
        restore()

    for number in before:
        signal.signal(number, receive)
    try:
        yield received
    finally:
        restore()


def reason(error: Exception) -> str:
    """What the system says, without the path."""
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)


def refuse(error: Exception) -> int:
    """Say why, in one sentence; the exit status of a command that did nothing."""
    values = error.values.items() if isinstance(error, PlaygroundError) else ()
    told = (
        f"{type(error).__name__}: {', '.join(f'{name} {value}' for name, value in values)}." if values else str(error)
    )
    sys.stderr.write(f"Refused: {told}\n")
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m playground.gpt.train",
        description="Train a GPT on texts. The defaults are the bundled storyteller's.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--texts", nargs="+", type=Path, required=True, metavar="FILE", help=".txt or .txt.xz, see data.py")
    add("--last-texts", nargs="+", type=Path, metavar="FILE", help="read alone towards the end, and judged on")
    add("--last-from", type=share, default=0.75, metavar="SHARE", help="share of the steps after which that begins")
    add("--vocabulary", choices=["storyteller", "gpt2"], default="storyteller", help="the tokenizer")
    add("--out", type=Path, required=True, metavar="FOLDER", help="where the model and its loss curve go")
    add("--resume", action="store_true", help="go on with the unfinished training in FOLDER")
    for name, default in {"layers": 6, "width": 192, "heads": 6, "context": 256}.items():
        add(f"--{name}", type=count, default=default, metavar="N", help="size of the model")
    add("--dropout", type=share, default=0.1, metavar="SHARE", help="of embeddings, attention and sublayers")
    add("--steps", type=count, default=13_955, metavar="N", help="batches to learn from")
    add("--batch", type=count, default=64, metavar="N", help="rows of a batch")
    add("--learning-rate", type=rate, default=3e-3, metavar="RATE", help="at its highest")
    add("--warmup", type=whole, default=200, metavar="N", help="steps until then")
    add("--weight-decay", type=rate, default=0.3, metavar="RATE", help="pull of the matrices towards 0")
    add("--repeats", type=share, default=0.05, metavar="SHARE", help="rows that repeat a shuffled passage")
    add("--seed", type=whole, default=0, metavar="N", help="decides weights, order and dropout")
    add("--device", choices=["cpu", "cuda"], default="cpu", help="where to compute")
    add("--precision", choices=["auto", "bf16", "float32"], default="auto", help="of matrix products")
    add("--compile", action="store_true", help="let torch.compile fuse the steps: needs a C++ compiler")
    add("--evaluate-every", type=count, default=1000, metavar="N", help="steps between held-out losses")
    add("--save-every", type=count, default=500, metavar="N", help="steps between saves")
    return parser


def count(text: str) -> int:
    value = int(text)
    return value if value >= 1 else _wrong(f"{value} is below 1")


def whole(text: str) -> int:
    value = int(text)
    return value if 0 <= value < 2**63 else _wrong(f"{value} is not between 0 and 2^63 - 1")


def share(text: str) -> float:
    value = float(text)
    return value if 0 <= value <= 1 else _wrong(f"{value} is not between 0 and 1")


def rate(text: str) -> float:
    value = float(text)
    return value if 0 <= value < float("inf") else _wrong(f"{value} is not a number from 0 up")


def _wrong(sentence: str) -> NoReturn:
    raise argparse.ArgumentTypeError(sentence)
