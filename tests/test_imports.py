"""Imports point one way, so that a student can copy the network and a picture never needs a model."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "playground"
FILES = sorted(PACKAGE.rglob("*.py"))
# What each part may import of ours, besides itself; ui may import everything.
MAY_IMPORT = {
    "errors": set(),
    "gpt": {"errors"},
    "figures": {"errors"},
    "text": {"errors"},
    "analysis": {"errors", "gpt"},
    "limits": {"errors"},
    "log": {"errors"},
    "models": {"errors", "gpt", "limits", "log"},
    "runs": {"errors", "gpt", "analysis", "limits", "models"},
    "lessons": {"errors", "gpt", "analysis"},
}
ONLY_IN = {
    "gradio": {"ui"},
    "plotly": {"figures"},
    "torch": {"gpt", "analysis", "models", "runs", "lessons", "ui"},
    "tiktoken": {"gpt"},
    "safetensors": {"gpt"},
    "transformers": set(),  # the oracle of the tests, never of the product
}


def imported(path: Path) -> Iterator[list[str]]:
    """Every import of a file, as the parts of its absolute name."""
    package = ["playground", *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            module = [*base, *(node.module.split(".") if node.module else [])]
            yield from ([*module, alias.name] for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    part = path.relative_to(PACKAGE).with_suffix("").parts[0]
    for name in imported(path):
        if name[0] == "playground" and len(name) > 1:
            assert part == "ui" or name[1] in {part, *MAY_IMPORT[part]}, ".".join(name)
        assert part in ONLY_IN.get(name[0], {part}), name[0]


def test_the_arrows_are_seen():
    """Were these two missed, the test above would prove nothing."""
    assert ["playground", "gpt", "trace", "Trace"] in list(imported(PACKAGE / "gpt" / "model.py"))
    assert any(name[0] == "gradio" for name in imported(PACKAGE / "ui" / "page.py"))
