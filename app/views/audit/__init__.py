"""The audit log in the window."""
