"""Removes what identifies a patient from all that a remote model gets. Local models get it whole.

The table follows the attributes that the Basic Application Level Confidentiality Profile (DICOM
PS3.15, table E.1-1) removes or replaces, as far as tools can return them. Keys are compared without
case and punctuation, so "PatientName", "patient_name" and "Patient's Name" are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any

from app.agent.context import as_data, to_text
from app.agent.messages import Message, ToolCall

REMOVED = "[removed]"


def _table(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Not identifying although a rule below would take them.
_KEEP = _table("""
    patientorientation patientposition exposuretime repetitiontime echotime inversiontime frametime
    triggertime duration
""")
_EXACT = _table("""
    address phone telephone email station stationname studyid studydescription seriesdescription
    imagecomments occupation ethnicgroup countryofresidence regionofresidence protocolname
    devicename deviceid detectorid plateid cassetteid gantryid generatorid acquisitioncomments
    framecomments medicalalerts allergies smokingstatus pregnancystatus militaryrank branchofservice
    insuranceplanidentification requestedprocedureid requestedproceduredescription mrn dob ssn
    issuer author
""")
_STARTS = _table("""
    patient otherpatient responsibleperson referring performing requesting institution accession
    operator physician issuerof admission admitting consulting verifying reviewer ordercallback
    orderenteredby scheduledperforming filler placer intendedrecipients
""")
_ENDS = _table("""
    birthdate studydate seriesdate acquisitiondate contentdate instancecreationdate birthtime
    studytime seriestime acquisitiontime contenttime instancecreationtime instanceuid classuid
    serialnumber physician physicians personname patientid patientname stationname telephonenumbers
    phonenumber emailaddress accessionnumber
""")
_LAST_WORDS = frozenset(("date", "dates", "datetime", "uid", "uids"))
_PATH_WORDS = frozenset(_table("path paths file files filename folder directory dir"))
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_GENERIC = frozenset(_table("unknown anonymous anonymized none n/a test patient male female other"))
_MIN_IDENTIFIER = 3
_MIN_PATH = 4
_ANY_PATH = re.compile(
    r"file://\S+"
    r"|(?<![\w.:/<])~?/(?:[^\s/\"'<>|]+/)+[^\s\"'<>|,;)]*"
    r"|(?<![\w])[A-Za-z]:[\\/][^\s\"'<>|,;)]+"
    r"|\\\\[^\s\\\"']+\\[^\s\"'<>|,;)]+"
)
_UID = re.compile(r"(?<![\w.])[0-2](?:\.\d+){5,}(?![\w.])")
_DATE = re.compile(r"(?:19|20)\d{6}")


class Redactor:
    """Cleans one transcript, and undoes the image names in what the model answers.

    A file is named by the app's id of the open image, else "result-N" with its suffix in order of
    appearance, so that the names stay the same while the transcript grows.

    Args:
        messages: The whole transcript.
        identifiers: Values known to identify the open patients.
    """

    def __init__(self, messages: Sequence[Message], identifiers: Sequence[str] = ()) -> None:
        self._names: dict[str, str] = {}
        self._found: set[str] = set(identifiers)
        for message in messages:
            for note in message.images:
                self._collect_image(note)
        for message in messages:
            for call in message.tool_calls:
                self._collect(_files_of(call))
            self._collect(message.data)
        self._in_text = {
            form: name
            for path, name in self._names.items()
            for form in (path, _basename(path))
            if len(form) >= _MIN_PATH and set(form) & set("/\\.")
        }
        self._pattern = _identifier_pattern(self._found)
        self._paths = {name: path for path, name in reversed(self._names.items())}

    def messages(self, messages: Sequence[Message]) -> list[Message]:
        """Cleaned copies."""
        return [self._message(message) for message in messages]

    def text(self, text: str) -> str:
        """`text` without known identifiers, paths and UIDs."""
        for path in sorted(self._in_text, key=len, reverse=True):
            text = text.replace(path, self._in_text[path])
        text = _ANY_PATH.sub("[file]", text)
        text = _UID.sub(REMOVED, text)
        return self._pattern.sub(REMOVED, text) if self._pattern else text

    def value(self, value: Any, key: str = "") -> Any:
        """`value` cleaned, recursively; what stands under an identifying key is removed whole."""
        if key and is_identifying(key):
            return value if value in (None, "") else REMOVED
        if isinstance(value, str):
            if value and _is_path_key(key):
                return self._names.get(value) or (
                    value if value in self._paths else self._named(value)
                )
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                self.text(str(name)): self.value(item, str(name)) for name, item in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self.value(item, key) for item in value]
        return value

    def restored(self, value: Any) -> Any:
        """The model's arguments with the real paths in place of the names it was given."""
        if isinstance(value, str):
            # An open image is known to the tools by its id; only made files need their path.
            return self._paths.get(value, value) if value.startswith("result-") else value
        if isinstance(value, Mapping):
            return {name: self.restored(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.restored(item) for item in value]
        return value

    def _message(self, message: Message) -> Message:
        data = self.value(message.data)
        text = self.text(message.text)
        if message.role == "tool":
            whole = to_text(data)
            text = as_data(whole) if message.text.startswith(as_data("")[:7]) else whole
        calls = [
            ToolCall(
                id=call.id,
                name=call.name,
                arguments=self._arguments(call),
                raw=self.text(call.raw),
            )
            for call in message.tool_calls
        ]
        images = [self.value(note) for note in message.images]
        # Only the caption is sent; the path is where the provider finds the file.
        pictures = [
            item.model_copy(update={"caption": self.text(item.caption)})
            for item in message.pictures
        ]
        changed = {
            "text": text,
            "data": data,
            "tool_calls": calls,
            "images": images,
            "pictures": pictures,
        }
        return message.model_copy(update=changed)

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
        self._collect({key: item for key, item in note.items() if key != "path"})

    def _collect(self, value: Any, key: str = "") -> None:
        if isinstance(value, Mapping):
            for name, item in value.items():
                self._collect(item, str(name))
        elif isinstance(value, (list, tuple)):
            for item in value:
                self._collect(item, key)
        elif isinstance(value, str) and value:
            if _is_path_key(key):
                self._named(value)
            elif is_identifying(key):
                self._found.add(value)

    def _named(self, path: str) -> str:
        if path not in self._names:
            if path in self._names.values():
                return path
            made = sum(1 for name in self._names.values() if name.startswith("result-"))
            self._names[path] = f"result-{made + 1}{_suffix(path)}"
        return self._names[path]


def _files_of(call: ToolCall) -> dict[str, Any]:
    """A call's arguments but the `path` of `read_result`, which is a place in a result."""
    if call.name != "read_result":
        return call.arguments
    return {key: value for key, value in call.arguments.items() if key != "path"}


def _pure(path: str) -> PurePath:
    return PureWindowsPath(path) if "\\" in path else PurePosixPath(path)


def _basename(path: str) -> str:
    return _pure(path).name


def _suffix(path: str) -> str:
    suffix = _pure(path).suffix
    return suffix if re.fullmatch(r"\.[A-Za-z0-9]{1,5}", suffix) else ""


def _normal(key: str) -> str:
    return re.sub(r"'s\b|[^a-z0-9]", "", key.lower())


def is_identifying(key: str) -> bool:
    """Whether what stands under this key identifies a patient, a person or a place."""
    name = _normal(key)
    if not name or name in _KEEP:
        return False
    if name in _EXACT or name.startswith(_STARTS) or name.endswith(_ENDS):
        return True
    # By words, since "update" ends with "date" and "fluid" with "uid".
    words = _words(key)
    return words[-1:] != [] and (words[-1] in _LAST_WORDS or words[-2:] == ["date", "time"])


def _is_path_key(key: str) -> bool:
    return bool(_PATH_WORDS.intersection(_words(key)[-1:]))


def _words(key: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(key)]


def _identifier_pattern(values: set[str]) -> re.Pattern[str] | None:
    forms = {form for value in values for form in _forms(value) if _is_specific(form)}
    if not forms:
        return None
    ordered = sorted(forms, key=len, reverse=True)
    joined = "|".join(re.escape(form) for form in ordered)
    return re.compile(rf"(?<!\w)(?:{joined})(?!\w)", re.IGNORECASE)


def _is_specific(form: str) -> bool:
    return len(form) >= _MIN_IDENTIFIER and form.lower() not in _GENERIC


def _forms(value: str) -> Iterator[str]:
    """The ways in which a value may stand in a text: a name's parts, a date's notations."""
    value = value.strip()
    yield value
    parts = [part for part in re.split(r"[\^=\s,]+", value) if part]
    if 1 < len(parts) <= 8:
        yield " ".join(parts)
        yield " ".join(reversed(parts))
        yield from parts
    if _DATE.fullmatch(value[:8]):
        year, month, day = value[:4], value[4:6], value[6:8]
        yield value[:8]
        yield f"{year}-{month}-{day}"
        yield f"{year}/{month}/{day}"
        yield f"{day}.{month}.{year}"
        yield f"{day}/{month}/{year}"
        yield f"{month}/{day}/{year}"
