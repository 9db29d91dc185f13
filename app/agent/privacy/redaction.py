"""Redaction: removes what identifies a patient from everything that a remote model receives.

`identifiers` defines what is identifying. Values under identifying keys are removed completely, and
wherever else they occur; paths and UIDs are removed everywhere. Local models receive everything.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import unquote

from app.agent.context.model_messages import as_data, to_text
from app.agent.messages import Message, ToolCall
from app.agent.privacy.confidentiality_profile import is_code, is_coded
from app.agent.privacy.identifiers import (
    Identifiers,
    attribute_of,
    folded,
    is_identifying,
    is_prose,
    is_telling,
    smoothed,
)
from app.agent.privacy.key_words import is_path_key
from app.agent.privacy.record_placeholders import PLACEHOLDER, RecordPlaceholders
from app.imaging.axes import dye_names
from app.tools.groups import is_condition

__all__ = ["REMOVED", "Redactor", "is_identifying"]

REMOVED = "[removed]"
_MIN_PATH = 4
_PIECE = 16_384  # characters that one search goes through: it holds up all threads of the program
_REACH = 4_096  # characters; what is searched for is no longer

_WORDS = r"""[^\s/\\"'<>|]+(?: [^\s/\\"'<>|,;:]+){0,3}"""
_LAST = r"""[^\s"'<>|,;)]*(?:(?: [^\s/\\"'<>|,;:]+){1,3}\.[A-Za-z0-9]{1,5}\b)?"""
_RECORD_KEYS_TEXT = (
    "birth_date deceased age_on identifiers identifier details contact address phone "
    "telephone email source mrn ssn performer author authors practitioner requester recorder "
    "asserter participant provider organization organisation location custodian facility "
    "service_provider device accession_number study_instance_uid series_instance_uid "
    "sop_instance_uid "
)
_RECORD_KEYS = frozenset(_RECORD_KEYS_TEXT.split())
"""Keys whose values are removed from results of records."""
_CONTACTS = ("contact", "identifiers", "details")
_NOTES = ("DocumentReference/", "ClinicalImpression/", "DiagnosticReport/", "Composition/")
_NOTE_KEYS_TEXT = (
    "entry id name date start end status type types kind category code codes system display "
    "encounter length characters "
)
_NOTE_KEYS = frozenset(_NOTE_KEYS_TEXT.split())
_FREE_TEXT_TEXT = (
    "text note notes comment comments conclusion narrative excerpt snippet sections "
    "subjective objective assessment plan instructions dosage_text reason_text "
)
_FREE_TEXT = frozenset(_FREE_TEXT_TEXT.split())
_LONGEST = 300  # characters; what is longer is free text
_OLDEST = 89  # years: HIPAA's safe harbor, 45 CFR 164.514(b)(2)(i)(C)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_QUOTED = 20  # characters of a note that show that a summary quotes it

_ANY_PATH = re.compile(
    r"(?:file|smb|nfs|afp|s?ftp|s3)://\S+"
    rf"|(?<![\w.:/<])~?/(?:{_WORDS}/)+{_LAST}"
    rf"|(?<![\w])[A-Za-z]:[\\/](?:{_WORDS}[\\/])*{_LAST}"
    rf"|\\\\[^\s\\\"']+\\(?:{_WORDS}\\)*{_LAST}"
)
_FILE_NAME = re.compile(
    r"(?<![\w.-])(?!result-\d)[^\s/\\\"'<>|(),;:]+\.(?:dcm|dicom|ima|nii(?:\.gz)?|mha|mhd|nrrd)\b",
    re.IGNORECASE,
)
_UID = re.compile(r"(?<![\w.])[0-2](?:\.\d+){5,}(?!\w|\.\d)")  # a full stop may follow
_DUMPED = re.compile(r"(\(?\b[0-9A-Fa-f]{4},\s?[0-9A-Fa-f]{4}\b\)?+)[^\n]+")
_STATED = re.compile(
    r"\b(patient(?:'?s)?[ _]?(?:name|id|birth[ _]?date)|accession[ _]?(?:number|no\.?)|mrn|dob|"
    r"(?:date of birth|birth[ _]?date)|study[ _]?date|institution[ _]?name|"
    r"referring[ _]?physician(?:'?s)?(?:[ _]?name)?)(\s*[:=]\s*)"
    r"(\"[^\"\n]*\"|'[^'\n]*'|\[[^\]\n]*\]|[^\n;|,\"]{1,64}(?:,\s?[A-Z][\w'-]*)?)",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\+u(?!d[89a-f])([0-9a-f]{4})", re.IGNORECASE)
_ESCAPED_DEEP = 4  # times that what was escaped was escaped again
_NAMED_BY = ("keyword", "name", "tag", "attribute", "key", "field")
"""Keys that name the attribute of an entry in a list of attributes."""
_VALUES = ("value", "Value", "values")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_TITLED = re.compile(
    r"\b((?:[Mm](?:r|rs|s|me)|Miss|[Dd]r|DR(?=\.)|[Pp]rof|Professor|Doctor|Herrn?|Frau|Nurse|[HF]r(?=\.)"
    r"|Dhr|Mevr|Sra|Mlle|[Pp]an[ií])"
    r"\b\.?(?:\s(?:[Dd]r|[Pp]rof|med)\b\.?)*\s{0,2})(?:v[ao]n\s|de[rn]?\s)*[A-Z\u00c0-\u00de]"
    r"[\w'\u2019-]+(?:\s[A-Z\u00c0-\u00de][a-z\u00df-\u00ff][\w'\u2019-]+)?"
)
"""A person who is called by a title, whoever it is."""


class Redactor:
    """Removes identifiers from one transcript, and restores file names in the model's calls.

    The path of an open image is replaced by the image's id, and that of a file in calls and results
    by "result-N" with its suffix, numbered in the order of appearance, so that names stay the same
    while the transcript grows. Cleaned messages are cached for as long as the transcript stays the
    same or only grows. `identifiers` are values known to identify the open images' patients.

    Once a message holds something of a patient's record, dates, patients and entries of records
    have `placeholders`, the same ones throughout a `conversation` (its id). Free text of records is
    held back unless `notes`, and whole results unless `record_allowed`.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        identifiers: Sequence[str] = (),
        *,
        conversation: str = "",
        notes: bool = False,
    ) -> None:
        self.record_allowed = True
        self.placeholders: RecordPlaceholders | None = None
        self._conversation = conversation
        self._notes = notes
        self._unknown: set[str] = set()
        self._terms: set[str] = set()
        self._held: list[str] = []
        self._told: set[int] = set()
        """Ids of the answers behind results of a record, which may tell of it."""
        self._of_record = False
        self._names: dict[str, str] = {}
        self._found: set[str] = set(identifiers)
        self._prose: set[str] = set()
        self._wanted = Identifiers(())
        self._in_text: list[tuple[str, str]] = []
        self._paths: dict[str, str] = {}
        self._made = 0
        self._given: set[str] = set()
        """The names that files have got."""
        # The message is kept with it, so that its id() cannot become another's.
        self._known: dict[int, Message] = {}
        self._cleaned: dict[int, tuple[Message, Message]] = {}
        self._take_found()
        self.learn(messages)

    def learn(self, messages: Sequence[Message]) -> None:
        """Collect the identifiers and files in those `messages` that were not given before."""
        fresh = [item for item in messages if id(item) not in self._known]
        if not fresh:
            return
        self._known.update((id(item), item) for item in fresh)
        found, named = self._known_count(), len(self._names)
        for message in fresh:
            self._found.update(message.identifiers)
            self._prose.update(message.texts)
            for note in message.images:
                self._collect_image(note)
            self._learn_record(message)
        for message in fresh:
            for call in message.tool_calls:
                self._collect(_files_of(call))
            if message.record is None:
                self._collect(message.data)
            else:
                self._collect_files(message.data)
        if self._known_count() != found:
            self._take_found()
        if len(self._names) != named:
            self._take_names(named)

    def _known_count(self) -> int:
        known = (self._found, self._prose, self._unknown, self._terms)
        return sum(map(len, known)) + (self.placeholders is not None)

    def _learn_record(self, message: Message) -> None:
        record = message.record
        if message.role == "assistant" and self._of_record:
            self._told.add(id(message))
        if record is None:
            return
        if message.role == "tool":
            self._of_record = True
            self._held += map(_one_line, _free_texts(message.data))
        self.placeholders = self.placeholders or RecordPlaceholders(self._conversation)
        for patient_id, name in record.patients:
            self.placeholders.add_patient(patient_id, name)
        self._found.update(record.identifiers)
        self._unknown.update(record.words)
        self._terms.update(record.terms)

    def _collect_files(self, value: Any, key: str = "") -> None:
        """Give the files in a result of a record their names; what identifies is known already."""
        if isinstance(value, Mapping):
            for name, item in value.items():
                self._collect_files(item, str(name))
        elif isinstance(value, (list, tuple)):
            for item in value:
                self._collect_files(item, key)
        elif isinstance(value, str) and value and is_path_key(key):
            self._named(value)

    def allow_record(self, allowed: bool) -> None:
        """Say whether results that hold something of a record may be sent at all."""
        if allowed != self.record_allowed:
            self.record_allowed = allowed
            self._cleaned = {}

    def messages(self, messages: Sequence[Message]) -> list[Message]:
        """Call `learn` with the messages, and return copies of them without identifiers.

        The same objects are returned for the same messages until something new is learnt.
        """
        self.learn(messages)
        made: list[Message] = []
        for message in messages:
            known = self._cleaned.get(id(message)) or (message, self._message(message))
            self._cleaned[id(message)] = known
            made.append(known[1])
        return made

    def text(self, text: str) -> str:
        """Return a text without known identifiers, paths and UIDs.

        Identifiers are found even if they are written with escapes of JSON, URLs or HTML, with
        invisible characters or wide letters, or divided at the end of a line. If such an identifier
        is found, the whole text is returned decoded.
        """
        made = self._as_read(text, _unescaped(text))
        return self._as_read(made, smoothed(made), made)

    def _as_read(self, text: str, read: str, otherwise: str | None = None) -> str:
        """Return the readable form of a text, cleaned; `otherwise` if nothing is found in it."""
        if read != text:
            removed = self._plain(read)
            if removed != read:
                return removed
        return self._plain(text) if otherwise is None else otherwise

    def _plain(self, text: str) -> str:
        if not text:
            return text
        if self.placeholders is not None:
            text = self.placeholders.without(text)
        if "." in text or "/" in text or "\\" in text:
            for path, name in self._in_text:
                if path in text:
                    text = text.replace(path, name)
        if "/" in text or "\\" in text:
            text = _without(_ANY_PATH, text, "[file]")
        if "." in text:
            text = _without(_FILE_NAME, text, "[file]")
            text = _without(_UID, text, REMOVED)
        if "," in text:
            text = _DUMPED.sub(_undumped, text)
        if ":" in text or "=" in text:
            text = _STATED.sub(rf"\1\2{REMOVED}", text)
        if "@" in text:
            text = _without(_MAIL, text, REMOVED)
        text = self._wanted.without(text, REMOVED)  # before dates, of which some ids have one
        if self._wanted.pattern:
            text = _without(self._wanted.pattern, text, REMOVED)
        return _TITLED.sub(rf"\1{REMOVED}", text)

    def value(self, value: Any, key: str = "") -> Any:
        """Return a JSON value with identifiers removed at any depth.

        `key` is the key of the value; everything under an identifying key is removed.
        """
        if key and is_identifying(key):
            if self.placeholders is not None and isinstance(value, str):
                told = self.placeholders.without(value)
                if PLACEHOLDER.fullmatch(told):
                    return told
            return value if value in (None, "") else REMOVED
        coded = _coded(key)
        if isinstance(value, str):
            if value and coded and not is_code(coded, value):
                return REMOVED
            if value and is_path_key(key):
                return self._names.get(value) or (
                    value if value in self._given else self._named(value)
                )
            return self.text(value)
        if isinstance(value, Mapping):
            named = _name_of(value, is_identifying)
            coded = _coded(_name_of(value, _coded)) or coded
            return {
                self.text(str(name)): REMOVED
                if named and name not in _NAMED_BY
                else self.value(item, coded if coded and name in _VALUES else str(name))
                for name, item in value.items()
            }
        if isinstance(value, (list, tuple)):
            if _is_named_pair(value):
                return [value[0], self.value(value[1], value[0])]
            return [self.value(item, key) for item in value]
        return REMOVED if isinstance(value, int) and self._wanted.knows(value) else value

    def restored(self, value: Any) -> Any:
        """Return arguments from the model with the real paths in place of "result-N" names."""
        if self.placeholders is not None:
            value = self.placeholders.restored_value(value)
        if isinstance(value, str):
            # An open image is known to the tools by its id; only made files need their path.
            return self._paths.get(value, value) if value.startswith("result-") else value
        if isinstance(value, Mapping):
            return {name: self.restored(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.restored(item) for item in value]
        return value

    def _record_data(self, message: Message) -> dict[str, Any]:
        """Return the data of a result of a record as a remote model may read it."""
        if not self.record_allowed:
            return {"withheld": "The user does not allow the patient's record to be sent."}
        parts = {
            key: self._record_value(item, key)
            for key, item in message.data.items()
            if key != "summary"
        }
        summary = str(message.data.get("summary") or "")
        if any(key in message.output for key in _CONTACTS):
            summary = ""  # it says in words what is removed below
        return {"summary": self.text(self._without_quotes(summary)), **parts}

    def _without_quotes(self, text: str) -> str:
        """Return a text without the sentences that quote free text that is held back."""
        if self._notes or not self._held:
            return text
        parts = _SENTENCE.split(text)
        kept = (part for part in parts if not _quotes(_one_line(part), self._held))
        return (
            text if len(parts) == 1 and not _quotes(_one_line(text), self._held) else " ".join(kept)
        )

    def _record_value(self, value: Any, key: str, note: bool = False) -> Any:
        """Return a value of a result of a record.

        `note`: whether it is part of a note or report, of which only dates and names of kinds go.
        """
        if key in _RECORD_KEYS and value not in (None, "", [], {}):
            return REMOVED
        if isinstance(value, Mapping):
            note = note or _is_note(value)
            return {
                self.text(str(name)): self._record_value(item, str(name), note)
                for name, item in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self._record_value(item, key, note) for item in value]
        if value in (None, "") or isinstance(value, bool):
            return value
        if isinstance(value, str):
            if is_path_key(key):
                return self._names.get(value) or self._named(value)
            free = _is_free_text(value, key, note) or _quotes(_one_line(value), self._held)
            if not self._notes and free:
                return f"[held back: {len(value):,} characters of free text]"
            assert self.placeholders is not None
            return self.text(self.placeholders.year(value))
        if key.startswith("age") and isinstance(value, int | float) and value > _OLDEST:
            return f"over {_OLDEST}"
        return REMOVED if isinstance(value, int) and self._wanted.knows(value) else value

    def _message(self, message: Message) -> Message:
        data = self.value(message.data) if message.record is None else self._record_data(message)
        if message.role == "tool":
            whole = to_text(data)
            text = as_data(whole) if message.text.startswith(as_data("")[:7]) else whole
        elif id(message) in self._told and not self.record_allowed:
            text = "[withheld: it tells what the patient's record says]" if message.text else ""
        elif id(message) in self._told:
            text = self.text(self._without_quotes(message.text))
        else:
            text = self.text(message.text)
        calls = [
            ToolCall(
                id=call.id,
                name=self._tool(call.name),
                arguments=self._arguments(call),
                raw=self.text(call.raw),
            )
            for call in message.tool_calls
        ]
        images = [self.value(_with_dyes(note)) for note in message.images]
        # Only the caption is sent; the path is where the provider finds the file.
        pictures = [
            item.model_copy(update={"caption": self.text(item.caption)})
            for item in message.pictures
        ]
        changed = {
            "text": text,
            "tool": self._tool(message.tool),
            "data": data,
            "tool_calls": calls,
            "images": images,
            "pictures": pictures,
            "identifiers": [],
            "texts": [],
            "record": None,
        }
        return message.model_copy(update=changed)

    def _tool(self, name: str) -> str:
        """Return a tool's name, cleaned, since a model may call a tool by any name."""
        return name if self.text(name) == name else "unknown_tool"

    def _arguments(self, call: ToolCall) -> dict[str, Any]:
        files = _files_of(call)
        return {
            self.text(key): self.value(value, key if key in files else "")
            for key, value in call.arguments.items()
        }

    def _collect_image(self, note: Mapping[str, Any]) -> None:
        path, name = note.get("path"), note.get("id")
        if isinstance(path, str) and path and name:
            self._names.setdefault(path, str(name))
            if path != str(name):
                # "DMSO_2" is no patient, and without it no group could be spoken of.
                self._prose.update(item for item in path_names(path) if not is_condition(item))
            self._given.add(str(name))
        self._collect({key: item for key, item in note.items() if key != "path"})

    def _collect(self, value: Any, key: str = "") -> None:
        """Search a value under `key` for identifiers; all below an identifying key is one."""
        if isinstance(value, Mapping):
            named = key if key and is_identifying(key) else _name_of(value, is_identifying)
            coded = _coded(_name_of(value, _coded)) or _coded(key)
            for name, item in value.items():
                if not named:
                    self._collect(item, coded if coded and name in _VALUES else str(name))
                elif name not in _NAMED_BY:
                    self._collect(item, named)
        elif isinstance(value, (list, tuple)):
            if _is_named_pair(value):
                self._collect(value[1], value[0])
                return
            for item in value:
                self._collect(item, key)
        elif isinstance(value, str) and value:
            if is_path_key(key):
                self._named(value)
            elif is_telling(key) and not _UID.fullmatch(value):
                (self._prose if is_prose(key) else self._found).add(value)
            elif _coded(key) and not is_code(_coded(key), value):
                self._prose.add(value)
        elif isinstance(value, int) and is_telling(key) and abs(value) > 999:
            self._found.add(str(value))

    def _named(self, path: str) -> str:
        if path not in self._names:
            if path in self._given:
                return path
            self._made += 1
            self._given.add(f"result-{self._made}{_suffix(path)}")
            self._names[path] = f"result-{self._made}{_suffix(path)}"
        return self._names[path]

    def _take_found(self) -> None:
        """Take new names: all messages must be searched for them."""
        unknown = (word for word in self._unknown if folded(word) not in self._terms)
        self._wanted = Identifiers(self._found, {*self._prose, *unknown})
        self._cleaned = {}

    def _take_names(self, since: int) -> None:
        """Take new files: messages that mention one of them must be cleaned again."""
        fresh = _forms_of(list(self._names.items())[since:])
        forms = {**_forms_of(list(self._names.items())[:since]), **fresh}
        self._in_text = sorted(forms.items(), key=lambda item: len(item[0]), reverse=True)
        self._paths = {name: path for path, name in reversed(self._names.items())}
        written = {text for form in fresh for text in (form, to_text(form)[1:-1])}
        self._cleaned = {
            key: known
            for key, known in self._cleaned.items()
            if not any(form in part for part in _parts_of(known[0]) for form in written)
        }


def _is_note(entry: Mapping[Any, Any]) -> bool:
    return str(entry.get("entry") or entry.get("id") or "").startswith(_NOTES)


def _is_free_text(value: str, key: str, note: bool) -> bool:
    """Return whether a text of a result is somebody's own words; see `Redactor._record_value`."""
    own = key in _FREE_TEXT or (note and key not in _NOTE_KEYS)
    return own or len(value) > _LONGEST or "\n" in value.strip()


def _free_texts(value: Any, key: str = "", note: bool = False) -> Iterator[str]:
    """Yield the free texts in the data of a result of a record, without its summary."""
    if isinstance(value, Mapping):
        note = note or _is_note(value)
        for name, item in value.items():
            if key or name != "summary":
                yield from _free_texts(item, str(name), note)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _free_texts(item, key, note)
    elif isinstance(value, str) and _is_free_text(value, key, note):
        yield value


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _quotes(sentence: str, held: Sequence[str]) -> bool:
    """Return whether a sentence quotes one of the texts that are held back."""
    starts = range(0, max(1, len(sentence) - _QUOTED + 1), 5)
    pieces = [sentence[at : at + _QUOTED] for at in starts]
    return any(len(piece) == _QUOTED and piece in text for text in held for piece in pieces)


def clean_arguments(
    history: Sequence[Message],
    identifiers: Sequence[str],
    arguments: Mapping[str, Any],
    conversation: str = "",
) -> dict[str, Any]:
    """Return a call's arguments without what identifies a patient, by the whole conversation."""
    return Redactor(history, identifiers, conversation=conversation).value(arguments)


def path_names(path: str) -> Iterator[str]:
    """Yield the name of a file, without its suffixes, and the names of its folders.

    The path is that of an open image, in the notation of any operating system. The name of a user's
    home folder is left out, because it says nothing about the patient.
    """
    pure = _pure(path)
    yield re.sub(r"(?:\.[A-Za-z0-9]{1,5}){1,2}$", "", pure.name)
    homes = ("home", "users")
    yield from (item.name for item in pure.parents if item.parent.name.lower() not in homes)


def _forms_of(names: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return what files are called in texts -> their names."""
    return {
        form: name
        for path, name in names
        for form in (path, _pure(path).name)
        if len(form) >= _MIN_PATH and set(form) & set("/\\.")
    }


def _parts_of(message: Message) -> Iterator[str]:
    """Yield all text of a message, with JSON's escapes where it is JSON."""
    yield message.text
    yield from (to_text(call.arguments) + call.raw for call in message.tool_calls)
    yield from (to_text(note) for note in message.images)
    yield from (picture.caption for picture in message.pictures)


def _name_of(entry: Mapping[Any, Any], test: Callable[[str], object]) -> str:
    """Return the attribute that {"keyword": "PatientName", ...} names if it passes, else ""."""
    names = (entry.get(name) for name in _NAMED_BY if name in entry)
    return next((name for name in names if isinstance(name, str) and test(name)), "")


def _coded(key: str) -> str:
    """Return the keyword of a coded attribute under whose key or tag a value stands, else ""."""
    keyword = attribute_of(key)
    return keyword if is_coded(keyword) else ""


def _is_named_pair(value: Sequence[Any]) -> bool:
    """Return whether it is an attribute with its value, as in ["PatientName", "..."]."""
    named = len(value) == 2 and isinstance(value[0], str)
    return named and (is_identifying(value[0]) or _coded(value[0]) != "")


def _without(pattern: re.Pattern[str], text: str, mark: str) -> str:
    """Substitute a pattern in pieces, since one search of a long text would block the window."""
    if len(text) <= _PIECE + _REACH:
        return pattern.sub(mark, text)
    made: list[str] = []
    copied, at = 0, 0
    while at < len(text):
        stop = min(len(text), at + _PIECE)
        # Beyond the piece, so that what begins in it is seen whole.
        match = pattern.search(text, at, min(len(text), stop + _REACH))
        if match is None or match.start() >= stop:
            at = stop
            continue
        made += (text[copied : match.start()], mark)
        copied = at = max(match.end(), match.start() + 1)
    return "".join([*made, text[copied:]])


def _unescaped(text: str) -> str:
    r"""Return a text with escapes of JSON, URLs and HTML decoded: "M\u00fcller", "M%C3%BCller"."""
    for _ in range(_ESCAPED_DEEP):
        before = text
        if "\\u" in text:
            text = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
        if "%" in text:
            text = unquote(text)
        if "&" in text:
            text = html.unescape(text)
        if text == before:
            break
    return text


def _undumped(match: re.Match[str]) -> str:
    """Return a line of a dump, "(0010,0010) PN [...]", without its value if that is identifying."""
    key = attribute_of(match[1])
    value = re.split(r"[\[:=]", match[0])[-1].strip(" '\"]")
    free = is_coded(key) and not is_code(key, value)
    return f"{match[1]} {REMOVED}" if free or is_identifying(match[1]) else match[0]


def _with_dyes(note: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the note on an image with the dyes of its channels in place of their names."""
    names = note.get("channels")
    if not isinstance(names, list | tuple):
        return note
    return {**note, "channels": dye_names([str(one) for one in names])}


def _files_of(call: ToolCall) -> dict[str, Any]:
    """Return a call's arguments without the `path` of `read_result`, which is no file."""
    if call.name != "read_result":
        return call.arguments
    return {key: value for key, value in call.arguments.items() if key != "path"}


def _pure(path: str) -> PurePath:
    return PureWindowsPath(path) if "\\" in path else PurePosixPath(path)


def _suffix(path: str) -> str:
    suffix = _pure(path).suffix
    return suffix if re.fullmatch(r"\.[A-Za-z0-9]{1,5}", suffix) else ""
