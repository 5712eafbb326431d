"""The numbers that define a GPT, the sizes worth knowing, and what they cost, counted exactly."""

from dataclasses import dataclass
from typing import NamedTuple

from playground.errors import ConfigValue, HeadsAndLayersSwapped, HeadsDoNotDivide

FLOAT32_BYTES = 4


@dataclass(frozen=True, slots=True)
class GPTConfig:
    """Shape of a GPT, as the textbook names it.

    Raises: ConfigValue for a size below 1; HeadsDoNotDivide unless `emb_dim` is a multiple of `n_heads`, or
        HeadsAndLayersSwapped when it is one of `n_layers`.
    """

    vocab_size: int = 50257  # V
    context_length: int = 1024  # most tokens the position table covers
    emb_dim: int = 768  # C, length of each token's vector in the residual stream
    n_heads: int = 12  # H
    n_layers: int = 12  # L
    emb_drop: float = 0.0  # dropout after the embeddings ...
    attn_drop: float = 0.0  # ... on the attention weights ...
    resid_drop: float = 0.0  # ... and on what each sublayer adds; all three act in training only
    qkv_bias: bool = True
    hidden: int | None = None  # F, width inside the feed-forward; None means the usual 4C
    norm_eps: float = 1e-5
    end_of_text: int | None = None  # the token at which generation stops

    def __post_init__(self) -> None:
        for name in ("vocab_size", "context_length", "emb_dim", "n_heads", "n_layers", "hidden_dim"):
            if getattr(self, name) < 1:
                raise ConfigValue(name=name, value=getattr(self, name))
        if self.emb_dim % self.n_heads:
            if self.n_layers > 1 and self.emb_dim % self.n_layers == 0:
                raise HeadsAndLayersSwapped(emb_dim=self.emb_dim, n_heads=self.n_heads, n_layers=self.n_layers)
            raise HeadsDoNotDivide(emb_dim=self.emb_dim, n_heads=self.n_heads)

    @property
    def head_dim(self) -> int:
        """D, the width of one head."""
        return self.emb_dim // self.n_heads

    @property
    def hidden_dim(self) -> int:
        return 4 * self.emb_dim if self.hidden is None else self.hidden

    @property
    def n_block_parameters(self) -> int:
        """Weights and biases of one TransformerBlock."""
        C, F = self.emb_dim, self.hidden_dim
        attention = 3 * C * C + 3 * C * self.qkv_bias + C * C + C
        return attention + (C * F + F) + (F * C + C) + 2 * 2 * C

    @property
    def n_parameters(self) -> int:
        """Every number that training adjusts, the table shared by input and output counted once."""
        embeddings = (self.vocab_size + self.context_length) * self.emb_dim
        return embeddings + self.n_layers * self.n_block_parameters + 2 * self.emb_dim

    @property
    def n_parameters_untied(self) -> int:
        """As if the output head had a table of its own; books that do not share it print this number."""
        return self.n_parameters + self.vocab_size * self.emb_dim

    @property
    def weight_bytes(self) -> int:
        """Units: bytes, in float32."""
        return FLOAT32_BYTES * self.n_parameters

    def trace_bytes(self, tokens: int) -> int:
        """What a full trace of so many tokens holds. Units: bytes, in float32."""
        C, F, H, T, V = self.emb_dim, self.hidden_dim, self.n_heads, tokens, self.vocab_size
        block = T * (4 * C) + 2 * H * T * T + T * C + T * C  # norm 1, q, k, v; scores, weights; mixed; out
        block += T * C + T * C + T * (2 * C) + T * (2 * F) + T * C  # normalised 1, middle, norm 2, hidden, out
        embeddings = 3 * T * C  # tokens, positions, their sum
        block += T * C  # after, which is the next block's before
        return FLOAT32_BYTES * (embeddings + self.n_layers * block + T * (2 * C) + T * V)


class MatrixCost(NamedTuple):
    """Floating-point operations of one forward pass, matrix products only (2 per multiply-add)."""

    attention: int
    feed_forward: int
    head: int

    @property
    def total(self) -> int:
        return self.attention + self.feed_forward + self.head


def forward_flops(config: GPTConfig, new: int, past: int = 0) -> MatrixCost:
    """Work of reading `new` tokens when `past` are already cached.

    Units:  FLOPs; a causal kernel may skip the masked half of the scores, these counts do not.
    Source: Kaplan et al. 2020, table 1, with the attention product kept.
    """
    C, F, S = config.emb_dim, config.hidden_dim, past + new
    projections = 2 * new * (4 * C * C)
    looking = 2 * new * S * C * 2  # q·k, then weights · v
    return MatrixCost(
        attention=config.n_layers * (projections + looking),
        feed_forward=config.n_layers * 2 * new * (2 * C * F),
        head=2 * new * C * config.vocab_size,
    )


# The released GPT-2 sizes (Radford et al. 2019, table 2; the paper's own counts are off). `tiny` is the seeds'.
PRESETS = {
    "tiny": GPTConfig(vocab_size=100, context_length=16, emb_dim=32, n_heads=4, n_layers=2),
    "storyteller": GPTConfig(vocab_size=4096, context_length=256, emb_dim=192, n_heads=6, n_layers=6, end_of_text=4095),
    "gpt2": GPTConfig(end_of_text=50256),
    "gpt2-medium": GPTConfig(emb_dim=1024, n_heads=16, n_layers=24, end_of_text=50256),
    "gpt2-large": GPTConfig(emb_dim=1280, n_heads=20, n_layers=36, end_of_text=50256),
    "gpt2-xl": GPTConfig(emb_dim=1600, n_heads=25, n_layers=48, end_of_text=50256),
}
