"""A GPT, from its smallest part to the whole; what serves switches and speed comes last.

Axes: B batch, T tokens, S tokens that may be looked at (cached + T), C width of the stream, H heads, D width of a head,
F width of the feed-forward, V vocabulary. A switch of an `Ablation` says what is taken away: `ablation.norms` is True
where every LayerNorm is off. Every module returns what it computed and, when `traced`, a record of how; nothing is ever
stored on a module.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from playground.errors import CacheUnusable, ContextFull, NothingToSee

from .ablation import NOTHING_OFF, Ablation
from .cache import KVCache
from .config import GPTConfig
from .trace import AttentionTrace, BlockTrace, FeedForwardTrace, NormTrace, Trace


def normalise(x: Tensor, eps: float = 1e-5) -> Tensor:
    """Give each token's vector mean 0 and variance 1: (x - mean) / sqrt(variance + eps), in one pass over memory.

    Shapes: x (..., C) -> (..., C); every token on its own, over its C features
    Source: Ba et al. 2016, eq. 4; eps and the biased variance (divide by C, not C - 1) as in GPT-2.
    """
    return F.layer_norm(x, x.shape[-1:], eps=eps)


def gelu(x: Tensor) -> Tensor:
    """Let large values pass and hold small ones back, smoothly: about x · P(Z <= x) for a standard normal Z.

    0.5 · x · (1 + tanh(sqrt(2 / pi) · (x + 0.044715 · x³))), in one pass over memory where the formula would take nine.

    Source: Hendrycks & Gimpel 2016, section 2; the tanh form, with which GPT-2 was trained.
    """
    return F.gelu(x, approximate="tanh")


class LayerNorm(nn.Module):
    """Normalise each token's vector, then let every feature choose its own scale and shift."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.eps = config.norm_eps
        self.scale = nn.Parameter(torch.ones(config.emb_dim))
        self.shift = nn.Parameter(torch.zeros(config.emb_dim))

    def forward(self, x: Tensor, ablation: Ablation, traced: bool) -> tuple[Tensor, NormTrace | None]:
        if ablation.norms:
            return x, NormTrace(x, x) if traced else None
        normalised = normalise(x, self.eps)
        after = self.scale * normalised + self.shift
        return after, NormTrace(normalised, after) if traced else None


class MultiHeadAttention(nn.Module):
    """Each token looks at itself and the tokens before it, and takes a weighted mix of their values."""

    def __init__(self, config: GPTConfig, layer: int) -> None:
        super().__init__()
        self.layer, self.n_heads = layer, config.n_heads
        self.qkv = nn.Linear(config.emb_dim, 3 * config.emb_dim, bias=config.qkv_bias)
        self.out = nn.Linear(config.emb_dim, config.emb_dim)
        self.attn_drop = nn.Dropout(config.attn_drop)

    def forward(
        self, x: Tensor, ablation: Ablation, cache: KVCache | None, traced: bool
    ) -> tuple[Tensor, AttentionTrace | None]:
        B, T, _ = x.shape
        past = cache.length if cache is not None else 0
        qkv = self.qkv(x).view(B, T, 3, self.n_heads, -1)  # 3C features are H heads' queries, then keys, then values
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # each (B, H, T, D)
        if cache is not None:
            k, v = cache.extend(self.layer, k, v)  # (B, H, S, D)

        visible = torch.ones(T, past + T, dtype=torch.bool, device=x.device)  # (T, S)
        if not ablation.causal_mask:
            visible = visible.tril(diagonal=past)  # row i sees the cached tokens and the new ones up to i
        if edges := ablation.edges_off(self.layer):
            visible = self.without(visible, edges)  # (H, T, S)
        scale = 1.0 if ablation.scaling else q.size(-1) ** -0.5

        if traced:
            scores = q * scale @ k.transpose(-2, -1)  # (B, H, T, S)
            weights = scores.masked_fill(~visible, -torch.inf).softmax(-1)
            mixed = self.attn_drop(weights) @ v  # (B, H, T, D)
        else:  # the same numbers, but for rounding, without ever holding the (T, S) weights
            drop = self.attn_drop.p if self.training else 0.0
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=visible, dropout_p=drop, scale=scale)

        mixed, out = self.hand_on(mixed, ablation)
        return out, AttentionTrace(q, k, v, scores, weights, mixed, out) if traced else None

    def hand_on(self, mixed: Tensor, ablation: Ablation) -> tuple[Tensor, Tensor]:
        """What the heads found and, joined and projected, what attention adds to the stream; without what is off.

        Shapes: mixed (B, H, T, D) -> (B, H, T, D), (B, T, C)
        """
        if heads := ablation.heads_off(self.layer):
            off = torch.tensor(heads, device=mixed.device)
            mixed = mixed.index_copy(1, off, switched_off(mixed[:, off], ablation))
        out = self.out(mixed.transpose(1, 2).flatten(2))  # (B, T, C)
        if self.layer in ablation.attention:
            out = switched_off(out, ablation)
        return mixed, out

    def without(self, visible: Tensor, edges: list[tuple[int, int, int]]) -> Tensor:
        """Forbid single looks, (head, query, key) by position; those of tokens not read here change nothing.

        Shapes: visible (T, S) -> (H, T, S)
        Raises: NothingToSee when a query keeps no key: its weights could not sum to 1.
        """
        T, S = visible.shape
        visible = visible.repeat(self.n_heads, 1, 1)
        for head, query, key in edges:
            if S - T <= query < S and key < S:
                visible[head, query - (S - T), key] = False
        if blind := (~visible.any(-1)).nonzero().tolist():
            head, query = blind[0]
            raise NothingToSee(layer=self.layer, head=head, query=query + S - T)
        return visible


class FeedForward(nn.Module):
    """Each token on its own: widen to F = 4C, apply GELU, narrow back to C."""

    def __init__(self, config: GPTConfig, layer: int) -> None:
        super().__init__()
        self.layer = layer
        self.widen = nn.Linear(config.emb_dim, config.hidden_dim)
        self.narrow = nn.Linear(config.hidden_dim, config.emb_dim)

    def forward(self, x: Tensor, ablation: Ablation, traced: bool) -> tuple[Tensor, FeedForwardTrace | None]:
        hidden = self.widen(x)  # (B, T, F)
        active = gelu(hidden)
        out = self.narrow(active)  # (B, T, C)
        if self.layer in ablation.feed_forward:
            out = switched_off(out, ablation)
        return out, FeedForwardTrace(hidden, active, out) if traced else None


class TransformerBlock(nn.Module):
    """Look around (attention), then think (feed-forward); each reads LN(x) and adds to x (pre-norm)."""

    def __init__(self, config: GPTConfig, layer: int) -> None:
        super().__init__()
        self.norm_1, self.attention = LayerNorm(config), MultiHeadAttention(config, layer)
        self.norm_2, self.feed_forward = LayerNorm(config), FeedForward(config, layer)
        self.resid_drop = nn.Dropout(config.resid_drop)

    def forward(
        self, before: Tensor, ablation: Ablation, cache: KVCache | None, traced: bool
    ) -> tuple[Tensor, BlockTrace | None]:
        normed, norm_1 = self.norm_1(before, ablation, traced)
        attended, attention = self.attention(normed, ablation, cache, traced)
        attended = self.resid_drop(attended)
        middle = attended if ablation.residuals else before + attended
        normed, norm_2 = self.norm_2(middle, ablation, traced)
        thought, feed_forward = self.feed_forward(normed, ablation, traced)
        thought = self.resid_drop(thought)
        after = thought if ablation.residuals else middle + thought
        if not traced:
            return after, None
        return after, BlockTrace(before, norm_1, attention, middle, norm_2, feed_forward, after)


class GPTModel(nn.Module):
    """Token ids in, a score for every possible next token out, at every position."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.token_embedding = nn.Embedding(config.vocab_size, config.emb_dim)
        self.position_embedding = nn.Embedding(config.context_length, config.emb_dim)
        self.emb_drop = nn.Dropout(config.emb_drop)
        self.blocks = nn.ModuleList(TransformerBlock(config, layer) for layer in range(config.n_layers))
        self.final_norm = LayerNorm(config)

    def forward(self, ids: Tensor, ablation: Ablation = NOTHING_OFF, cache: KVCache | None = None) -> Tensor:
        """Score every token of the vocabulary as the next one, at every position.

        Shapes: ids (B, T) -> logits (B, T, V)
        Raises: ContextFull when cached and new tokens exceed the context; CacheUnusable for a cache under a
            switch that needs more of the old tokens than it holds, see Ablation.uncached; NothingToSee when
            edges leave a token nothing to look at.
        """
        return self._run(ids, ablation, cache, traced=False)[0]

    def next_logits(self, ids: Tensor, ablation: Ablation = NOTHING_OFF, cache: KVCache | None = None) -> Tensor:
        """As `forward`, after the last position alone: scoring the others too is up to half of the work.

        Shapes: ids (B, T) -> logits (B, V)
        """
        return self._run(ids, ablation, cache, traced=False, only_last=True)[0][:, -1]

    def trace(self, ids: Tensor, ablation: Ablation = NOTHING_OFF, cache: KVCache | None = None) -> Trace:
        """As `forward`, keeping everything computed on the way."""
        trace = self._run(ids, ablation, cache, traced=True)[1]
        assert trace is not None
        return trace

    def _run(
        self, ids: Tensor, ablation: Ablation, cache: KVCache | None, traced: bool, only_last: bool = False
    ) -> tuple[Tensor, Trace | None]:
        past, T = cache.length if cache is not None else 0, ids.size(1)
        if past + T > self.config.context_length:
            raise ContextFull(tokens=past + T, limit=self.config.context_length)
        if cache is not None and ablation.uncached:
            raise CacheUnusable(switch=ablation.uncached)

        tokens = self.token_embedding(ids)  # (B, T, C)
        positions = self.position_embedding(torch.arange(past, past + T, device=ids.device)).expand_as(tokens)
        x = self.emb_drop(tokens if ablation.positions else tokens + positions)

        records = []
        for block in self.blocks:
            x, record = block(x, ablation, cache, traced)
            records.append(record)
        if only_last:
            x = x[:, -1:]  # (B, 1, C)
        normed, final_norm = self.final_norm(x, ablation, traced)
        logits = token_scores(normed, self.token_embedding.weight)  # (B, T, V): one table reads and writes tokens
        if cache is not None:
            cache.advance(T)
        return logits, Trace(tokens, positions, tuple(records), final_norm, logits) if traced else None


def earlier_mean(x: Tensor) -> Tensor:
    """At every position the mean of x over the positions before it; 0 at the first, which has none.

    Shapes: x (..., T, C) -> (..., T, C)
    """
    sums = F.pad(x.cumsum(-2), (0, 0, 1, -1))  # one row down: row t sums the rows before t
    counts = torch.arange(x.size(-2), dtype=x.dtype, device=x.device).clamp(min=1)
    return sums / counts[:, None]


def switched_off(out: Tensor, ablation: Ablation) -> Tensor:
    """What a part that is off hands on in place of `out`. Shapes: out (..., T, C) -> (..., T, C)"""
    return earlier_mean(out) if ablation.mean else torch.zeros_like(out)


SLICE = 1024  # words of the vocabulary whose scores are computed at once


def token_scores(x: Tensor, table: Tensor) -> Tensor:
    """How well every token of the vocabulary fits: each row of the table times x.

    Of several vectors the product is taken the other way round, for the table is much taller than x, and turned back
    slice by slice, while it is still in the processor's cache: the same numbers in half the time.

    Shapes: x (..., C), table (V, C) -> (..., V)
    """
    rows = x.flatten(0, -2)
    if len(rows) == 1:
        return (rows @ table.T).view(*x.shape[:-1], -1)
    slices = [(part @ rows.T).T for part in table.split(SLICE)]
    return torch.cat(slices, dim=-1).view(*x.shape[:-1], -1)
