"""The models on offer: the bundled one, its untrained twin, the GPT-2 family, an operator's own folder."""

import errno
import hashlib
import os
import re
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from threading import Lock
from typing import Any

from playground import log
from playground.errors import (
    AssetDamaged,
    CacheUnwritable,
    DownloadFailed,
    DownloadTooLarge,
    FileIncomplete,
    FolderMissing,
    ModelForgotten,
    ModelMissing,
    ModelOffline,
    ModelTooLarge,
    NotAChoice,
)
from playground.gpt.checkpoints import load, read_config, stored_as
from playground.gpt.config import PRESETS, GPTConfig
from playground.gpt.model import GPTModel
from playground.gpt.tokenizer import Tokenizer, tokenizer_for
from playground.gpt.train import initialise
from playground.limits import DEFAULTS, MB, Limits

BUNDLED = Path(__file__).parents[1] / "assets" / "models"
SHA256 = {  # of what BUNDLED holds
    "config.json": "8aa48117466b6e4f092180fa3b49bd76f2fda437262b4d5f842b1d7e64f9bd5c",
    "model.safetensors": "8100332d39d5b5095f1126305949fd461d04b0ef3c990565a6c33130f37c68cd",
}
HUB = {
    "distilgpt2": "distilbert/distilgpt2",
    "gpt2": "openai-community/gpt2",
    "gpt2-medium": "openai-community/gpt2-medium",
    "gpt2-large": "openai-community/gpt2-large",
    "gpt2-xl": "openai-community/gpt2-xl",
}
HUB_SHAPES = {name: PRESETS[name] for name in HUB if name in PRESETS} | {
    "distilgpt2": replace(PRESETS["gpt2"], n_layers=6)
}
OURS = ("storyteller", "untrained")
TRAINED = "trained-"  # how the names of models that visitors trained begin
FILES = ["config.json", "model.safetensors"]
UNTRAINED_SEED = 0
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
LEAST_REPORTED = 10**6  # bytes; a config.json alone is not worth a progress bar

Progress = Callable[[float, int], None]  # (share done, bytes in all)


@dataclass(frozen=True, slots=True)
class Model:
    name: str
    gpt: GPTModel
    tokenizer: Tokenizer
    stored: str = "float32"  # how its file writes numbers; they are computed in float32 whatever it is

    @property
    def config(self) -> GPTConfig:
        return self.gpt.config


class Models:
    """Loads each model once and hands the same one to every visitor; nothing in a model ever changes.

    Those that visitors train are lent as long as there is room, each known only to who knows its name.
    """

    def __init__(self, own: str | None = None, limits: Limits = DEFAULTS) -> None:
        self._own, self.own_name, self._limits = own, own_name(own), limits
        self._loaded: OrderedDict[str, Model] = OrderedDict()
        self._lent: OrderedDict[str, Model] = OrderedDict()
        self._lock = Lock()  # of what is loaded; never held while loading, so that others have their models
        self._loading = {name: Lock() for name in self.names}  # two visitors asking for one model wait for one loading

    @property
    def names(self) -> list[str]:
        """What may be asked for; an operator's own model comes first, under its folder's name."""
        return [*([self.own_name] if self.own_name else []), *OURS, *HUB]

    @property
    def loaded(self) -> list[str]:
        """Those in memory now, the one asked for last at the end."""
        with self._lock:
            return list(self._loaded)

    def get(self, name: str, progress: Progress | None = None) -> Model:
        """The model called `name`.

        Raises: NotAChoice; ModelError when its files cannot be had or are not what they should be; ModelForgotten
        """
        if isinstance(name, str) and name.startswith(TRAINED) and name not in self.names:
            return self._borrowed(name)
        if name not in self.names:
            raise NotAChoice(name="model", value=name, choices=", ".join(self.names))
        model = self._found(name)
        if model is None:
            with self._loading[name]:
                model = self._found(name) or self._load(name, progress)
                self._keep(model)
        return model

    def lend(self, model: Model) -> None:
        """Keep a visitor's own model, named `trained-...`; where there is no room for all the oldest go."""
        with self._lock:
            self._lent[model.name] = model
            while len(self._lent) > 1 and weight_bytes(self._lent) > self._limits.trained_model_bytes:
                self._lent.popitem(last=False)

    def lent(self, name: str) -> bool:
        with self._lock:
            return name in self._lent

    def give_back(self, names: Iterable[str]) -> None:
        """Nobody wants these any more."""
        with self._lock:
            for name in names:
                self._lent.pop(name, None)

    def _borrowed(self, name: str) -> Model:
        """Raises: ModelForgotten"""
        with self._lock:
            if name not in self._lent:
                raise ModelForgotten(name=name, limit=self._limits.trained_model_bytes // MB)
            self._lent.move_to_end(name)  # what is in use goes last
            return self._lent[name]

    def _found(self, name: str) -> Model | None:
        with self._lock:
            if name in self._loaded:
                self._loaded.move_to_end(name)
            return self._loaded.get(name)

    def _keep(self, model: Model) -> None:
        with self._lock:
            self._loaded[model.name] = model
            while len(self._loaded) > 1 and weight_bytes(self._loaded) > self._limits.kept_model_bytes:
                self._loaded.popitem(last=False)

    def _load(self, name: str, progress: Progress | None) -> Model:
        with log.timed("load", model=name):
            if name in OURS:
                check_bundled(BUNDLED / "storyteller")
            if name == "untrained":
                config = read_config(BUNDLED / "storyteller")
                gpt = initialise(GPTModel(config), UNTRAINED_SEED).requires_grad_(False).eval()
                return Model(name, gpt, tokenizer_for(config.vocab_size))
            folder = self._folder(name, progress)
            check_memory(name, read_config(folder))
            gpt = load(folder)
            return Model(name, gpt, tokenizer_for(gpt.config.vocab_size), stored_as(folder))

    def _folder(self, name: str, progress: Progress | None) -> Path:
        if name == "storyteller":
            return BUNDLED / name
        if self._own and name == self.own_name:
            return Path(self._own) if Path(self._own).is_dir() else own_from_hub(self._own, progress)
        check_memory(name, HUB_SHAPES[name])
        return from_hub(HUB[name], progress, lambda: check_download(name, HUB_SHAPES[name], self._limits))


def weight_bytes(models: Mapping[str, Model]) -> int:
    return sum(model.config.weight_bytes for model in models.values())


def own_name(own: str | None) -> str:
    """What visitors call an operator's own model: a folder's name without its path, or a hub id."""
    name = Path(own).resolve().name if own and Path(own).is_dir() else own or ""
    return f"own {name}" if name in (*OURS, *HUB) else name


def own_from_hub(name: str, progress: Progress | None) -> Path:
    """An operator's model that is no folder here. Raises: FolderMissing when the hub has it neither; ModelError"""
    try:
        return from_hub(name, progress)
    except (ModelOffline, ModelMissing) as error:
        raise FolderMissing(name=name) from error


def check_bundled(folder: Path) -> None:
    """Raises: AssetDamaged when a file of the bundled model is not what it was"""
    for name, expected in SHA256.items():
        try:
            with (folder / name).open("rb") as opened:
                found = hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError as error:
            raise AssetDamaged(file=name) from error
        if found != expected:
            raise AssetDamaged(file=name)


def check_memory(name: str, config: GPTConfig | None) -> None:
    """Refuse a model before it is loaded, or even fetched, when it cannot fit. Raises: ModelTooLarge"""
    free = free_memory()
    if config is not None and free is not None and config.weight_bytes * 1.3 > free:
        raise ModelTooLarge(name=name, need=megabytes(config.weight_bytes * 1.3), have=megabytes(free))


def check_download(name: str, config: GPTConfig, limits: Limits) -> None:
    """Refuse to fetch a model for a visitor when the operator allows no file so large. Raises: DownloadTooLarge"""
    if config.weight_bytes > limits.download_bytes:
        raise DownloadTooLarge(name=name, need=megabytes(config.weight_bytes), have=megabytes(limits.download_bytes))


def free_memory() -> int | None:
    """Memory that may still be used; None where the system does not tell. Units: bytes"""
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        return None
    known = [int(found.group(1)) * 1024] if found else []
    return min([*known, *container_memory()], default=None)


def container_memory(group: Path = Path("/sys/fs/cgroup")) -> list[int]:
    """What a container, such as a Space, may still use of its share; nothing where it has none. Units: bytes"""
    try:
        most, used = (int((group / f"memory.{name}").read_text()) for name in ("max", "current"))
        cached = re.search(r"^inactive_file (\d+)", (group / "memory.stat").read_text(), re.MULTILINE)
    except (OSError, ValueError):  # no such files, or the word "max"
        return []
    return [max(0, most - used + (int(cached.group(1)) if cached else 0))]


def megabytes(count: float) -> str:
    return f"{count / 1e6:,.0f} MB"


def from_hub(repository: str, progress: Progress | None = None, before: Callable[[], None] = lambda: None) -> Path:
    """The folder with a hub repository's two files: from the local cache, else downloaded and checked.

    `before` may refuse, by what it raises, to fetch what is not there yet.

    Raises: ModelOffline without network; DownloadFailed when it breaks off or the hub answers something else;
    CacheUnwritable; ModelMissing when the repository has no such files; FileIncomplete
    """
    folder = in_cache(repository)
    if folder is None:
        before()
        folder = download(repository, progress)
    if missing(folder):
        raise ModelMissing(name=missing(folder)[0])
    check_digest(folder / "model.safetensors")
    return folder


def in_cache(repository: str) -> Path | None:
    """The folder of a repository that was fetched before. Raises: ModelMissing for what names no repository"""
    from huggingface_hub import snapshot_download  # here, since it takes a second that most starts do not need
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    for cache in caches():
        try:
            folder = Path(snapshot_download(repository, cache_dir=cache, allow_patterns=FILES, local_files_only=True))
        except HFValidationError as error:  # neither a folder here nor the form of a name there
            raise ModelMissing(name=repository) from error
        except LocalEntryNotFoundError:
            continue
        if not missing(folder):
            return folder
    return None


def download(repository: str, progress: Progress | None) -> Path:
    """Raises: ModelOffline, DownloadFailed, CacheUnwritable"""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HTTPError, LocalEntryNotFoundError  # type: ignore[attr-defined]

    bar = _reporting(progress) if progress else None
    try:
        return Path(snapshot_download(repository, cache_dir=caches()[-1], allow_patterns=FILES, tqdm_class=bar))
    except (LocalEntryNotFoundError, ConnectionError) as error:
        raise ModelOffline(name=repository) from error
    except (HTTPError, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise CacheUnwritable(name=repository) from error
        raise DownloadFailed(name=repository, reason=type(error).__name__) from error  # a hub may answer anything


def caches() -> list[Path]:
    """Where downloads are looked for; they go into the last one: the home folder's unless nobody may write there."""
    from huggingface_hub import constants

    home = Path(constants.HF_HUB_CACHE)
    nearest = next((folder for folder in (home, *home.parents) if folder.exists()), home)
    if home.is_absolute() and os.access(nearest, os.W_OK):  # "~/..." where nobody knows whose home it is
        return [home]
    return [home, Path(tempfile.gettempdir()) / "gpt-playground-hub"]


def missing(folder: Path) -> list[str]:
    return [name for name in FILES if not (folder / name).exists()]


def check_digest(file: Path) -> None:
    """The hub's cache names a large file by its SHA-256; a download that differs is refused. Raises: FileIncomplete"""
    name = file.resolve().name
    if not re.fullmatch(r"[0-9a-f]{64}", name):
        return
    with file.open("rb") as opened:
        if hashlib.file_digest(opened, "sha256").hexdigest() != name:
            os.remove(file.resolve())
            raise FileIncomplete(file=file.name)


def _reporting(progress: Progress) -> Any:
    """A progress bar, as the hub's downloader wants one, that tells `progress` and writes nothing."""
    from tqdm import tqdm  # type: ignore[import-untyped]  # the hub's own is silent where there is no terminal

    class Reporting(tqdm):  # type: ignore[misc]
        def __init__(self, *values: Any, **how: Any) -> None:
            super().__init__(*values, **{**how, "file": StringIO()})

        def display(self, *_: Any, **__: Any) -> None:
            if self.unit == "B" and self.n and self.total >= LEAST_REPORTED:
                progress(min(1, self.n / self.total), int(self.total))

    return Reporting
