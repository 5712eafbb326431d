"""Text to token ids and back, and how to write one token so that nobody mistakes it for another."""

import base64
import gzip
import hashlib
import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import tiktoken

from playground.errors import AssetDamaged, UnknownToken, VocabularyUnsupported

VOCAB = Path(__file__).parents[2] / "assets" / "vocab"
END_OF_TEXT = "<|endoftext|>"
# Radford et al. 2019: contractions, words, numbers, punctuation and white space never share a token.
SPLIT = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
SHA256 = {
    "gpt2.tiktoken.gz": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    "storyteller.tiktoken": "f574281e87d82aee59a8ec044f84dbed5d967ea9c5c428fac6cc4432077e027b",
}
MARKS = {" ": "·", "\n": "↵", "\t": "⇥", "\r": "␍", "\0": "␀"}
BRACKETS = "⟨⟩"


@dataclass(frozen=True)
class Tokenizer:
    """A byte-level BPE of `vocab_size` tokens; `end_of_text` is the special one, which typed text never makes."""

    name: str
    vocab_size: int
    end_of_text: int | None
    encoding: tiktoken.Encoding

    def encode(self, text: str) -> list[int]:
        """Ids of `text`; `<|endoftext|>` in it is characters like any others, a lone surrogate becomes U+FFFD."""
        return self.encoding.encode_ordinary(repair(text))

    def bytes(self, token: int) -> bytes:
        """What the token stands for. Raises: UnknownToken"""
        if token == self.end_of_text:
            return END_OF_TEXT.encode()
        if not 0 <= token < self.vocab_size:
            raise UnknownToken(value=token, limit=self.vocab_size - 1)
        try:
            return self.encoding.decode_single_token_bytes(token)
        except KeyError:  # a vocabulary padded beyond its ranks
            return b""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; bytes that are no UTF-8 become U+FFFD."""
        return b"".join(map(self.bytes, ids)).decode("utf-8", errors="replace")

    def label(self, token: int) -> str:
        """The token as shown everywhere: never empty, unique, spaces visible, partial characters as bytes."""
        if token == self.end_of_text:
            return END_OF_TEXT
        raw = self.bytes(token)
        if not raw:
            return f"⟨{token}⟩"
        return _visible(raw)

    def characters(self, ids: Sequence[int]) -> list[tuple[int, int]]:
        """Runs of tokens, as (first, last), that share one character: `你` is two tokens of GPT-2.

        Tokens that hold whole characters stand alone.
        """
        runs, start, pending = [], 0, b""
        for i, token in enumerate(ids):
            pending += self.bytes(token)
            if _is_cut(pending) and i + 1 < len(ids):
                continue
            runs.append((start, i))
            start, pending = i + 1, b""
        return runs


def repair(text: str) -> str:
    """Replace lone surrogates, which no encoding of text accepts, by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_cut(raw: bytes) -> bool:
    """Whether `raw` ends inside a character that further bytes could complete."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return False


def _visible(raw: bytes) -> str:
    shown: list[str] = []
    while raw:
        try:
            text, broken, raw = raw.decode("utf-8"), b"", b""
        except UnicodeDecodeError as error:
            text, broken, raw = raw[: error.start].decode("utf-8"), raw[error.start : error.end], raw[error.end :]
        shown += map(_visible_character, text)
        if broken:
            shown.append("⟨" + broken.hex(" ") + "⟩")
    return "".join(shown)


def _visible_character(character: str) -> str:
    if character in MARKS:
        return MARKS[character]
    unseen = unicodedata.category(character)[0] in "CZM"  # control, format, separators, combining marks
    if unseen or character in BRACKETS or character in MARKS.values():
        return f"⟨U+{ord(character):04X}⟩"
    return character


@cache
def tokenizer(name: str) -> Tokenizer:
    """`gpt2` (50,257 tokens) or `storyteller` (4,096). Raises: KeyError for another name."""
    file = {"gpt2": "gpt2.tiktoken.gz", "storyteller": "storyteller.tiktoken"}[name]
    ranks = _ranks(file)
    return Tokenizer(name, len(ranks) + 1, len(ranks), _encoding(name, ranks, {END_OF_TEXT: len(ranks)}))


@cache
def tokenizer_for(vocab_size: int) -> Tokenizer:
    """The tokenizer of a model of which only the vocabulary's size is known.

    4,096 is ours, 50,257 is GPT-2's. A smaller one reads with GPT-2's first merges; what lies beyond
    GPT-2's 50,257 has no text and is shown as its number.
    Raises: VocabularyUnsupported below 256 tokens, which cannot hold every byte.
    """
    if vocab_size == 4096:
        return tokenizer("storyteller")
    if vocab_size < 256:
        raise VocabularyUnsupported(value=vocab_size, low=256)
    whole = tokenizer("gpt2")
    if vocab_size >= whole.vocab_size:
        return replace(whole, vocab_size=vocab_size)
    ranks = {raw: rank for raw, rank in _ranks("gpt2.tiktoken.gz").items() if rank < vocab_size}
    name = f"gpt2[:{vocab_size}]"
    return Tokenizer(name, vocab_size, None, _encoding(name, ranks, {}))


def _encoding(name: str, ranks: dict[bytes, int], special: dict[str, int]) -> tiktoken.Encoding:
    return tiktoken.Encoding(name, pat_str=SPLIT, mergeable_ranks=ranks, special_tokens=special)


@cache
def _ranks(file: str) -> dict[bytes, int]:
    """Read a rank file from assets, never from the network. Raises: AssetDamaged when it is not what it was."""
    try:
        raw = (VOCAB / file).read_bytes()
        raw = gzip.decompress(raw) if file.endswith(".gz") else raw
    except (OSError, EOFError, zlib.error) as error:
        raise AssetDamaged(file=file) from error
    if hashlib.sha256(raw).hexdigest() != SHA256[file]:
        raise AssetDamaged(file=file)
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in raw.splitlines() if line)}
