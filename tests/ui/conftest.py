"""One client of the running page."""

import json

import pytest
from gradio_client import Client

import serving


def connect() -> Client:
    return Client(serving.server().url, verbose=False, analytics_enabled=False, download_files=False)


@pytest.fixture(scope="session")
def client() -> Client:
    return connect()


@pytest.fixture
def ask(client):
    """Call an endpoint; whatever it answers must be JSON that any reader takes."""

    def call(endpoint, prompt, **values):
        answer = client.predict(prompt, api_name=endpoint, **values)
        json.dumps(answer, allow_nan=False)
        return answer

    return call
