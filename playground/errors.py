"""What can go wrong, as a tree; `text/errors.toml` holds one sentence per leaf, in every language.

PlaygroundError
├── InputError            something a visitor can change
│   ├── PromptEmpty, PromptTooLong, ContextFull, MemoryLimit, FileTooLarge, TooManyVisitors
│   ├── OutOfRange, NotAChoice, NotANumber, NotWhole, UnknownSwitch, UnknownEdge, UnknownToken, TooManySwitches
│   ├── CacheUnusable, NothingToSee, NotFinite, AttributionWithoutResiduals
│   └── TextEmpty, TooManyCharacters, TextTooLong, TextTooShort, CharacterUnknown, NothingToFill,
│       TrainingTooLarge, TrainingTooLong
├── PortTaken             somebody else serves at that port
├── SettingUnusable       an environment variable that is no limit
├── Unforeseen            a fault of ours, noted in the log
├── SessionLost           the page's session is no longer kept: nobody was there for a while
├── FileUnwritable        no room on the disk for what a visitor wants to take home
├── AssetDamaged          a file that came with the playground is missing or not what it was
└── ModelError            something about a model's files or where they come from
    ├── ModelForgotten        a visitor's own, that is no longer kept
    ├── FolderMissing, ModelMissing, ModelOffline, ModelTooLarge, DownloadTooLarge, DownloadFailed, CacheUnwritable
    ├── ConfigUnreadable, ConfigValue, HeadsDoNotDivide, HeadsAndLayersSwapped, FlagUnsupported,
    │   VocabularyUnsupported
    └── FileIncomplete, TensorMissing, TensorUnexpected, TensorMisshapen, TensorNotFinite, TensorDtype
"""

import re


class PlaygroundError(ValueError):
    """Carries values, never a sentence: whoever shows it picks the language."""

    def __init__(self, **values: object) -> None:
        shown = ", ".join(f"{name}={value!r}" for name, value in values.items())
        super().__init__(f"{type(self).__name__}({shown})")
        self.values = values

    @property
    def key(self) -> str:
        """Where the sentence stands in the texts, such as `errors.prompt_too_long`."""
        return "errors." + re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()


class InputError(PlaygroundError): ...


class PortTaken(PlaygroundError): ...


class SettingUnusable(PlaygroundError): ...


class Unforeseen(PlaygroundError): ...


class SessionLost(PlaygroundError): ...


class FileUnwritable(PlaygroundError): ...


class AssetDamaged(PlaygroundError): ...


class ModelError(PlaygroundError): ...


class PromptEmpty(InputError): ...


class PromptTooLong(InputError): ...


class TextEmpty(InputError): ...


class TooManyCharacters(InputError): ...


class ContextFull(InputError): ...


class MemoryLimit(InputError): ...


class FileTooLarge(InputError): ...


class TooManyVisitors(InputError): ...


class OutOfRange(InputError): ...


class NotAChoice(InputError): ...


class NotANumber(InputError): ...


class NotWhole(InputError): ...


class UnknownSwitch(InputError): ...


class UnknownEdge(InputError): ...


class UnknownToken(InputError): ...


class CharacterUnknown(InputError): ...


class NothingToFill(InputError): ...


class TextTooLong(InputError): ...


class TextTooShort(InputError): ...


class TrainingTooLarge(InputError): ...


class TrainingTooLong(InputError): ...


class CacheUnusable(InputError): ...


class AttributionWithoutResiduals(InputError): ...


class NothingToSee(InputError): ...


class NotFinite(InputError): ...


class TooManySwitches(InputError): ...


class ModelForgotten(ModelError): ...


class FolderMissing(ModelError): ...


class ModelMissing(ModelError): ...


class ModelOffline(ModelError): ...


class ModelTooLarge(ModelError): ...


class DownloadTooLarge(ModelError): ...


class DownloadFailed(ModelError): ...


class CacheUnwritable(ModelError): ...


class ConfigUnreadable(ModelError): ...


class ConfigValue(ModelError): ...


class HeadsDoNotDivide(ModelError): ...


class HeadsAndLayersSwapped(ModelError): ...


class FlagUnsupported(ModelError): ...


class VocabularyUnsupported(ModelError): ...


class FileIncomplete(ModelError): ...


class TensorMissing(ModelError): ...


class TensorUnexpected(ModelError): ...


class TensorMisshapen(ModelError): ...


class TensorNotFinite(ModelError): ...


class TensorDtype(ModelError): ...
