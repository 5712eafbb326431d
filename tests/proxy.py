"""A reverse proxy that shows the page under a path: nginx where there is one, with the README's lines, else our own."""

import http.client
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import httpx

import handlers
from serving import free_port

PREFIX = "/playground"
README = Path(__file__).parents[1] / "README.md"
HOP_BY_HOP = {"connection", "transfer-encoding", "keep-alive", "host"}


@contextmanager
def serving(target: str, folder: Path) -> Iterator[str]:
    """The address under which the page at `target` is shown meanwhile."""
    with (nginx if shutil.which("nginx") else own)(target, folder) as origin:
        yield origin + PREFIX


def locations(readme: str, target: str) -> str:
    """What the README tells the owner of an nginx to write, for a page at `target`."""
    (block,) = re.findall(r"```nginx\n(.*?)```", readme, re.DOTALL)
    return block.replace("http://127.0.0.1:7860", target)


@contextmanager
def nginx(target: str, folder: Path) -> Iterator[str]:
    port = free_port()
    folder.mkdir()
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log stderr; events {{}}\n"
        f"http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;\n"
        f"server {{ listen 127.0.0.1:{port};\n{locations(README.read_text('utf-8'), target)}}} }}\n"
    )
    running = subprocess.Popen(["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")])
    try:
        wait_for(f"http://127.0.0.1:{port}{PREFIX}/health", running)
        yield f"http://127.0.0.1:{port}"
    finally:
        running.terminate()
        running.wait(20)


def wait_for(url: str, process: subprocess.Popen[bytes], seconds: float = 90) -> None:
    """Until somebody answers there, unless the process has ended before."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert process.poll() is None, f"the server of {url} has ended"
        try:
            httpx.get(url, trust_env=False, timeout=5)
            return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError(f"nobody at {url}")


@contextmanager
def own(target: str, folder: Path) -> Iterator[str]:
    """Strips the path and hands everything on as it comes, streams too."""
    there = urlsplit(target)

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.startswith(f"{PREFIX}/"):
                return self.send_error(404)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asking = http.client.HTTPConnection(there.hostname or "", there.port, timeout=60)
            kept = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
            asking.request(self.command, self.path.removeprefix(PREFIX), body, {**kept, "Host": self.headers["Host"]})
            Thread(target=self.watch, args=(asking.sock,), daemon=True).start()
            with suppress(OSError, http.client.HTTPException):  # who asked has gone, or the page has
                self.hand_back(asking.getresponse())
            return asking.close()

        def watch(self, there: socket.socket) -> None:
            """Whoever asked and goes away ends the answer: a stream may be silent for long."""
            with suppress(OSError):
                self.connection.recv(1, socket.MSG_PEEK)
                there.shutdown(socket.SHUT_RDWR)

        do_POST = do_HEAD = do_GET

        def hand_back(self, answer: http.client.HTTPResponse) -> None:
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in HOP_BY_HOP:
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            while piece := answer.read1(65536):
                self.wfile.write(piece)

        def log_message(self, *_: Any) -> None: ...

    with handlers.running(Proxy) as address:
        yield address
