"""Reading of files of any format: entry points of the worker processes."""
