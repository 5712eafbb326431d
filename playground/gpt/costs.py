"""What each part of a forward pass computes: its shape, its parameters, its arithmetic, the numbers it writes.

Every count grows as new · (each + pair · seen): with the tokens read, and with the pairs of a token and one it sees.
"""

from dataclasses import dataclass

from .config import FLOAT32_BYTES, GPTConfig


@dataclass(frozen=True, slots=True)
class Rate:
    """A count for each new token, and one for each pair of a new token and a token it looks at."""

    each: int = 0
    pair: int = 0

    def of(self, new: int, past: int = 0) -> int:
        """The count for reading `new` tokens when `past` are already cached."""
        return new * (self.each + self.pair * (past + new))


@dataclass(frozen=True, slots=True)
class Part:
    """One box of the drawing; of a part inside the block there are `n_layers` alike."""

    name: str
    axes: str  # of what it hands on, as in trace.py
    parameters: int
    flops: Rate  # matrix products only, 2 per multiply-add
    values: Rate  # numbers written that a Trace keeps
    repeated: bool = True  # once in every block


def parts(config: GPTConfig) -> list[Part]:
    """Every part, in the order computed; the logits have no parameters of their own, they share the token table.

    Units: parameters, FLOPs and numbers of one part, so of one layer
    """
    C, F, H, V = config.emb_dim, config.hidden_dim, config.n_heads, config.vocab_size
    none = Rate()
    norm = Rate(2 * C)  # normalised, after scale and shift
    return [
        Part("token_embedding", "B T C", V * C, none, Rate(C), repeated=False),
        Part("position_embedding", "B T C", config.context_length * C, none, Rate(C), repeated=False),
        Part("embedding", "B T C", 0, none, Rate(C), repeated=False),
        Part("norm_1", "B T C", 2 * C, none, norm),
        Part("qkv", "3 B H T D", 3 * C * C + 3 * C * config.qkv_bias, Rate(2 * 3 * C * C), Rate(3 * C)),
        Part("scores", "B H T S", 0, Rate(pair=2 * C), Rate(pair=H)),
        Part("weights", "B H T S", 0, none, Rate(pair=H)),
        Part("mixed", "B H T D", 0, Rate(pair=2 * C), Rate(C)),
        Part("out", "B T C", C * C + C, Rate(2 * C * C), Rate(C)),
        Part("middle", "B T C", 0, none, Rate(C)),
        Part("norm_2", "B T C", 2 * C, none, norm),
        Part("widen", "B T F", C * F + F, Rate(2 * C * F), Rate(F)),
        Part("gelu", "B T F", 0, none, Rate(F)),
        Part("narrow", "B T C", F * C + C, Rate(2 * F * C), Rate(C)),
        Part("after", "B T C", 0, none, Rate(C)),
        Part("final_norm", "B T C", 2 * C, none, norm, repeated=False),
        Part("logits", "B T V", 0, Rate(2 * C * V), Rate(V), repeated=False),
    ]


def cache_bytes_per_token(config: GPTConfig) -> int:
    """Keys and values of one token in every layer. Units: bytes, in float32."""
    return FLOAT32_BYTES * 2 * config.n_layers * config.emb_dim
