"""Programs as they lie beside published weights: stand-ins with the published interface.

They are copied into a model's folder and run from there by transformers (`trust_remote_code`).
"""
