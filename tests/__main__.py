"""The whole check, `python -m tests`: a browser, then format, lint, types and tests; the first failure ends it.

What follows is handed to pytest: `python -m tests -k attention`. Without it, what drives a browser or measures time
runs last and alone; the rest side by side, one process for each core.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests import browser

ALONE = ("tests/e2e", "tests/ui/test_app.py", "tests/ui/test_load.py", "tests/ui/test_together.py")
TOGETHER = ("-n", "auto", "--maxprocesses", "4", "--dist", "loadfile", *(f"--ignore={each}" for each in ALONE))


def checks(arguments: Sequence[str]) -> list[list[str]]:
    """Commands, each a module of Python with what it is told."""
    code = [["ruff", "format", "--check", "."], ["ruff", "check", "."], ["mypy"]]
    return [*code, ["pytest", *arguments]] if arguments else [*code, ["pytest", *TOGETHER], ["pytest", *ALONE]]


def main() -> int:
    browser.find() or browser.install()
    for check in checks(sys.argv[1:]):
        sys.stderr.write(f"$ {' '.join(check)}\n")
        code = subprocess.run([sys.executable, "-m", *check], cwd=Path(__file__).parents[1], check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
