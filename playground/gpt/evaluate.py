"""`python -m playground.gpt.evaluate FOLDER --texts FILE ...`: a model's loss on the documents never trained on."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from playground.errors import PlaygroundError

from .checkpoints import load
from .tokenizer import tokenizer_for
from .train import held_out_loss
from .train_command import RefusedError, read_or_refuse, refuse


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m playground.gpt.evaluate", description=__doc__)
    parser.add_argument("folder", type=Path, help="a model: config.json and model.safetensors")
    parser.add_argument("--texts", nargs="+", type=Path, required=True, metavar="FILE", help=".txt or .txt.xz")
    args = parser.parse_args(arguments)
    try:
        model = load(args.folder)
        words = tokenizer_for(model.config.vocab_size)
        texts = [words.encode(text) for text in read_or_refuse(args.texts)[1]]
        if not any(len(ids) > 1 for ids in texts):
            raise RefusedError("the texts hold no document of two tokens or more to measure the loss on.")
    except (RefusedError, PlaygroundError) as error:
        return refuse(error)
    sys.stdout.write(f"{held_out_loss(model, texts):.4f} nats per token on {len(texts)} held-out documents\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
