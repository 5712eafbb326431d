"""On ZeroGPU one function is marked for the GPU and no event is; elsewhere nobody is asked."""

import sys

import pytest

from playground.ui import zero_gpu

STAND_IN = """
marked, wraps = [], True
def GPU(fn):
    marked.append(fn)
    return fn
def disable_gradio_auto_wrap():
    global wraps
    wraps = False
"""


@pytest.fixture
def spaces(tmp_path, monkeypatch):
    """A stand-in for the module that Hugging Face puts into a ZeroGPU Space."""
    (tmp_path / "spaces.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("spaces", None)


def test_where_there_is_no_such_module_nothing_happens():
    assert not zero_gpu.register()
    assert "spaces" not in sys.modules


def test_where_there_is_one_function_is_marked_and_events_stay_in_this_process(spaces):
    assert zero_gpu.register()
    assert sys.modules["spaces"].marked == [zero_gpu.on_the_gpu]
    assert not sys.modules["spaces"].wraps
    assert zero_gpu.on_the_gpu() is None
