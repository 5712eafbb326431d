"""Before anything is timed: do all compute the same?"""

from collections.abc import Callable
from dataclasses import replace

import torch

from playground.gpt.generate import generate, generate_textbook

from .how import How
from .peers import CLOSE, Peer, disagreement, prompt, random_model, ready
from .rows import Row, at_least, at_most, limited, not_measured, told

PEERS = ("transformers", "transformer_lens", "nnsight")
TOKENS = 16  # written by each, to be compared


def measure(how: How) -> list[Row]:
    """Logits of one text by each peer, the tokens that each writes with its cache, and ours with and without one."""
    gpt = random_model(how.config)
    found, missing = ready(gpt, PEERS)
    ids = prompt(how.config, how.prompts[0])
    target = at_most(CLOSE)
    rows = [not_measured(f"same logits: {name}", "largest difference", "ours", target, why)
            for name, why in missing.items()]  # fmt: skip
    for name, peer in found.items():
        rows.append(limited(f"same logits: {name}", "largest difference", [disagreement(gpt, peer, ids)], target))
    own = [step.token for step in generate(gpt, ids, TOKENS)]
    whole = at_least(TOKENS)
    slow = generate_textbook(gpt, ids, TOKENS)[len(ids) :]
    rows.append(limited("same tokens: ours cached and uncached", f"of {TOKENS}", [alike(own, slow)], whole))
    for name, write in {name: WRITERS[name](peer) for name, peer in found.items() if name in WRITERS}.items():
        same = alike(own, write(ids, TOKENS))
        why = None if same == TOKENS else "writes other tokens with its cache: its speed is that of another task"
        rows.append(replace(told(f"same tokens: {name} cached", f"of {TOKENS}", [same]), why=why))
    return rows


def alike(ours: list[int], theirs: list[int]) -> int:
    return sum(a == b for a, b in zip(ours, theirs, strict=True))


Write = Callable[[list[int], int], list[int]]


def transformers_writes(peer: Peer) -> Write:
    """Greedy, with its cache, and never stopping early."""

    def write(ids: list[int], new: int) -> list[int]:
        text = torch.tensor([ids])
        with torch.inference_mode():
            made = peer.model.generate(
                text, max_new_tokens=new, do_sample=False, use_cache=True, eos_token_id=None, pad_token_id=0,
                attention_mask=torch.ones_like(text),
            )  # fmt: skip
        return made[0, len(ids) :].tolist()

    return write


def transformer_lens_writes(peer: Peer) -> Write:
    def write(ids: list[int], new: int) -> list[int]:
        with torch.inference_mode():
            made = peer.model.generate(
                torch.tensor([ids]), max_new_tokens=new, do_sample=False, stop_at_eos=False, verbose=False,
                use_past_kv_cache=True, return_type="tokens",
            )  # fmt: skip
        return made[0, len(ids) :].tolist()

    return write


WRITERS = {"transformers": transformers_writes, "transformer_lens": transformer_lens_writes}
