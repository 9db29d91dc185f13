"""System prompts, shipped as one text file; each section begins with a line `[NAME]`."""

from __future__ import annotations

import re
from pathlib import Path

from app.errors import FileProblem
from app.paths import resources_dir

_HEADER = re.compile(r"\[([A-Z][A-Z0-9_]*)\]")


def prompts_path() -> Path:
    """Return the path of the shipped prompts file."""
    return resources_dir() / "prompts" / "system_prompts.txt"


def load_prompts(path: Path | None = None) -> dict[str, str]:
    """Return the text of every section in the file, by name.

    Raises:
        FileProblem: The file cannot be read, contains a section twice, or has text before the first
            section.
    """
    source = path or prompts_path()
    try:
        lines = source.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FileProblem(
            "the system prompts cannot be read",
            subject=str(source),
            remedy="Reinstall Sightline, or restore the file.",
            detail=type(error).__name__,
        ) from error
    sections: dict[str, list[str]] = {}
    current: list[str] | None = None
    for number, line in enumerate(lines, start=1):
        header = _HEADER.fullmatch(line.strip())
        if header:
            name = header.group(1)
            if name in sections:
                raise _broken(source, f"section [{name}] occurs twice (line {number})")
            current = sections.setdefault(name, [])
        elif current is not None:
            current.append(line)
        elif line.strip():
            raise _broken(source, f"line {number} stands before the first [SECTION]")
    return {name: "\n".join(body).strip() for name, body in sections.items()}


def load_prompt(name: str, path: Path | None = None) -> str:
    """Return the text of one section.

    Raises:
        FileProblem: The file cannot be read or the section is missing or empty.
    """
    sections = load_prompts(path)
    text = sections.get(name, "")
    if not text:
        state = "is empty" if name in sections else "is missing"
        there = ", ".join(f"[{key}]" for key in sections) or "none"
        raise _broken(path or prompts_path(), f"section [{name}] {state}; sections there: {there}")
    return text


def _broken(path: Path, reason: str) -> FileProblem:
    return FileProblem(reason, subject=str(path), remedy="Mend the file or reinstall Sightline.")
