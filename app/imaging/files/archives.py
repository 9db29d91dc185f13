"""Read zip archives as folders: a member is opened by its path and inflated in memory only.

Nothing in an archive is trusted: names may lead out of it, sizes may be wrong, and a few bytes
may declare terabytes. A member's size is checked before it is read, and it is inflated only as
far as it is read, never beyond its declared size.
"""

from __future__ import annotations

import io
import os
import re
import stat
import threading
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple, cast

from app.errors import FileProblem
from app.imaging import guards

UNPACK = "Unpack the archive first, then open the folder"

EMPTY = "the file is empty"
OUTSIDE = "its name is empty or leads out of the archive"

MAX_MEMBERS = 200_000
_MOST_DECLARED = 4 * MAX_MEMBERS
MAX_MEMBER_BYTES = 2**30
MAX_RATIO = 1_100
"""Deflate reaches 1,032 on empty images; a larger ratio is false."""

_RATIO_MATTERS_FROM = 64 * 2**20
_CHUNK = 64 * 1024
_METHODS = frozenset(
    {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA}
)
_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_DOCUMENTS = (".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".jar", ".apk", ".epub", ".whl")
_DRIVE = re.compile(r"[A-Za-z]:")
_ENCRYPTED = 0x1


class ArchiveStatus(NamedTuple):
    """Size in bytes and times in ns of an archive file, compared to notice that it has changed."""

    size: int
    mtime_ns: int
    changed_ns: int


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive, and the archive with its state when it was opened (`status`).

    Attributes:
        path: Path of the archive followed by the member's name, as if the archive were a folder.
        size: Declared uncompressed size in bytes.
    """

    path: Path
    size: int
    archive: Archive
    status: ArchiveStatus

    def open(self) -> BinaryIO:
        """Open the content as a seekable file; raise FileProblem if it cannot be decompressed."""
        return cast(BinaryIO, io.BufferedReader(_MemberFile(_inflated_member(self)), _CHUNK))


class Archive:
    """An open zip archive: which of its members can be read, and why others cannot.

    Attributes:
        files: Maps names (with "/") to the members that can be read, in archive order.
        refused: (name, reason) for members that are not read. The name is "" if it is unsafe, or if
            the archive contains too many files.

    Raises:
        FileProblem: The file is not a zip archive, or its directory is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: dict[str, zipfile.ZipInfo] = {}
        self.refused: list[tuple[str, str]] = []
        try:
            if _declared_members(path) > _MOST_DECLARED:  # they take seconds only to be counted
                raise guards.problem(path, "the zip archive contains too many files", UNPACK)
            self._zip = zipfile.ZipFile(path)
        except FileProblem:
            raise
        except OSError as error:
            raise guards.unreadable_file(path, error) from None
        except Exception as error:  # zipfile raises almost any exception for damage
            raise _damaged(path, error) from None
        self._refuse_overlap()
        for info in self._zip.infolist():
            if len(self.files) + len(self.refused) >= MAX_MEMBERS:
                self.refused.append(("", "the archive contains too many files"))
                break
            if not info.filename.endswith("/"):  # `is_dir` fails on an empty name
                self._take(info)

    def inflate(self, info: zipfile.ZipInfo) -> Any:
        """Return a stream that decompresses a member's content."""
        return self._zip.open(info)

    def _refuse_overlap(self) -> None:
        """Refuse members that share bytes: a small file of them could inflate to petabytes."""
        packed = sum(info.compress_size for info in self._zip.infolist())
        if packed > self.path.stat().st_size:
            self._zip.close()
            reason = "the zip archive declares more than it contains"
            raise guards.problem(self.path, reason, guards.COPY_AGAIN)

    def _take(self, info: zipfile.ZipInfo) -> None:
        # Members are opened by name only, so an unsafe name is refused at once.
        name = safe_name(info.filename)
        if name is None:
            self.refused.append(("", OUTSIDE))
            return
        reason = _refusal_reason(info)
        if reason:
            self.refused.append((name, reason))
            return
        if name in self.files:
            self.refused.append(
                (name, "the archive contains it more than once; the last is listed")
            )
        self.files[name] = info


def _declared_members(path: Path) -> int:
    """Return how many members an archive's end record declares. Source: APPNOTE 4.3.14, 4.3.16."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 2**16 - 2**8))
        tail = file.read()
    end = tail.rfind(b"PK\x05\x06")
    count = int.from_bytes(tail[end + 10 : end + 12], "little") if end >= 0 else 0
    large = tail.rfind(b"PK\x06\x06", 0, end)
    if count == 0xFFFF and large >= 0:
        count = int.from_bytes(tail[large + 32 : large + 40], "little")
    return count


def looks_like_archive(path: Path, start: bytes) -> bool:
    """Return whether a file that begins with `start` is a zip archive and not e.g. a .docx file."""
    return start.startswith(_SIGNATURES) and path.suffix.lower() not in _DOCUMENTS


def open_archive(path: Path) -> Archive:
    """Return the zip archive at `path`; the last few archives are cached.

    Raises:
        FileProblem: The archive cannot be read, or is not a zip archive.
    """
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise guards.unreadable_file(path, error) from None
    return _archive(path, _status(found))


def find_member(path: Path) -> Member | None:
    """Return the archive member that a path names; None if no part of the path is an archive.

    Raises:
        FileProblem: The archive is damaged, or does not contain the member.
    """
    for parent in path.parents:
        try:
            found = parent.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        status = _status(found)
        archive = _archive(parent, status)
        info = archive.files.get(path.relative_to(parent).as_posix())
        if info is None:
            raise guards.problem(path, "there is no such file in the archive", "Open it again")
        return Member(path, info.file_size, archive, status)
    return None


def safe_name(name: str) -> str | None:
    """Return a member's name as a relative path with "/"; None if empty, absolute or with ".."."""
    text = name.replace("\\", "/")
    if text.startswith("/") or _DRIVE.match(text) or "\0" in text:
        return None
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        return None
    return str(PurePosixPath(*parts))


def _refusal_reason(info: zipfile.ZipInfo) -> str:
    """Return why a member is not read; "" if it is."""
    if not info.file_size:
        return EMPTY
    if info.flag_bits & _ENCRYPTED:
        return "it is protected by a password"
    if stat.S_ISLNK(info.external_attr >> 16):
        return "it is a link, which is not followed"
    if info.compress_type not in _METHODS:
        return "it is compressed in a way that is not supported"
    if info.file_size > MAX_MEMBER_BYTES:
        return "it is too large to be opened inside an archive"
    inflates = info.file_size > info.compress_size * MAX_RATIO
    if inflates and info.file_size > _RATIO_MATTERS_FROM:
        return "it declares a size that it cannot have"
    return ""


@lru_cache(maxsize=4)
def _archive(path: Path, status: ArchiveStatus) -> Archive:
    del status  # part of the key: a changed archive is read anew
    return Archive(path)


def _status(found: os.stat_result) -> ArchiveStatus:
    return ArchiveStatus(found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _damaged(path: Path, error: Exception) -> FileProblem:
    reason = "the zip archive is damaged or cut short"
    return guards.problem(path, reason, guards.COPY_AGAIN, type(error).__name__)


class _MemberContent:
    """Content of a member as far as it has been read, shared by all its open files."""

    def __init__(self, member: Member) -> None:
        name = member.path.relative_to(member.archive.path).as_posix()
        self.path = member.path
        self.size = member.size
        self._data = bytearray()
        self._lock = threading.Lock()
        try:
            self._stream = member.archive.inflate(member.archive.files[name])
        except Exception as error:  # zipfile raises almost any exception for a damaged header
            raise _damaged(member.path, error) from None

    def read(self, start: int, end: int) -> bytes:
        """Return bytes `start` to `end`, inflated on demand; raise FileProblem if damaged."""
        end = min(end, self.size)
        with self._lock:
            while len(self._data) < end:
                try:
                    chunk: bytes = self._stream.read(_CHUNK)
                except Exception as error:  # each decompressor has errors of its own
                    raise _damaged(self.path, error) from None
                if not chunk:
                    raise _damaged(self.path, EOFError())
                self._data += chunk
            return bytes(memoryview(self._data)[start:end]) if start < end else b""


class _MemberFile(io.RawIOBase):
    """Open file of a member's content."""

    def __init__(self, content: _MemberContent) -> None:
        self._content = content
        self._position = 0
        self.name = str(content.path)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._content.size}
        if base[whence] + offset < 0:
            raise ValueError("a position before the start")
        self._position = base[whence] + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        data = self._content.read(self._position, self._position + len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


def _inflated_member(member: Member) -> _MemberContent:
    """Return a member's content, which is kept: a cine is read frame by frame, or two in turn."""
    return (_small_contents if member.size <= _SMALL_BYTES else _large_contents)(member)


_SMALL_BYTES = 2**27
_small_contents = lru_cache(maxsize=2)(_MemberContent)
_large_contents = lru_cache(maxsize=1)(_MemberContent)
