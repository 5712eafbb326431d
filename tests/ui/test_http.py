"""What answers carry so that no text becomes code: measured at the running page, and the two limits by themselves."""

import asyncio
import re

import httpx
import pytest
from starlette.exceptions import HTTPException

import serving
from playground.ui.components import ASSETS
from playground.ui.http import Guarded, counted, digests

ALLOWED = {  # and nothing else; scripts besides by their digests
    "default-src": ["'self'"],
    "style-src": ["'self'", "'unsafe-inline'"],
    "img-src": ["'self'", "data:", "blob:"],
    "font-src": ["'self'", "data:"],
    "connect-src": ["'self'"],
    "object-src": ["'none'"],
    "frame-src": ["'none'"],
    "base-uri": ["'self'"],
    "form-action": ["'self'"],
}


@pytest.fixture(scope="module")
def page():
    return httpx.get(serving.server().url, trust_env=False)


def policy(answer):
    parts = answer.headers["content-security-policy"].split(";")
    return {name: sources for name, *sources in (part.split() for part in parts)}


def test_the_page_says_what_may_run_in_it(page):
    said = policy(page)
    scripts = said.pop("script-src")
    assert said == ALLOWED
    assert {"'self'", "'unsafe-eval'"} < set(scripts)
    assert "'unsafe-inline'" not in scripts
    assert {source for source in scripts if source.startswith("'sha256-")} >= set(digests(page.text))
    assert len(re.findall("<script", page.text)) > 3


def test_a_space_asks_the_hub_whether_it_runs_and_nobody_else():
    told = []

    async def send(message):
        told.append(message)

    async def app(_, __, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": b"<script>1</scr", "more_body": True})
        await send({"type": "http.response.body", "body": b"ipt>"})

    scope = {"type": "http", "path": "/", "headers": []}
    asyncio.run(Guarded(app, head="", space=True)(scope, None, send))
    said = dict(told[0]["headers"])[b"content-security-policy"].decode()
    assert "connect-src 'self' https://huggingface.co;" in said
    assert next(digests("<script>1</script>")) in said
    assert told[1:] == [{"type": "http.response.body", "body": b"<script>1</script>"}]


def test_our_first_script_stands_before_any_of_gradios_that_draws(page):
    first = page.text.index((ASSETS / "js/first.js").read_text("utf-8"))
    assert first < page.text.index("</head>") < page.text.index("<body")
    assert re.findall(r"<script(?! type=.module)[^>]*src=", page.text[:first]) == []  # modules run after the document


def test_any_page_may_frame_it_as_a_space_does(page):
    assert "frame-ancestors" not in policy(page)
    assert "x-frame-options" not in page.headers


@pytest.mark.parametrize("path", ["", "config", "theme.css", "gradio_api/info", "gradio_api/file=nothing", "nothing"])
def test_every_answer_is_what_it_says_and_tells_nobody_where_it_was_asked(path):
    answer = httpx.get(f"{serving.server().url}/{path}", trust_env=False)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_what_is_no_page_may_do_nothing_when_it_is_opened():
    answer = httpx.get(f"{serving.server().url}/gradio_api/info", trust_env=False)
    assert policy(answer) == {"default-src": ["'none'"], "sandbox": []}


@pytest.mark.parametrize("script", sorted((ASSETS / "js").iterdir()), ids=lambda path: path.name)
def test_no_script_of_ours_makes_markup_or_code_of_a_text(script):
    """All of them write by textContent and attributes; lessons show the formulas of assets/formulas, which are ours."""
    makers = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|srcdoc|setHTML"
    assert re.findall(makers, script.read_text("utf-8")) == (["DOMParser"] if script.name == "lessons.js" else [])


def test_a_digest_is_the_one_that_browsers_compute():
    """The example of the standard's text."""
    html = "<script>alert('Hello, world.');</script><script src='x.js'></script>"
    assert list(digests(html)) == ["'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"]


@pytest.mark.parametrize("length", ["x", "-1", "", "1.5", "10000001", "9" * 400])
def test_a_length_that_cannot_be_is_refused_before_anything_is_read(length):
    told = []

    async def send(message):
        told.append(message)

    async def nobody(*_):
        pytest.fail("reached")

    scope = {"type": "http", "path": "/gradio_api/queue/join", "headers": [(b"content-length", length.encode())]}
    asyncio.run(Guarded(nobody, head="")(scope, nobody, send))
    assert told[0]["status"] == 413
    assert b"10,000,000" in told[1]["body"]


def test_who_does_not_say_how_much_comes_is_stopped_all_the_same():
    async def receive():
        return {"type": "http.request", "body": b"x" * 600, "more_body": True}

    async def read(times):
        count = counted(receive, 1000, "too much")
        for _ in range(times):
            await count()

    asyncio.run(read(1))
    with pytest.raises(HTTPException, match="too much"):
        asyncio.run(read(2))
