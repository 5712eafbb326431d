"""A model hub on this machine: the three answers that a download asks for, as the real one gives them."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

import handlers

REVISION = "a" * 40
BIG = 100_000  # bytes; larger files are stored apart, named by their SHA-256


@contextmanager
def serving(
    folder: Path, *, lies: bool = False, breaks_off: bool = False, always: tuple[int, bytes] | None = None
) -> Iterator[str]:
    """The address of a hub whose every repository holds the files of `folder`.

    It may lie about a file's SHA-256, break off in the middle of a file, or answer one thing (status, text) to all.
    """
    files = {path.name: path.read_bytes() for path in folder.iterdir()}

    def digest(name: str) -> str:
        true = hashlib.sha256(files[name]).hexdigest()
        return true[::-1] if lies else true

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(body=True)

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def answer(self, body: bool) -> None:
            if always:
                return self.send_all(always[1], {"Content-Type": "application/json"}, body, always[0])
            path = self.path.split("?")[0]
            if "/resolve/" in path:
                return self.send_file(path.rsplit("/", 1)[1], body)
            return self.send_json(listing() if "/tree/" in path else {"id": "a/b", "sha": REVISION, "siblings": []})

        def send_json(self, value: Any) -> None:
            self.send_all(json.dumps(value).encode(), {"Content-Type": "application/json"}, True)

        def send_file(self, name: str, body: bool) -> None:
            if name not in files:
                self.send_error(404)
                return
            tag = digest(name) if len(files[name]) > BIG else hashlib.sha1(files[name]).hexdigest()
            self.send_all(files[name], {"ETag": f'"{tag}"', "X-Repo-Commit": REVISION}, body)

        def send_all(self, data: bytes, headers: dict[str, str], body: bool, status: int = 200) -> None:
            self.send_response(status)
            for header, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(header, value)
            self.end_headers()
            if body:
                cut = breaks_off and len(data) > BIG
                self.wfile.write(data[: len(data) // 2] if cut else data)
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    def listing() -> list[dict[str, Any]]:
        return [
            {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest(),
             **({"lfs": {"oid": digest(name), "size": len(data), "pointerSize": 100}} if len(data) > BIG else {})}
            for name, data in files.items()
        ]  # fmt: skip

    with handlers.running(Hub) as address:
        yield address


@contextmanager
def asked(patch: pytest.MonkeyPatch, folder: Path) -> Iterator[Callable[..., None]]:
    """Begins, with the faults given, a hub that holds `folder` under every name, and is the one that is asked."""
    with ExitStack() as hubs:

        def begin(**faults: Any) -> None:
            address = hubs.enter_context(serving(folder, **faults))
            patch.setattr(constants, "HF_HUB_OFFLINE", False)
            patch.setattr(constants, "ENDPOINT", address)
            patch.setattr(
                constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}"
            )

        yield begin


def put_in_cache(cache: Path, repository: str, folder: Path) -> Path:
    """Lay `folder` into the cache as the hub's own downloader does; the large file's blob is returned."""
    home = cache / f"models--{repository.replace('/', '--')}"
    (home / "blobs").mkdir(parents=True)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(REVISION)
    snapshot = home / "snapshots" / REVISION
    snapshot.mkdir(parents=True)
    for file in folder.iterdir():
        hashed = hashlib.sha256 if file.suffix == ".safetensors" else hashlib.sha1
        blob = home / "blobs" / hashed(file.read_bytes()).hexdigest()
        shutil.copyfile(file, blob)
        (snapshot / file.name).symlink_to(os.path.relpath(blob, snapshot))
    return (snapshot / "model.safetensors").resolve()
