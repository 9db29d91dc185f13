"""The state behind the program's window: studies, viewport, and annotations with undo."""
