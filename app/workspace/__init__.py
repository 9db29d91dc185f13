"""What is open and how it is shown: studies, viewports, annotations with undo."""
