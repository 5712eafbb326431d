"""What is fast and what is not, measured against others on the same work: `python -m tests.bench`."""

import os

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # as app.py does, for all alike; before PyTorch is imported
