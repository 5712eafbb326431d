"""Models shared by the tests. Nothing here needs a network, and one test proves it for the tokenizers."""

from pathlib import Path

import pytest

import fixture
from playground.gpt.checkpoints import load
from playground.gpt.model import GPTModel


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
