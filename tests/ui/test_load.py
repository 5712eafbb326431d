"""A few of the crowd that tests/load.py is for: each is shown her own numbers, and nobody waits long."""

import asyncio

import serving
from tests.load import crowd, summary


def test_O_CON_01_a_small_crowd_sees_no_error_and_nobody_elses_numbers():
    told = asyncio.run(crowd(serving.server().url, visitors=4, seconds=12))
    assert told.wrong == []
    assert told.rounds >= 2
    assert summary(told)["step"]["median"] <= 1
