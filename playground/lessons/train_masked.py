"""`python -m playground.lessons.train_masked --texts FILE --out FOLDER`: train the small masked language model.

It begins as `storyteller` without the two layers that it misses least, and learns [MASK] while the causal mask fades
away. That a GPT can be turned so if it goes on to answer one place early: BehnamGhader et al. 2024 (LLM2Vec). Taken
away at once, the mask took half of what storyteller knew with it.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from playground.gpt import packed
from playground.gpt.ablation import NOTHING_OFF
from playground.gpt.checkpoints import load
from playground.gpt.data import Rows, read_texts, rows
from playground.gpt.model import GPTModel, MultiHeadAttention, TransformerBlock
from playground.gpt.tokenizer import tokenizer

from .masked_language_model import CONFIG, MASK, START

STORYTELLER = Path(__file__).parents[2] / "assets" / "models" / "storyteller"
# Without layers 1 and 3 storyteller's loss on stories rises least of all pairs, from 1.81 to 2.26 nats.
KEPT = (0, 2, 4, 5)


def from_storyteller() -> GPTModel:
    """The layers kept, the tables cut to size, and [MASK] as the mean of all tokens."""
    old, model = load(STORYTELLER), GPTModel(CONFIG)
    with torch.no_grad():
        model.token_embedding.weight[:MASK] = old.token_embedding.weight
        model.token_embedding.weight[MASK] = old.token_embedding.weight.mean(0)
        model.position_embedding.weight.copy_(old.position_embedding.weight[: CONFIG.context_length])
    for new, kept in enumerate(KEPT):
        model.blocks[new].load_state_dict(old.blocks[kept].state_dict())
    model.final_norm.load_state_dict(old.final_norm.state_dict())
    return model


def begun(folder: Path | None) -> GPTModel:
    """Where training begins: at `storyteller`, or at what an earlier training left in a folder. Raises: ModelError"""
    if folder is None:
        return from_storyteller()
    return packed.load(GPTModel(CONFIG), folder / "model.safetensors").requires_grad_(True).train()


def ahead(T: int, bias: float) -> Tensor:
    """What is added to the scores of tokens further right: 0 is no mask at all, minus infinity the causal one.

    Shapes: (T, T)
    """
    return torch.full((T, T), bias).triu(1)


def loss_of(model: GPTModel, ids: Tensor, hidden: Tensor, bias: float = 0.0) -> Tensor:
    """Mean loss of the hidden tokens; the rest is never scored, so the head need not read it.

    Shapes: ids and hidden (B, T) -> ()
    Units: nats per hidden token
    """
    shown = F.pad(ids.masked_fill(hidden, MASK), (1, 0), value=START)  # (B, 1 + T)
    added = ahead(shown.size(1), bias)
    x = model.token_embedding(shown) + model.position_embedding.weight[: shown.size(1)]
    for block in cast(Iterable[TransformerBlock], model.blocks):
        x = x + attended(block.attention, block.norm_1(x, NOTHING_OFF, False)[0], added)
        x = x + block.feed_forward(block.norm_2(x, NOTHING_OFF, False)[0], NOTHING_OFF, False)[0]
    states = model.final_norm(x[:, :-1][hidden], NOTHING_OFF, False)[0]  # (N, C), each from the place before
    return F.cross_entropy(states @ model.token_embedding.weight[:MASK].T, ids[hidden])


def attended(attention: MultiHeadAttention, x: Tensor, added: Tensor) -> Tensor:
    """Our attention with a number added to every score in place of the mask. Shapes: (B, T, C), (T, T) -> (B, T, C)"""
    B, T, C = x.shape
    q, k, v = attention.qkv(x).view(B, T, 3, attention.n_heads, -1).permute(2, 0, 3, 1, 4)
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=added)
    out: Tensor = attention.out(mixed.transpose(1, 2).reshape(B, T, C))
    return out


def fading(step: int, fade: int) -> float:
    """The bias against looking right: the causal mask fades away over the first `fade` steps."""
    return -8.0 * max(0.0, 1 - step / fade) if fade else 0.0


def train(
    model: GPTModel, text: Rows, steps: int, batch: int, peak: float, share: float, fade: int, seed: int
) -> Iterator[float]:
    """Train `model` in place, one loss per step. Units: nats per hidden token"""
    rng = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=peak, betas=(0.9, 0.98), weight_decay=0.01)
    order = torch.randperm(text.starts.numel(), generator=rng)
    for step in range(steps):
        picked = order[torch.arange(step * batch, (step + 1) * batch) % order.numel()]
        ids, _ = text.batch(picked)
        hidden = torch.rand(ids.shape, generator=rng) < share
        for group in optimizer.param_groups:
            group["lr"] = peak * min((step + 1) / 50, 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / steps)))
        loss = loss_of(model, ids, hidden, fading(step, fade))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield float(loss.detach())


@torch.inference_mode()
def held_out_loss(model: GPTModel, text: Rows, share: float, bias: float = 0.0, n_rows: int = 256) -> float:
    """Loss of hidden tokens of texts never trained on, the same tokens for every model. Units: nats per hidden token"""
    rng, total = torch.Generator().manual_seed(1), 0.0
    picked = torch.linspace(0, text.starts.numel() - 1, n_rows).long()
    for group in picked.split(32):
        ids, _ = text.batch(group)
        hidden = torch.rand(ids.shape, generator=rng) < share
        total += float(loss_of(model, ids, hidden, bias)) * len(group) / n_rows
    return total


def main(arguments: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    torch.set_num_threads(1)
    texts, held_out = read_texts(args.texts)
    words = tokenizer("storyteller")
    text, unseen = rows(texts, words, args.length), rows(held_out, words, args.length)
    model, began, curve, sums = begun(args.start), time.process_time(), [], []
    steps = train(model, text, args.steps, args.batch, args.learning_rate, args.share, args.fade, args.seed)
    for step, loss in enumerate(steps, 1):
        sums.append(loss)
        if step % 100 == 0 or step == args.steps:
            unseen_loss = held_out_loss(model, unseen, args.share, fading(step, args.fade))
            curve.append({"step": step, "loss": round(sum(sums) / len(sums), 4), "held_out": round(unseen_loss, 4)})
            sys.stderr.write(f"{curve[-1]}  {time.process_time() - began:.0f} s\n")
            sums = []
            packed.save(model, args.out / "model.safetensors", whole_numbers=True)
    shipped = packed.load(GPTModel(CONFIG), args.out / "model.safetensors")
    results = {
        "command": f"python -m playground.lessons.train_masked --texts {args.texts.name} --out FOLDER"
        f" --steps {args.steps} --batch {args.batch} --length {args.length} --learning-rate {args.learning_rate}"
        f" --share {args.share} --fade {args.fade} --seed {args.seed}" + (" --start FOLDER" if args.start else ""),
        "parameters": CONFIG.n_parameters,
        "cpu_seconds": round(time.process_time() - began),
        "held_out_as_shipped": round(held_out_loss(shipped, unseen, args.share), 4),
        "curve": curve,
    }
    (args.out / "results.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m playground.lessons.train_masked", description=__doc__)
    parser.add_argument("--texts", type=Path, required=True, metavar="FILE", help=".txt or .txt.xz, see gpt/data.py")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where model and results go")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=64, help="tokens of a row")
    parser.add_argument("--learning-rate", type=float, default=6e-4)
    parser.add_argument("--share", type=float, default=0.15, help="of the tokens, to be hidden")
    parser.add_argument("--fade", type=int, default=1000, help="steps over which the causal mask fades away")
    parser.add_argument("--start", type=Path, metavar="FOLDER", help="go on from a model of this command's making")
    parser.add_argument("--seed", type=int, default=0)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
