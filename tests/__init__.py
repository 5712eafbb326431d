"""`python -m tests` runs everything: see __main__.py."""

import playground  # noqa: F401 - before torch, so that threads which wait sleep: a browser needs the cores meanwhile
