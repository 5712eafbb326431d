"""A visitor without a browser: fires the page's events as Gradio's own client does, and keeps what comes back."""

import asyncio
import json
from collections import defaultdict
from contextlib import suppress
from typing import Any
from uuid import uuid4

import httpx


class Refused(Exception):
    """What the server answered instead of an answer."""


class Scripted:
    """One open page. Controls are named by their elem_id; `values` holds what each shows."""

    def __init__(self, http: httpx.AsyncClient, config: dict[str, Any]) -> None:
        self.http, self.config, self.hash = http, config, uuid4().hex
        self._names = {each["id"]: each["props"].get("elem_id") for each in config["components"]}
        self._values = {each["id"]: each["props"].get("value") for each in config["components"]}
        self._handlers: dict[tuple[str | None, str], list[dict[str, Any]]] = defaultdict(list)
        for handler in config["dependencies"]:
            for target, event in handler["targets"]:
                if handler["backend_fn"]:
                    self._handlers[self._names.get(target), event].append(handler)
        self._alive: asyncio.Task[None] | None = None

    async def arrive(self) -> None:
        """Open the page: its HTML, the connection that says that somebody is there, what it asks for on loading."""
        (await self.http.get("/")).raise_for_status()
        self._alive = asyncio.create_task(self._stay())
        await self.fire(None, "load")

    async def _stay(self) -> None:
        with suppress(httpx.TransportError):
            async with self.http.stream("GET", f"/gradio_api/heartbeat/{self.hash}", timeout=None) as told:
                async for _ in told.aiter_raw():
                    pass

    async def leave(self) -> None:
        """Close the page, whatever is going on."""
        if self._alive:
            self._alive.cancel()
            with suppress(asyncio.CancelledError):
                await self._alive

    def shown(self, name: str) -> Any:
        """What a component of ours shows now."""
        value = next(self._values[each] for each, elem_id in self._names.items() if elem_id == name)
        return json.loads(value)

    def fill(self, name: str, value: Any) -> None:
        for each, elem_id in self._names.items():
            if elem_id == name:
                self._values[each] = value

    async def fire(self, name: str | None, event: str, detail: Any = None, patience: float = 60) -> None:
        """Wait for every handler of one event. Raises: Refused; TimeoutError after `patience` seconds"""
        for handler in self._handlers[name, event]:
            async with asyncio.timeout(patience):
                answer = await self._ask(handler, detail)
            for component, value in zip(handler["outputs"], answer, strict=True):
                if not isinstance(value, dict) or value.get("__type__") != "update":
                    self._values[component] = value
                elif "value" in value:
                    self._values[component] = value["value"]
            refusal = self._values[handler["outputs"][-1]]
            if self._names[handler["outputs"][-1]] == "alert" and refusal not in (None, "null"):
                raise Refused(refusal)

    async def _ask(self, handler: dict[str, Any], detail: Any) -> list[Any]:
        data = [self._values[component] for component in handler["inputs"]]
        body = {"fn_index": handler["id"], "data": data, "session_hash": self.hash, "event_data": detail}
        joined = await self.http.post("/gradio_api/queue/join", json=body)
        if joined.status_code != 200:
            raise Refused(joined.text)
        async with self.http.stream("GET", "/gradio_api/queue/data", params={"session_hash": self.hash}) as told:
            async for line in told.aiter_lines():
                message = json.loads(line.removeprefix("data: ")) if line.startswith("data: ") else {}
                if message.get("msg") == "process_completed":
                    if not message["success"]:
                        raise Refused(json.dumps(message["output"]))
                    return list(message["output"]["data"])
                if message.get("msg") == "unexpected_error":
                    raise Refused(line)
        raise Refused("the stream ended without an answer")
