"""Every word in both languages: none missing, none unused, every blank filled, every error with its sentence."""

import ast
import re
import string
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playground import errors
from playground.text import LANGUAGES, labels, say, say_error, sentences, shorten, under

ROOT = Path(__file__).parents[1]
TEXT = ROOT / "playground" / "text"
PYTHON = [ROOT / "app.py", *sorted((ROOT / "playground").rglob("*.py"))]
SCRIPTS = sorted((ROOT / "assets" / "js").glob("*.js"))
# Components whose sentences are sent whole, by `under`: the file of texts and the script that shows them.
SENT_WHOLE = {
    "alert": "alert",
    "architecture": "architecture",
    "attention": "thumbs",
    "bars": "bars",
    "beside": "beside",
    "edges": "edges",
    "feed_forward": "neurons",
    "figure": "figure",
    "guide": "guide",
    "lessons": "lessons",
    "measures": "measures",
    "overview": "overview",
    "player": "player",
    "proofs": "proofs",
    "save": "save",
    "sweep": "sweep",
    "switches": "switches",
    "take_home": "take_home",
}
NAMES = {"LayerNorm", "LayerNorm 1", "LayerNorm 2", "GPT Playground", "logit"}  # the same in both
CHINESE = re.compile(r"[\u4e00-\u9fff]")

ENTRIES: dict[str, dict[str, Any]] = {
    f"{file.stem}.{key}": entry
    for file in sorted(TEXT.glob("*.toml"))
    for key, entry in tomllib.loads(file.read_text("utf-8")).items()
}


def texts_of(key: str, lang: str) -> dict[str, str]:
    """The texts of an entry by name: one without name, or a control's label, info, ..."""
    entry = ENTRIES[key][lang]
    return {"": entry} if isinstance(entry, str) else entry


def blanks(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}


def parsed() -> Iterator[tuple[Path, ast.AST]]:
    for path in PYTHON:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            yield path, node


def calls(*names: str) -> Iterator[tuple[str, ast.Call]]:
    """Every call of a function or method of one of these names, with where it stands."""
    for path, node in parsed():
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", None))
            if name in names:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node


# Both languages.


@pytest.mark.parametrize("key", ENTRIES)
def test_both_languages_say_it_with_the_same_blanks(key):
    assert tuple(ENTRIES[key]) == LANGUAGES
    zh, en = (texts_of(key, lang) for lang in LANGUAGES)
    assert zh.keys() == en.keys()
    for name in zh:
        assert blanks(zh[name]) == blanks(en[name])
        assert zh[name].strip() == zh[name] != ""
        assert en[name].strip() == en[name] != ""


@pytest.mark.parametrize("key", ENTRIES)
def test_each_language_is_that_language(key):
    zh, en = (texts_of(key, lang) for lang in LANGUAGES)
    for name in zh:
        assert not CHINESE.search(en[name])
        assert CHINESE.search(zh[name]) or zh[name] in NAMES


def test_chinese_sentences_have_chinese_punctuation():
    for key in ENTRIES:
        for text in texts_of(key, "zh").values():
            assert not re.search(r"[\u4e00-\u9fff][,;:?!]", text), key


# Every key that is used exists, and every key that exists is used.


def wildcard(node: ast.JoinedStr) -> list[str | None]:
    """The parts of an f-string; None for what is filled in."""
    return [part.value if isinstance(part, ast.Constant) else None for part in node.values]


def test_every_key_that_the_code_names_exists():
    files = {key.split(".")[0] for key in ENTRIES}
    wanted = re.compile(rf"(?:{'|'.join(files)})\.[a-z_0-9]+")
    for where, call in calls("say", "labels", "worded"):
        for argument in call.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and "." in argument.value:
                assert wanted.fullmatch(argument.value), where
                assert argument.value in ENTRIES, f"{where}: {argument.value}"
            if isinstance(argument, ast.JoinedStr):
                pattern = "".join(".*" if part is None else re.escape(part) for part in wildcard(argument))
                assert any(re.fullmatch(pattern, key) for key in ENTRIES), f"{where}: {pattern}"


def test_every_key_that_the_scripts_name_exists():
    for file, script in SENT_WHOLE.items():
        for name in names_in_script(script)[0]:
            assert f"{file}.{name}" in ENTRIES, f"{script}.js: {name}"


def code_of(script: str) -> str:
    """With the files that are parts of it, such as lessons_questions.js of lessons.js."""
    return "\n".join(path.read_text("utf-8") for path in SCRIPTS if re.fullmatch(rf"{script}(_\w+)?", path.stem))


def names_in_script(script: str) -> tuple[set[str], list[str], bool]:
    """What a script reads of its words: by name, by pattern, and whether also by a name computed."""
    code = code_of(script)
    words = r"(?:\bw|words\(\))"
    named = set(re.findall(rf"{words}\.(\w+)", code))
    patterns = [re.sub(r"\$\{\w+(\.\w+)*\}", r"\\w+", each) for each in re.findall(rf"{words}\[`([^`]*)`\]", code)]
    return named, patterns, bool(re.search(rf"{words}\[[a-z]", code))


def is_filled(parts: list[str | None], key: str, words: set[str]) -> bool:
    """Whether a key is these parts, with a word of the code, or nothing, in every blank."""
    if not parts:
        return not key
    first, rest = parts[0], parts[1:]
    if first is not None:
        return key.startswith(first) and is_filled(rest, key.removeprefix(first), words)
    cuts = (n for n in range(len(key) + 1) if n == 0 or key[:n] in words)
    return any(is_filled(rest, key[n:], words) for n in cuts)


def used_in_python() -> set[str]:
    """Keys that the code may ask for; what fills an f-string must stand somewhere in the code as a word."""
    words = {node.value for _, node in parsed() if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    words |= {node.target.id for _, node in parsed() if isinstance(node, ast.AnnAssign) and hasattr(node.target, "id")}
    patterns = {
        tuple(wildcard(node))
        for _, node in parsed()
        if isinstance(node, ast.JoinedStr) and re.match(r"[a-z_]+\.|lesson_", str(wildcard(node)[0]))
    }
    found = {key for key in ENTRIES if key in words}
    return found | {key for key in ENTRIES if any(is_filled([*parts], key, words) for parts in patterns)}


def used_in_scripts() -> set[str]:
    found = set()
    for file, script in SENT_WHOLE.items():
        named, patterns, computed = names_in_script(script)
        code = code_of(script)
        python = " ".join(path.read_text("utf-8") for path in PYTHON)
        for key in (key for key in ENTRIES if key.startswith(f"{file}.")):
            name = key.split(".")[1]
            quoted = re.search(rf"""['"]{name}['"]|\b{name}:""", code + python)
            if name in named or any(re.fullmatch(p, name) for p in patterns) or (computed and quoted):
                found.add(key)
    return found


def leaves() -> set[type[errors.PlaygroundError]]:
    found, left = set(), [errors.PlaygroundError]
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        if not kind.__subclasses__():
            found.add(kind)
    return found


def test_every_key_is_used():
    errors_said = {kind().key for kind in leaves()}
    assert sorted(ENTRIES.keys() - used_in_python() - used_in_scripts() - errors_said) == []


# Every blank is filled.


def test_every_blank_is_filled_by_the_code_that_says_it():
    checked = 0
    for where, call in calls("say"):
        keys = [a.value for a in call.args if isinstance(a, ast.Constant) and str(a.value) in ENTRIES]
        if not keys or any(keyword.arg is None for keyword in call.keywords):
            continue
        given = {keyword.arg for keyword in call.keywords}
        assert given == blanks(say("en", keys[0])), where
        checked += 1
    assert checked > 15


def test_some_sentence_with_a_missing_value_would_be_noticed():
    with pytest.raises(KeyError):
        say("en", "attention.title", layer=1)


# Errors.


def test_the_tree_in_the_docstring_is_the_tree():
    drawn = set(re.findall(r"[A-Z][A-Za-z]+", errors.__doc__.split("\n\n")[1]))
    assert drawn - {"PlaygroundError", "InputError", "ModelError"} == {kind.__name__ for kind in leaves()}


def test_every_error_has_its_sentence_and_every_sentence_its_error():
    assert {kind().key for kind in leaves()} == {key for key in ENTRIES if key.startswith("errors.")}


RAISED = [
    (where, call)
    for where, call in calls(*(kind.__name__ for kind in leaves()))
    if not where.startswith("playground/errors.py")
]


@pytest.mark.parametrize(("where", "call"), RAISED, ids=[f"{where} {call.func.id}" for where, call in RAISED])
def test_an_error_carries_every_value_that_its_sentence_names(where, call):
    kind = getattr(errors, call.func.id)
    given = {keyword.arg for keyword in call.keywords}
    assert blanks(say("en", kind().key)) <= given
    assert not call.args


def test_every_error_is_raised_somewhere():
    raised = {call.func.id for _, call in RAISED}
    assert {kind.__name__ for kind in leaves()} <= raised


@pytest.mark.parametrize("kind", sorted(leaves(), key=lambda kind: kind.__name__), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_O_UI_05_an_error_is_one_sentence_whatever_its_values_hold(kind, lang):
    hostile = "<img src=x onerror=alert(1)> {0} %s\n\x1b[31m" + "x" * 500
    names = blanks(say(lang, kind().key))
    said = say_error(lang, kind(**dict.fromkeys(names, hostile)))
    assert said.isprintable()
    assert len(said) < 500
    assert not re.search(r"\{\w+\}", said.replace("{0}", ""))


def test_values_in_a_sentence_are_short_and_readable():
    assert shorten(20001) == "20,001"
    assert shorten(True) == "True"
    assert shorten(2.7) == "2.7"
    assert shorten("a\x00\n") == "a\\x00\\x0a"
    assert shorten("x" * 61) == "x" * 59 + "…"
    assert shorten("x" * 60) == "x" * 60


def test_a_sentence_names_the_value_and_the_limit():
    error = errors.PromptTooLong(characters=20001, limit=20000)
    assert say_error("en", error) == "The prompt has 20,001 characters; at most 20,000 are taken."
    assert say_error("zh", error) == "提示词有 20,001 个字符，最多 20,000 个。"


def test_a_control_is_called_by_its_name_and_a_file_by_its_own():
    assert say_error("zh", errors.NotANumber(name="prompt", value="x")) == "“提示词”应是一个数，而不是“x”。"
    assert "prompt" in say_error("zh", errors.FolderMissing(name="prompt"))


def test_sentences_stand_apart_in_english_and_close_in_chinese():
    assert sentences("en", "One.", "", "Two.") == "One. Two."
    assert sentences("zh", "一。", "", "二。") == "一。二。"
    assert sentences("en", "One.", "") == "One."


def test_an_error_shows_its_values_to_a_programmer():
    assert str(errors.OutOfRange(name="k", value=0, low=1, high=9)) == "OutOfRange(name='k', value=0, low=1, high=9)"


# How texts are asked for.


def test_a_control_takes_all_its_texts():
    assert labels("en", "page.prompt") == {"label": "Prompt", "placeholder": "Write a beginning and press Enter"}


def test_a_file_is_sent_with_its_sentences_and_without_its_controls():
    sent = under("zh", "attention")
    assert sent["title"] == ENTRIES["attention.title"]["zh"]
    assert not {"tab", "layer"} & sent.keys()


def test_an_unknown_key_is_a_mistake_of_the_code():
    with pytest.raises(KeyError):
        say("en", "page.nothing")
