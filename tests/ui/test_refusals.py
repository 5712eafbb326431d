"""Whatever an endpoint is given, it answers with numbers or with one sentence."""

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
from gradio_client.exceptions import AppError

import serving
from serving import OWN
from ui.asking import ENDPOINTS, HELLO, raw

BAD_EVERYWHERE = {
    "O-TOK-09 empty prompt": {"prompt": ""},
    "O-TOK-09 no prompt": {"prompt": None},
    "a number as prompt": {"prompt": 5},
    "O-TOK-07 20,001 characters": {"prompt": "a" * 20001},
    "unknown model": {"model": "gpt-9"},
    "O-CKP-14 a path that exists": {"model": "/etc/passwd"},
    "O-CKP-14 a path that does not": {"model": "/etc/no-such-file"},
    "O-CKP-14 a path from here": {"model": "../../etc/passwd"},
    "O-CKP-14 a path through a model": {"model": "models/../../etc"},
    "O-CKP-14 a path in disguise": {"model": "%2e%2e%2fetc"},
    "O-CKP-14 a path of another system": {"model": "C:\\x"},
    "O-CKP-14 5,000 characters": {"model": "x" * 5000},
    "no model": {"model": None},
    "a list as model": {"model": ["storyteller"]},
    "offline": {"model": "gpt2"},
    "unknown switch": {"off": ["attention.6"]},
    "a head out of range": {"off": ["head.0.99"]},
    "a switch that is none": {"off": ["__class__"]},
    "switches as text": {"off": "attention.0"},
    "switches as numbers": {"off": [1]},
    "switches as an object": {"off": {"attention": 0}},
}
CASES = {"max_new_tokens": "O-GEN-05 ", "temperature": "O-GEN-06 ", "top_k": "O-GEN-07 "}
NUMBERS = {"NaN": math.nan, "inf": math.inf, "-inf": -math.inf, "text": "abc", "digits": "5", "list": [1], "true": True}
BAD = {
    **{f"{endpoint} {name}": (endpoint, bad) for endpoint in ENDPOINTS for name, bad in BAD_EVERYWHERE.items()},
    **{
        f"{CASES.get(field, '')}/generate {field} {name}": ("/generate", {field: bad})
        for field in ("max_new_tokens", "temperature", "top_k", "top_p", "seed")
        for name, bad in NUMBERS.items()
    },
    **{
        f"/attention {field} {name}": ("/attention", {field: bad})
        for field in ("layer", "head")
        for name, bad in NUMBERS.items()
    },
    **{
        f"O-GEN-05 /generate max_new_tokens {n}": ("/generate", {"max_new_tokens": n})
        for n in (0, -1, 201, 1e9, 2.7, None)
    },
    **{f"O-GEN-06 /generate temperature {t}": ("/generate", {"temperature": t}) for t in (-1, 1e-8, 101, None)},
    **{f"O-GEN-07 /generate top_k {k}": ("/generate", {"top_k": k}) for k in (-1, 2.5)},
    **{f"/generate top_p {p}": ("/generate", {"top_p": p}) for p in (-0.1, 0, 1.1)},
    **{f"/generate seed {s}": ("/generate", {"seed": s}) for s in (-1, 0.5, 2**80, 10**400, None)},
    **{f"/attention layer {n}": ("/attention", {"layer": n}) for n in (6, -1, 0.5, None)},
    **{f"/attention head {n}": ("/attention", {"head": n}) for n in (99, -1, 0.5, None)},
}


@pytest.fixture(scope="session")
def refusals():
    """Everything bad, asked by a few at once: what came back."""

    def ask(case):
        endpoint, bad = case
        sampled = {"temperature": 0.5} if {"top_k", "top_p"} & bad.keys() else {}
        return raw(endpoint, **sampled, **bad)

    serving.server()  # one, made before four ask for it at once
    with ThreadPoolExecutor(4) as pool:
        return dict(zip(BAD, pool.map(ask, BAD.values()), strict=True))


@pytest.mark.parametrize("case", BAD)
def test_O_UI_05_bad_input_gets_one_sentence_and_no_traceback(refusals, case):
    event, said = refusals[case]
    assert event == "error", said
    assert 10 < len(said) < 400
    assert said.endswith(".")
    assert said.isprintable()
    for leak in ("Traceback", 'File "', ".py", "/work", "site-packages", "Error(", " object at 0x"):
        assert leak not in said


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("O-GEN-05 /generate max_new_tokens 201", ["max_new_tokens", "201", "1 and 200"]),
        ("O-GEN-05 /generate max_new_tokens 2.7", ["max_new_tokens", "2.7"]),
        ("O-GEN-06 /generate temperature NaN", ["temperature", "nan"]),
        ("O-GEN-06 /generate temperature -1", ["temperature", "-1"]),
        ("/generate O-TOK-07 20,001 characters", ["20,001", "20,000"]),
        ("/attention layer 6", ["layer", "6", "0 and 5"]),
        ("/ablate unknown switch", ["attention.6", "6 layers"]),
        ("/generate unknown model", ["gpt-9", "storyteller"]),
        ("/generate offline", ["gpt2", "out of reach"]),
        ("/generate O-TOK-09 empty prompt", ["empty"]),
    ],
)
def test_O_UI_05_a_refusal_names_the_value_and_the_limit(refusals, case, words):
    for word in words:
        assert word in refusals[case][1]


def test_O_CKP_14_a_path_is_refused_alike_whether_or_not_it_exists(refusals):
    there, nowhere = (refusals[f"/ablate O-CKP-14 a path that {what}"][1] for what in ("exists", "does not"))
    assert there.replace("/etc/passwd", "") == nowhere.replace("/etc/no-such-file", "")


def test_after_all_that_the_server_still_answers(refusals, ask):
    assert ask("/generate", HELLO, model=OWN, max_new_tokens=1)["tokens"][0]["id"] == 17442


def test_gradio_client_raises_with_that_sentence(client):
    with pytest.raises(AppError, match="prompt is empty"):
        client.predict("", api_name="/generate")


def test_a_call_without_the_prompt_is_an_error(client):
    with pytest.raises((AppError, TypeError, ValueError)):
        client.predict(api_name="/generate")
