"""`python -m tests` runs everything: see __main__.py."""
