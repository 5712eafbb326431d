"""The network, from scratch: torch and numpy only. Start with model.py, then trace.py."""
