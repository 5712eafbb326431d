"""O-SEC-06: every handler of the page can be called by hand with anything. None of them minds."""

import json
from pathlib import Path

import httpx
import pytest

import serving
from playground.runs import Request
from ui.caller import answered, config

ODD = {
    "nothing": None,
    "text": "x",
    "a number": -1,
    "an object": {"from": 3, "text": [], "off": "../../etc/passwd", "head": "NaN", "value": {}},
    "a list": [["attention.0", 5]],
    "a path": {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}},
}
LEAKS = ("Traceback", "site-packages", str(Path(__file__).parents[2]), "root:x:")


@pytest.mark.parametrize("kind", ODD)
def test_O_SEC_06_no_handler_answers_odd_values_with_a_leak(kind):
    odd = ODD[kind]
    for dependency in config()["dependencies"]:
        if not dependency["backend_fn"]:
            continue
        answer = json.dumps(answered(dependency["id"], [odd] * len(dependency["inputs"]), odd))
        assert not any(leak in answer for leak in LEAKS), (dependency["id"], answer[:500])


def test_O_SEC_06_missing_and_surplus_values_do_not_leak():
    for dependency in config()["dependencies"]:
        for data in ([], [1] * (len(dependency["inputs"]) + 3)):
            if dependency["backend_fn"] and len(data) != len(dependency["inputs"]):
                answer = json.dumps(answered(dependency["id"], data))
                assert not any(leak in answer for leak in LEAKS), (dependency["id"], answer[:500])


def test_O_SEC_06_after_all_that_nothing_has_changed():
    server = serving.server()
    assert server.runs(Request(serving.OWN, "Hello, I am")).trace.logits[-1].argmax() == 17442
    assert set(server.models._loaded) <= {"storyteller", "untrained", serving.OWN}


def test_O_SEC_06_no_handler_has_a_public_name_but_the_four():
    public = {d["api_name"] for d in config()["dependencies"] if d["api_visibility"] == "public"}
    assert public == {"generate", "attention", "layer_norm", "ablate"}


@pytest.mark.parametrize("path", ["/etc/passwd", "app.py", "assets/models/storyteller/model.safetensors", "../app.py"])
def test_O_SEC_06_files_of_the_server_are_not_served(path):
    answer = httpx.get(f"{serving.server().url}/gradio_api/file={path}", trust_env=False)
    assert answer.status_code in (403, 404)


def test_O_SEC_05_there_is_no_upload_to_fill_the_disk_with():
    """No part of the page takes a file; what Gradio's own door takes is bounded."""
    place = Path(serving.server().page.GRADIO_CACHE)
    before = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
    answers = [upload("x", b"0" * 5_000_000), upload("x" * 1_000_000, b"00"), upload('../../"x', b"00")]
    answers += [upload(f"{k}", b"00") for k in range(50)]
    assert all(400 <= status < 500 for status in answers), answers
    assert sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) - before < 100


@pytest.mark.parametrize(
    "name", ["x" * 1_000_000, "../../x", 'a"b', "..", "\0", "x/../../../y"], ids=lambda name: name[:12]
)
def test_O_SEC_05_whatever_a_file_is_called_it_stays_where_it_belongs(name):
    """Of one byte, which is as much as the door takes."""
    place = Path(serving.server().page.GRADIO_CACHE).resolve()
    answer = httpx.post(
        f"{serving.server().url}/gradio_api/upload", files={"files": (name, b"0")}, trust_env=False, timeout=30
    )
    assert answer.status_code == 200 or 400 <= answer.status_code < 500, answer.text
    if answer.status_code == 200:
        (path,) = answer.json()
        assert Path(path).resolve().is_relative_to(place)


def upload(name: str, data: bytes) -> int:
    return httpx.post(
        f"{serving.server().url}/gradio_api/upload", files={"files": (name, data)}, trust_env=False, timeout=30
    ).status_code
