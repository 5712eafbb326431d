"""The page where it stands in the open: as nobody in particular, with one folder to write in, behind a proxy, framed.

As on a ZeroGPU Space, of which the stand-in for the module `spaces` knows what it demands.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import httpx
import pytest
from gradio_client import Client
from playwright.sync_api import expect

import handlers
import proxy
import serving

ROOT = Path(__file__).parents[2]
NOBODY = 54_321  # a user id that no account has
SPACES = """
import os
def GPU(fn):
    with open(os.environ["MARKED"], "a") as marked:
        marked.write(fn.__name__)
    return fn
wraps = True
def disable_gradio_auto_wrap():
    global wraps
    wraps = False
def gradio_auto_wrap(fn):
    assert not wraps, "an event would run in another process"
    return fn
"""
LOOK = {"PYTHONPATH": sysconfig.get_path("purelib"), "PYTHONNOUSERSITE": "1"}  # the same packages for any Python
CANARY = "canary-7e1d"


def as_nobody() -> tuple[str, dict]:
    """A Python, and how to start it as that user: only root can, and some Pythons lie where others may not read."""
    how = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    systems = shutil.which(f"python3.{sys.version_info.minor}", path="/usr/bin:/usr/local/bin")
    for python in filter(None, (sys.executable, systems)):
        try:
            subprocess.run(
                [python, "-c", "import gradio_client"], check=True, capture_output=True, cwd="/", env=LOOK, **how
            )
        except (OSError, subprocess.CalledProcessError):
            continue
        return python, how
    return sys.executable, {}


class Space:
    """The running page and what it has left behind."""

    def __init__(self, home: Path) -> None:
        self.home, self.temporary, self.marked, self.said = home, home / "tmp", home / "tmp" / "marked", home / "said"
        self.app = home / "app"
        for name in ("playground", "assets"):
            shutil.copytree(ROOT / name, self.app / name)
        shutil.copy(ROOT / "app.py", self.app)
        (self.app / "spaces.py").write_text(SPACES)
        for path in (self.app, *self.app.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        self.temporary.mkdir(mode=0o777)
        self.temporary.chmod(0o777)
        home.chmod(0o755)

    def start(self) -> None:
        port = serving.free_port()
        self.address = f"http://127.0.0.1:{port}"
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        python, how = as_nobody()
        environment = kept | LOOK | {
            "TMPDIR": str(self.temporary), "MARKED": str(self.marked), "SYSTEM": "spaces", "SPACE_ID": "a/playground",
            "SPACES_ZERO_GPU": "true", "PLAYGROUND_VISITORS": "2", "HF_HUB_OFFLINE": "1",
        }  # fmt: skip
        command = [python, "app.py", "--host", "127.0.0.1", "--port", str(port), "--root-path", proxy.PREFIX]
        with self.said.open("w") as said:
            self.process = subprocess.Popen(
                command, cwd=self.app, env=environment, stdout=subprocess.DEVNULL, stderr=said, **how
            )
        proxy.wait_for(self.address + "/health", self.process)

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(20)

    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.said.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def space():
    serving.proxies_aside()
    with tempfile.TemporaryDirectory() as home:
        space = Space(Path(home))
        try:
            space.start()
            yield space
            space.end()
        finally:
            for path in (space.app, *space.app.rglob("*")):
                path.chmod(0o755)


@pytest.fixture(scope="module")
def public(space, tmp_path_factory):
    with proxy.serving(space.address, tmp_path_factory.mktemp("proxy") / "nginx") as address:
        yield address


@pytest.fixture
def frame(public):
    """A page of somebody else's, with ours in a frame."""
    with handlers.framing(f"{public}/?lang=zh&prompt=A+fox&n=0") as elsewhere:
        yield f"{elsewhere}/"


def test_in_a_frame_and_under_a_path_the_whole_page_works(chromium, frame, public):
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    failed, elsewhere = [], []
    page.on("response", lambda answer: failed.append(answer.url) if answer.status >= 400 else None)
    page.on("request", lambda asked: elsewhere.append(asked.url) if not asked.url.startswith((public, frame)) else None)
    page.goto(frame)
    inside = page.frame_locator("iframe")
    expect(inside.locator("#run")).to_have_text("运行")
    expect(inside.locator("#player .tok")).to_have_text(["A0", "·fox1"])
    inside.locator("#player .pg-button.step").click()
    expect(inside.locator("#player .tok")).to_have_count(3)
    expect(inside.locator("#attention-map .main-svg").first).to_be_visible()
    page.close()
    assert not failed
    assert [url for url in elsewhere if not url.startswith(("data:", "blob:"))] == []


def test_under_a_path_a_program_asks_and_the_log_says_so_without_its_prompt(space, public):
    health = httpx.get(f"{public}/health", trust_env=False).json()
    assert (health["status"], health["model"]) == ("ok", "storyteller")
    program = Client(public, verbose=False, analytics_enabled=False, download_files=False)
    assert len(program.predict(CANARY, max_new_tokens=2, api_name="/generate")["tokens"]) == 2
    program.close()
    lines = space.lines()
    (start,) = [line for line in lines if line["event"] == "start"]
    (asked,) = [line for line in lines if line["event"] == "/generate"]
    assert (start["model"], start["threads"], start["limits"]) == ("storyteller", 2, {"PLAYGROUND_VISITORS": 2})
    assert (asked["model"], asked["outcome"]) == ("storyteller", "ok")
    assert 0 < asked["seconds"] < 60
    assert all(re.fullmatch(r"[\d-]{10}T[\d:.]{12}\+00:00", line["time"]) for line in lines)
    assert CANARY not in space.said.read_text("utf-8")


def test_one_visitor_too_many_waits_until_another_leaves(space):
    def status(wanted: int) -> bool:
        """Whether the page answers so, at the latest when it has heard that somebody left."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if httpx.get(space.address, trust_env=False, timeout=30).status_code == wanted:
                return True
        return False

    with httpx.Client(trust_env=False, timeout=30) as http:
        with (
            http.stream("GET", f"{space.address}/gradio_api/heartbeat/one") as one,
            http.stream("GET", f"{space.address}/gradio_api/heartbeat/two") as two,
        ):
            beats = [one.iter_lines(), two.iter_lines()]  # kept: a stream that nobody reads any more is closed
            assert [next(beat) for beat in beats] == ["data: ALIVE"] * 2
            assert status(503)
        assert status(200)


def test_nothing_is_written_but_in_the_temporary_folder_and_to_zero_gpu_all_is_well(space):
    assert space.marked.read_text() == "on_the_gpu"
    others = [path for path in space.home.iterdir() if path not in (space.app, space.temporary, space.said)]
    assert others == []
    assert not (space.app / "~").exists()
