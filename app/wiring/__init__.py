"""Builds the program's objects and connects its packages.

Nothing here starts a process, a thread or a window before it is used: a command that only lists
tools stays quick, and `view` alone imports Qt.
"""

from app.wiring.program import Program, new_run_id
from app.wiring.window_builder import ViewRequest, build_window, view

__all__ = ["Program", "ViewRequest", "build_window", "new_run_id", "view"]
