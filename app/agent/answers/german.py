"""German for answers that rules write, and for what the program adds to an answer.

Packs and rules write English. Each sentence is looked up in one table of texts
(`resources/words/answers_german.toml`), in which {0}, {1}, ... stand for what differs: figures,
names and citations are taken over as they are. A sentence that is not in the table stays English.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from app.paths import resources_dir

_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"(?<=[.!?])(\s+)(?=[A-Z“\[*])")
_PARTS = re.compile(
    r"(?P<head>\s*(?:[-*•]\s+)?)(?P<body>.*?)(?P<cites>(?:\s*\[[\d.,; –-]+\])*)(?P<end>[.!?]?)",
    re.DOTALL,
)
_SLOT = re.compile(r"\{(\d)\}")
_THOUSANDS = re.compile(r"“[^”]*”|„[^“]*“|(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\d,.]\d)")
"""A quotation, or a number such as "1,589", which reads as 1.6 in German."""
_DEEPEST = 4  # templates within what stands in for {0}


def is_german(questions: Sequence[str]) -> bool:
    """Return whether the last of a user's `questions` whose language shows is in German."""
    for whole in reversed(questions):
        question = whole.partition("\n\n")[0]  # files and regions are named below, by the window
        words = [word.casefold() for word in _WORD.findall(question)]
        known = _table().words
        german = sum(word in known["german"] for word in words)
        german += bool(re.search("[äöüß]", question))
        english = sum(word in known["english"] for word in words)
        if german != english:
            return german > english
    return False


def in_german(text: str) -> str:
    """Return an answer with all that the table has in German; code and quotes stay as they are."""
    fenced = False
    lines: list[str] = []
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        lines.append(line if fenced else _THOUSANDS.sub(_plain_number, _line(line)))
    return "\n".join(lines)


def _plain_number(found: re.Match[str]) -> str:
    return found[0].replace(",", "") if found[0][0].isdigit() else found[0]


@dataclass(frozen=True, slots=True)
class _Texts:
    exact: dict[str, str] = field(default_factory=dict[str, str])
    templates: list[tuple[re.Pattern[str], list[int], str]] = field(
        default_factory=list[tuple[re.Pattern[str], list[int], str]]
    )
    names: dict[str, str] = field(default_factory=dict[str, str])
    words: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    any_name: re.Pattern[str] = re.compile("(?!)")


@cache
def _table() -> _Texts:
    """Return the table; of the templates, those with the most text of their own come first."""
    read = tomllib.loads((resources_dir() / "words" / "answers_german.toml").read_text("utf-8"))
    names = {key.casefold(): text for key, text in read.pop("names").items()}
    written = {form for key in names for form in (key.capitalize(), key.title())}
    longest = sorted(written, key=len, reverse=True)
    words = {key: frozenset(text.split()) for key, text in read.pop("words").items()}
    found = _Texts(
        names=names,
        words=words,
        any_name=re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest))})(?![\w-])"),
    )
    pairs = [(english, text) for part in read.values() for english, text in part.items()]
    for english, text in sorted(pairs, key=lambda pair: -len(_SLOT.sub("", pair[0]))):
        order = [int(one) for one in _SLOT.findall(english)]
        if order:
            pattern = "(.+?)".join(map(re.escape, _SLOT.split(english)[::2]))
            found.templates.append((re.compile(pattern, re.DOTALL), order, text))
        else:
            found.exact[english] = text
    return found


def _line(line: str) -> str:
    whole = _sentence(line)
    if whole is not None:
        return whole
    pieces = _SENTENCE.split(line)
    return "".join(_sentence(piece) or piece for piece in pieces)


def _sentence(text: str) -> str | None:
    """Return a sentence in German, with its bullet, citations and stop; None if it is unknown."""
    found = _PARTS.fullmatch(text)
    if found is None or not found["body"]:
        return None
    # A heading's colon or a question mark may belong to the text of the table.
    for body, end in ((found["body"], found["end"]), (found["body"] + found["end"], "")):
        known = _known(body)
        if known is not None:
            return f"{found['head']}{known}{found['cites']}{end}"
    return None


def _known(text: str, depth: int = 0) -> str | None:
    table = _table()
    if text in table.exact:
        return table.exact[text]
    if text.casefold() in table.names:
        return table.names[text.casefold()]
    for pattern, order, german in table.templates:
        found = pattern.fullmatch(text)
        if found is not None and not any(map(_SENTENCE.search, _unquoted(found))):
            parts = dict(zip(order, found.groups(), strict=True))
            inside = {f"{{{key}}}": _inside(part, depth + 1) for key, part in parts.items()}
            return "".join(inside.get(piece, piece) for piece in re.split(r"(\{\d\})", german))
    if text[:1].isupper():  # the reason of an error, made a sentence
        lower = _known(text[:1].lower() + text[1:], depth)
        return lower[:1].upper() + lower[1:] if lower is not None else None
    return None


def _unquoted(found: re.Match[str]) -> list[str]:
    """Return what stands in for the slots, without quotations, which may be several sentences."""
    slots = range(1, found.re.groups + 1)
    return [found[at] for at in slots if not found.string[: found.start(at)].endswith("“")]


def _inside(text: str, depth: int) -> str:
    """Return what stands in for {0} in German as far as it is known; a quotation is kept."""
    if "“" in text or depth > _DEEPEST:
        return text
    found = _PARTS.fullmatch(text)
    known = _known(text, depth)
    if known is None and found is not None and found["cites"]:
        known = _known(found["body"], depth)
        known = None if known is None else f"{found['head']}{known}{found['cites']}{found['end']}"
    if known is not None:
        return known
    return _table().any_name.sub(lambda one: _table().names[one[0].casefold()], text)


def german_names(labels: Sequence[str]) -> dict[str, str]:
    """Return the German names of labels of findings that the table has, by label."""
    names = _table().names
    return {label: names[label.casefold()] for label in labels if label.casefold() in names}
