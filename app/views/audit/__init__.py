"""The audit window."""
