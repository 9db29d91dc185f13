"""Runs generated Python code in a sandbox of the operating system."""
