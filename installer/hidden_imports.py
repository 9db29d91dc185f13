"""Modules and files that the app names in strings, and that a PyInstaller spec must list.

Workers and model processes get their functions by name ("app.imaging.scanning.listing:
list_entry"), and readers are imported when the first such file comes. The names are read off the
source, so that a new one cannot be forgotten.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

PLUGINS = ("jpeg_ls", "openjpeg")
"""Decoders that pydicom and pylibjpeg find by name; their metadata must be copied too."""

ENDPOINTS = ("anthropic", "openai")
"""Packages that the endpoints' code imports by name."""

DATA = {"symspellpy": "frequency_dictionary_en_82_765.txt"}
"""Package that is found by name and not imported -> the file in it that is read."""

_NAME = re.compile(r"(app(?:\.\w+|\.\*)+)(?::[\w*]+)?")


def hidden_imports(repo: Path) -> list[str]:
    """Return the dotted names of all modules that the app, or a library of it, imports by name.

    Args:
        repo: The folder in which `app` lies.
    """
    found = {module for named in entry_names(repo) for module in _modules(repo, named)}
    return sorted(found.union(PLUGINS, ENDPOINTS, DATA))


def data_files() -> list[tuple[str, str]]:
    """Return the path of each library file that the app reads, and its folder in the bundle.

    Raises:
        LookupError: A package is not installed.
    """
    found: list[tuple[str, str]] = []
    for package, name in DATA.items():
        spec = find_spec(package)
        folders = spec.submodule_search_locations if spec is not None else None
        if not folders:
            raise LookupError(f"{package} is not installed")
        found.append((str(Path(folders[0], name)), package))
    return found


def entry_names(repo: Path) -> set[str]:
    """Return the strings in `app` that name a module, or a function in one after a colon.

    A part of an f-string that is filled in at run time is a `*`.
    """
    found: set[str] = set()
    for path in (repo / "app").rglob("*.py"):
        for text in _strings(ast.parse(path.read_text(encoding="utf-8"))):
            match = _NAME.fullmatch(text)
            # A misspelt function's module is to be noticed; a bare name may be a log's.
            if match and (":" in text or any(_modules(repo, text))):
                found.add(text)
    return found


def _strings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _modules(repo: Path, named: str) -> Iterator[str]:
    """Yield the modules that a name matches, which may contain `*`."""
    module = named.partition(":")[0]
    for path in repo.glob(module.replace(".", "/") + ".py"):
        if path.name != "__init__.py":
            yield ".".join(path.relative_to(repo).with_suffix("").parts)
