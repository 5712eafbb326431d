"""The endpoints as anybody may ask them, with whatever values."""

import json
import re

import httpx

import serving

ENDPOINTS = ("/generate", "/attention", "/layer_norm", "/ablate")
HELLO = "Hello, I am"
DEFAULTS = {"prompt": "Once", "model": "storyteller", "off": None}
SAMPLING = {"max_new_tokens": 20, "temperature": 0, "top_k": None, "top_p": None, "seed": 0}
TAKES = {
    "/generate": DEFAULTS | SAMPLING,
    "/attention": DEFAULTS | {"layer": 0, "head": 0},
    "/layer_norm": DEFAULTS,
    "/ablate": DEFAULTS,
}


def raw(endpoint, **values):
    """The endpoint asked by hand, with values that gradio_client would not send: (event, answer or error)."""
    url = f"{serving.server().url}/gradio_api/call{endpoint}"
    sent = json.dumps({"data": list((TAKES[endpoint] | values).values())})
    with httpx.Client(timeout=60, trust_env=False, headers={"Content-Type": "application/json"}) as http:
        asked = http.post(url, content=sent)
        if asked.status_code != 200:
            return "refused", asked.text
        told = http.get(f"{url}/{asked.json()['event_id']}").text
    event, data = re.findall(r"event: (\w+)\ndata: (.*)", told)[-1]
    answer = json.loads(data)
    return event, answer[0] if event == "complete" else answer["error"]
