"""The image canvas and everything drawn on it."""
