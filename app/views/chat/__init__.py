"""The chat dock."""
