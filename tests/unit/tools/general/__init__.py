"""The general pack."""
