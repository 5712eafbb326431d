"""Small HTTP servers on this machine, for as long as a test wants them."""

import html
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@contextmanager
def running(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def framing(address: str) -> Iterator[str]:
    """The address of somebody else's page, which shows `address` in a frame."""
    frame = f'<iframe src="{html.escape(address)}" width="1240" height="860"></iframe>'

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f"<link rel=icon href=data:,>{frame}".encode())

        def log_message(self, *_: object) -> None:
            pass

    with running(Elsewhere) as origin:
        yield origin
