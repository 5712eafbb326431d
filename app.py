"""GPT Playground: `python app.py`, then open the address it prints."""

import argparse
import gc
import os

# Before PyTorch is imported: large tensors in large pages of memory, which are there in a fifth of the time.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")


def port(text: str) -> int:
    number = int(text)
    if not 0 < number < 2**16:
        raise argparse.ArgumentTypeError("a port lies between 1 and 65535")
    return number


def parser() -> argparse.ArgumentParser:
    from playground.text import LANGUAGES

    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--model", help="a folder or hub id in GPT-2 layout; without it, the bundled storyteller")
    flags.add_argument("--host", default=None, help="address to listen on (default 127.0.0.1, on a Space all)")
    flags.add_argument("--port", type=port, default=None, help="port (default: the first free one from 7860)")
    flags.add_argument("--root-path", help="the path under which a reverse proxy shows the page, such as /playground")
    flags.add_argument("--lang", choices=LANGUAGES, help="language of the page; without it, each visitor's own")
    flags.add_argument("--share", action="store_true", help="a public address for 72 hours, through Gradio's relay")
    return flags


def main() -> None:
    gc.disable()  # until it serves: what is imported and built stays, and looking through it for garbage takes a second

    from playground import log
    from playground.errors import PlaygroundError
    from playground.limits import from_environment
    from playground.models import Models
    from playground.runs import Runs
    from playground.text import say_error

    flags = parser()
    given = flags.parse_args()
    lang = given.lang or "en"
    log.begin()
    try:
        limits = from_environment(os.environ)  # before Gradio is imported, which takes seconds

        from playground.ui.page import build
        from playground.ui.serve import Place, serve

        models = Models(given.model, limits)
        page = build(models, Runs(models.get, limits), models.names[0], lang)
        gc.freeze()
        gc.enable()
        serve(page, Place(given.host, given.port, given.share, given.root_path), given.lang, limits, models)
    except PlaygroundError as error:
        flags.error(say_error(lang, error))


if __name__ == "__main__":
    main()
