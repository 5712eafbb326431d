"""`python app.py` as an operator starts it: it serves, calls nobody, and keeps what visitors type to itself."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from gradio_client import Client

import serving

ROOT = Path(__file__).parents[2]
# Loaded by every Python process before anything else: who tries to leave this computer is written down and refused.
# Ctrl+C is heard again, which a shell that runs the tests in its background lets nobody hear.
GUARD = """
import os, signal, socket
signal.signal(signal.SIGINT, signal.default_int_handler)
real = socket.socket.connect
def connect(self, address):
    if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
        with open(os.environ["GUARD_LOG"], "a") as log:
            log.write(f"{address}\\n")
        raise OSError("no network in this test")
    return real(self, address)
socket.socket.connect = connect
"""
WITH_PROC = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc here")
CANARY = "canary-5f3a \x1b[31mred"


@pytest.fixture(scope="module")
def started(tmp_path_factory, fix_a_folder):
    with start(tmp_path_factory.mktemp("app"), fix_a_folder) as app:
        yield app


@contextmanager
def start(folder, model):
    """An address, what the process has said so far, who it tried to reach, and the process."""
    (folder / "sitecustomize.py").write_text(GUARD)
    said, reached = folder / "said", folder / "reached"
    reached.touch()
    serving.proxies_aside()
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "GUARD_LOG": str(reached),
        "HOME": str(folder),
        "HF_HUB_CACHE": str(folder / "hub"),
    }
    environment.pop("HF_HUB_OFFLINE", None)
    port = serving.free_port()
    command = [sys.executable, "app.py", "--model", str(model), "--port", str(port), "--lang", "zh"]
    with said.open("w") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(url, process, said)
        yield url, said, reached, process
    finally:
        process.terminate()
        process.wait(20)


def wait_for(url, process, said, seconds=90):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert process.poll() is None, said.read_text()
        try:
            if httpx.get(url, trust_env=False, timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError(said.read_text())


@WITH_PROC
def test_O_DEP_05_a_cold_start_takes_little_time_and_memory(started):
    """Seconds of the processor's, which a busy computer does not stretch as it does those of the clock."""
    url, _, _, process = started
    at_start = seconds(process)
    asked = {"data": ["Once upon a time", "storyteller", None, 1, 0, None, None, 0]}
    event = httpx.post(f"{url}/gradio_api/call/generate", json=asked, trust_env=False).json()["event_id"]
    assert "prompt_ids" in httpx.get(f"{url}/gradio_api/call/generate/{event}", trust_env=False, timeout=60).text
    assert at_start <= 20
    assert seconds(process) <= 30
    resident = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    assert int(resident[1]) <= 1_500_000


def seconds(process) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def app(started):
    return Client(started[0], verbose=False, analytics_enabled=False, download_files=False)


def test_an_own_model_is_offered_and_runs(app, fix_a_folder):
    answer = app.predict("Hello, I am", model=fix_a_folder.name, max_new_tokens=2, api_name="/generate")
    assert [token["id"] for token in answer["tokens"]] == [17442, 23487]


def test_the_page_arrives_with_a_finished_run_of_it_in_the_language_asked_for(started, fix_a_folder):
    page = httpx.get(f"{started[0]}/config", trust_env=False).json()
    shown = {component["props"].get("elem_id"): component["props"] for component in page["components"]}
    player, attention = (json.loads(shown[name]["value"]) for name in ("player", "attention-map"))
    assert player["query"]["model"] == fix_a_folder.name
    assert len(player["labels"]) == 16  # its context
    assert attention["figure"]["data"][0]["type"] == "heatmap"
    assert shown["run"]["value"] == "运行"
    assert shown["language"]["value"] == "zh"
    assert str(fix_a_folder) not in httpx.get(f"{started[0]}/config", trust_env=False).text


def test_O_DEP_02_nobody_is_called_and_a_hub_model_is_refused_by_the_page(started, app):
    assert started[2].read_text() == ""
    with pytest.raises(Exception, match="out of reach"):
        app.predict("Hello", model="gpt2", api_name="/generate")


def test_O_DEP_02_O_TOK_11_prompts_are_not_logged(started, app):
    app.predict(CANARY, max_new_tokens=1, api_name="/generate")
    said = started[1].read_text()
    assert "canary" not in said
    assert "\x1b" not in said
    assert '"threads": 2' in said  # O-CON-06: threads set and logged
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("lang", "sentence"),
    [("en", "The file config.json is missing."), ("zh", "找不到文件 config.json。")],
    ids=["en", "zh"],
)
def test_a_model_that_cannot_be_read_is_one_sentence(tmp_path, lang, sentence):
    command = [sys.executable, "app.py", "--model", str(tmp_path), "--lang", lang]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=90, check=False)
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].endswith(sentence)
    assert "Traceback" not in ended.stderr


def test_the_address_is_said_once_and_nothing_of_gradios(started):
    said = started[1].read_text()
    assert said.count(started[0]) == 1
    assert "share=True" not in said
    assert "HTTP Request" not in said


def test_a_port_that_is_taken_is_one_sentence(started):
    taken = started[0].rsplit(":", 1)[1]
    command = [sys.executable, "app.py", "--port", taken, "--lang", "zh"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=90, check=False)
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].endswith(f"端口 {taken} 已被占用：用 --port 换一个。")
    assert "Traceback" not in ended.stderr


def test_no_port_above_the_last():
    command = [sys.executable, "app.py", "--port", "99999"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=90, check=False)
    assert (ended.returncode, "between 1 and 65535" in ended.stderr) == (2, True)


@WITH_PROC
def test_who_ends_it_while_it_computes_sees_no_abort(tmp_path, fix_a_folder):
    with start(tmp_path, fix_a_folder) as (url, said, _, process):
        for visitor in range(4):
            asked = {"data": [f"There were {visitor} foxes. " * 20, "storyteller", None, 64, 0, None, None, 0]}
            httpx.post(f"{url}/gradio_api/call/generate", json=asked, trust_env=False).raise_for_status()
        begun = seconds(process)
        with httpx.stream("GET", f"{url}/gradio_api/heartbeat/visitor", trust_env=False, timeout=60):  # an open page
            while seconds(process) < begun + 0.2:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
        assert "Traceback" not in said.read_text()
