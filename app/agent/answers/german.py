"""German for answers that rules write, and for what the program adds to an answer.

Packs and rules write English. Each sentence is looked up in the texts of
`resources/words/answers_german*.toml`. In these stand for what differs:

    {0}    a text that is looked up again, item by item where it is a list
    {=0}   one item that is taken over as it is
    {*0}   the same, also with commas: names of drugs, the words of a record
    {#0}   a number
    {!0}   only texts of the table, several with commas

Titles of tools and reasons of errors are those of the window's translation
(`resources/translations`). A sentence that is in neither stays English.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from xml.etree import ElementTree as ET

from app.paths import resources_dir

_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"(?<=[.!?])(\s+)(?=[A-Z\d“\[*(])")
_PARTS = re.compile(
    r"(?P<head>\s*(?:[-*•]\s+)?)(?P<body>.*?)(?P<cites>(?:\s*\[[\d.,; –-]+\])*)(?P<end>[.!?]?)",
    re.DOTALL,
)
_SLOT = re.compile(r"\{([=*#!]?)(\d)\}")
_BY_SLOT = re.compile(r"(\{[=*#!]?\d\})")
_PATTERNS = {"#": r"(\d[\d.,]*)", "*": "(.+)"}
_DEEPEST = 6  # templates and lists within what stands in for {0}
_MOST_SENTENCES = 4  # that a text of the table has
_LISTS = ("; ", ", ")
_KEPT = ("=", "*", "#")
_LISTS_KEPT = {
    "=": (*_LISTS, ". ", ":** "),
    "*": _LISTS[:1],
}  # which a slot of each kind does not reach over
_OWN_ENTRY = re.compile(r"\[[A-Z][A-Za-z]+/\S+\]")  # what cites an entry of a record is its words
_REPORTERS = ("app/agent/", "app/imaging/", "app/records/", "app/tools/", "resources/tables/chest")
_LEAST_OWN = 12  # characters of a report besides its values, for not to fit anything
_NUMBER = re.compile(
    r"(?:“[^”]*”|„[^“]*“|`[^`]*`|\[[^\]\n]*\](?:\([^)\n]*\))?)|"
    r"(?P<number>(?:(?<![\w.,/])(?<![^\W\d]-)|(?<=\bx))"
    r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|0\.\d+|\d+\.\d{1,2})(?!\w|[.,]\w))"
)
"""A quotation, code or citation, or a number such as "1,589", which reads as 1.6 in German."""


def is_german(questions: Sequence[str]) -> bool:
    """Return whether the last of a user's `questions` whose language shows is in German."""
    for whole in reversed(questions):
        question = whole.partition("\n\n")[0]  # files and regions are named below, by the window
        words = [word.casefold() for word in _WORD.findall(question)]
        known = _words()[0]
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
        lines.append(line if fenced else _NUMBER.sub(_written_number, _line(line)))
    return "\n".join(lines)


def _written_number(found: re.Match[str]) -> str:
    """Return "1,589.5" as "1589,5"; three decimals or more would read as thousands, and stay."""
    return found[0].replace(",", "").replace(".", ",") if found["number"] else found[0]


@dataclass(frozen=True, slots=True)
class _Template:
    pattern: str  # compiled when a text has all its pieces: few of them are ever needed
    pieces: tuple[str, ...]  # the text between the slots
    slots: tuple[tuple[str, str], ...]  # kind and number, in the order of the English
    german: str


@dataclass(frozen=True, slots=True)
class _Texts:
    exact: dict[str, str] = field(default_factory=dict[str, str])
    templates: list[_Template] = field(default_factory=list[_Template])
    any_name: re.Pattern[str] = re.compile("(?!)")


@cache
def _words() -> tuple[dict[str, frozenset[str]], dict[str, str]]:
    """Return words of each language, and names of findings; the window asks for them too."""
    read = tomllib.loads((resources_dir() / "words" / "german_words.toml").read_text("utf-8"))
    words = {language: frozenset(text.split()) for language, text in read["words"].items()}
    names = {key.casefold(): text for key, text in (read["names"] | read["findings"]).items()}
    for english, german in (("left", "links"), ("right", "rechts")):
        names |= {
            f"{english} {key.casefold()}": f"{text} {german}"
            for key, text in read["findings"].items()
            if f"{english} {key.casefold()}" not in names
        }
    return words, names


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


@cache
def _table() -> _Texts:
    """Return the table; of the templates, those with the most text of their own come first."""
    texts = dict(_reports())
    for file in sorted((resources_dir() / "words").glob("answers_german*.toml")):
        read = tomllib.loads(file.read_text("utf-8"))
        said = read.pop("phrases", {})  # examples of questions stand in quotes
        texts |= {f'"{english}"': f"„{german}“" for english, german in said.items()}
        for part in read.values():
            texts |= part
    written = {form for key in _words()[1] for form in (key.capitalize(), key.title())}
    longest = sorted(written, key=len, reverse=True)
    found = _Texts(
        any_name=re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest))})(?![\w-])"),
    )
    for english, german in sorted(
        texts.items(), key=lambda pair: (-len(_SLOT.sub("", pair[0])), pair)
    ):
        slots = _SLOT.findall(english)
        if not slots:
            found.exact[english] = german
            if english.startswith("**"):  # a heading
                found.exact.setdefault(english.strip("*"), german.strip("*"))
            continue
        pieces = tuple(_SLOT.split(english)[::3])
        parts = [re.escape(pieces[0])]
        for (kind, _), piece in zip(slots, pieces[1:], strict=True):
            parts += [_PATTERNS.get(kind, "(.+?)"), re.escape(piece)]
        found.templates.append(_Template("".join(parts), pieces, tuple(slots), german))
    return found


def _reports() -> Iterator[tuple[str, str]]:
    """Yield what tools report with its German, without the closing stop, from the window's file."""
    path = resources_dir() / "translations" / "sightline_de.ts"
    for message in ET.parse(path).iter("message") if path.exists() else ():
        english, german = message.findtext("source") or "", message.findtext("translation") or ""
        places = [
            one.get("filename", "").removeprefix("../../") for one in message.iter("location")
        ]
        if not german.strip() or not any(one.startswith(_REPORTERS) for one in places):
            continue
        own = len(_SLOT.sub("", english))
        if "{" not in _SLOT.sub("", english) and (own == len(english) or own >= _LEAST_OWN):
            yield english.removesuffix("."), german.removesuffix(".")


def _line(line: str) -> str:
    """Return a line with its sentences in German; a text of the table may have several."""
    pieces = _SENTENCE.split(line)
    told: list[str] = []
    at = 0
    while at < len(pieces):
        for end in range(min(len(pieces), at + 2 * _MOST_SENTENCES - 1), at, -2):
            known = _sentence("".join(pieces[at:end]))
            if known is not None:
                break
        else:
            end, known = at + 1, pieces[at]
        told += [known, *pieces[end : end + 1]]
        at = end + 1
    return "".join(told)


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
    if text.casefold() in _words()[1]:
        return _words()[1][text.casefold()]
    for one in table.templates:
        listed = depth and "; " in text and not any("; " in piece for piece in one.pieces)
        if listed or not all(piece in text for piece in one.pieces):
            continue  # of a list each item is looked up
        found = _compiled(one.pattern).fullmatch(text)
        if found is not None and _fits(one, found):
            inside = {
                f"{{{kind}{key}}}": part if kind in _KEPT else _inside(part, depth + 1)
                for (kind, key), part in zip(one.slots, found.groups(), strict=True)
            }
            return "".join(inside.get(piece, piece) for piece in _BY_SLOT.split(one.german))
    if text[:1].isupper():  # the reason of an error, made a sentence
        lower = _known(text[:1].lower() + text[1:], depth)
        return lower[:1].upper() + lower[1:] if lower is not None else None
    return None


def _fits(template: _Template, found: re.Match[str]) -> bool:
    """Return whether no slot reaches over sentences, or one that is kept over items of a list."""
    breaks = len(_SENTENCE.findall(found.string))
    for at, (kind, _) in enumerate(template.slots, 1):
        quoted = found.string[: found.start(at)].endswith(("“", '"'))
        several = any(one in found[at] for one in _LISTS_KEPT.get(kind, ()))
        inside = len(_SENTENCE.findall(found[at]))
        if not quoted and (several or inside):
            return False
        breaks -= inside
        exact, text = _table().exact, found[at]
        if kind == "!" and not (text in exact or all(one in exact for one in text.split(", "))):
            return False
    return breaks <= len(_SENTENCE.findall("X".join(template.pieces)))


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
    for separator in _LISTS:
        if separator in text:
            return separator.join(_inside(one, depth + 1) for one in text.split(separator))
    if _OWN_ENTRY.search(text):
        return text
    return _table().any_name.sub(lambda one: _words()[1][one[0].casefold()], text)


def german_names(labels: Sequence[str]) -> dict[str, str]:
    """Return the German names of labels of findings that the table has, by label."""
    names = _words()[1]
    return {label: names[label.casefold()] for label in labels if label.casefold() in names}
