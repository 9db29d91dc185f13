"""The models of the program's window: studies, viewport, annotations with undo."""
