"""What the README promises: a Space that builds, code that runs as it stands, and every limit there is."""

import ast
import contextlib
import io
import re
from pathlib import Path

import pytest
import torch
import yaml

import serving
from playground import VERSION
from playground.limits import DEFAULTS, settings

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
ENGLISH, CHINESE = README.split("\n---\n\n# GPT Playground（中文）")
LOCAL = "http://127.0.0.1:7860"
PINNED = ("gradio", "numpy", "plotly", "safetensors", "tiktoken", "torch")
COLOURS = ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray")


# The Space.


def test_O_DEP_04_the_front_matter_is_a_space_that_builds():
    matter = yaml.safe_load(README.split("---\n")[1])
    pins = dict(line.split("==") for line in (ROOT / "requirements.txt").read_text().split())
    assert set(pins) == set(PINNED)
    assert all(re.fullmatch(r"\d+(\.\d+)+", version) for version in pins.values())
    assert (matter["sdk"], matter["sdk_version"], matter["python_version"]) == ("gradio", pins["gradio"], "3.12")
    assert (ROOT / matter["app_file"]).is_file()
    assert {matter["colorFrom"], matter["colorTo"]} <= set(COLOURS)
    assert len(matter["short_description"]) <= 60
    assert matter["title"] == "GPT Playground"
    assert not matter.get("disable_embedding")


def test_no_file_needs_large_file_storage():
    """The hub wants files of 10 MB or more kept apart."""
    kept = [path for part in ("assets", "playground", "tests", ".ci") for path in (ROOT / part).rglob("*")]
    assert max(path.stat().st_size for path in kept if path.is_file()) < 10 * 10**6


def test_the_version_is_the_projects():
    assert f'version = "{VERSION}"' in (ROOT / "pyproject.toml").read_text()


@pytest.mark.parametrize("path", [ROOT / "app.py", *(ROOT / "playground").rglob("*.py")], ids=lambda path: path.name)
def test_nothing_is_written_that_the_oldest_python_cannot_read(path):
    ast.parse(path.read_text("utf-8"), feature_version=(3, 11))


# The code in it.


def code(imports: str) -> str:
    """The one block of Python with these words in it."""
    (block,) = [block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if imports in block]
    return block


def printed(block: str, names: dict) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(block, names)
    return said.getvalue()


@pytest.fixture(scope="module")
def without_the_page():
    block = code("from playground")
    assert len([line for line in block.splitlines() if line.strip()]) <= 10
    said = printed(block, names := {})
    return said, names


def test_ten_lines_show_tokens_attention_and_an_ablation(without_the_page):
    said, names = without_the_page
    run, off = names["run"], names["off"]
    assert said.startswith(str(run.labels))
    assert run.labels[:3] == ["Once", "·upon", "·a"]
    weights = run.trace.blocks[4].attention.weights[2]
    torch.testing.assert_close(weights.sum(-1), torch.ones(len(run.labels)))
    assert float(off.trace.blocks[2].attention.out.abs().max()) == 0
    assert said.strip().endswith(")")


def test_the_endpoints_say_the_same(without_the_page):
    run = without_the_page[1]["run"]
    kl = float(re.search(r"tensor\(([\d.]+)", without_the_page[0].splitlines()[-1]).group(1))
    block = code("from gradio_client")
    assert LOCAL in block
    tokens, weights, nats = printed(block.replace(LOCAL, serving.server().url), {}).splitlines()[-3:]
    assert ast.literal_eval(tokens) == run.labels
    shown = [[weight or 0.0 for weight in row] for row in ast.literal_eval(weights)]
    torch.testing.assert_close(torch.tensor(shown), run.trace.blocks[4].attention.weights[2], rtol=0, atol=2e-5)
    assert float(nats) == pytest.approx(kl, abs=1e-3)


# The limits.


@pytest.mark.parametrize("half", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_every_limit_is_in_the_table_with_its_default(half):
    rows = dict(re.findall(r"^\| `(PLAYGROUND_\w+)` \| ([\d,]+) \|", half, re.MULTILINE))
    assert rows == {variable: f"{value:,}" for variable, value in settings(DEFAULTS).items()}
