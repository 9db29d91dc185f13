"""Worker processes, the messages between them and the app, and futures of their answers."""
