"""No more visitors than may be, one sentence for the one too many, and a way to ask how the server is."""

import asyncio
import re

import httpx
import pytest

import serving
from playground import VERSION
from playground.limits import Limits
from playground.ui.door import Door

BEATING = "/gradio_api/heartbeat/"


class House:
    """An app behind a door: a heartbeat lasts until its visitor leaves, everything else is answered at once."""

    def __init__(self, visitors: int, root_path: str = "") -> None:
        self.left: list[str] = []
        self._door, self._root_path = Door(self._app, Limits(visitors=visitors), self.left.append), root_path
        self._inside: list[tuple[asyncio.Event, asyncio.Task[int]]] = []

    async def _app(self, scope, receive, send):
        if BEATING in scope["path"]:
            await scope["left"].wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"the page"})

    async def ask(self, path: str, method: str = "GET", left: asyncio.Event | None = None):
        """Status, headers and text of the answer."""
        told = []

        async def send(message):
            told.append(message)

        scope = {"type": "http", "path": path, "method": method, "root_path": self._root_path, "left": left}
        await self._door(scope, None, send)
        headers = {name.decode(): value.decode() for name, value in told[0]["headers"]}
        return told[0]["status"], headers, told[1]["body"].decode()

    async def enter(self, session: str) -> None:
        left = asyncio.Event()
        self._inside.append((left, asyncio.create_task(self.ask(BEATING + session, left=left))))
        await asyncio.sleep(0)

    async def leave(self) -> None:
        left, task = self._inside.pop()
        left.set()
        await task


def test_one_too_many_is_told_so_in_every_language_until_somebody_leaves():
    async def visit():
        house = House(2)
        await house.enter("a")
        assert (await house.ask("/"))[0] == 200
        await house.enter("b")
        status, headers, page = await house.ask("/")
        assert (status, headers["retry-after"]) == (503, "10")
        assert re.findall(r'<p lang="([\w-]+)">[^<]*\b2\b', page.replace("2 ", " 2 ")) == ["zh-CN", "en"]
        assert 'http-equiv="refresh" content="10"' in page
        for path, method in [("/config", "GET"), ("/", "HEAD"), ("/health", "GET"), ("/gradio_api/queue/join", "POST")]:
            assert (await house.ask(path, method))[0] == 200  # who is in stays in
        await house.leave()
        assert (await house.ask("/"))[0] == 200

    asyncio.run(visit())


def test_a_visitor_counts_once_however_often_her_connection_breaks():
    async def visit():
        house = House(2)
        await house.enter("a")
        await house.enter("a")
        assert (await house.ask("/"))[0] == 200
        await house.leave()
        await house.enter("b")
        assert (await house.ask("/"))[0] == 503

    asyncio.run(visit())


@pytest.mark.parametrize("path", ["/", "/play/ground/", "/play/ground"])
def test_behind_a_proxy_the_door_is_where_the_page_is(path):
    async def visit():
        house = House(1, "/play/ground")
        await house.enter("a")
        assert (await house.ask(path))[0] == 503

    asyncio.run(visit())


def test_how_the_server_is_can_be_asked_without_waiting():
    answer = httpx.get(f"{serving.server().url}/health", trust_env=False)
    said = answer.json()
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert (said["status"], said["version"], said["model"]) == ("ok", VERSION, serving.OWN)
    assert "storyteller" in said["loaded"]
