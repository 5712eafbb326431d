"""Models shared by the tests. Nothing here needs a network, and one test proves it for the tokenizers."""

import socket
import sys
from pathlib import Path

import pytest
from huggingface_hub import constants

import fake_hub
import fixture
from playground.gpt.checkpoints import load
from playground.gpt.model import GPTModel


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The browser last: once it runs, its event loop stays in this thread, where no test could start one of its own."""
    items.sort(key=lambda item: "e2e" in item.path.parts)


@pytest.hookimpl(trylast=True)  # when the visitors have left
def pytest_sessionfinish() -> None:
    """Where a test has started the server, it ends before Python does. See `closed` in serve.py"""
    if serving := sys.modules.get("serving"):
        serving.end()


@pytest.fixture(scope="session")
def fix_a_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fixture.write(tmp_path_factory.mktemp("fix_a"))


@pytest.fixture(scope="session")
def fix_a(fix_a_folder: Path) -> GPTModel:
    return load(fix_a_folder)


@pytest.fixture(scope="session")
def small() -> GPTModel:
    """Three layers of two heads, eight features, eleven tokens, in double precision."""
    return fixture.random_model(fixture.SMALL).double()


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty hub cache of this test's own; whatever this computer holds is not seen."""
    folder = tmp_path / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return folder


@pytest.fixture
def no_network(monkeypatch) -> None:
    """The hub may be asked, but nobody can be reached."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no network in this test")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def hub(fix_a_folder, monkeypatch):
    """Start a hub on this machine that holds FIX-A under every name."""
    with fake_hub.asked(monkeypatch, fix_a_folder) as begin:
        yield begin
