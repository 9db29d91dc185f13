"""Worker processes, their messages, and futures of their answers."""
