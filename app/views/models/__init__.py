"""The window that lists the AI models with their state, and installs or removes them."""
