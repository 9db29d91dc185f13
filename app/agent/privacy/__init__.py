"""Removal of identifiers and the user's consent before anything leaves the machine."""
