"""What is fast and what is not, measured against others on the same work: `python -m tests.bench`."""
