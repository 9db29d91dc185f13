"""The audit window, which lists, verifies and saves the audit log."""
