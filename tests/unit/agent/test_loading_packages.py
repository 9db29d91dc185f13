"""Importing an endpoint's package while the window is open."""

from __future__ import annotations

import subprocess
import sys

import pytest

_CHILD = """
import gc, sys
from app.agent.llm.endpoint import load

rounds = []
gc.callbacks.append(lambda phase, info: phase == "start" and rounds.append(info["generation"]))
load({package!r})
print(len(rounds) <= 1, 2 in rounds, {package!r} in sys.modules, gc.isenabled())
"""


@pytest.mark.parametrize("package", ["openai", "anthropic"])
def test_old_objects_are_not_looked_through_while_a_package_is_imported(package: str):
    pytest.importorskip(package)
    child = [sys.executable, "-c", _CHILD.format(package=package)]
    ended = subprocess.run(child, capture_output=True, text=True, timeout=60, check=True)
    # At most one round, of what is new, once all is imported.
    assert ended.stdout.split() == ["True", "False", "True", "True"]
