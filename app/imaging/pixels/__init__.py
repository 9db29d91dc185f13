"""Stored pixel values converted to displayed pixels and to cursor readouts (PS3.3 C.11)."""
