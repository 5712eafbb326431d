"""GPT and BERT: the same network under two masks and two losses.

GPT predicts each token from those before it; BERT hides some tokens and predicts them from both sides. Our small BERT
is a GPTModel whose attention has no causal mask and whose vocabulary has one word more, [MASK]. It grew out of a GPT and kept
one habit: it answers for a token at the place before it, where a GPT predicts it; BERT answers at the blank itself. So
every text is read after the token that ends texts, and row t of the logits is about token t of the text.

Axes as in playground.gpt.trace.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from playground.errors import NothingToFill, OutOfRange, PromptEmpty, TextTooLong
from playground.gpt import packed
from playground.gpt.ablation import NOTHING_OFF, Ablation
from playground.gpt.config import PRESETS
from playground.gpt.model import GPTModel
from playground.gpt.tokenizer import Tokenizer, tokenizer

MASK = PRESETS["storyteller"].vocab_size  # one id more than storyteller knows
START = PRESETS["storyteller"].end_of_text or 0  # read before every text, by both models
BLANK = "[MASK]"  # as people write it; "___" says the same
CONFIG = replace(PRESETS["storyteller"], vocab_size=MASK + 1, context_length=128, n_layers=4)
LONGEST = CONFIG.context_length - 1  # START takes a place
FOLDER = Path(__file__).parents[2] / "assets" / "lessons" / "masked"
BOTH_SIDES = Ablation(causal_mask=True)  # our attention without the mask


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token for a blank. Units: probability 0..1"""

    token: int
    probability: float


@dataclass(frozen=True, slots=True)
class Filled:
    """What two models would write into one blank."""

    position: int
    both_sides: tuple[Candidate, ...]  # the masked language model, likeliest first
    left_only: tuple[Candidate, ...]  # GPT, which has read nothing after the blank


@cache
def bundled() -> GPTModel:
    """Our trained masked language model. Raises: ModelError"""
    return packed.load(GPTModel(CONFIG), FOLDER / "model.safetensors")


def with_blanks(text: str, words: Tokenizer) -> list[int]:
    """Token ids of a text in which [MASK] or ___ stands for one unknown token.

    The space before a blank belongs to the token that is missing, so it is left out.
    Raises: PromptEmpty, TextTooLong
    """
    parts = text.replace("___", BLANK).split(BLANK)
    ids = words.encode(parts[0].rstrip(" ") if len(parts) > 1 else parts[0])
    for i, part in enumerate(parts[1:], 1):
        last = i == len(parts) - 1
        ids += [MASK, *words.encode(part if last else part.rstrip(" "))]
    if not ids:
        raise PromptEmpty()
    if len(ids) > LONGEST:
        raise TextTooLong(tokens=len(ids), limit=LONGEST)
    return ids


@torch.inference_mode()
def fill(masked: GPTModel, gpt: GPTModel, ids: Sequence[int], count: int = 8) -> list[Filled]:
    """Both models' candidates for every blank; other blanks further left read as the likeliest fill, for GPT has no MASK.

    Raises: NothingToFill without a blank
    """
    blanks = [i for i, token in enumerate(ids) if token == MASK]
    if not blanks:
        raise NothingToFill()
    probabilities = _both_sides(masked, torch.tensor([ids]))[0].softmax(-1)  # (T, V)
    left, filled = list(ids), []
    for at in blanks:
        from_left = gpt(torch.tensor([[START, *left[:at]]]))[0, -1].softmax(-1)  # (V,)
        filled.append(Filled(at, _best(probabilities[at], count), _best(from_left, count)))
        left[at] = int(probabilities[at].argmax())
    return filled


def _both_sides(masked: GPTModel, rows: Tensor) -> Tensor:
    """Scores for every token of each row, seen from both sides; never for MASK itself. Shapes: (B, T) -> (B, T, V)"""
    return masked(F.pad(rows, (1, 0), value=START), BOTH_SIDES)[:, :-1, :MASK]


def _best(probabilities: Tensor, count: int) -> tuple[Candidate, ...]:
    values, tokens = probabilities.topk(count)
    return tuple(Candidate(t, p) for t, p in zip(tokens.tolist(), values.tolist(), strict=True))


@torch.inference_mode()
def next_token_losses(gpt: GPTModel, ids: Sequence[int]) -> Tensor:
    """GPT's loss: -log P(token | the tokens before it); the first is predicted from the end of another text.

    Shapes: (T,)
    Units: nats
    """
    logits = gpt(torch.tensor([[START, *ids[:-1]]]))[0]  # (T, V)
    return F.cross_entropy(logits, torch.tensor(ids), reduction="none")


@torch.inference_mode()
def masked_losses(masked: GPTModel, ids: Sequence[int], hidden: Sequence[int] | None = None) -> Tensor:
    """BERT's loss at the `hidden` positions, all hidden at once: -log P(token | every token that is not hidden).

    Without `hidden` each token is hidden alone, as many passes as tokens: the fairest against GPT's loss of a sentence,
    though the numbers do not add up to the probability of anything (Salazar et al. 2020 call it a pseudo-likelihood).

    Shapes: (T,), NaN where nothing was hidden
    Units: nats
    Raises: OutOfRange for a position beyond the text
    """
    T, tokens = len(ids), torch.tensor(ids)
    if hidden is None:
        rows = tokens.repeat(T, 1).fill_diagonal_(MASK)  # (T, T): row t hides token t
        logits = _both_sides(masked, rows)[range(T), range(T)]  # (T, V)
        return F.cross_entropy(logits, tokens, reduction="none")
    for position in hidden:
        if not 0 <= position < T:
            raise OutOfRange(name="position", value=position, low=0, high=T - 1)
    chosen = torch.zeros(T, dtype=torch.bool)
    chosen[list(hidden)] = True
    logits = _both_sides(masked, tokens.masked_fill(chosen, MASK)[None])[0]
    losses = F.cross_entropy(logits, tokens, reduction="none")
    return losses.masked_fill(~chosen, torch.nan)


def causal_mask(T: int) -> Tensor:
    """Who may be looked at: row = the token that looks; True from the first token to itself. Shapes: (T, T)"""
    return torch.ones(T, T, dtype=torch.bool).tril()


@torch.inference_mode()
def moved_by(model: GPTModel, ids: Sequence[int], position: int, token: int, causal: bool = True) -> Tensor:
    """How far each position's logits move when `token` is put at `position`: the largest difference.

    Under the causal mask exactly 0 before `position`; without it nothing stands still.

    Shapes: (T,)
    """
    changed = [*ids[:position], token, *ids[position + 1 :]]
    before, after = model(torch.tensor([ids, changed]), NOTHING_OFF if causal else BOTH_SIDES)  # (T, V) each
    return (after - before).abs().amax(-1)


def words() -> Tokenizer:
    """The vocabulary of both models; MASK is no part of it."""
    return tokenizer("storyteller")


def label(token: int) -> str:
    """The token as shown everywhere, and [MASK]."""
    return BLANK if token == MASK else words().label(token)
