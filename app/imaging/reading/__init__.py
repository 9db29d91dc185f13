"""What a file holds, whatever its format: the worker processes' entry points."""
