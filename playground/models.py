"""The models on offer: the bundled one, its untrained twin, the GPT-2 family, an operator's own folder."""

import errno
import hashlib
import os
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from threading import Lock
from typing import Any

from playground.errors import (
    AssetDamaged,
    CacheUnwritable,
    DownloadFailed,
    FileIncomplete,
    FolderMissing,
    ModelMissing,
    ModelOffline,
    ModelTooLarge,
    NotAChoice,
)
from playground.gpt.checkpoints import load, read_config
from playground.gpt.config import PRESETS, GPTConfig
from playground.gpt.model import GPTModel
from playground.gpt.tokenizer import Tokenizer, tokenizer_for
from playground.gpt.train import initialise

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
OURS = ("storyteller", "untrained")
FILES = ["config.json", "model.safetensors"]
KEPT_BYTES = 3 * 2**30  # loaded models beyond the newest are dropped once they hold more
UNTRAINED_SEED = 0
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
LEAST_REPORTED = 10**6  # bytes; a config.json alone is not worth a progress bar

Progress = Callable[[float, int], None]  # (share done, bytes in all)


@dataclass(frozen=True, slots=True)
class Model:
    name: str
    gpt: GPTModel
    tokenizer: Tokenizer

    @property
    def config(self) -> GPTConfig:
        return self.gpt.config


class Models:
    """Loads each model once and hands the same one to every visitor; nothing in it ever changes."""

    def __init__(self, own: str | None = None, kept_bytes: int = KEPT_BYTES) -> None:
        self._own, self.own_name, self._kept_bytes = own, own_name(own), kept_bytes
        self._loaded: OrderedDict[str, Model] = OrderedDict()
        self._lock = Lock()  # of what is loaded; never held while loading, so that others have their models
        self._loading = {name: Lock() for name in self.names}  # two visitors asking for one model wait for one loading

    @property
    def names(self) -> list[str]:
        """What may be asked for; an operator's own model comes first, under its folder's name."""
        return [*([self.own_name] if self.own_name else []), *OURS, *HUB]

    def get(self, name: str, progress: Progress | None = None) -> Model:
        """The model called `name`.

        Raises: NotAChoice; ModelError when its files cannot be had or are not what they should be.
        """
        if name not in self.names:
            raise NotAChoice(name="model", value=name, choices=", ".join(self.names))
        model = self._found(name)
        if model is None:
            with self._loading[name]:
                model = self._found(name) or self._load(name, progress)
                self._keep(model)
        return model

    def _found(self, name: str) -> Model | None:
        with self._lock:
            if name in self._loaded:
                self._loaded.move_to_end(name)
            return self._loaded.get(name)

    def _keep(self, model: Model) -> None:
        with self._lock:
            self._loaded[model.name] = model
            while len(self._loaded) > 1 and self._bytes() > self._kept_bytes:
                self._loaded.popitem(last=False)

    def _bytes(self) -> int:
        return sum(model.config.weight_bytes for model in self._loaded.values())

    def _load(self, name: str, progress: Progress | None) -> Model:
        gpt = self._network(name, progress)
        return Model(name, gpt, tokenizer_for(gpt.config.vocab_size))

    def _network(self, name: str, progress: Progress | None) -> GPTModel:
        if name in OURS:
            check_bundled(BUNDLED / "storyteller")
        if name == "untrained":
            config = read_config(BUNDLED / "storyteller")
            return initialise(GPTModel(config), UNTRAINED_SEED).requires_grad_(False).eval()
        if name == "storyteller":
            folder = BUNDLED / name
        elif self._own and name == self.own_name:
            folder = Path(self._own) if Path(self._own).is_dir() else own_from_hub(self._own, progress)
        else:
            check_memory(name, PRESETS.get(name))
            folder = from_hub(HUB[name], progress)
        check_memory(name, read_config(folder))
        return load(folder)


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


def from_hub(repository: str, progress: Progress | None = None) -> Path:
    """The folder with a hub repository's two files: from the local cache, else downloaded and checked.

    Raises: ModelOffline without network; DownloadFailed when it breaks off or the hub answers something else;
    CacheUnwritable; ModelMissing when the repository has no such files; FileIncomplete
    """
    from huggingface_hub import snapshot_download  # here, since it takes a second that most starts do not need
    from huggingface_hub.errors import (  # type: ignore[attr-defined]
        HFValidationError,
        HTTPError,
        LocalEntryNotFoundError,
    )

    def fetch(**how: Any) -> Path:
        return Path(snapshot_download(repository, allow_patterns=FILES, **how))

    def missing(folder: Path) -> list[str]:
        return [name for name in FILES if not (folder / name).exists()]

    try:
        folder = fetch(local_files_only=True)
    except HFValidationError as error:  # neither a folder here nor the form of a name there
        raise ModelMissing(name=repository) from error
    except LocalEntryNotFoundError:
        folder = None
    if folder is None or missing(folder):
        try:
            folder = fetch(tqdm_class=_reporting(progress) if progress else None)
        except (LocalEntryNotFoundError, ConnectionError) as error:
            raise ModelOffline(name=repository) from error
        except (HTTPError, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                raise CacheUnwritable(name=repository) from error
            raise DownloadFailed(name=repository, reason=type(error).__name__) from error  # a hub may answer anything
    if missing(folder):
        raise ModelMissing(name=missing(folder)[0])
    check_digest(folder / "model.safetensors")
    return folder


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
