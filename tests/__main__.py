"""The whole check, `python -m tests`: a browser, then format, lint, types and tests; the first failure ends it.

What follows is handed to pytest: `python -m tests -k attention`.
"""

import subprocess
import sys
from pathlib import Path

from tests import browser

CHECKS = (["ruff", "format", "--check", "."], ["ruff", "check", "."], ["mypy"], ["pytest", *sys.argv[1:]])


def main() -> int:
    browser.find() or browser.install()
    for check in CHECKS:
        sys.stderr.write(f"$ {' '.join(check)}\n")
        code = subprocess.run([sys.executable, "-m", *check], cwd=Path(__file__).parents[1], check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
