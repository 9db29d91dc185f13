"""Sort names so that the numbers in them count by value: "2" before "10"."""

from __future__ import annotations

import re


def natural_key(text: str) -> list[tuple[int, int, str]]:
    """Return a sort key that ignores case and compares numbers by value: "2" before "10"."""
    parts = re.findall(r"\d+|\D+", text)
    # A member's name in an archive may be thousands of digits, which Python refuses to convert.
    return [
        (0, int(p), p) if p.isdecimal() and len(p) < 100 else (1, 0, p.casefold()) for p in parts
    ]
