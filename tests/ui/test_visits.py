"""What a page does when its visitor types anything at all, asked as the page asks but without a browser."""

import contextlib
import json
import math
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from huggingface_hub import constants

import fixture
import serving
from fake_hub import put_in_cache
from figures.page import decode
from playground import models as models_module
from playground.errors import NotAChoice
from playground.gpt.ablation import Ablation
from playground.gpt.model import GPTModel
from playground.models import HUB, Models
from playground.text import LANGUAGES, labels, say, say_error
from serving import OWN
from ui.asking import HELLO, raw
from ui.caller import TABS, Caller, Refused, config

EVERYTHING = Ablation.all_sublayers(3).words()


def refusal(answer) -> str:
    """The sentence in English, with a Chinese one beside it."""
    assert answer.keys() == {"alert"}  # nothing else changed
    assert all(answer["alert"][lang].strip() for lang in LANGUAGES)
    return answer["alert"]["en"]


@pytest.fixture
def visitor() -> Caller:
    visitor = Caller()
    assert visitor.read(OWN, HELLO)["alert"] is None
    return visitor


@pytest.mark.parametrize("prompt", ["", None], ids=["O-TOK-09 empty", "O-TOK-09 null"])
def test_a_prompt_that_is_none_is_refused_without_a_pass_and_the_old_result_stays(visitor, prompt, monkeypatch):
    monkeypatch.setattr(GPTModel, "trace", lambda *_, **__: pytest.fail("read"))
    visitor.controls["prompt"] = prompt
    sentences = visitor.ask("run")["alert"]
    assert {lang: sentences[lang] for lang in LANGUAGES} == {
        lang: say(lang, "errors.prompt_empty") for lang in LANGUAGES
    }
    assert visitor.shown["player"]["query"]["prompt"] == HELLO


@pytest.mark.parametrize("prompt", ["a" * 100_000, "^" * 1_000_000], ids=["a", "^"])
def test_O_TOK_07_an_endless_prompt_is_refused_at_once_and_others_do_not_wait(prompt):
    def timed(text):
        begun = time.monotonic()
        return raw("/generate", prompt=text, model=OWN, max_new_tokens=3), time.monotonic() - begun

    usual = timed(HELLO)[1]
    with ThreadPoolExecutor(2) as pool:
        long = pool.submit(timed, prompt)
        time.sleep(0.2)
        (event, answer), took = timed(HELLO)
    (refused, said), waited = long.result()
    assert (event, answer["prompt_ids"]) == ("complete", [15496, 11, 314, 716])
    assert (refused, "20,000" in said) == ("error", True)
    assert waited <= 2
    assert took <= usual + 1


def test_O_TOK_08_every_picture_of_a_prompt_with_half_a_character(visitor):
    answer = visitor.read(OWN, "a\udbc0b")
    assert answer["player"]["labels"] == ["a", "�", "b"]
    assert len(answer["player"]["notices"]["en"]) == 1
    for tab in TABS:
        assert visitor.look(tab).get("alert") is None


@pytest.mark.parametrize("what", ["npz", "report"])
def test_O_TOK_08_what_is_taken_home_of_such_a_prompt(visitor, what):
    visitor.read(OWN, "a\udbc0b")
    (file,) = (value for name, value in visitor.ask("make", {"what": what, "at": 1}).items() if name == "taken")
    assert Path(file["path"]).stat().st_size > 10_000


def test_O_TOK_08_a_prompt_with_half_a_character_stands_beside_another(visitor):
    visitor.controls |= {"beside-kind": "prompt", "beside-prompt": "a\udbc0b"}
    visitor.ask("choose")
    assert visitor.look("attention")["beside"]["prompt"] == "a\ufffdb"


def test_O_ABL_03_with_every_sublayer_off_every_picture_is_drawn(visitor):
    """JSON that holds no NaN; `caller.strictly` sees to that."""
    answer = visitor.ask("flip", {"off": EVERYTHING})
    assert [step["top"][0][0] for step in answer["player"]["steps"]] == [29407, 27212, 4183, 12705]
    for tab in TABS:
        assert visitor.look(tab).get("alert") is None
    assert visitor.shown["identity"]["difference"] == 0


def test_O_ABL_01_a_layer_whose_sublayers_are_off_is_said_to_be_the_identity(visitor):
    visitor.ask("flip", {"off": ["attention.1", "feed_forward.1"]})
    visitor.look("residual")
    assert (visitor.shown["identity"]["kind"], visitor.shown["identity"]["difference"]) == ("identity_layers", 0)
    assert visitor.shown["identity"]["text"] == say("en", "residual.identity_layers", layers="1", difference="0")


def test_O_GEN_03_O_ATT_12_stepping_and_writing_at_once_show_the_same(visitor):
    for known in range(4, 9):
        grown = visitor.ask("need_attention", {"text": visitor.shown["player"]["text"], "from": known, "count": 1})[
            "player"
        ]
        assert (grown["from"], len(grown["labels"])) == (known, 1)
    at_once = Caller()
    whole = at_once.ask("restore", query={"model": OWN, "prompt": HELLO, "n": "5"})["player"]
    told = raw("/generate", prompt=HELLO, model=OWN, max_new_tokens=5)[1]
    assert [step["chosen"][0] for step in whole["steps"][3:8]] == [token["id"] for token in told["tokens"]]
    assert [step["chosen"][2] for step in whole["steps"][3:8]] == pytest.approx(
        [t["probability"] for t in told["tokens"]]
    )
    assert grown["steps"] == whole["steps"][-2:]
    visitor.controls |= {name: at_once.controls[name] for name in ("layer", "ff-layer") if name in at_once.controls}
    for tab in ("residual", "attention"):
        assert visitor.look(tab) == at_once.look(tab)
    assert decode(at_once.shown["attention-map"]["figure"]["data"][0]["z"]).shape == (9, 9)


@pytest.mark.parametrize("wrong", [{"layer": "77"}, {"beside": "nobody's"}, {"at": "999"}, {"off": "head.9.9"}])
def test_an_address_that_is_refused_leaves_page_and_server_with_one_text(wrong):
    visitor = Caller()
    assert visitor.ask("restore", query={"prompt": "Another text", "n": "2", **wrong})["alert"]
    page = json.loads(
        next(c["props"]["value"] for c in config()["components"] if c["props"].get("elem_id") == "player")
    )
    known = page["start"] + len(page["labels"])
    grown = visitor.ask("need_attention", {"text": page["text"], "from": known, "count": 1})["player"]
    assert (grown["text"], grown["from"]) == (page["text"], known)


# Models that cannot be had.


def without(name):
    return lambda tensors: {key: value for key, value in tensors.items() if key != name}


def cut(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])


BROKEN = {  # under the name of a hub's model: what is wrong with it, and what the sentence must hold
    "distilgpt2": (without("transformer.h.1.mlp.c_fc.bias"), None, ["transformer.h.1.mlp.c_fc.bias", "1 tensor(s)"]),
    "gpt2": (lambda all: all | {"transformer.wpe.weight": all["transformer.wpe.weight"][:8]}, None, ["8×8", "16×8"]),
    "gpt2-medium": (dict, cut, ["file incomplete or not a safetensors file"]),
}


@pytest.mark.parametrize("name", BROKEN, ids=["O-CKP-05", "O-CKP-07", "O-CKP-09"])
def test_O_CKP_16_a_checkpoint_that_is_refused_leaves_the_page_with_the_model_it_has(
    name, visitor, tmp_path, monkeypatch
):
    edit, spoil, words = BROKEN[name]
    folder = fixture.write(tmp_path / "model", edit)
    if spoil:
        spoil(folder)
    put_in_cache(Path(constants.HF_HUB_CACHE), HUB[name], folder)
    monkeypatch.setattr(models_module, "free_memory", lambda: None)
    begun = time.monotonic()
    try:
        said = refusal(visitor.read(name, HELLO))
    finally:
        shutil.rmtree(constants.HF_HUB_CACHE)
    assert time.monotonic() - begun < 10
    assert all(word in said for word in words)
    assert str(tmp_path) not in said
    assert visitor.ask("lambda_8") == {"model": OWN}  # what the picker shows then
    visitor.controls["prompt"] = HELLO
    assert visitor.ask("run")["player"]["steps"][-1]["top"][0][0] == 17442


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc", "models/../../etc", "%2e%2e%2fetc", "C:\\x", "x" * 5000, "gpt3"]
)
def test_O_CKP_14_the_picker_takes_no_path(visitor, name):
    """With the same words whatever lies there, none of which is of this server."""
    visitor.controls["model"] = name
    said = refusal(visitor.ask("change"))
    names = serving.server().models.names
    assert said == say_error(
        "en", NotAChoice(name=labels("en", "page.model")["label"], value=name, choices=", ".join(names))
    )


def test_O_DEP_03_ten_sessions_load_nothing_anew(monkeypatch):
    serving.server()
    monkeypatch.setattr(Models, "_load", lambda *_: pytest.fail("loaded again"))
    for k in range(10):
        assert Caller().read(OWN, f"user {k}")["alert"] is None
        for more in ("again", "and again"):
            assert raw("/generate", prompt=f"user {k} {more}", model=OWN, max_new_tokens=1)[0] == "complete"


@pytest.mark.parametrize("count", [-1, 101.5, 1e9, math.nan, "5", "abc", None], ids=lambda value: f"O-GEN-05 {value}")
def test_new_tokens_that_cannot_be_are_refused(visitor, count):
    visitor.controls |= {"prompt": HELLO, "new-tokens": count}
    with contextlib.suppress(Refused):  # Gradio's slider refuses some of them
        assert refusal(visitor.ask("run"))
    visitor.controls["new-tokens"] = 1
    assert visitor.ask("run")["player"]["steps"][-1]["top"][0][0] == 17442


def test_O_ATT_01_the_picture_that_a_page_is_sent(visitor):
    visitor.controls["layer"] = 0
    z = decode(visitor.look("attention")["attention-map"]["figure"]["data"][0]["z"])
    assert np.isfinite(z).sum() == 10
