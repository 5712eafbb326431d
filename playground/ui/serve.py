"""Serve the page: theme, scripts and style, and nothing that calls anybody else."""

import logging
from typing import Any

import gradio as gr
import torch

from playground.errors import PortTaken
from playground.figures.follow import PLOTLY_JS

from .components import ASSETS, head

CHINESE = ("PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC")
SANS = (gr.themes.LocalFont("Source Sans Pro", weights=(400, 700)), *CHINESE, "system-ui", "sans-serif")
MONO = (gr.themes.LocalFont("IBM Plex Mono", weights=(400, 700)), "ui-monospace", "Noto Sans Mono CJK SC", "monospace")
THREADS = 2  # of torch, set and logged; more visitors share the cores, they do not multiply them
log = logging.getLogger("playground")


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


def settings(lang: str | None) -> dict[str, Any]:
    """Everything `launch` needs but the address; the tests serve the page with the same."""
    gr.set_static_paths([str(PLOTLY_JS)])
    return {
        "theme": theme(),
        "css_paths": [ASSETS / "css" / "page.css", ASSETS / "css" / "lessons.css"],
        "head": head(lang or "en", lang is not None),
        "ssr_mode": False,
        "run_history": False,
        "footer_links": ["api"],
        "enable_monitoring": False,
        "pwa": False,
        "state_session_capacity": 200,
        "show_error": True,
        "max_file_size": 1,  # no part of the page takes a file; Gradio's door for them is always there
    }


def serve(page: gr.Blocks, host: str | None, port: int | None, lang: str | None, share: bool) -> None:
    """Serve until interrupted, and say where. Raises: PortTaken"""
    torch.set_num_threads(THREADS)
    log.info("torch uses %d threads", torch.get_num_threads())
    page.queue(max_size=64, default_concurrency_limit=4, api_open=False)
    try:
        _, url, shared = page.launch(
            server_name=host, server_port=port, share=share, quiet=True, prevent_thread_lock=True, **settings(lang)
        )
    except OSError as error:  # Gradio's only word for it
        raise PortTaken(port=str(port or "7860-7959")) from error
    log.info("GPT Playground is at %s (Ctrl+C ends it)", shared or url)
    page.block_thread()
