"""Builds the program's objects and connects its packages.

Processes, threads and windows start only when first needed: a command that only lists tools stays
quick, and in this package only `view` imports Qt.
"""

from app.wiring.program import Program, new_run_id
from app.wiring.window_builder import ViewRequest, build_window, view

__all__ = ["Program", "ViewRequest", "build_window", "new_run_id", "view"]
