"""System prompts, shipped as one text file; each section begins with a line `[NAME]`."""

from __future__ import annotations

import re
from pathlib import Path

from app.errors import FileProblem
from app.paths import resources_dir

_HEADER = re.compile(r"^\[([A-Z][A-Z0-9_]*)\]\s*$", re.MULTILINE)


def load_prompts(path: Path | None = None) -> dict[str, str]:
    """Return the text of every section in the file, by name; without a path, of the shipped one.

    Raises:
        FileProblem: The file cannot be read.
    """
    source = path or _shipped()
    try:
        parts = _HEADER.split(source.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = "the system prompts cannot be read"
        raise _broken(source, reason, type(error).__name__) from error
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def load_prompt(name: str, path: Path | None = None) -> str:
    """Return the text of one section.

    Raises:
        FileProblem: The file cannot be read or the section is missing or empty.
    """
    sections = load_prompts(path)
    text = sections.get(name, "")
    if not text:
        there = ", ".join(f"[{key}]" for key in sections) or "none"
        reason = f"section [{name}] is missing or empty; sections there: {there}"
        raise _broken(path or _shipped(), reason)
    return text


def _shipped() -> Path:
    return resources_dir() / "prompts" / "system_prompts.txt"


def _broken(path: Path, reason: str, detail: str = "") -> FileProblem:
    remedy = "Restore the file, or reinstall Sightline."
    return FileProblem(reason, subject=str(path), remedy=remedy, detail=detail)
