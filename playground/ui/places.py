"""The places of the residual stream, as people read them."""

from playground.analysis import stream
from playground.text import say

from .wiring import Look


def place(name: str, lang: str) -> str:
    """`attention.3` as people read it."""
    if name == "embedding":
        return say(lang, "residual.embedding")
    sublayer, layer = name.split(".")
    return say(lang, f"residual.short_{sublayer}", layer=layer)


def places(look: Look) -> list[str]:
    """The embedding, then each sublayer: 2L + 1 names."""
    return [place(name, look.lang) for name, _ in stream(look.run.trace)]
