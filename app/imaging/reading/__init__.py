"""Reading of files in any format: entry points for the worker processes."""
