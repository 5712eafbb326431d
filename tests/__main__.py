"""The whole check, `python -m tests`: a browser, an nginx, then format, lint, types, tests; the first failure ends it.

What follows is handed to pytest: `python -m tests -k attention`. Without it all runs side by side, one process for each
core, what drives a browser after the rest; what measures time comes last and alone.
"""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests import browser

SIDE_BY_SIDE = ("-n", "auto", "--maxprocesses", "4", "--dist", "loadfile")
BROWSER = ("tests/e2e",)
TIMED = ("tests/ui/test_app.py", "tests/ui/test_load.py", "tests/ui/test_together.py")
REST = tuple(f"--ignore={each}" for each in BROWSER + TIMED)


def checks(arguments: Sequence[str]) -> list[list[str]]:
    """Commands, each a module of Python with what it is told."""
    code = [["ruff", "format", "--check", "."], ["ruff", "check", "."], ["mypy"]]
    if arguments:
        return [*code, ["pytest", *arguments]]
    return [*code, *(["pytest", *how] for how in ((*SIDE_BY_SIDE, *REST), (*SIDE_BY_SIDE, *BROWSER), TIMED))]


def main() -> int:
    browser.find() or browser.install()
    shutil.which("nginx") or browser.debian("nginx-light")
    for check in checks(sys.argv[1:]):
        sys.stderr.write(f"$ {' '.join(check)}\n")
        code = subprocess.run([sys.executable, "-m", *check], cwd=Path(__file__).parents[1], check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
