"""Text to tokens and back, and labels that nobody can mistake."""

import hashlib
import socket
import unicodedata
from pathlib import Path

import pytest

import playground.gpt.tokenizer as module
from playground.errors import AssetDamaged, UnknownToken, VocabularyUnsupported
from playground.gpt.tokenizer import Tokenizer, tokenizer, tokenizer_for

GPT2 = tokenizer("gpt2")
STORYTELLER = tokenizer("storyteller")


def labels(text: str) -> list[str]:
    return [GPT2.label(token) for token in GPT2.encode(text)]


def test_O_TOK_01_works_without_network_home_or_cache(monkeypatch, tmp_path):
    def refuse(*_: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    module._ranks.cache_clear()
    fresh = tokenizer.__wrapped__("gpt2")
    assert fresh.encode("Hello, I am") == [15496, 11, 314, 716]
    assert fresh.encode("Every effort moves you") == [6109, 3626, 6100, 345]
    assert (fresh.vocab_size, fresh.end_of_text) == (50257, 50256)
    assert module.SHA256["gpt2.tiktoken.gz"] == "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
    assert len(module._ranks("gpt2.tiktoken.gz")) == 50256
    assert list(tmp_path.iterdir()) == []


def test_O_TOK_01_a_changed_rank_file_is_refused(monkeypatch, tmp_path):
    raw = (module.VOCAB / "storyteller.tiktoken").read_bytes()
    assert hashlib.sha256(raw).hexdigest() == module.SHA256["storyteller.tiktoken"]
    (tmp_path / "storyteller.tiktoken").write_bytes(raw[:-1])
    monkeypatch.setattr(module, "VOCAB", tmp_path)
    with pytest.raises(AssetDamaged):
        module._ranks.__wrapped__("storyteller.tiktoken")


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        pytest.param("a<|endoftext|>b", [64, 27, 91, 437, 1659, 5239, 91, 29, 65], id="O-TOK-02 inside"),
        pytest.param("<|endoftext|>", [27, 91, 437, 1659, 5239, 91, 29], id="O-TOK-02 alone"),
        pytest.param("你好", [19526, 254, 25001, 121], id="O-TOK-03"),
        pytest.param("Hello", [15496], id="O-TOK-05"),
        pytest.param(" Hello", [18435], id="O-TOK-05 with a space"),
        pytest.param("The cat sat on the mat", [464, 3797, 3332, 319, 262, 2603], id="O-TOK-06"),
        pytest.param("The cat sat on the mat ", [464, 3797, 3332, 319, 262, 2603, 220], id="O-TOK-06 with a space"),
        pytest.param("a\udbc0b", [64, 4210, 65], id="O-TOK-08"),
        pytest.param("   ", [220, 220, 220], id="O-TOK-10"),
        pytest.param("\n\n\t ", [628, 197, 220], id="O-TOK-10 mixed"),
        pytest.param("a\x00b", [64, 188, 65], id="O-TOK-11 NUL"),
        pytest.param("\x1b[31mred", [215, 58, 3132, 76, 445], id="O-TOK-11 ESC"),
        pytest.param("the the the the", [1169, 262, 262, 262], id="O-ATT-02"),
        pytest.param("1 2 3 10", [16, 362, 513, 838], id="O-ATT-08"),
        pytest.param("", [], id="O-TOK-09"),
    ],
)
def test_ids(text, ids):
    assert GPT2.encode(text) == ids


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("你好", ["⟨e4 bd⟩", "⟨a0⟩", "⟨e5 a5⟩", "⟨bd⟩"], id="O-TOK-03"),
        pytest.param("Hello Hello", ["Hello", "·Hello"], id="O-TOK-05"),
        pytest.param("   ", ["·", "·", "·"], id="O-TOK-10"),
        pytest.param("\n\n\t ", ["↵↵", "⇥", "·"], id="O-TOK-10 mixed"),
        pytest.param("a\x00b", ["a", "␀", "b"], id="O-TOK-11 NUL"),
        pytest.param("\x1b[31mred", ["⟨U+001B⟩", "[", "31", "m", "red"], id="O-TOK-11 ESC"),
    ],
)
def test_labels(text, shown):
    assert labels(text) == shown


def test_O_TOK_03_tokens_of_one_character_are_grouped_and_join_to_the_text():
    ids = GPT2.encode("你好")
    assert [GPT2.bytes(token).hex() for token in ids] == ["e4bd", "a0", "e5a5", "bd"]
    assert GPT2.characters(ids) == [(0, 1), (2, 3)]
    assert GPT2.decode(ids) == "你好"


@pytest.mark.parametrize(
    ("text", "runs"), [("a你b", [(0, 0), (1, 2), (3, 3)]), ("🦊", [(0, 2)]), ("", []), ("ab cd", [(0, 0), (1, 1)])]
)
def test_runs_of_tokens_that_share_a_character(text, runs):
    assert GPT2.characters(GPT2.encode(text)) == runs


@pytest.mark.parametrize("ids", [[19526], [19526, 64], [254], [254, 19526]])
def test_broken_characters_are_runs_too(ids):
    covered = [place for first, last in GPT2.characters(ids) for place in range(first, last + 1)]
    assert covered == list(range(len(ids)))


@pytest.mark.parametrize("known", [GPT2, STORYTELLER, tokenizer_for(300), tokenizer_for(50304)], ids=lambda t: t.name)
def test_O_TOK_04_labels_are_unique_never_empty_and_visible(known: Tokenizer):
    shown = [known.label(token) for token in range(known.vocab_size)]
    assert len(set(shown)) == known.vocab_size
    assert all(label and label.isprintable() and not label.isspace() for label in shown)
    unknown = [token for token, label in enumerate(shown) if "\ufffd" in label]
    assert all(b"\xef\xbf\xbd" in known.bytes(token) for token in unknown)
    if known is GPT2:
        assert 4210 in unknown


def test_O_TOK_04_decoding_tokens_one_by_one_would_not_do():
    """How many ids of GPT-2 such labels would confuse: why ours are needed."""
    alone = [GPT2.bytes(token).decode("utf-8", "replace") for token in range(GPT2.vocab_size)]
    assert len(set(alone)) == 49924
    assert alone.count("\ufffd") == 255
    assert sum(not is_utf_8(GPT2.bytes(token)) for token in range(GPT2.vocab_size)) == 344
    assert sum(not text.strip() for text in alone) == 23
    unseen = [text for text in alone if any(unicodedata.category(c) in ("Cc", "Cf") for c in text)]
    assert len(unseen) == 43


def is_utf_8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def test_O_TOK_05_no_letters_of_the_byte_alphabet_for_ASCII_text():
    printable = "".join(map(chr, range(128)))
    assert not set("ĠĊĉčÄ") & set("".join(labels(printable + " Hello\n World")))
    assert [GPT2.label(token) for token in (15496, 18435, 198, 628)] == ["Hello", "·Hello", "↵", "↵↵"]


@pytest.mark.parametrize("known", [GPT2, STORYTELLER], ids=lambda t: t.name)
def test_every_text_comes_back(known: Tokenizer):
    for text in (
        "Once upon a time",
        "你好，世界 🦊",
        "a\n\n\t b  c",
        "\x00\x1b\x7f",
        "e\u0301 \u200b<b>&amp;</b>",
        "�",
    ):
        assert known.decode(known.encode(text)) == text


def test_O_TOK_08_a_lone_surrogate_becomes_one_replacement_character():
    assert GPT2.decode(GPT2.encode("a\udbc0b")) == "a\ufffdb"
    assert GPT2.decode(GPT2.encode("\ud83e\udd8a")) == "🦊"


def test_end_of_text_is_never_made_by_typing():
    for known in (GPT2, STORYTELLER):
        assert known.end_of_text == known.vocab_size - 1
        assert known.end_of_text not in known.encode("<|endoftext|>")
        assert known.label(known.end_of_text) == known.decode([known.end_of_text]) == "<|endoftext|>"


def test_the_storyteller_reads_stories_in_few_tokens():
    text = "Once upon a time, there was a little girl named Lily. She loved to play in the park with her friends."
    assert len(STORYTELLER.encode(text)) == len(text.split()) + text.count(",") + text.count(".")


@pytest.mark.parametrize("token", [-1, 50257])
def test_an_id_outside_the_vocabulary_is_refused(token):
    with pytest.raises(UnknownToken) as refused:
        GPT2.label(token)
    assert refused.value.values == {"value": token, "limit": 50256}


def test_a_tokenizer_for_every_size():
    assert tokenizer_for(50257) == GPT2
    assert tokenizer_for(4096) is STORYTELLER
    cut, padded = tokenizer_for(1000), tokenizer_for(50304)
    assert max(cut.encode("Every effort moves you")) < 1000
    assert cut.decode(cut.encode("Every effort moves you 你")) == "Every effort moves you 你"
    assert (cut.end_of_text, padded.end_of_text) == (None, 50256)
    assert (padded.label(50300), padded.decode([50300])) == ("⟨50300⟩", "")
    with pytest.raises(VocabularyUnsupported):
        tokenizer_for(255)


def test_licence_lies_beside_the_ranks():
    assert "OpenAI" in Path(module.VOCAB / "LICENSE-openai-gpt2.txt").read_text("utf-8")
