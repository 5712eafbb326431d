"""The page: the only place that imports gradio."""

import os

# Before gradio is imported: it would otherwise try to report home at every start.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
