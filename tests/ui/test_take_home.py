"""What is taken home holds the very numbers, runs as pasted, and asks nobody."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from playground.figures.follow import PLOTLY_JS
from playground.gpt.ablation import parse
from playground.models import Models
from playground.runs import Request, Runs
from playground.ui import report, take_home, view

ROOT = Path(__file__).parents[2]
OFF = parse(["attention.1", "head.2.3"], 6, 6)
EVIL = "</script><b>x</b> <!-- ' \" & ${1} {lang}"


@pytest.fixture(scope="module")
def runs():
    return Runs(Models().get)


@pytest.mark.parametrize("model", ["storyteller", "untrained"])
def test_the_snippet_runs_as_pasted_and_prints_the_bars(runs, model):
    request = Request(model, "A fox and a wolf", (40, 41), OFF)
    run, at = runs(request), 3
    code = take_home.snippet(request, run).replace("__POSITION__", str(at))
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    printed = [line.split(" ") for line in ran.stdout.splitlines()]
    shown = view.steps(run, None, 0)[at]["top"]
    assert [row[0] for row in printed] == [label for _, label, _, _ in shown]
    np.testing.assert_allclose([[float(p), float(logit)] for _, p, logit in printed],
                               [[p, logit] for _, _, p, logit in shown], rtol=2e-5)  # fmt: skip


def test_the_npz_holds_every_tensor_of_the_trace_bit_for_bit(runs, tmp_path):
    request = Request("storyteller", "A fox / a wolf", (40,), OFF)
    run = runs(request)
    path = take_home.write_npz(tmp_path, request, run)
    assert path.name == "A-fox-a-wolf.npz"
    with np.load(path) as held:
        for name, tensor, _ in run.trace.tensors():
            np.testing.assert_array_equal(held[name], tensor.numpy())
        about = json.loads(str(held["about"]))
        assert tuple(held["ids"]) == run.ids
    assert (about["model"], about["prompt"], about["off"]) == ("storyteller", "A fox / a wolf", OFF.words())
    assert about["config"]["n_layers"] == 6


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_O_SEC_text_in_a_report_is_never_markup(runs, lang):
    request = Request("storyteller", EVIL)
    run = runs(request)
    page = report.page(request, run, lang, {"labels": run.labels, "note": EVIL}, [])
    begun = page.index("const lang")
    assert page.count("<b>x</b>") == 0
    assert page[begun:].count("</script>") == 1  # the one that ends it
    said = re.search(r"parts = (\[.*?\]);\nplayground\.begin", page[begun:], re.S)
    assert json.loads(json.loads(said.group(1))[0][2])["note"] == EVIL


def test_a_report_names_no_other_address(runs):
    request = Request("storyteller", "A fox")
    page = report.page(request, runs(request), "en", {}, [])
    own = page.replace(PLOTLY_JS.read_text("utf-8"), "")
    assert set(re.findall(r"https?://[^\s\"'`]+", own)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=", own)
