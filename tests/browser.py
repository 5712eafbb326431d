"""What the tests need and pip does not bring: a Chromium to drive, and an nginx to stand before the page.

Each is taken where there is one, else installed now; without nginx a proxy of our own does, see proxy.py.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WAIT = 600  # seconds that an installation may take


def find() -> str | None:
    """A browser that starts: on the PATH, or Playwright's own."""
    found = [path for name in NAMES if (path := shutil.which(name))]
    return next((path for path in [*found, *_playwrights_own()] if _starts(path)), None)


def install() -> str:
    """Playwright's own browser, or Debian's; the result of `find` after that. Raises: SystemExit"""
    for attempt in (_install_playwrights_own, lambda: debian("chromium", "fonts-noto-cjk")):
        attempt()
        if path := find():
            return path
    raise SystemExit("No browser: install Chromium or Chrome, or run `playwright install --with-deps chromium`.")


def debian(*packages: str) -> None:
    """Install them where this is possible."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        _run(["apt-get", "update"])
        _run(["apt-get", "install", "-y", *packages])


def _install_playwrights_own() -> None:
    _run([sys.executable, "-m", "playwright", "install", "chromium"])


def _playwrights_own() -> list[str]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return [path] if Path(path).exists() else []


def _starts(path: str) -> bool:
    """Whether the libraries that it needs are there too."""
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, timeout=WAIT, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        sys.stderr.write(f"{' '.join(command)}: {error}\n")
