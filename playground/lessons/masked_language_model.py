"""GPT and BERT: the same network under two masks and two losses.

GPT predicts each token from those before it; BERT hides some tokens and predicts them from both sides. Our small BERT
is a GPTModel whose attention has no causal mask and whose vocabulary has one word more, [MASK]. It grew out of a GPT
and kept one habit: it answers for a token at the place before it, where a GPT predicts it; BERT answers at the blank
itself. So every text is read after the token that ends texts, and row t of the logits is about token t of the text.

Axes as in playground.gpt.trace.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from playground.errors import NothingToFill, OutOfRange, TextEmpty, TextTooLong
from playground.gpt import packed
from playground.gpt.ablation import NOTHING_OFF, Ablation
from playground.gpt.config import PRESETS
from playground.gpt.model import GPTModel

from .bundled import storyteller, words
from .lesson import Experiment, Lesson, Number, Text

MASK = PRESETS["storyteller"].vocab_size  # one id more than storyteller knows
START = PRESETS["storyteller"].end_of_text or 0  # read before every text, by both models
BLANK = "[MASK]"  # as people write it; "___" says the same
CONFIG = replace(PRESETS["storyteller"], vocab_size=MASK + 1, context_length=128, n_layers=4)
LONGEST = CONFIG.context_length - 1  # START takes a place
FOLDER = Path(__file__).parents[2] / "assets" / "lessons" / "masked"
BOTH_SIDES = Ablation(causal_mask=True)  # our attention without the mask
MOST_BLANKS = 3  # shown at once


@dataclass(frozen=True, slots=True)
class Filled:
    """What two models would write into one blank: a probability for every token. Shapes: (V,) each"""

    position: int
    left: tuple[int, ...]  # what GPT has read: the tokens before the blank, earlier blanks filled
    both_sides: Tensor  # the masked language model
    left_only: Tensor  # GPT, which has read nothing after the blank


@cache
def masked_model() -> GPTModel:
    """Our trained masked language model. Raises: ModelError"""
    return packed.load(GPTModel(CONFIG), FOLDER / "model.safetensors")


def label(token: int) -> str:
    """The token as shown everywhere, and [MASK]."""
    return BLANK if token == MASK else words().label(token)


def with_blanks(text: str) -> list[int]:
    """Token ids of a text in which [MASK] or ___ stands for one unknown token.

    The space before a blank belongs to the token that is missing, so it is left out.
    Raises: TextEmpty, TextTooLong
    """
    parts = text.replace("___", BLANK).split(BLANK)
    ids = words().encode(parts[0].rstrip(" ") if len(parts) > 1 else parts[0])
    for i, part in enumerate(parts[1:], 1):
        last = i == len(parts) - 1
        ids += [MASK, *words().encode(part if last else part.rstrip(" "))]
    return _not_too_long(ids)


def without_blanks(text: str) -> list[int]:
    """Token ids, a blank read as the characters it is written with. Raises: TextEmpty, TextTooLong"""
    return _not_too_long(words().encode(text))


def _not_too_long(ids: list[int]) -> list[int]:
    if not ids:
        raise TextEmpty()
    if len(ids) > LONGEST:
        raise TextTooLong(tokens=len(ids), limit=LONGEST)
    return ids


@torch.inference_mode()
def fill(masked: GPTModel, gpt: GPTModel, ids: Sequence[int]) -> list[Filled]:
    """Both models' answers for every blank; GPT has no MASK and reads earlier blanks as the likeliest fill.

    Raises: NothingToFill without a blank
    """
    blanks = [i for i, token in enumerate(ids) if token == MASK]
    if not blanks:
        raise NothingToFill()
    probabilities = _both_sides(masked, torch.tensor([ids]))[0].softmax(-1)  # (T, V)
    left, filled = list(ids), []
    for at in blanks:
        from_left = gpt(torch.tensor([[START, *left[:at]]]))[0, -1].softmax(-1)  # (V,)
        filled.append(Filled(at, tuple(left[:at]), probabilities[at], from_left))
        left[at] = int(probabilities[at].argmax())
    return filled


def _both_sides(masked: GPTModel, rows: Tensor) -> Tensor:
    """Scores for every token of each row, seen from both sides; never for MASK itself. Shapes: (B, T) -> (B, T, V)"""
    logits: Tensor = masked(F.pad(rows, (1, 0), value=START), BOTH_SIDES)  # (B, 1 + T, V + 1)
    return logits[:, :-1, :MASK]


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
    moved: Tensor = (after - before).abs().amax(-1)
    return moved


# The experiments.


@dataclass(frozen=True, slots=True)
class Blanks:
    """A sentence with blanks, filled by both models, and filled again without what stands after the first blank."""

    filled: tuple[Filled, ...]
    cut: Filled  # the first blank, when the text ends after it


def same(one: Tensor, other: Tensor) -> bool:
    """Whether two answers are the same but for rounding: no probability differs by a thousandth."""
    return float((one - other).abs().max()) < 1e-3


def blanks(text: str) -> Blanks:
    """Raises: TextEmpty, TextTooLong, NothingToFill"""
    ids = with_blanks(text)
    filled = fill(masked_model(), storyteller(), ids)
    cut = fill(masked_model(), storyteller(), ids[: filled[0].position + 1])
    return Blanks(tuple(filled[:MOST_BLANKS]), cut[0])


@dataclass(frozen=True, slots=True)
class Losses:
    """Both losses of one text, token by token. Shapes: (T,). Units: nats"""

    labels: tuple[str, ...]
    gpt: Tensor
    bert: Tensor  # each token hidden alone


def losses(text: str) -> Losses:
    """Raises: TextEmpty, TextTooLong"""
    ids = without_blanks(text)
    return Losses(tuple(map(label, ids)), next_token_losses(storyteller(), ids), masked_losses(masked_model(), ids))


@dataclass(frozen=True, slots=True)
class Change:
    """One token exchanged: how far every output moves under the causal mask and without it. Shapes: (T,)"""

    labels: tuple[str, ...]
    position: int
    causal: Tensor
    both_sides: Tensor
    mask: Tensor  # (T, T)


def change(text: str, word: str, position: int) -> Change:
    """Put the first token of `word` at a position, or at the last one there is. Raises: TextEmpty, TextTooLong"""
    ids = without_blanks(text)
    position, token = min(position, len(ids) - 1), without_blanks(word)[0]
    masked, unmasked = (moved_by(storyteller(), ids, position, token, causal) for causal in (True, False))
    return Change(tuple(map(label, ids)), position, masked, unmasked, causal_mask(len(ids)))


SENTENCE = "Once upon a time, there was a little girl named Lily. She loved to play in the park."
LESSON = Lesson(
    "masks",
    (
        Experiment("blank", (Text("text", "Lily was very ___ because she lost her doll.", 200),), blanks),
        Experiment("losses", (Text("text", SENTENCE, 160),), losses),
        Experiment(
            "later",
            (
                Text("text", "The cat sat on the mat.", 120),
                Text("word", " dog", 12),
                Number("position", 4, 0, 40, 1),
            ),
            change,
        ),
    ),
)
