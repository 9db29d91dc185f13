"""Construction of the program's objects; the one package that knows every other.

Nothing here starts a process, a thread or a window before it is used: a command that only lists
tools stays quick, and `view` alone imports Qt.
"""

from app.wiring.program import IDENTIFYING, Program, identifiers, limits_of, new_run_id
from app.wiring.window_builder import ViewRequest, build_window, print_error, view

__all__ = [
    "IDENTIFYING",
    "Program",
    "ViewRequest",
    "build_window",
    "identifiers",
    "limits_of",
    "new_run_id",
    "print_error",
    "view",
]
