"""Groups and replicates of open images ("control", "treated"), from a table, folders or names.

A group is the condition under which images were made, a replicate the independent sample within it
(a donor, a plate, an experiment). Both are read, never guessed: where names could mean either, or
folders and names disagree, there is none, and `Grouping.why` says why.

    groups.csv       file,group,replicate       a table beside the images; it alone counts
    control/a.tif    treated/rep2/b.tif         folders
    control_1.tif    treated-rep2_field3.tif    names: the words, then the number of the replicate
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from app.tools.pack_plan import word_lists
from app.user_files import read_regular

MOST_FOLDERS = 16
MOST_TABLES = 8
MOST_ENTRIES = 4_000
"""Entries of a folder that are looked at, as the window waits for it: about 10 ms."""
_MAX_BYTES = 512 * 1024

_WORDS = {name: frozenset(words.split()) for name, words in word_lists("groups").items()}
_REPLICATES, _FIELDS, _CHANNELS = _WORDS["REPLICATE"], _WORDS["FIELD"], _WORDS["CHANNEL"]
_CONDITIONS = _WORDS["CONDITION"]
"""Words that name a condition even where each image has another."""
_TIMES = _WORDS["TIME"]
_NO_GROUP = _WORDS["NO_GROUP"]
"""Words that stand in names and folders whatever the image shows."""

_MARKED = re.compile(r"([A-Za-z]+)(\d{1,4})")
_WELL = re.compile(r"[a-p]\d{1,2}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Membership:
    """The group and replicate of an image; "" for one that is not known."""

    group: str = ""
    replicate: str = ""


NONE = Membership()


@dataclass(frozen=True, slots=True)
class Grouping:
    """The groups of the open images.

    Attributes:
        members: The group and replicate of each file that has a group.
        source: Where they come from: "the table groups.csv", "folders" or "file names".
        why: A sentence on why there are none; "" if there are some.
    """

    members: Mapping[Path, Membership] = field(default_factory=dict[Path, Membership])
    source: str = ""
    why: str = ""


def grouping(paths: Iterable[Path]) -> Grouping:
    """Return the groups of files; tables beside them are read, nothing else is.

    `paths` are absolute. A file outside all groups is allowed where a table says so; by names and
    folders either every file has a group or none has.
    """
    files = list(dict.fromkeys(paths))
    if len(files) < 2:
        return Grouping(why="Fewer than two images are open.")
    for folder in list(dict.fromkeys(up for file in files for up in file.parents[:2]))[
        :MOST_FOLDERS
    ]:
        for table in _tables(folder):
            listed = {file: row for file in files if (row := _row_of(file, folder, table[1]))}
            if listed:
                return Grouping(listed, f"the table {table[0]}")
    folders = {file.parent: _of_folder(file) for file in {f.parent: f for f in files}.values()}
    by_folder, no_folders = _checked(files, [folders[file.parent][0] for file in files])
    if len({above for _, above in folders.values()}) > 1:
        by_folder, no_folders = {}, "The folders do not lie side by side."
    by_name, no_names = _checked(files, [_of_name(file.stem) for file in files])
    if by_folder and by_name and not _agree(files, by_folder, by_name):
        return Grouping(why="Folders and file names tell of different groups.")
    if by_folder:
        # Names may have the replicate that folders lack: control/rep1.tif.
        known = {
            file: one if one.replicate else Membership(one.group, _replicate_in(file.stem))
            for file, one in by_folder.items()
        }
        return Grouping(known, "folders")
    if by_name:
        return Grouping(by_name, "file names")
    return Grouping(why=no_names or no_folders)


# -- tables -----------------------------------------------------------------------------------


def _tables(folder: Path) -> list[tuple[str, dict[str, Membership]]]:
    """Return the tables in a folder that list files with their groups: (name, rows by file)."""
    try:
        some = islice(folder.iterdir(), MOST_ENTRIES)
        names = sorted(item for item in some if item.suffix.lower() in (".csv", ".tsv"))
    except OSError:
        return []
    found: list[tuple[str, dict[str, Membership]]] = []
    for file in names[:MOST_TABLES]:
        rows = _read(file)
        if rows:
            found.append((file.name, rows))
    return found


def _read(file: Path) -> dict[str, Membership]:
    try:
        if file.stat().st_size > _MAX_BYTES:
            return {}
        text = read_regular(file).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return {}
    head = text.partition("\n")[0]
    mark = max((",", ";", "\t"), key=head.count)
    try:
        rows = list(csv.DictReader(io.StringIO(text), delimiter=mark))
    except csv.Error:
        return {}
    found: dict[str, Membership] = {}
    for row in rows:
        told = {
            str(key).strip().lower(): value.strip()
            for key, value in row.items()
            if isinstance(value, str)
        }
        name = told.get("file") or told.get("filename") or told.get("image") or ""
        if name and told.get("group"):
            one = Membership(told["group"], told.get("replicate", ""))
            found[name.replace("\\", "/").lower()] = one
    return found


def _row_of(file: Path, folder: Path, rows: Mapping[str, Membership]) -> Membership | None:
    names = [file.relative_to(folder).as_posix()] if file.is_relative_to(folder) else []
    names += [file.name, file.stem]
    return next((rows[name.lower()] for name in names if name.lower() in rows), None)


# -- names and folders ------------------------------------------------------------------------


def _of_folder(file: Path) -> tuple[Membership, Path]:
    """Return what folders say (control/rep1/a.tif), and the folder of all groups' folders."""
    own = file.parent.name
    tokens = _tokens(own)
    numbered = len(tokens) == 1 and (tokens[0].isdigit() or _mark(tokens[0], _REPLICATES))
    if numbered and len(file.parents) > 2:
        return Membership(file.parents[1].name, _number(tokens[0])), file.parents[2]
    return Membership(own, ""), file.parent.parent


def _of_name(stem: str) -> Membership:
    """Return what a file's name says; without a group if it is not words and then numbers."""
    words: list[str] = []
    numbers: list[str] = []
    replicate = ""
    tokens = _tokens(stem)
    tokens = [
        token
        for place, token in enumerate(tokens)
        if not (_mark(token, _FIELDS) or (place and _is_channel(token)))
    ]
    for token in _split_last(tokens):
        if _mark(token, _REPLICATES):
            if replicate:
                return NONE
            replicate = _number(token)
        elif token.isdigit():
            numbers.append(token)
        elif numbers or replicate or _WELL.fullmatch(token):
            return NONE  # "a_1_b", or a well of a plate, which only a table can tell
        else:
            words.append(token)
    if not words or (not numbers and not replicate and not _is_condition(words)):
        return NONE
    if not replicate and len(numbers) == 1:
        replicate = str(int(numbers[0]))
    return Membership("_".join(words), replicate)


def _replicate_in(stem: str) -> str:
    """Return the replicate that a name marks as one ("rep2"); a mere number may be a field."""
    marked = [token for token in _tokens(stem) if _mark(token, _REPLICATES)]
    return _number(marked[0]) if len(marked) == 1 else ""


def _checked(
    files: Sequence[Path], found: Sequence[Membership]
) -> tuple[dict[Path, Membership], str]:
    """Return the groups of all files if they are groups, else {} and why they are not."""
    if not all(one.group for one in found):
        return {}, "Not every file name has a group and a number, like control_1.tif."
    sizes = Counter(one.group.lower() for one in found)
    if len(sizes) < 2:
        return {}, "All open images would be in one group."
    words = {name: _tokens(name) for name in sizes}
    if any(set(parts) <= _NO_GROUP | _FIELDS | _CHANNELS for parts in words.values()):
        return {}, "Names such as image_1.tif name no group."
    if any(all(part.isdigit() for part in parts) for parts in words.values()):
        return {}, "Mere numbers name no group."
    alone = max(sizes.values()) < 2
    if alone and not all(_is_condition(parts) for parts in words.values()):
        return {}, "Each image would be a group of its own."
    spelt: dict[str, str] = {}
    for one in found:
        spelt.setdefault(one.group.lower(), one.group)
    return {
        file: Membership(spelt[one.group.lower()], one.replicate)
        for file, one in zip(files, found, strict=True)
    }, ""


def _agree(
    files: Sequence[Path], one: Mapping[Path, Membership], other: Mapping[Path, Membership]
) -> bool:
    """Return whether two groupings have the same images together."""
    pairs = {(one[file].group.lower(), other[file].group.lower()) for file in files}
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def _tokens(name: str) -> list[str]:
    return [part for part in re.split(r"[\s_.,+()-]+", name) if part]


def _split_last(tokens: list[str]) -> list[str]:
    """Return the tokens, the last "control1" as "control" and "1"; "rep1" and "a1" stay."""
    match = _MARKED.fullmatch(tokens[-1]) if tokens else None
    marks = _REPLICATES | _FIELDS | _CHANNELS
    # "day7" and "day14" are two groups.
    if match is None or match[1].lower() in marks | _TIMES or _WELL.fullmatch(tokens[-1]):
        return tokens
    return [*tokens[:-1], match[1], match[2]]


def _mark(token: str, marks: frozenset[str]) -> bool:
    match = _MARKED.fullmatch(token)
    return match is not None and match[1].lower() in marks


def _number(token: str) -> str:
    digits = re.sub(r"\D", "", token)
    return str(int(digits)) if digits else ""


def _is_channel(token: str) -> bool:
    return re.sub(r"\d+$", "", token.lower()) in _CHANNELS


def _is_condition(words: Sequence[str]) -> bool:
    return any(re.sub(r"\d+\w{0,3}$", "", word.lower()) in _CONDITIONS for word in words)


def is_condition(name: str) -> bool:
    """Return whether a name has only words for conditions and short numbers, so no person's."""
    words = [re.sub(r"\d{1,3}[a-zA-Z]{0,2}$", "", word.lower()) for word in _tokens(name)]
    return any(words) and all(word in _CONDITIONS or not word for word in words)
