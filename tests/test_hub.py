"""The GPT-2 family: from the hub or what was fetched before, in a sentence what cannot be had."""

import tempfile
from pathlib import Path

import pytest
from huggingface_hub import constants

import fake_hub
import fixture
from playground import models as module
from playground.errors import (
    DownloadFailed,
    DownloadTooLarge,
    FileIncomplete,
    ModelMissing,
    ModelOffline,
    ModelTooLarge,
)
from playground.gpt.config import PRESETS
from playground.limits import Limits
from playground.models import HUB, HUB_SHAPES, Models, check_digest, from_hub
from playground.text import say_error

pytestmark = pytest.mark.usefixtures("cache")


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
    assert fixture.answer(Models(), "gpt2") == 17442


def test_a_hub_id_may_be_an_operators_own(cache, fix_a_folder, no_network):
    fake_hub.put_in_cache(cache, "someone/a-gpt", fix_a_folder)
    models = Models(own="someone/a-gpt")
    assert models.names[0] == "someone/a-gpt"
    assert fixture.answer(models, "someone/a-gpt") == 17442


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
    assert fixture.answer(models, "gpt2") == 17442
    shares = [share for share, _ in told]
    assert all(0 <= share <= 1 for share in shares)
    assert shares[-1] == 1
    size = sum((fix_a_folder / name).stat().st_size for name in module.FILES)
    assert max(total for _, total in told) == size
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert fixture.answer(Models(), "gpt2") == 17442


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
    assert fixture.answer(Models(limits=Limits(download_bytes=1)), "gpt2") == 17442


def test_without_a_home_that_can_be_written_a_download_goes_to_the_temporary_folder(hub, cache, monkeypatch, tmp_path):
    hub()
    monkeypatch.setattr(constants, "HF_HUB_CACHE", "~/.cache/huggingface/hub")  # where nobody knows whose home it is
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    assert fixture.answer(Models(), "gpt2") == 17442
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert fixture.answer(Models(), "gpt2") == 17442  # and is found there again
    assert list((tmp_path / "temporary").rglob("model.safetensors"))
    assert not Path("~").exists()
