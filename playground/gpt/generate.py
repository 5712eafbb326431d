"""Write a text token by token: the fast way used everywhere, and the textbook's way that tests it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from playground.errors import NotFinite, OutOfRange, PromptEmpty

from .ablation import NOTHING_OFF, Ablation
from .cache import KVCache
from .model import GPTModel
from .sampling import GREEDY, Sampling, Stages, choose, stages

Stop = Literal["end_of_text", "max_new_tokens"]


@dataclass(frozen=True, slots=True)
class Step:
    """One new token and how it was chosen."""

    token: int
    staged: Stages
    unseen: int  # oldest tokens that no longer fitted the context when this one was chosen
    stop: Stop | None  # why this step is the last, if it is

    @property
    def probability(self) -> float:
        """By softmax over the whole vocabulary, before top-k and top-p. Units: 0..1"""
        return float(self.staged.softmax[self.token])

    @property
    def logit(self) -> float:
        return float(self.staged.logits[self.token])


def generate(
    model: GPTModel,
    ids: Sequence[int],
    max_new_tokens: int,
    sampling: Sampling = GREEDY,
    ablation: Ablation = NOTHING_OFF,
    seed: int = 0,
) -> Iterator[Step]:
    """Yield one step per new token, until the end-of-text token or `max_new_tokens`.

    Past the context length the model reads the last `context_length` tokens, as the textbook's loop does.
    The caller may stop whenever it likes: nothing is computed ahead.

    Raises: PromptEmpty; OutOfRange for `max_new_tokens` below 1; NotFinite when the numbers overflow.
    """
    if not ids:
        raise PromptEmpty()
    if max_new_tokens < 1:
        raise OutOfRange(name="max_new_tokens", value=max_new_tokens, low=1, high="∞")
    return _steps(model, list(ids), max_new_tokens, sampling, ablation, seed)


def _steps(
    model: GPTModel, ids: list[int], max_new_tokens: int, sampling: Sampling, ablation: Ablation, seed: int
) -> Iterator[Step]:
    limit = model.config.context_length
    # Where a cache would not do, see Ablation.uncached, every step reads the whole text again.
    cache = None if ablation.uncached else KVCache(model.config, min(limit, len(ids) + max_new_tokens))
    for made in range(1, max_new_tokens + 1):
        # The window moved: every token has a new position, so the cached keys no longer hold.
        if len(ids) > limit:
            cache = None
        unread = ids[-limit:] if cache is None else ids[cache.length :]
        with torch.inference_mode():
            logits = model.next_logits(torch.tensor([unread]), ablation, cache)[0]  # (V,)
            if not logits.isfinite().all():
                raise NotFinite()
            staged = stages(logits, sampling)
            token = choose(staged, sampling, seed, len(ids))
        stop: Stop | None = "max_new_tokens" if made == max_new_tokens else None
        if token == model.config.end_of_text:
            stop = "end_of_text"
        yield Step(token, staged, max(0, len(ids) - limit), stop)
        if stop:
            return
        ids.append(token)


def generate_textbook(model: GPTModel, ids: Sequence[int], max_new_tokens: int) -> list[int]:
    """The seed document's greedy loop: re-read everything, take the best, append; no cache, no stopping.

    Its `while seq_len < max_new_tokens` counts the prompt's tokens too; new tokens are meant, and counted here.
    """
    ids = list(ids)
    for _ in range(max_new_tokens):
        cropped = ids[-model.config.context_length :]
        with torch.inference_mode():
            logits = model(torch.tensor([cropped]))  # (1, T, V)
        ids.append(int(logits[0, -1].argmax()))
    return ids
