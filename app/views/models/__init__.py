"""The models: what they are, which are there, what they do now."""
