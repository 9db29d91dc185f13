"""What is read instead of looked at: reports, key objects, and objects that cannot be shown."""
