"""Worker processes, their messages, and futures for their replies."""
