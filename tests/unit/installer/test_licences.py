"""No package under the GPL alone is locked, and docs/third-party.md names what we depend on."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest

from installer.environment import read_locks

SETS = ("viewer", "ai", "test")  # PyInstaller makes packages; its licence lets them have any


def stated_terms(name: str) -> str:
    """What an installed package's metadata says of its licence; skips one for other systems."""
    try:
        metadata = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed here")
    classifiers = [c for c in metadata.get_all("Classifier") or [] if c.startswith("License")]
    # Some packages paste whole licence texts; the first line names the licence.
    named = [text.strip().partition("\n")[0] for text in metadata.get_all("License") or []]
    return " ".join([*(metadata.get_all("License-Expression") or []), *named, *classifiers])


def locked(repo: Path) -> list[str]:
    locks = repo / "installer" / "requirements"
    return sorted(read_locks([locks / f"{name}.txt" for name in SETS]))


def test_no_locked_package_is_under_the_gpl_alone(repo: Path) -> None:
    names = locked(repo)
    assert "pylibjpeg-libjpeg" not in names
    gpl = re.compile(r"(?<!L)(?<!Lesser )\b(A?GPL|GNU (Affero )?General Public)", re.IGNORECASE)
    installed = {d.name.lower().replace("_", "-") for d in importlib.metadata.distributions()}
    offered = {name: stated_terms(name) for name in names if name in installed}
    offending = {n: t for n, t in offered.items() if gpl.search(t) and "LGPL" not in t}
    assert offending == {}


def test_every_direct_dependency_is_listed_with_its_licence(repo: Path) -> None:
    project = tomllib.loads((repo / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["ai"],
        *project["project"]["optional-dependencies"]["anthropic"],
        *project["dependency-groups"]["test"],
        *project["dependency-groups"]["package"],
        *project["dependency-groups"]["test-models"],
    ]
    names = {re.split(r"[\[<>=!~; ]", requirement)[0] for requirement in wanted}
    page = (repo / "docs" / "third-party.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| ([\w.-]+) \| \S", page, flags=re.MULTILINE))
    assert names <= listed
