"""Language models on this machine, each in a process of its own.

`model` starts, asks and ends the process. What runs in it is `server_main`, which loads one of two
engines by name: llama.cpp for a GGUF file (`gguf_main`), transformers for a folder with safetensors
(`transformers_main`). Both serve chat completions on 127.0.0.1.
"""
