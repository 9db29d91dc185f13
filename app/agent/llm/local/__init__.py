"""A language model on this machine: started, watched and ended by the app, in its own process.

`LocalModel` (`model`) asks a server on 127.0.0.1 that `LocalServer` (`server`) runs as a child.
The child (`server_main`) loads one of two engines by name: llama.cpp for a GGUF file (`gguf_main`),
transformers for a folder with safetensors (`transformers_main`, `chat_server`).
"""
