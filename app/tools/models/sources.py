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
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol, cast

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


class Source(Protocol):
    """Files that can be listed, and then read once in the order in which they are stored.

    Attributes:
        label: The source's name, for messages and for the installation's record.
        sizes: Maps each file's name, with "/", to its size in bytes.
        revision: Commit in the repository from which the files came; "" if not known.
        repository: "owner/name" of that repository; "" if not known.
    """

    label: str
    sizes: Mapping[str, int]
    revision: str
    repository: str

    def streams(self, names: frozenset[str]) -> Iterator[tuple[str, IO[bytes]]]:
        """Yield (name, stream) for these files; each stream closes when the next is requested."""
        ...


@dataclass(slots=True)
class FileSource:
    """A single file."""

    path: Path
    label: str = field(init=False)
    sizes: Mapping[str, int] = field(init=False)
    revision: str = ""
    repository: str = ""

    def __post_init__(self) -> None:
        self.label = self.path.name
        self.sizes = {self.path.name: self.path.stat().st_size}

    def streams(self, names: frozenset[str]) -> Iterator[tuple[str, IO[bytes]]]:
        """Yield (name, stream); see `Source`."""
        for name in names & self.sizes.keys():
            with self.path.open("rb") as stream:
                yield name, stream


@dataclass(slots=True)
class FolderSource:
    """A folder; hidden files and folders in it are left out.

    Args:
        path: The folder.
        root: Folder that symbolic links must not lead out of; by default `path`.
        label: The source's name, for messages; by default the folder's name.
        revision: Commit in the repository from which the files came; "" if not known.
        repository: "owner/name" of that repository; "" if not known.
        sizes: Set by the source itself.
    """

    path: Path
    root: Path | None = None
    label: str = ""
    revision: str = ""
    repository: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        self.label = self.label or self.path.name
        within = (self.root or self.path).resolve()
        found: dict[str, int] = {}
        for path in self._paths():
            parts = path.relative_to(self.path).parts
            if any(part.startswith(".") or part == "__pycache__" for part in parts):
                continue
            if path.is_symlink() and not path.resolve().is_relative_to(within):
                raise hostile(f"it holds a link that leads out of it: {'/'.join(parts)!r}")
            if path.is_dir():
                if path.is_symlink():
                    raise hostile(f"it holds a link to a folder: {'/'.join(parts)!r}")
                continue
            if not path.is_file():
                raise hostile(f"it holds something that is no file: {'/'.join(parts)!r}")
            found[safe_name("/".join(parts))] = path.stat().st_size
        check_names(found)
        self.sizes = found

    def _paths(self) -> list[Path]:
        """Return all paths below; the walk ends early in a folder that is too large for a model."""
        found = list(itertools.islice(self.path.rglob("*"), 2 * MOST_FILES))
        if len(found) == 2 * MOST_FILES:
            raise hostile(f"it holds more than {MOST_FILES:,} files")
        return sorted(found)

    def streams(self, names: frozenset[str]) -> Iterator[tuple[str, IO[bytes]]]:
        """Yield (name, stream); see `Source`."""
        for name in self.sizes:
            if name in names:
                with (self.path / name).open("rb") as stream:
                    yield name, stream


@dataclass(slots=True)
class ArchiveSource:
    """A zip or tar archive."""

    path: Path
    label: str = field(init=False)
    sizes: Mapping[str, int] = field(init=False)
    revision: str = ""
    repository: str = ""
    _prefix: str = ""

    def __post_init__(self) -> None:
        self.label = self.path.name
        with archive_errors(self.path):
            listed = _zip_sizes(self.path) if _is_zip(self.path) else _tar_sizes(self.path)
        check_names(listed)
        tops = {name.partition("/")[0] for name in listed}
        if len(tops) == 1 and all("/" in name for name in listed):
            self._prefix = f"{tops.pop()}/"  # a folder that was packed as such
            self.label = self._prefix[:-1]
        self.sizes = {name.removeprefix(self._prefix): size for name, size in listed.items()}

    def streams(self, names: frozenset[str]) -> Iterator[tuple[str, IO[bytes]]]:
        """Yield (name, stream); see `Source`."""
        opened = _zip_streams if _is_zip(self.path) else _tar_streams
        wanted = frozenset(self._prefix + name for name in names)
        with archive_errors(self.path):
            for name, stream in opened(self.path, wanted):
                yield name.removeprefix(self._prefix), stream


def open_source(path: Path) -> Source:
    """Return a source that reads the files at a path.

    Raises:
        UsageError: There is nothing at the path.
        Hostile: The archive or folder contains names or entries that are refused; see `file_names`.
        SightlineError: The path cannot be read.
    """
    if path.is_dir():
        return FolderSource(path, revision=_downloaded_commit(path))
    if not path.is_file():
        raise UsageError("there is no such file or folder", subject=str(path))
    if is_archive(path):
        return ArchiveSource(path)
    return FileSource(path)


def is_archive(path: Path) -> bool:
    """Return True if the name is an archive's; content does not tell, as torch weights are zips."""
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


def _is_zip(path: Path) -> bool:
    return path.name.casefold().endswith(".zip")


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
            "this archive cannot be read: it is damaged or no archive",
            subject=str(path),
            remedy="Copy or download it again.",
            detail=f"{type(error).__name__}: {error}",
        ) from error


def _check_growth(total: int, path: Path) -> None:
    if total > _MOST_GROWTH * path.stat().st_size + _SLACK:
        raise hostile("it would grow beyond all measure when it is unpacked")


def _zip_sizes(path: Path) -> dict[str, int]:
    sizes: dict[str, int] = {}
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
    for info in entries:
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise hostile(f"it holds a link or device: {info.filename[:120]!r}")
        if info.flag_bits & 1:
            raise hostile("it is encrypted")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise hostile("it is compressed in a way that is not taken")
        if info.is_dir():
            safe_name(info.orig_filename.rstrip("/"))
            continue
        name = safe_name(info.orig_filename)
        if name in sizes:
            raise hostile(f"it holds one file twice: {name[:120]!r}")
        sizes[name] = info.file_size
    _check_growth(sum(sizes.values()), path)
    return sizes


def _zip_streams(path: Path, names: frozenset[str]) -> Iterator[tuple[str, IO[bytes]]]:
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
                raise hostile(f"it holds a link or device: {name[:120]!r}")
            if name in sizes:
                raise hostile(f"it holds one file twice: {name[:120]!r}")
            sizes[name] = member.size
            _check_growth(sum(sizes.values()), path)  # before the file's content is skipped
            if len(sizes) > MOST_FILES:
                break  # `check_names` refuses it for that
    return sizes


def _tar_streams(path: Path, names: frozenset[str]) -> Iterator[tuple[str, IO[bytes]]]:
    with _open_stream(path) as packed, tarfile.open(fileobj=packed, mode="r:") as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            if name in names and member.isreg():
                stream = archive.extractfile(member)
                if stream is not None:
                    yield name, stream
