"""At the door: how the server is, for whoever watches over it, and a page for one visitor too many."""

import asyncio
import html
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from playground.errors import TooManyVisitors
from playground.limits import Limits
from playground.text import LANGUAGES, say_error

AWAY = 20  # seconds, after which somebody whose connection broke is taken to have left
AGAIN = 10  # seconds until the page for one too many looks whether there is room
FULL = """<!doctype html>
<html><head><meta charset="utf-8"><meta http-equiv="refresh" content="{again}"><title>GPT Playground</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>body {{ font: 1.1rem/1.6 system-ui, sans-serif; max-width: 36rem; margin: 20vh auto; padding: 0 1.5rem }}</style>
</head><body><h1>GPT Playground</h1>{sentences}</body></html>
"""


def health(found: Callable[[], dict[str, Any]]) -> Route:
    """`/health`: what `found` says of the server as it is now, without waiting in any queue."""

    def answer(_: Request) -> Response:
        return JSONResponse({"status": "ok", **found()}, headers={"Cache-Control": "no-store"})

    return Route("/health", answer)


class Door:
    """ASGI, around Gradio: counts the pages that are open and lets no more in than there may be.

    A page holds one long request to `heartbeat/<its session>` for as long as it is open. Who is in stays in; `left` is
    told of who has been gone for `away` seconds.
    """

    def __init__(self, app: Any, limits: Limits, left: Callable[[str], None], away: float = AWAY) -> None:
        self._app, self._limits, self._left, self._away = app, limits, left, away
        self._inside: Counter[str] = Counter()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", "")) if scope["type"] == "http" else ""
        heart = re.search(r"/heartbeat/([^/]+)$", path)
        if heart:
            await self._stay(heart.group(1), scope, receive, send)
        elif path in ("", "/") and scope.get("method") == "GET" and len(self._inside) >= self._limits.visitors:
            await full(self._limits)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _stay(self, session: str, *request: Any) -> None:
        self._inside[session] += 1
        try:
            await self._app(*request)
        finally:
            self._inside[session] -= 1
            self._inside += Counter()  # keeps what is above 0
            if session not in self._inside:
                asyncio.get_running_loop().call_later(self._away, self._gone, session)

    def _gone(self, session: str) -> None:
        if session not in self._inside:
            self._left(session)


def full(limits: Limits) -> Response:
    """In every language, since the page that knows the visitor's has not come."""
    refusal = TooManyVisitors(limit=limits.visitors)
    tags = {"zh": "zh-CN", "en": "en"}
    told = ((tags[lang], html.escape(say_error(lang, refusal))) for lang in LANGUAGES)
    sentences = "".join(f'<p lang="{tag}">{sentence}</p>' for tag, sentence in told)
    return HTMLResponse(FULL.format(again=AGAIN, sentences=sentences), 503, {"Retry-After": str(AGAIN)})
