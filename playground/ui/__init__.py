"""The page: the only place that imports gradio, and this file the first to do so."""

import importlib.util
import inspect
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Before gradio is imported: it would otherwise try to report home at every start.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
# It keeps a record of every event for a dashboard that we do not offer, and summed all up again after each.
os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", "1")
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", str(10**9))
# It asks for matplotlib before and after every event, and Python searches the disk each time for what is not there.
if importlib.util.find_spec("matplotlib") is None:
    sys.modules["matplotlib"] = None  # type: ignore[assignment]


@contextmanager
def without_stubs() -> Iterator[None]:
    """Keep Gradio from writing a type stub for every component class, which it does whenever one is defined.

    It parses each class's source again for that: 2.5 of the 5 seconds that `import gradio` takes on two cores. Gradio
    skips classes without a source file, which `inspect.getfile` says by OSError; nobody else is told so.
    """
    getfile = inspect.getfile

    def told(found: Any) -> str:
        if sys._getframe(1).f_code.co_name == "create_or_modify_pyi":
            raise OSError("no type stubs")
        return getfile(found)

    inspect.getfile = told
    try:
        yield
    finally:
        inspect.getfile = getfile


with without_stubs():
    import gradio  # noqa: F401

    from . import html, intake  # noqa: F401  (their classes are components too)
