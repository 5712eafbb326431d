"""What every answer of the server carries so that no text becomes code, and how long a question it reads."""

import base64
import hashlib
import re
from collections.abc import Iterator
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

MOST_BYTES = 10_000_000  # of a question: far more than a visitor pastes, who is told the limit in a sentence
HUB = "https://huggingface.co"  # which the page of a Space asks, before all else, whether that Space runs
INLINE = re.compile(r"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL)
# Gradio makes functions of `js` and `js_on_load`, which are ours, hence 'unsafe-eval'; it and plotly write styles into
# elements. No frame-ancestors: a Space, and any course, may show the page in a frame.
PAGE = (
    "default-src 'self'; script-src 'self' 'unsafe-eval' {hashes}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'{asked}; object-src 'none'; "
    "frame-src 'none'; base-uri 'self'; form-action 'self'"
)
ELSE = "default-src 'none'; sandbox"  # whatever is opened by itself, such as a file made for a visitor, runs nothing
ALWAYS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


def digests(html: str) -> Iterator[str]:
    """How a policy names each script that stands in `html`."""
    for script in INLINE.findall(html):
        yield f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


class Guarded:
    """ASGI middleware: the headers, a limit of what is read, and our script that runs before any of Gradio's.

    Only the scripts of our own page run: those it arrives with, by their digests, `first` among them, and `head`, which
    Gradio adds later. A script or an `onerror` that got into the page by any other way has no digest here.
    """

    def __init__(self, app: Any, head: str, first: str = "", space: bool = False, most: int = MOST_BYTES) -> None:
        self.app, self.head, self.first, self.most = app, head, first, most
        self.asked = f" {HUB}" if space else ""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        said = {"detail": f"At most {self.most:,} bytes are taken."}
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdecimal() or int(length) > self.most:
            return await JSONResponse(said, 413)(scope, receive, send)
        answer = Page(send, self.head, self.first, self.asked) if "/gradio_api/" not in scope["path"] else Other(send)
        return await self.app(scope, counted(receive, self.most, said["detail"]), answer)


def counted(receive: Any, most: int, said: str) -> Any:
    """As `receive`, up to `most` bytes. Raises: HTTPException beyond, for not everybody says how much will come"""
    read = 0

    async def count() -> Any:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > most:
            raise HTTPException(413, said)
        return message

    return count


class Other:
    """Sends anything but the page."""

    def __init__(self, send: Any) -> None:
        self.send = send

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update({**ALWAYS, "Content-Security-Policy": ELSE})
        await self.send(message)


class Page(Other):
    """Holds a document back until it is whole, for its scripts are named in the headers before it."""

    def __init__(self, send: Any, head: str, first: str, asked: str) -> None:
        super().__init__(send)
        self.head, self.first, self.asked, self.start, self.body = head, first, asked, None, b""

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if not headers.get("content-type", "").startswith("text/html"):
                headers.update(ALWAYS)
                return await self.send(message)
            self.start = message
            return None
        if self.start is None:
            return await self.send(message)
        self.body += message.get("body", b"")
        if message.get("more_body"):
            return None
        html = self.body.decode().replace("</head>", f"<script>{self.first}</script></head>", 1)
        hashes = " ".join(dict.fromkeys([*digests(html), *digests(self.head)]))
        policy = PAGE.format(hashes=hashes, asked=self.asked)
        body = html.encode()
        told = {**ALWAYS, "Content-Security-Policy": policy, "Content-Length": str(len(body))}
        MutableHeaders(scope=self.start).update(told)
        await self.send(self.start)
        await self.send({"type": "http.response.body", "body": body})
        return None
