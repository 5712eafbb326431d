"""A visitor without a browser: the page's own handlers, asked over HTTP in one session as a page would ask them."""

import json
import uuid
from functools import cache
from typing import Any

import httpx

import serving

TABS = ("attention", "generation", "norms", "feed_forward", "residual", "lens", "model")


@cache
def config() -> dict[str, Any]:
    return httpx.get(f"{serving.server().url}/config", trust_env=False).json()


def strictly(text: str) -> Any:
    """JSON as every reader takes it: NaN and Infinity are none."""
    return json.loads(text, parse_constant=refuse)


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def answered(
    fn: int, data: Any, event_data: object = None, session: str = "", query: dict[str, str] | None = None
) -> Any:
    """What the queue says in the end of handler `fn`; without a `session`, of one that nobody else has."""
    url, visitor = f"{serving.server().url}/gradio_api", session or uuid.uuid4().hex
    body = {"fn_index": fn, "data": data, "session_hash": visitor, "event_data": event_data}
    json_sent = {"content": json.dumps(body), "headers": {"Content-Type": "application/json"}}  # surrogates too
    with httpx.Client(timeout=60, trust_env=False) as http:
        joined = http.post(f"{url}/queue/join", params=query, **json_sent)
        if joined.status_code != 200:
            return {"output": joined.text}
        with http.stream("GET", f"{url}/queue/data", params={"session_hash": visitor}) as told:
            for line in told.iter_lines():
                message = strictly(line.removeprefix("data: ")) if line.startswith("data: ") else {}
                if message.get("msg") in ("process_completed", "unexpected_error"):
                    return message
    raise AssertionError("no answer")


class Refused(Exception):
    """By Gradio, before our own handler was asked."""


class Caller:
    """One session. Controls have the values with which the page arrives, unless they were set."""

    def __init__(self, **controls: Any) -> None:
        self.session, self.controls, self.has_arrived = uuid.uuid4().hex, controls, False
        self.shown: dict[str, Any] = {}  # what each of our components holds: the newest it was sent

    @classmethod
    def arrived(cls) -> "Caller":
        """Whose page has opened."""
        caller = cls()
        caller.ask("restore")
        return caller

    def ask(self, name: str, detail: object = None, query: dict[str, str] | None = None) -> dict[str, Any]:
        """What the handler changed, by component; `alert` is why it refused, in every language."""
        known = {part["id"]: part for part in config()["components"]}
        (handler,) = (each for each in config()["dependencies"] if each["api_name"] == name)
        if not self.has_arrived:
            self.has_arrived = True
            if name != "restore":
                self.ask("restore")
        data = [self._value(known[i]) for i in handler["inputs"]]
        message = answered(handler["id"], data, detail, self.session, query)
        if not message["success"]:
            raise Refused(message["output"])
        outputs = [known[i]["props"].get("elem_id") for i in handler["outputs"]]
        sent = dict(zip(outputs, message["output"]["data"], strict=True))
        news = {part: value for part, value in sent.items() if part and not (is_update(value) and "value" not in value)}
        news = {part: read(value["value"] if is_update(value) else value) for part, value in news.items()}
        self.controls |= news
        self.shown |= news
        return news

    def _value(self, part: dict[str, Any]) -> Any:
        if part["type"] == "state":
            return None
        return self.controls.get(part["props"].get("elem_id", ""), part["props"].get("value"))

    def read(self, model: str, prompt: Any, **controls: Any) -> dict[str, Any]:
        """Choose a model and let it read a prompt, with nothing written."""
        self.controls |= {"model": model, "prompt": prompt, "new-tokens": 0, **controls}
        return self.ask("change" if self.shown.get("player", {}).get("query", {}).get("model") != model else "run")

    def look(self, tab: str) -> dict[str, Any]:
        """Open a tab and see its pictures."""
        return self.ask(f"draw_{tab}")


def is_update(value: Any) -> bool:
    return isinstance(value, dict) and value.get("__type__") == "update"


def read(value: Any) -> Any:
    """Our components' values travel as JSON text."""
    return strictly(value) if isinstance(value, str) and value[:1] in ("{", "[") else value
