"""Every word shown to a person, in Chinese and English, side by side in the .toml files here."""

import tomllib
from importlib.resources import files
from typing import Any

from playground.errors import InputError, PlaygroundError

LANGUAGES = ("zh", "en")

_TEXT: dict[str, dict[str, Any]] = {
    f"{file.name.removesuffix('.toml')}.{key}": entry
    for file in files(__name__).iterdir()
    if file.name.endswith(".toml")
    for key, entry in tomllib.loads(file.read_text("utf-8")).items()
}


def say(lang: str, key: str, /, **values: object) -> str:
    """The sentence under `key`, with `values` filled in. Raises: KeyError for an unknown key."""
    text: str = _TEXT[key][lang]
    return text.format(**values) if values else text


def say_error(lang: str, error: PlaygroundError) -> str:
    """What went wrong, as one sentence that names the value and the limit."""
    values = {name: shorten(value) for name, value in error.values.items()}
    if isinstance(error, InputError) and (named := _TEXT.get(f"names.{values.get('name')}")):
        values["name"] = named[lang]  # that of a control; others name files and models
    return say(lang, error.key, **values)


def shorten(value: object, limit: int = 60) -> str:
    """A value as it may stand in a sentence: long ones cut, thousands separated, control characters visible."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    shown = f"{value:,}" if whole else "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(value))
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def sentences(lang: str, *parts: str) -> str:
    """Sentences one after the other, of which some may be empty; Chinese needs no space between them."""
    return ("" if lang == "zh" else " ").join(filter(None, parts))


def labels(lang: str, key: str) -> dict[str, str]:
    """The texts of one control (label, info, placeholder, ...), as its keyword arguments."""
    entry: dict[str, str] = _TEXT[key][lang]
    return entry


def under(lang: str, file: str) -> dict[str, str]:
    """All plain sentences of one file, without its name: what the page's JavaScript shows."""
    start = f"{file}."
    return {
        key.removeprefix(start): entry[lang]
        for key, entry in _TEXT.items()
        if key.startswith(start) and isinstance(entry[lang], str)
    }
