r"""Formulas of an answer (TeX between dollars or in \\( \\)) as plain characters.

A formula is shown in Unicode: it streams with its line, is selected and copied like other text, and
needs neither a network nor a picture. What has no character stays as it is written.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from typing import Any

from app import paths

_ONE = r"(?:\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}|(\\[A-Za-z]+|[^\s{}\\]))"
_TWO_PARTS = re.compile(r"\\[dt]?(frac|binom)\s*" + _ONE + r"\s*" + _ONE)
_ROOT = re.compile(r"\\sqrt\s*(?:\[(\w+)\])?\s*" + _ONE)
_WORDS = re.compile(
    r"\\(?:text|mathrm|mathbf|mathit|mathsf|operatorname|textbf|textit|rm|bf)\*?\s*" + _ONE
)
_ACCENT = re.compile(r"\\(bar|overline|hat|tilde|vec|dot)\s*" + _ONE)
_SCRIPT = re.compile(r"([\^_])\s*" + _ONE)
_COMMAND = re.compile(r"\\([A-Za-z]+|[^A-Za-z])")
_ACCENTS = {"bar": "\u0304", "overline": "\u0304", "hat": "\u0302", "tilde": "\u0303"} | {
    "vec": "\u20d7",
    "dot": "\u0307",
}
_ROOTS = {"3": "∛", "4": "∜"}
_DEEPEST = 12  # nested parts, from the inside


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((paths.resources_dir() / "tables" / "formulas.toml").read_text("utf-8"))


def unicode_formula(tex: str) -> str:
    r"""Return a formula in plain characters, e.g. "A₁ = (π r²)/2" for "A_1 = \frac{\pi r^2}{2}"."""
    text = re.sub(r"\\(?:left|right|big|Big|displaystyle|limits)\b", "", tex[:2000])
    text = re.sub(r"\\(?:quad|qquad|[,;:! ])", " ", text)
    text = re.sub(r"\^\s*(?:\\circ\b|\{\s*\\circ\s*\})\s*", "°", text)
    symbols = _table()["symbols"]
    text = _COMMAND.sub(lambda found: symbols.get(found[1], found[0]), text)
    for _ in range(_DEEPEST):
        before = text
        text = _WORDS.sub(lambda found: found[1] or found[2], text)
        text = _ACCENT.sub(lambda found: _accented(found[1], found[2] or found[3]), text)
        text = _ROOT.sub(lambda found: _root(found[1], found[2] or found[3]), text)
        text = _TWO_PARTS.sub(_two_parts, text)
        if text == before:
            break
    text = _COMMAND.sub(_named, text)
    text = _SCRIPT.sub(lambda found: _script(found[1], found[2] or found[3] or ""), text)
    text = text.replace("{", "").replace("}", "").replace("'", "′").replace("-", "−")
    return " ".join(text.split())


def _named(found: re.Match[str]) -> str:
    name = found[1]
    return name if not name.isalpha() or name in _table()["functions"]["names"] else found[0]


def _accented(kind: str, inside: str) -> str:
    return f"{inside}{_ACCENTS[kind]}" if len(inside) == 1 else inside


def _root(degree: str | None, inside: str) -> str:
    sign = _ROOTS.get(degree or "", "√") if degree in (None, *_ROOTS) else f"^{{{degree}}}√"
    return f"{sign}{inside}" if inside.isalnum() else f"{sign}({inside})"


def _two_parts(found: re.Match[str]) -> str:
    upper, lower = found[2] or found[3], found[4] or found[5]
    if found[1] == "binom":
        return f"({upper} choose {lower})"
    return f"{_bracketed(upper)}/{_bracketed(lower)}"


def _bracketed(part: str) -> str:
    """Return a part of a fraction, in brackets if it would read otherwise without."""
    whole = part.strip()
    return f"({whole})" if re.search(r"[-+/·×\s]|\\[dt]?frac", whole) else whole


def _script(sign: str, inside: str) -> str:
    """Return a superscript or subscript; in brackets where a character has none."""
    small = _table()["superscripts" if sign == "^" else "subscripts"]
    inside = inside.strip().replace("−", "-")
    if all(one in small for one in inside):
        return "".join(small[one] for one in inside)
    return f"{sign}{inside}" if inside.isalnum() else f"{sign}({inside})"
