"""Construction of the program's objects; the one package that knows every other.

Nothing here starts a process, a thread or a window before it is used: a command that only lists
tools stays quick, and `view` alone imports Qt.
"""

from app.wiring.program import IDENTIFYING_KEYWORDS, Program, identifiers, new_run_id, run_limits
from app.wiring.window_builder import ViewRequest, build_window, print_error, view

__all__ = [
    "IDENTIFYING_KEYWORDS",
    "Program",
    "ViewRequest",
    "build_window",
    "identifiers",
    "new_run_id",
    "print_error",
    "run_limits",
    "view",
]
