"""The image canvas and what is drawn on it."""
