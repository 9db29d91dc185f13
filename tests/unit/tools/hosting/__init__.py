"""The model host."""
