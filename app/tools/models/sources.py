"""Read models from a file, a folder, or a zip or tar archive, which is never unpacked.

An archive is listed first, and refused as a whole if a single entry in it is hostile. Its files are
then read as streams; the caller alone decides where they are written.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, cast

from app.errors import SightlineError, UsageError
from app.tools.models.file_names import MOST_FILES, check_names, hostile, safe_name

_MOST_GROWTH = 200  # real weights shrink by a third at most; those of a test, all zero, by more
_SLACK = 1 << 26
_MOST_HEADERS = 1 << 26  # bytes of all headers of a tar archive together
_DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    RecursionError,
    ValueError,
)


Streams = Iterator[tuple[str, IO[bytes]]]
"""Pairs of a file's name and its content; each stream closes when the next is requested."""


@dataclass(frozen=True, slots=True)
class Source:
    """Files that can be listed, and then read once in the order in which they are stored.

    Attributes:
        label: The source's name, for messages and for the installation's record.
        sizes: Maps each file's name, with "/", to its size in bytes.
        streams: A function that yields the files with the given names; see `Streams`.
        is_file: Whether it is a single file.
        revision: Commit in the repository from which the files came; "" if not known.
        repository: "owner/name" of that repository; "" if not known.
    """

    label: str
    sizes: Mapping[str, int]
    streams: Callable[[frozenset[str]], Streams]
    is_file: bool = False
    revision: str = ""
    repository: str = ""


def open_source(path: Path) -> Source:
    """Return the files at a path as a source.

    Raises:
        UsageError: There is nothing at the path.
        Hostile: The archive or folder contains names or entries that are refused; see `file_names`.
        SightlineError: The path cannot be read.
    """
    if path.is_dir():
        return folder_source(path, path.name, revision=_downloaded_commit(path))
    if not path.is_file():
        raise UsageError("there is no such file or folder", subject=str(path))
    if is_archive(path):
        return _archive_source(path)
    sizes = {path.name: path.stat().st_size}
    return Source(path.name, sizes, partial(_folder_streams, path.parent, sizes), is_file=True)


def folder_source(
    path: Path, label: str, *, root: Path | None = None, revision: str = "", repository: str = ""
) -> Source:
    """Return a folder as a source; hidden files and folders in it are left out.

    Symbolic links must not lead out of `root`, by default the folder itself.

    Raises:
        Hostile: The folder contains names, links or devices that are refused.
    """
    within = (root or path).resolve()
    sizes: dict[str, int] = {}
    # The walk ends early in a folder that is too large for a model.
    paths = list(itertools.islice(path.rglob("*"), 2 * MOST_FILES))
    if len(paths) == 2 * MOST_FILES:
        raise hostile(f"it contains more than {MOST_FILES:,} files")
    for file in sorted(paths):
        parts = file.relative_to(path).parts
        name = "/".join(parts)
        if any(part.startswith(".") or part == "__pycache__" for part in parts):
            continue
        if file.is_symlink() and not file.resolve().is_relative_to(within):
            raise hostile(f"it contains a link that leads out of it: {name!r}")
        if file.is_dir():
            if file.is_symlink():
                raise hostile(f"it contains a link to a folder: {name!r}")
            continue
        if not file.is_file():
            raise hostile(f"it contains something that is not a file: {name!r}")
        sizes[safe_name(name)] = file.stat().st_size
    check_names(sizes)
    streams = partial(_folder_streams, path, sizes)
    return Source(label, sizes, streams, revision=revision, repository=repository)


def _folder_streams(folder: Path, sizes: Mapping[str, int], names: frozenset[str]) -> Streams:
    for name in sizes:
        if name in names:
            with (folder / name).open("rb") as stream:
                yield name, stream


def _archive_source(path: Path) -> Source:
    is_zip = path.name.casefold().endswith(".zip")
    with archive_errors(path):
        listed = _zip_sizes(path) if is_zip else _tar_sizes(path)
    check_names(listed)
    label, prefix = path.name, ""
    tops = {name.partition("/")[0] for name in listed}
    if len(tops) == 1 and all("/" in name for name in listed):
        label = tops.pop()  # a folder that was packed as such
        prefix = f"{label}/"

    def streams(names: frozenset[str]) -> Streams:
        wanted = frozenset(prefix + name for name in names)
        with archive_errors(path):
            for name, stream in (_zip_streams if is_zip else _tar_streams)(path, wanted):
                yield name.removeprefix(prefix), stream

    sizes = {name.removeprefix(prefix): size for name, size in listed.items()}
    return Source(label, sizes, streams)


def is_archive(path: Path) -> bool:
    """Return True if a file is named like an archive; by content, torch weights are zips, too."""
    return path.name.casefold().endswith((".zip", ".tar", ".tar.gz", ".tgz"))


def _downloaded_commit(folder: Path) -> str:
    """Return the commit that huggingface_hub noted beside files that it downloaded, or ""."""
    notes = folder / ".cache" / "huggingface" / "download"
    commits: set[str] = set()
    with contextlib.suppress(OSError, ValueError):
        for note in sorted(notes.rglob("*.metadata"))[:1000]:
            with note.open(encoding="ascii") as stream:
                commits.add(stream.readline(64).strip())
    return commits.pop() if len(commits) == 1 else ""


@contextlib.contextmanager
def archive_errors(path: Path | str) -> Generator[None]:
    """Turn errors from reading an archive into `SightlineError`s.

    Raises:
        SightlineError: The archive is damaged.
    """
    try:
        yield
    except _DAMAGED as error:
        raise SightlineError(
            "this archive cannot be read: it is damaged or not an archive",
            subject=str(path),
            remedy="Copy or download it again.",
            detail=f"{type(error).__name__}: {error}",
        ) from error


def _check_growth(total: int, path: Path) -> None:
    if total > _MOST_GROWTH * path.stat().st_size + _SLACK:
        raise hostile("it would become far too large when unpacked")


def _zip_sizes(path: Path) -> dict[str, int]:
    sizes: dict[str, int] = {}
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
    for info in entries:
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise hostile(f"it contains a link or device: {info.filename[:120]!r}")
        if info.flag_bits & 1:
            raise hostile("it is encrypted")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise hostile("it is compressed in a way that is not supported")
        if info.is_dir():
            safe_name(info.orig_filename.rstrip("/"))
            continue
        name = safe_name(info.orig_filename)
        if name in sizes:
            raise hostile(f"it contains one file twice: {name[:120]!r}")
        sizes[name] = info.file_size
    _check_growth(sum(sizes.values()), path)
    return sizes


def _zip_streams(path: Path, names: frozenset[str]) -> Streams:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            name = info.orig_filename.removeprefix("./")
            if name in names:
                with archive.open(info) as stream:
                    yield name, stream


class _HeaderStream:
    """A tar archive of which only headers are read: a header may claim any length for itself."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._left = _MOST_HEADERS
        self.seek = stream.seek
        self.tell = stream.tell

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes, if all headers together may have that many."""
        self._left -= size
        if self._left < 0:
            raise hostile("its headers are too long")
        return self._stream.read(size)


def _open_stream(path: Path) -> IO[bytes]:
    """Open a tar archive; it is unpacked with gzip only if its name ends so."""
    packed = path.name.casefold().endswith((".gz", ".tgz"))
    return cast("IO[bytes]", gzip.open(path)) if packed else path.open("rb")


def _tar_sizes(path: Path) -> dict[str, int]:
    sizes: dict[str, int] = {}
    with (
        _open_stream(path) as stream,
        tarfile.open(fileobj=cast("IO[bytes]", _HeaderStream(stream)), mode="r:") as archive,
    ):
        for member in archive:
            if member.isdir():
                if member.name != ".":
                    safe_name(member.name)
                continue
            name = safe_name(member.name)
            if not member.isreg() or member.issparse():
                raise hostile(f"it contains a link or device: {name[:120]!r}")
            if name in sizes:
                raise hostile(f"it contains one file twice: {name[:120]!r}")
            sizes[name] = member.size
            _check_growth(sum(sizes.values()), path)  # before the file's content is skipped
            if len(sizes) > MOST_FILES:
                break  # `check_names` refuses it for that
    return sizes


def _tar_streams(path: Path, names: frozenset[str]) -> Streams:
    with _open_stream(path) as packed, tarfile.open(fileobj=packed, mode="r:") as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            if name in names and member.isreg():
                stream = archive.extractfile(member)
                if stream is not None:
                    yield name, stream
