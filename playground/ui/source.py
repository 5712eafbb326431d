"""The very lines of playground/gpt behind each box of the drawing, read from the files that run."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from playground.gpt import model

ROOT = Path(__file__).parents[2]
NORM = ((model.LayerNorm, ("normalised", "after")), (model.normalise, ()))
# For every part: what to show, and in it the assignments to mark, named by what they assign to.
SHOWN: dict[str, tuple[tuple[Callable[..., Any], tuple[str, ...]], ...]] = {
    "token_embedding": ((model.GPTModel._run, ("tokens",)),),
    "position_embedding": ((model.GPTModel._run, ("positions",)),),
    "embedding": ((model.GPTModel._run, ("x",)),),
    "norm_1": ((model.TransformerBlock.forward, ("(normed, norm_1)",)), *NORM),
    "qkv": ((model.MultiHeadAttention, ("(q, k, v)", "self.qkv")),),
    "scores": ((model.MultiHeadAttention.forward, ("scale", "scores")),),
    "weights": ((model.MultiHeadAttention.forward, ("visible", "weights")),),
    "mixed": ((model.MultiHeadAttention.forward, ("mixed",)),),
    "out": ((model.MultiHeadAttention, ("out", "self.out")),),
    "middle": ((model.TransformerBlock.forward, ("attended", "middle")),),
    "norm_2": ((model.TransformerBlock.forward, ("(normed, norm_2)",)), *NORM),
    "widen": ((model.FeedForward, ("hidden", "self.widen")),),
    "gelu": ((model.gelu, ()), (model.FeedForward, ("active",))),
    "narrow": ((model.FeedForward, ("out", "self.narrow")),),
    "after": ((model.TransformerBlock.forward, ("thought", "after")),),
    "final_norm": ((model.GPTModel._run, ("(normed, final_norm)",)), *NORM),
    "logits": ((model.GPTModel._run, ("logits",)),),
    "block": ((model.TransformerBlock, ()), (model.GPTModel._run, ("(x, record)",))),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A class or function as it stands in its file; `marked` are line numbers of the file."""

    name: str
    file: str
    first: int
    lines: list[str]
    marked: list[int]


def excerpt(shown: Callable[..., Any], names: tuple[str, ...]) -> Excerpt:
    """`shown` from its source, with the assignments to `names` marked; without names nothing is."""
    shown = inspect.unwrap(shown)  # @torch.inference_mode() stands around some
    lines, first = inspect.getsourcelines(shown)
    file = Path(inspect.getfile(shown)).relative_to(ROOT).as_posix()
    marked = [
        first + line
        for node in ast.walk(ast.parse(textwrap.dedent("".join(lines))))
        if assigned(node) & set(names)
        for line in range(node.lineno - 1, node.end_lineno)
    ]
    return Excerpt(shown.__qualname__, file, first, [line.rstrip("\n") for line in lines], sorted(marked))


def assigned(node: ast.AST) -> set[str]:
    """What a statement assigns to, as written in the code."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {ast.unparse(target) for target in targets}


def excerpts() -> dict[str, list[dict[str, Any]]]:
    """Every part's excerpts, as the drawing receives them."""
    return {part: [asdict(excerpt(*each)) for each in shown] for part, shown in SHOWN.items()}
