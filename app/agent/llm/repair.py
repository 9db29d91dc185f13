"""Parsing of a call's arguments as a model wrote them: JSON, or JSON with harmless damage.

Damage with one possible meaning is undone: a code fence, trailing commas, comments, Python's or
typographic quotes, True/False/None, bare keys, raw line ends in a string, closing brackets left out
at the very end, JSON packed into a JSON string. Everything else is refused, and goes back to the
model with the reason: a guessed argument of a medical tool is worse than none. The package
json-repair always guesses: it gives a value for 32 of the 37 texts that
tests/unit/agent/test_repair.py expects to be refused, and for 28 in its strict mode.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Never

_FENCE = re.compile(r"```[ \t]*\w*[ \t]*\r?\n")
_TOKEN = re.compile(
    r"""
    (?P<gap>\s+ | //[^\n]*\n | /\*.*?\*/)   # a comment without its line end may hide arguments
    | (?P<text>"(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | “(?:[^”\\]|\\.)*” | ‘(?:[^’\\]|\\.)*’)
    | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.+-]))
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<mark>[{}\[\],:])
    """,
    re.VERBOSE | re.DOTALL,
)
_JSON_WORDS = ("true", "false", "null")
_LITERALS: dict[str, str] = dict(
    zip(("True", "False", "None", *_JSON_WORDS), _JSON_WORDS * 2, strict=True)
)
_CLOSERS = {"{": "}", "[": "]"}
# What JSON and Python read alike. "\x", "\a" and others would be read differently, or stand for a
# path such as C:\x86.
_ESCAPES = re.compile(r"\\(u[0-9a-fA-F]{4}|.)|[\"\n\r\t]", re.DOTALL)
_RAW = {'"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PACKED = 2
"""Maximum depth of JSON nested inside JSON strings."""


def parse_arguments(text: str, *, complete: bool = True) -> dict[str, Any] | None:
    """Return the arguments that a model wrote, or None if they cannot be read in exactly one way.

    Blank text means no arguments. If the answer is not `complete` but was cut off at a length
    limit, no closing bracket is added, because anything may be missing.
    """
    if complete and not text.strip():
        return {}
    try:
        value = _read(text, complete)
        for _ in range(_PACKED):
            if isinstance(value, str):
                value = _read(value, complete)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def parse_json(text: str) -> Any:
    """Return the value of strict JSON: no NaN or infinity, no key twice with different values.

    Raises:
        ValueError: The text is not strict JSON.
        RecursionError: The JSON is nested too deeply.
    """
    value = json.loads(
        text, object_pairs_hook=_unique_keys, parse_constant=_refuse, parse_float=_finite
    )
    # Half of a surrogate pair is no character: it could be neither stored nor sent.
    json.dumps(value, ensure_ascii=False).encode()
    return value


def _read(text: str, complete: bool) -> Any:
    text = text.strip()
    fence = _FENCE.match(text)
    if fence:
        text = text[fence.end() :].removesuffix("```").strip()
    try:
        return parse_json(text)
    except ValueError:
        return parse_json(_as_json(text, complete))


def _as_json(text: str, complete: bool) -> str:
    """Return a damaged text's tokens as JSON tokens; ambiguous ones stay invalid."""
    tokens: list[str] = []
    open_brackets: list[str] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError("no token")
        at, token = found.end(), found.group()
        match found.lastgroup:
            case "gap":
                continue
            case "text":
                tokens.append(_string(token))
            case "word":
                # A bare word is a key; anywhere else the JSON parser refuses it.
                bare = text[at:].lstrip().startswith(":")
                tokens.append(_LITERALS.get(token) or (json.dumps(token) if bare else token))
            case "mark" if token in "}]":
                if tokens[-1:] == [","] and tokens[-2:-1] not in ([], [","], ["{"], ["["]):
                    tokens.pop()
                if open_brackets:
                    open_brackets.pop()
                tokens.append(token)
            case _:
                if token in _CLOSERS:
                    open_brackets.append(_CLOSERS[token])
                tokens.append(token)
    # A number at the end may have lost digits; after an opener or comma, values are missing.
    whole = bool(tokens) and (tokens[-1][-1] in '"}]' or tokens[-1] in _LITERALS)
    if complete and whole:
        tokens += reversed(open_brackets)
    return " ".join(tokens)


def _string(token: str) -> str:
    """Return a string in any quotes as a JSON string."""

    def escape(found: re.Match[str]) -> str:
        sign = found[1]
        if sign is None:
            return _RAW[found[0]]
        if sign == "'":
            return "'"
        # Python keeps the backslash before a slash.
        if len(sign) == 1 and sign not in ('"\\nrtbf/' if token[0] == '"' else '"\\nrtbf'):
            raise ValueError("an escape with two readings")
        return found[0]

    return f'"{_ESCAPES.sub(escape, token[1:-1])}"'


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        # Compared as JSON text: to Python 1, 1.0 and True are the same.
        if key in found and json.dumps(found[key]) != json.dumps(value):
            raise ValueError("a key twice with different values")
        found[key] = value
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number that is too large")
    return value


def _refuse(name: str) -> Never:
    raise ValueError(f"{name} is no JSON")
