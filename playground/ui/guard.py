"""Between the page and every handler: what was refused never reaches it, and its own refusals become a sentence."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any
from uuid import uuid4

import gradio as gr

from playground import log
from playground.errors import PlaygroundError, SessionLost, Unforeseen
from playground.text import LANGUAGES, say_error

from .html import Component
from .intake import Refused
from .session import Session


def texts(shown: Sequence[Component], values: Sequence[Any]) -> list[Any]:
    """The values as our components receive them."""
    each = zip(shown, values, strict=True)
    return [value if value == gr.skip() else component.postprocess(value) for component, value in each]


def guarded(
    fn: Callable[..., Any],
    n_outputs: int,
    asked: bool,
    arriving: bool = False,
    write: Callable[[list[Any]], list[Any]] = list,
) -> Callable[..., Any]:
    """`fn` with one more output: why it refused (its own outputs then stay as they are), or nothing.

    A generator answers again and again, and each answer counts. What a visitor asked for is told to the operator.
    All that is answered goes through `write`.
    """
    done, name = None if asked else gr.skip(), getattr(fn, "__name__", "call")

    def sent(values: list[Any]) -> Any:
        each = write(values)
        return each if n_outputs else each[0]  # of a single output Gradio takes the value itself

    def refusal(error: PlaygroundError) -> Any:
        return sent([*([gr.skip()] * n_outputs), sentences(error)])

    def answer(result: Any) -> Any:
        return sent([*(result if isinstance(result, list) else [result]), done])

    telling = partial(told, name) if asked else nullcontext

    def call(*values: Any) -> Any:
        try:
            with telling(values):
                return answer(fn(*accepted(values, arriving)))
        except PlaygroundError as error:
            return refusal(error)
        except Exception as error:
            return refusal(noted(error))

    def call_often(*values: Any) -> Iterator[Any]:
        try:
            with telling(values):
                yield from map(answer, fn(*accepted(values, arriving)))
        except PlaygroundError as error:
            yield refusal(error)
        except Exception as error:
            yield refusal(noted(error))

    return like(fn, name, call_often if inspect.isgeneratorfunction(fn) else call)


def sentences(error: PlaygroundError) -> dict[str, Any]:
    """A refusal as the alert shows it; with an `id`, for the page hears of what differs only."""
    return {
        **{lang: say_error(lang, error) for lang in LANGUAGES},
        "id": uuid4().hex,
        "lost": isinstance(error, SessionLost),
    }


def like(fn: Callable[..., Any], name: str, guard: Any) -> Callable[..., Any]:
    """`guard` with what Gradio reads of `fn` to pass the event, the visitor's request and the progress bar."""
    guard.__signature__ = inspect.signature(fn)
    guard.__annotations__ = fn.__annotations__
    guard.__name__ = name
    return guard


@contextmanager
def told(event: str, values: Sequence[Any]) -> Iterator[None]:
    """Tell the operator what a visitor asked for, and of which model, once it is done."""
    session = next((value for value in values if isinstance(value, Session)), None)
    with log.timed(event) as line:
        try:
            yield
        finally:  # by now it may be another model
            line["model"] = session.request.model if session else None


def accepted(values: Sequence[Any], arriving: bool) -> Sequence[Any]:
    """The values as they were taken in. Raises: InputError, the first for which it refused one; SessionLost

    A session is forgotten when its page was away; asked again, Gradio makes a new one, which would answer for the text
    that every page begins with.
    """
    for value in values:
        if isinstance(value, Refused):
            raise value.error
        if isinstance(value, Session) and not (value.arrived or arriving):
            raise SessionLost()
    return values


def noted(error: Exception) -> Unforeseen:
    """A fault of ours goes to the log: where it happened, without its message, which may quote a visitor."""
    log.fault(error)
    return Unforeseen()
