"""One client of the running page."""

import pytest
from gradio_client import Client

import serving


def connect() -> Client:
    return Client(serving.server().url, verbose=False, analytics_enabled=False, download_files=False)


@pytest.fixture(scope="session")
def client() -> Client:
    return connect()
