"""Serve the page: theme, scripts and style, and nothing that calls anybody else."""

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr
import torch
from gradio.tunneling import CURRENT_TUNNELS
from starlette.middleware import Middleware

from playground import VERSION, log
from playground.errors import PortTaken
from playground.figures.follow import PLOTLY_JS
from playground.limits import Limits, changed
from playground.models import Models
from playground.text import say

from .components import asset, head, styles
from .door import Door, health
from .http import Guarded

CHINESE = ("PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC")
SANS = (gr.themes.LocalFont("Source Sans Pro", weights=(400, 700)), *CHINESE, "system-ui", "sans-serif")
MONO = (gr.themes.LocalFont("IBM Plex Mono", weights=(400, 700)), "ui-monospace", "Noto Sans Mono CJK SC", "monospace")


def theme() -> gr.themes.Base:
    """Gradio's controls in the page's colours; every pair of text and ground reads at 4.5:1 or better."""
    return gr.themes.Default(primary_hue="blue", neutral_hue="slate", font=SANS, font_mono=MONO).set(
        body_background_fill="var(--pg-paper)",
        body_background_fill_dark="var(--pg-paper)",
        body_text_color="var(--pg-ink)",
        body_text_color_dark="var(--pg-ink)",
        block_background_fill="transparent",
        block_background_fill_dark="transparent",
        block_border_width="0px",
        block_border_width_dark="0px",
        block_shadow="none",
        block_shadow_dark="none",
        block_padding="0px",
        block_label_text_color="var(--pg-soft)",
        block_label_text_color_dark="var(--pg-soft)",
        block_title_text_color="var(--pg-soft)",
        block_title_text_color_dark="var(--pg-soft)",
        block_title_text_weight="400",
        block_info_text_color="var(--pg-soft)",
        block_info_text_color_dark="var(--pg-soft)",
        input_background_fill="var(--pg-paper)",
        input_background_fill_dark="var(--pg-paper)",
        input_border_color="var(--pg-line)",
        input_border_color_dark="var(--pg-line)",
        button_primary_background_fill="var(--pg-accent)",
        button_primary_background_fill_dark="var(--pg-accent)",
        button_primary_text_color="var(--pg-on-accent)",
        button_primary_text_color_dark="var(--pg-on-accent)",
        button_secondary_background_fill="var(--pg-card)",
        button_secondary_background_fill_dark="var(--pg-card)",
        button_secondary_border_color="var(--pg-line)",
        button_secondary_border_color_dark="var(--pg-line)",
    )


def queueing(limits: Limits) -> dict[str, Any]:
    """Everything `queue` needs."""
    every = 1  # seconds, those in line are told their place; at every change it took a tenth of a busy server
    return {
        "max_size": limits.queue,
        "status_update_rate": every,
        "default_concurrency_limit": limits.at_once,
        "api_open": False,
    }


def settings(
    lang: str | None, limits: Limits, found: Callable[[], dict[str, Any]], left: Callable[[str], None]
) -> dict[str, Any]:
    """Everything `launch` needs but the address; the tests serve the page with the same.

    `found` is what `/health` says besides that all is well; `left` hears of each session whose page was closed.
    Raises: AssetDamaged
    """
    gr.set_static_paths([str(PLOTLY_JS)])
    begun = head(lang or "en", lang is not None, limits)
    around = [
        Middleware(Guarded, head=begun, first=asset("js/first.js"), space="SPACE_ID" in os.environ),
        Middleware(Door, limits=limits, left=left),
    ]
    return {
        "theme": theme(),
        "css": styles("page", "panels", "lessons"),
        "head": begun,
        "ssr_mode": False,
        "run_history": False,
        "footer_links": ["api"],
        "enable_monitoring": False,
        "pwa": False,
        "state_session_capacity": 2 * limits.visitors,  # those inside, and who may come back after losing the network
        "show_error": True,
        "max_file_size": 1,  # no part of the page takes a file; Gradio's door for them is always there
        "app_kwargs": {"routes": [health(found)], "middleware": around},
    }


@dataclass(frozen=True, slots=True)
class Place:
    """Where to serve, as the flags of app.py say."""

    host: str | None = None
    port: int | None = None
    share: bool = False
    root_path: str | None = None  # under which a proxy shows the page


def serve(page: gr.Blocks, place: Place, lang: str | None, limits: Limits, models: Models) -> None:
    """Serve until interrupted, and say where. Raises: PortTaken, AssetDamaged"""
    torch.set_num_threads(limits.threads)
    how = settings(lang, limits, lambda: found(models), partial(forget, page))
    page.queue(**queueing(limits))
    try:
        _, url, shared = page.launch(
            server_name=place.host, server_port=place.port, share=place.share, root_path=place.root_path, quiet=True,
            prevent_thread_lock=True, **how,
        )  # fmt: skip
    except OSError as error:  # Gradio's only word for it
        raise PortTaken(port=str(place.port or "7860-7959")) from error
    log.begin()  # once more: the server has brought lines of its own
    log.tell("start", version=VERSION, model=models.names[0], threads=torch.get_num_threads(), limits=changed(limits))
    sys.stdout.write(say(lang or "en", "page.served", address=shared or url) + "\n")
    sys.stdout.flush()
    with suppress(KeyboardInterrupt):
        while page.is_running:
            time.sleep(0.1)
    for tunnel in CURRENT_TUNNELS:
        tunnel.kill()
    with suppress(KeyboardInterrupt):  # pressed once more
        if closed(page, seconds=6):
            return
    os._exit(0)


def closed(page: gr.Blocks, seconds: float) -> bool:
    """Close the page; whether the threads in which it computed end within this time.

    Gradio's threads are daemons, which Python does not wait for. One that comes back from PyTorch when Python has ended
    is thrown off through C++ that lets nothing pass, and the process aborts: 'terminate called without an active
    exception'.
    """
    end = time.monotonic() + seconds
    page.close(verbose=False)  # gives what is being answered five seconds
    working = [thread for thread in threading.enumerate() if thread.name == "AnyIO worker thread"]
    for thread in working:
        thread.join(max(0, end - time.monotonic()))
    return not any(thread.is_alive() for thread in working)


def forget(page: gr.Blocks, session: str) -> None:
    """Free what Gradio keeps, for an hour, of a page that was closed: 1.6 MB. See `accepted` in guard.py"""
    page.state_holder.session_data.pop(session, None)
    page.state_holder.time_last_used.pop(session, None)
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim:
        trim(0)  # else glibc keeps what so many small pieces took


def found(models: Models) -> dict[str, Any]:
    """What `/health` says."""
    return {"version": VERSION, "model": models.names[0], "loaded": models.loaded}
