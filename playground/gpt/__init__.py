"""The network, from scratch in torch; vocabularies through tiktoken, files through safetensors. Start with model.py."""
