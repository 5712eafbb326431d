"""GPT Playground: `python app.py`, then open the address it prints."""

import argparse
import gc
import logging


def port(text: str) -> int:
    number = int(text)
    if not 0 < number < 2**16:
        raise argparse.ArgumentTypeError("a port lies between 1 and 65535")
    return number


def main() -> None:
    gc.disable()  # until it serves: what is imported and built stays, and looking through it for garbage takes a second

    from playground.errors import PlaygroundError
    from playground.models import Models
    from playground.runs import Runs
    from playground.text import LANGUAGES, say_error
    from playground.ui.page import build
    from playground.ui.serve import serve

    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--model", help="a folder or hub id in GPT-2 layout; without it, the bundled storyteller")
    flags.add_argument("--host", default=None, help="address to listen on (default 127.0.0.1, on a Space all)")
    flags.add_argument("--port", type=port, default=None, help="port (default: the first free one from 7860)")
    flags.add_argument("--lang", choices=LANGUAGES, help="language of the page; without it, each visitor's own")
    flags.add_argument("--share", action="store_true", help="a public address for 72 hours, through Gradio's relay")
    given = flags.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)  # Gradio asks itself whether it is there
    models = Models(given.model)
    try:
        page = build(models, Runs(models.get), models.names[0], given.lang or "en")
        gc.freeze()
        gc.enable()
        serve(page, given.host, given.port, given.lang, given.share)
    except PlaygroundError as error:
        flags.error(say_error(given.lang or "en", error))


if __name__ == "__main__":
    main()
