"""The models on offer, where each comes from, and that one which cannot be had changes nothing."""

import gc
import json
import resource
import shutil
import socket
import tempfile
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
import torch
from huggingface_hub import constants

import fake_hub
import fixture
from playground import models as module
from playground.errors import (
    DownloadFailed,
    DownloadTooLarge,
    FileIncomplete,
    FolderMissing,
    ModelMissing,
    ModelOffline,
    ModelTooLarge,
    NotAChoice,
    TensorMissing,
)
from playground.gpt.config import PRESETS
from playground.gpt.sampling import GREEDY
from playground.limits import Limits
from playground.models import BUNDLED, HUB, HUB_SHAPES, Models, check_digest, from_hub
from playground.runs import Request, Runs, next_token
from playground.text import LANGUAGES, say_error
from playground.ui.page import about

IDS = [[3, 1, 4, 1, 5, 92, 65, 35]]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    """An empty hub cache of this test's own; whatever this computer holds is not seen."""
    folder = tmp_path / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return folder


@pytest.fixture
def no_network(monkeypatch) -> None:
    """The hub may be asked, but nobody can be reached."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no network in this test")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def hub(fix_a_folder, monkeypatch):
    """Start a hub on this machine that holds FIX-A under every name."""
    with fake_hub.asked(monkeypatch, fix_a_folder) as begin:
        yield begin


def answer(models: Models, name: str) -> int:
    """The next token that a model writes: it loaded, and it runs."""
    return next_token(Runs(models.get)(Request(name, "Hello, I am")), GREEDY, 0)


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
    assert answer(models, "my model") == expected


@pytest.mark.parametrize("lang", LANGUAGES)
def test_O_COR_11_the_page_says_how_a_model_is_stored_and_how_it_is_computed(tmp_path, lang):
    fixture.write(tmp_path / "half", lambda all: {name: value.astype("float16") for name, value in all.items()})
    models = Models(own=str(tmp_path / "half"))
    said = [about(models.get(name), lang)["info"] for name in ("half", "storyteller")]
    stored = {"en": "stored as float16, computed in float32", "zh": "float16 存储，float32 计算"}[lang]
    assert all(stored in info for info in said)


def test_an_own_model_keeps_its_name_apart_and_its_path_to_itself(fix_a_folder, tmp_path):
    folder = shutil.copytree(fix_a_folder, tmp_path / "gpt2")
    models = Models(own=str(folder))
    assert models.names[0] == "own gpt2"
    assert answer(models, "own gpt2") == 17442
    assert not any("/" in name for name in models.names)


def test_a_folder_is_named_by_its_last_part_however_it_was_written(fix_a_folder, monkeypatch):
    monkeypatch.chdir(fix_a_folder)
    assert Models(own=".").names[0] == fix_a_folder.name
    assert Models(own=f"{fix_a_folder}/").names[0] == fix_a_folder.name


def test_a_folder_without_weights_is_refused_by_the_missing_file(tmp_path):
    with pytest.raises(ModelMissing) as refused:
        Models(own=str(tmp_path)).get(tmp_path.name)
    assert refused.value.values == {"name": "config.json"}


# The GPT-2 family.


@pytest.mark.parametrize("name", HUB)
def test_offline_a_model_of_the_hub_is_refused_in_one_sentence(name):
    with pytest.raises(ModelOffline) as refused:
        Models().get(name)
    assert HUB[name] in say_error("en", refused.value)


def test_without_network_too_and_the_running_model_stays(no_network):
    models = Models()
    before = models.get("storyteller")
    with pytest.raises(ModelOffline):
        models.get("gpt2")
    assert models.get("storyteller") is before


def test_a_cached_model_runs_without_network(cache, fix_a_folder, no_network):
    fake_hub.put_in_cache(cache, "openai-community/gpt2", fix_a_folder)
    assert answer(Models(), "gpt2") == 17442


def test_a_hub_id_may_be_an_operators_own(cache, fix_a_folder, no_network):
    fake_hub.put_in_cache(cache, "someone/a-gpt", fix_a_folder)
    models = Models(own="someone/a-gpt")
    assert models.names[0] == "someone/a-gpt"
    assert answer(models, "someone/a-gpt") == 17442


def test_a_blob_that_is_not_what_its_name_says_is_refused_and_removed(cache, fix_a_folder):
    blob = fake_hub.put_in_cache(cache, "openai-community/gpt2", fix_a_folder)
    data = bytearray(blob.read_bytes())
    data[-1] ^= 1
    blob.write_bytes(data)
    with pytest.raises(FileIncomplete) as refused:
        Models().get("gpt2")
    assert refused.value.values == {"file": "model.safetensors"}
    assert not blob.exists()


def test_a_cache_without_the_weights_is_no_model(cache, fix_a_folder, no_network):
    fake_hub.put_in_cache(cache, "openai-community/gpt2", fix_a_folder).unlink()
    with pytest.raises((ModelOffline, ModelMissing)):
        Models().get("gpt2")


def test_only_names_that_are_a_sha256_are_checked(tmp_path):
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"anything")
    check_digest(file)
    assert file.exists()


def test_a_download_tells_its_progress_and_is_kept(hub, cache, fix_a_folder, monkeypatch):
    hub()
    told: list[tuple[float, int]] = []
    models = Models()
    model = models.get("gpt2", lambda share, total: told.append((share, total)))
    assert model.config.context_length == 16
    assert answer(models, "gpt2") == 17442
    shares = [share for share, _ in told]
    assert all(0 <= share <= 1 for share in shares)
    assert shares[-1] == 1
    size = sum((fix_a_folder / name).stat().st_size for name in module.FILES)
    assert max(total for _, total in told) == size
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert answer(Models(), "gpt2") == 17442


def test_a_download_fetches_two_files_and_no_pickle(hub, cache):
    hub()
    assert {path.name for path in from_hub("a/b").iterdir()} == {"config.json", "model.safetensors"}


def test_a_download_that_is_not_what_the_hub_says_is_refused(hub, cache):
    hub(lies=True)
    with pytest.raises(FileIncomplete):
        Models().get("gpt2")
    with pytest.raises((FileIncomplete, ModelOffline)):  # and not believed the second time either
        Models().get("gpt2")


def test_a_connection_that_breaks_off_is_one_sentence(hub, cache):
    hub(breaks_off=True)
    with pytest.raises((DownloadFailed, ModelOffline)):
        Models().get("gpt2")
    assert not list(cache.rglob("*.safetensors"))


def test_a_hub_that_does_not_have_it_is_one_sentence(hub, tmp_path, monkeypatch):
    hub()
    monkeypatch.setattr(constants, "ENDPOINT", constants.ENDPOINT + "/resolve")  # everything there is a 404
    with pytest.raises((DownloadFailed, ModelOffline)) as refused:
        Models().get("gpt2")
    assert "http" not in say_error("en", refused.value)


def test_a_model_that_cannot_fit_is_refused_before_it_is_fetched(monkeypatch, no_network):
    monkeypatch.setattr(module, "free_memory", lambda: 300 * 10**6)
    monkeypatch.setattr(module, "from_hub", lambda *_: pytest.fail("fetched"))
    with pytest.raises(ModelTooLarge) as refused:
        Models().get("gpt2")
    need = PRESETS["gpt2"].weight_bytes * 1.3 / 1e6
    assert refused.value.values == {"name": "gpt2", "need": f"{need:,.0f} MB", "have": "300 MB"}
    for lang in ("zh", "en"):
        assert f"{need:,.0f} MB" in say_error(lang, refused.value)


@pytest.mark.parametrize("name", HUB)
def test_a_download_larger_than_the_operator_allows_is_refused_before_it_begins(name, monkeypatch, no_network):
    monkeypatch.setattr(module, "free_memory", lambda: None)
    with pytest.raises(DownloadTooLarge) as refused:
        Models(limits=Limits(download_bytes=HUB_SHAPES[name].weight_bytes - 1)).get(name)
    size = f"{HUB_SHAPES[name].weight_bytes / 1e6:,.0f} MB"
    assert refused.value.values == {"name": name, "need": size, "have": size}
    with pytest.raises(ModelOffline):  # a byte more, and it would be fetched
        Models(limits=Limits(download_bytes=HUB_SHAPES[name].weight_bytes)).get(name)


def test_what_is_in_the_cache_is_no_download(cache, fix_a_folder):
    fake_hub.put_in_cache(cache, HUB["gpt2"], fix_a_folder)
    assert answer(Models(limits=Limits(download_bytes=1)), "gpt2") == 17442


def test_without_a_home_that_can_be_written_a_download_goes_to_the_temporary_folder(hub, cache, monkeypatch, tmp_path):
    hub()
    monkeypatch.setattr(constants, "HF_HUB_CACHE", "~/.cache/huggingface/hub")  # where nobody knows whose home it is
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    assert answer(Models(), "gpt2") == 17442
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert answer(Models(), "gpt2") == 17442  # and is found there again
    assert list((tmp_path / "temporary").rglob("model.safetensors"))
    assert not Path("~").exists()


def test_a_model_that_cannot_fit_is_refused_before_it_is_loaded(monkeypatch, fix_a_folder):
    monkeypatch.setattr(module, "free_memory", lambda: 10**6)
    monkeypatch.setattr(module, "load", lambda *_: pytest.fail("loaded"))
    with pytest.raises(ModelTooLarge):
        Models(own=str(fix_a_folder)).get(fix_a_folder.name)


def test_where_the_system_does_not_tell_its_memory_nothing_is_refused(monkeypatch, fix_a_folder):
    monkeypatch.setattr(module, "free_memory", lambda: None)
    assert answer(Models(own=str(fix_a_folder)), fix_a_folder.name) == 17442


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
