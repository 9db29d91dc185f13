"""All Qt: main window, canvas, chat, browser and the agent thread."""
