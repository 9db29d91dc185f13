"""Pages of reports, key objects and objects that cannot be shown."""
