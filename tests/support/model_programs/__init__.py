"""Stand-ins for the programs published with model weights, with the same interface.

They are copied into a model's folder and run from there by transformers (`trust_remote_code`).
"""
