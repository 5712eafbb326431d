"""The models on offer, where each comes from, and that one which cannot be had changes nothing."""

import gc
import json
import resource
import shutil
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
import torch

import fixture
from playground import models as module
from playground.errors import (
    FolderMissing,
    ModelMissing,
    ModelTooLarge,
    NotAChoice,
    TensorMissing,
)
from playground.limits import Limits
from playground.models import BUNDLED, Models
from playground.runs import Request, Runs
from playground.text import LANGUAGES, say_error
from playground.ui.page import about

IDS = [[3, 1, 4, 1, 5, 92, 65, 35]]
pytestmark = pytest.mark.usefixtures("cache")


# What is on offer.


def test_the_list_begins_with_the_bundled_model():
    assert Models().names == ["storyteller", "untrained", "distilgpt2", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"]


@pytest.mark.parametrize("name", ["", "gpt-2", "Storyteller", "../../etc/passwd", "models/../etc", None, 3, ["gpt2"]])
def test_O_CKP_14_only_names_of_the_list_are_looked_up(name, no_network):
    with pytest.raises(NotAChoice):
        Models().get(name)


@pytest.mark.parametrize("name", ["/etc/passwd", "/etc/no-such-file", "%2e%2e%2fetc", "C:\\x", "x" * 5000])
def test_O_CKP_14_the_refusal_says_the_same_whether_or_not_the_file_exists(name):
    models = Models()
    with pytest.raises(NotAChoice) as refused:
        models.get(name)
    said = say_error("en", refused.value)
    assert said.startswith("model cannot be “")
    assert len(said) < 300


def test_O_CKP_14_a_link_among_the_models_leads_nowhere(tmp_path, monkeypatch):
    (tmp_path / "outside").symlink_to("/etc")
    monkeypatch.setattr(module, "BUNDLED", tmp_path)
    for name in ("outside", "outside/passwd"):
        with pytest.raises(NotAChoice):
            Models().get(name)


def test_O_CKP_15_a_config_of_terabytes_is_refused_with_the_estimate_and_what_there_is(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text(json.dumps({"n_layer": 1000, "n_embd": 12288, "n_head": 96}))
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 10**6)
    models = Models(own=str(tmp_path))
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelTooLarge) as refused:
        models.get(tmp_path.name)
    assert time.monotonic() - begun < 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB
    monkeypatch.setattr(module, "free_memory", lambda: 16 * 10**9)
    with pytest.raises(ModelTooLarge) as refused:
        models.get(tmp_path.name)
    assert float(str(refused.value.values["need"]).removesuffix(" MB").replace(",", "")) == pytest.approx(
        9.42e6, rel=1e-2
    )
    assert refused.value.values["have"] == "16,000 MB"


def test_O_CKP_05_a_checkpoint_that_is_refused_leaves_the_other_models_as_they_are(fix_a_folder, tmp_path):
    folder = fixture.write(
        tmp_path / "broken", lambda all: {n: v for n, v in all.items() if "h.1.mlp.c_fc.bias" not in n}
    )
    models = Models(own=str(folder))
    before = models.get("storyteller")
    with pytest.raises(TensorMissing) as refused:
        models.get("broken")
    assert refused.value.values == {"name": "transformer.h.1.mlp.c_fc.bias", "count": 1}
    assert models.get("storyteller") is before


def test_O_DEP_03_a_model_is_loaded_once_and_shared(monkeypatch):
    loaded = []
    monkeypatch.setattr(module, "load", lambda folder, real=module.load: loaded.append(folder) or real(folder))
    models = Models()
    assert models.get("storyteller") is models.get("storyteller")
    assert loaded == [BUNDLED / "storyteller"]


def test_models_beyond_the_limit_are_dropped_oldest_first():
    models = Models(limits=Limits(kept_model_bytes=1))
    first = models.get("storyteller")
    assert models.get("storyteller") is first
    models.get("untrained")
    assert models.get("storyteller") is not first


def test_the_storyteller_is_what_issue_2_says():
    model = Models().get("storyteller")
    assert (model.config.vocab_size, model.config.context_length) == (4096, 256)
    assert model.tokenizer.name == "storyteller"
    assert not model.gpt.training
    assert not any(weights.requires_grad for weights in model.gpt.parameters())
    assert {weights.dtype for weights in model.gpt.parameters()} == {torch.float32}


def test_untrained_has_the_same_shape_the_same_weights_every_time_and_other_answers():
    trained, one, two = Models().get("storyteller"), Models().get("untrained"), Models().get("untrained")
    assert one.config == trained.config
    logits = [model.gpt(torch.tensor(IDS)) for model in (trained, one, two)]
    assert torch.equal(logits[1], logits[2])
    assert float((logits[0] - logits[1]).abs().max()) > 1
    entropy = torch.distributions.Categorical(logits=logits[1][0, -1]).entropy()
    assert float(entropy) > 7  # of at most log 4096 = 8.3: it knows nothing


# An operator's own model.

SHAPES = {
    "GPT-2's vocabulary": {"vocab_size": 50257, "n_positions": 32, "n_embd": 24, "n_layer": 2, "n_head": 3},
    "a small vocabulary": {"vocab_size": 1000, "n_positions": 24, "n_embd": 16, "n_layer": 1, "n_head": 1},
    "ours": {"vocab_size": 4096, "n_positions": 64, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_inner": 48},
    "padded": {"vocab_size": 50304, "n_positions": 16, "n_embd": 8, "n_layer": 1, "n_head": 2},
}


@pytest.mark.parametrize("sizes", SHAPES.values(), ids=SHAPES)
def test_random_weights_saved_by_transformers_run(sizes, tmp_path, no_network):
    from transformers import GPT2Config, GPT2LMHeadModel

    last = sizes["vocab_size"] - 1
    torch.manual_seed(5)
    theirs = GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=last, eos_token_id=last)).eval()
    theirs.save_pretrained(tmp_path / "my model")
    models = Models(own=str(tmp_path / "my model"))
    assert models.names[:2] == ["my model", "storyteller"]
    model = models.get("my model")
    with torch.inference_mode():
        torch.testing.assert_close(model.gpt(torch.tensor(IDS)), theirs(torch.tensor(IDS)).logits, rtol=0, atol=1e-4)
    ids = model.tokenizer.encode("Hello, I am")
    assert max(ids) < sizes["vocab_size"]
    with torch.inference_mode():
        expected = int(theirs(torch.tensor([ids])).logits[0, -1].argmax())
    assert fixture.answer(models, "my model") == expected


@pytest.mark.parametrize("lang", LANGUAGES)
def test_O_COR_11_the_page_says_how_a_model_is_stored_and_how_it_is_computed(tmp_path, lang):
    fixture.write(tmp_path / "half", lambda all: {name: value.astype("float16") for name, value in all.items()})
    models = Models(own=str(tmp_path / "half"))
    said = [about(models.names, models.get(name), lang)["info"] for name in ("half", "storyteller")]
    stored = {"en": "stored as float16, computed in float32", "zh": "float16 存储，float32 计算"}[lang]
    assert all(stored in info for info in said)


def test_an_own_model_keeps_its_name_apart_and_its_path_to_itself(fix_a_folder, tmp_path):
    folder = shutil.copytree(fix_a_folder, tmp_path / "gpt2")
    models = Models(own=str(folder))
    assert models.names[0] == "own gpt2"
    assert fixture.answer(models, "own gpt2") == 17442
    assert not any("/" in name for name in models.names)


def test_a_folder_is_named_by_its_last_part_however_it_was_written(fix_a_folder, monkeypatch):
    monkeypatch.chdir(fix_a_folder)
    assert Models(own=".").names[0] == fix_a_folder.name
    assert Models(own=f"{fix_a_folder}/").names[0] == fix_a_folder.name


def test_a_folder_without_weights_is_refused_by_the_missing_file(tmp_path):
    with pytest.raises(ModelMissing) as refused:
        Models(own=str(tmp_path)).get(tmp_path.name)
    assert refused.value.values == {"name": "config.json"}


def test_a_model_that_cannot_fit_is_refused_before_it_is_loaded(monkeypatch, fix_a_folder):
    monkeypatch.setattr(module, "free_memory", lambda: 10**6)
    monkeypatch.setattr(module, "load", lambda *_: pytest.fail("loaded"))
    with pytest.raises(ModelTooLarge):
        Models(own=str(fix_a_folder)).get(fix_a_folder.name)


def test_where_the_system_does_not_tell_its_memory_nothing_is_refused(monkeypatch, fix_a_folder):
    monkeypatch.setattr(module, "free_memory", lambda: None)
    assert fixture.answer(Models(own=str(fix_a_folder)), fix_a_folder.name) == 17442


def test_free_memory_is_a_number_here():
    free = module.free_memory()
    if not Path("/proc/meminfo").exists():
        assert free is None
        return
    assert free is not None
    assert 10**7 < free < 2**50


def test_the_bundled_models_folder_holds_nothing_but_models():
    for folder in BUNDLED.iterdir():
        assert {path.name for path in folder.iterdir()} == {"config.json", "model.safetensors", "README.md"}
        assert json.loads((folder / "config.json").read_text("utf-8"))["model_type"] == "gpt2"


def test_while_one_model_is_fetched_the_others_answer(monkeypatch):
    models, begun, end = Models(), Event(), Event()
    models.get("storyteller")
    usual = Models._load

    def slow(self: Models, name: str, progress: object) -> object:
        begun.set()
        assert end.wait(30)
        return usual(self, name, None)

    monkeypatch.setattr(Models, "_load", slow)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(models.get, "untrained"), pool.submit(models.get, "untrained")
        assert begun.wait(30)
        assert models.get("storyteller").name == "storyteller"
        end.set()
        assert first.result() is second.result()


def test_no_second_copy_of_a_model_that_was_dropped():
    limits = Limits(kept_model_bytes=0, kept_run_bytes=0)
    models = Models(limits=limits)
    runs = Runs(models.get, limits)
    runs(Request("storyteller", "a"))
    dropped = weakref.ref(runs(Request("untrained", "a")).model.gpt)
    runs(Request("storyteller", "a"))
    gc.collect()
    assert dropped() is None


@pytest.mark.parametrize("nowhere", ["no/such/folder", "/nowhere/x", "does not exist", "my_model"])
def test_a_folder_that_is_not_there_is_said_to_be_missing(nowhere):
    models = Models(own=nowhere)
    with pytest.raises(FolderMissing) as refused:
        models.get(models.names[0])
    assert nowhere in say_error("en", refused.value)
