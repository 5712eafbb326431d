"""GPT Playground: see how a GPT works."""
