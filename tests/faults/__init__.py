"""Damaged and hostile files through the real open path: see `python -m tests.faults --help`."""
