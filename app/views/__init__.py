"""The user interface with Qt: main window, canvas, chat, panels, and the agent's thread."""
