"""O-SEC-06: every handler of the page can be called by hand with anything: it refuses in a sentence or does nothing."""

import errno
import json
import math
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path

import gradio as gr
import httpx
import pytest

import serving
from playground.errors import InputError
from playground.runs import Request
from playground.text import LANGUAGES, say
from playground.ui import take_home
from playground.ui.guard import guarded
from playground.ui.http import MOST_BYTES
from playground.ui.intake import Page, Refused, checked, said
from ui import caller

DEEP = json.loads("[" * 200 + "]" * 200)
EVERYWHERE = ("nothing", "the name of a field", "NaN", "an object", "a deep list", "a path")  # asked of every handler
ODD = {
    "nothing": None,
    "text": "x",
    "the name of a field": "at from text off what head place instead",
    "a number below all": -1,
    "a fraction": 0.5,
    "a huge number": 10**30,
    "NaN": math.nan,
    "infinity": math.inf,
    "true": True,
    "an object": {"from": 3, "at": "1", "text": [], "off": "../../etc/passwd", "head": "NaN", "what": {}, "place": {}},
    "a list": [["attention.0", 5]],
    "a deep list": DEEP,
    "a path": {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}},
    "a path upwards": {
        "path": "../../../etc/passwd",
        "url": "file:///etc/passwd",
        "meta": {"_type": "gradio.FileData"},
    },
    "markup": "<img src=x onerror=alert(1)>",
}
ROOT = str(Path(__file__).parents[2])
LEAKS = ("Traceback", 'File "', ".py", "site-packages", " object at 0x", "root:x:", ROOT)
WAIT = 60  # seconds for all handlers together


@pytest.fixture
def faults():
    """What the page's own log says went wrong in it."""
    return serving.server().faults.said


@pytest.fixture(scope="module")
def config():
    return caller.config()


@pytest.fixture(scope="module")
def handlers(config):
    """Those that run on the server, one of each kind: the 21 figures, for instance, ask by one function."""
    found = {
        (re.sub(r"_\d+$", "", each["api_name"]), len(each["inputs"]), len(each["outputs"])): each
        for each in config["dependencies"]
        if each["backend_fn"]
    }
    return list(found.values())


def call_all(calls):
    """Every (handler, values, what the event carries), asked in one session: what the queue says of each in the end."""
    url, visitor = f"{serving.server().url}/gradio_api", caller.Caller.arrived().session
    ended, waiting = {}, {}
    with httpx.Client(timeout=WAIT, trust_env=False, headers={"Content-Type": "application/json"}) as http:
        for fn, data, carried in calls:
            body = {"fn_index": fn, "data": data, "session_hash": visitor, "event_data": carried}
            joined = http.post(f"{url}/queue/join", content=json.dumps(body))
            if joined.status_code == 200:
                waiting[joined.json()["event_id"]] = fn
            else:
                ended[fn] = {"refused": joined.text}
        with http.stream("GET", f"{url}/queue/data", params={"session_hash": visitor}) as told:
            for line in told.iter_lines():
                message = json.loads(line.removeprefix("data: ")) if line.startswith("data: ") else {}
                if message.get("msg") == "process_completed":
                    ended[waiting.pop(message["event_id"])] = message
                if not waiting:
                    return ended
    raise AssertionError(f"no answer from {waiting}")


def sentences(message, is_public, carries_a_path=False):
    """What a refusal says; nothing when the handler did what it was asked for, or nothing at all.

    A path in an event is refused by Gradio, in its own words.
    """
    output = message["output"]
    if is_public or carries_a_path:
        return [output["error"]] if not message["success"] else []
    assert message["success"], output
    data = output["data"]
    told = json.loads(data[-1]) if data and isinstance(data[-1], str) and data[-1].startswith('{"zh"') else {}
    return [told[lang] for lang in LANGUAGES if told]


def check(handlers, ended, case):
    public = {each["id"]: each["api_visibility"] == "public" for each in handlers}
    assert ended.keys() == public.keys()
    for fn, message in ended.items():
        where = f"{case}: {next(each['api_name'] for each in handlers if each['id'] == fn)}"
        for sentence in sentences(message, public[fn], case.startswith("a path")):
            assert 5 < len(sentence) < 400, (where, sentence)
            assert sentence.endswith((".", "。")), (where, sentence)
            assert sentence.isprintable(), (where, sentence)
            assert not [leak for leak in LEAKS if leak in sentence], (where, sentence)
            assert sentence not in [say(lang, "errors.unforeseen") for lang in LANGUAGES], where


@pytest.mark.parametrize("kind", EVERYWHERE)
def test_O_SEC_06_no_handler_takes_odd_values(handlers, faults, kind):
    odd = ODD[kind]
    ended = call_all([(each["id"], [odd] * len(each["inputs"]), odd) for each in handlers])
    check(handlers, ended, kind)
    assert not faults


def test_O_SEC_06_events_of_the_page_that_carry_something_odd_are_refused(config, handlers, faults):
    """The controls as they stand, so that only what the event carries is wrong."""
    value = {part["id"]: part["props"].get("value") for part in config["components"]}
    seen = Counter()
    events = [each for each in handlers if each["collects_event_data"]]
    assert len(events) > 8
    for kind, odd in ODD.items():
        ended = call_all([(each["id"], [value[i] for i in each["inputs"]], odd) for each in events])
        check(events, ended, kind)
        seen.update(kind for each in events if sentences(ended[each["id"]], False, kind.startswith("a path")))
    assert set(seen) == set(ODD)
    assert not faults


@pytest.mark.parametrize("data", [[], [1] * 99], ids=["missing", "surplus"])
def test_O_SEC_06_missing_and_surplus_values(handlers, faults, data):
    check(handlers, call_all([(each["id"], data, None) for each in handlers]), "")
    assert not faults


def test_the_page_as_it_stands_is_refused_by_no_handler(config, handlers, faults):
    """Or the tests above would prove nothing."""
    value = {part["id"]: part["props"].get("value") for part in config["components"]}
    plain = [each for each in handlers if each["api_visibility"] == "private" and not each["collects_event_data"]]
    ended = call_all([(each["id"], [value[i] for i in each["inputs"]], {}) for each in plain])
    refused = {each["api_name"]: sentences(ended[each["id"]], False) for each in plain}
    assert {name: said for name, said in refused.items() if said} == {}
    assert not faults


def test_a_full_disk_is_a_sentence_and_the_page_goes_on(config, handlers, faults, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(take_home, "write_npz", full)
    value = {part["id"]: part["props"].get("value") for part in config["components"]}
    make = next(each for each in handlers if each["api_name"] == "make")
    ended = call_all([(make["id"], [value[i] for i in make["inputs"]], {"what": "npz"})])
    assert sentences(ended[make["id"]], False) == [say(lang, "errors.file_unwritable") for lang in LANGUAGES]
    assert not faults


BODIES = {
    "no JSON": b"{",
    "nothing": b"",
    "a list": b"[]",
    "null": b"null",
    "data is no list": b'{"fn_index": 0, "data": 5, "session_hash": "x"}',
    "no data": b'{"fn_index": 0, "session_hash": "x"}',
    "no such handler": b'{"fn_index": 99999, "data": [], "session_hash": "x"}',
    "a handler below 0": b'{"fn_index": -1, "data": [], "session_hash": "x"}',
    "a handler called x": b'{"fn_index": "x", "data": [], "session_hash": "x"}',
    "a session that is an object": b'{"fn_index": 0, "data": [], "session_hash": {"a": 1}}',
    "no session": b'{"fn_index": 0, "data": []}',
    "too many digits": b'{"fn_index": 0, "data": [' + b"9" * 5000 + b'], "session_hash": "x"}',
    "nested without end": b'{"fn_index": 0, "data": ' + b"[" * 100_000 + b"]" * 100_000 + b', "session_hash": "x"}',
    "no UTF-8": b'{"fn_index": 0, "data": ["\xff"], "session_hash": "x"}',
    "half a surrogate": b'{"fn_index": 0, "data": ["\\ud800"], "session_hash": "\\ud800"}',
}


@pytest.mark.parametrize("case", BODIES)
def test_a_body_that_is_none_is_refused_and_tells_nothing(case):
    answer = httpx.post(
        f"{serving.server().url}/gradio_api/queue/join",
        content=BODIES[case],
        headers={"Content-Type": "application/json"},
        trust_env=False,
        timeout=30,
    )
    assert answer.status_code in (200, 400, 404, 413, 422, 500, 503)
    assert not [leak for leak in LEAKS if leak in answer.text], answer.text[:500]


def test_a_body_of_megabytes_is_not_read():
    answer = httpx.post(
        f"{serving.server().url}/gradio_api/queue/join",
        content=b'{"fn_index": 0, "data": ["' + b"x" * MOST_BYTES + b'"], "session_hash": "x"}',
        headers={"Content-Type": "application/json"},
        trust_env=False,
        timeout=30,
    )
    assert answer.status_code == 413
    assert answer.json() == {"detail": "At most 10,000,000 bytes are taken."}


def test_O_SEC_06_after_all_that_nothing_has_changed():
    server = serving.server()
    assert server.runs(Request(serving.OWN, "Hello, I am")).trace.logits[-1].argmax() == 17442
    assert set(server.models._loaded) <= {"storyteller", "untrained", serving.OWN}
    assert server.page.blocks  # and the queue is empty, so nobody waits behind what was refused
    assert server.idle


CONTROLS = {
    "radio": lambda: gr.Radio([("a", 0), ("b", 1)], value=0, label="Layer"),
    "words": lambda: gr.Radio(["greedy", "sample"], value="greedy", label="How"),
    "dropdown": lambda: gr.Dropdown(["key", "value"], value="key", label="What"),
    "checkbox": lambda: gr.Checkbox(False, label="Hide"),
    "slider": lambda: gr.Slider(0, 100, 20, label="Count"),
    "number": lambda: gr.Number(0, label="Seed"),
    "textbox": lambda: gr.Textbox("", label="Prompt"),
}
TAKEN = {  # what of ODD each lets in
    "checkbox": {"true"},
    "slider": {"a fraction"},
    "number": {"nothing", "a number below all", "a fraction"},
    "textbox": {"nothing", "text", "the name of a field", "markup"},
}


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("kind", ODD)
def test_a_control_takes_only_what_it_can_have_sent(control, kind):
    made = CONTROLS[control]()
    if kind in TAKEN.get(control, ()):
        assert checked(made, ODD[kind]) in (ODD[kind], "")
        return
    with pytest.raises(InputError):
        checked(made, ODD[kind])


@pytest.mark.parametrize(
    ("control", "value"), [("radio", 1), ("words", "sample"), ("dropdown", "value"), ("slider", 3)]
)
def test_what_it_can_have_sent_is_handed_over_as_it_is(control, value):
    assert checked(CONTROLS[control](), value) == value


@pytest.mark.parametrize(("control", "value"), [("radio", 1.0), ("radio", False), ("checkbox", 1), ("checkbox", None)])
def test_equal_is_not_enough_it_must_be_of_the_same_kind(control, value):
    with pytest.raises(InputError):
        checked(CONTROLS[control](), value)


def test_every_control_of_the_page_is_of_a_kind_that_is_checked():
    page = serving.server().page
    assert isinstance(page, Page)
    for control in {control for fn in page.fns.values() if fn.fn for control in fn.inputs if not control.stateful}:
        with suppress(InputError):
            checked(control, None)
    with pytest.raises(TypeError, match="Image"):
        checked(gr.Image(), None)


@pytest.mark.parametrize("carried", [None, 3, "at", ["at"], {}, {"from": 1}])
def test_an_event_that_carries_nothing_of_that_name_says_nothing(carried):
    assert said(gr.EventData(None, carried), "at") is None


def test_a_fault_of_ours_is_a_sentence_and_its_message_is_not_logged(caplog):
    def fail(prompt: str) -> None:
        raise RuntimeError(f"cannot read {prompt}")

    told = guarded(fail, 1, asked=True)("canary")[-1]
    assert {lang: told[lang] for lang in LANGUAGES} == {lang: say(lang, "errors.unforeseen") for lang in LANGUAGES}
    assert "RuntimeError" in caplog.text
    assert " fail" in str(caplog.records[-1].told["at"])
    assert "canary" not in caplog.text
    serving.server().faults.said.clear()  # this one was meant


def test_what_was_refused_reaches_no_handler():
    refused = Refused(InputError())
    with pytest.raises(KeyError):  # it is the refusal that is told, and this one has no sentence
        guarded(lambda _: pytest.fail("reached"), 1, asked=True)(refused)


def test_O_SEC_06_no_handler_has_a_public_name_but_the_four(config):
    public = {d["api_name"] for d in config["dependencies"] if d["api_visibility"] == "public"}
    assert public == {"generate", "attention", "layer_norm", "ablate"}


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "app.py", "assets/models/storyteller/model.safetensors", "../app.py", "%2e%2e/app.py", "~/.bashrc"],
)
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


def test_of_every_question_one_component_at_most_shows_the_state(config):
    """Gradio copies it at each message, with all that is inside it."""
    for handler in config["dependencies"]:
        if handler["backend_fn"]:
            assert len(handler["show_progress_on"] or handler["outputs"]) == 1, handler["api_name"]
