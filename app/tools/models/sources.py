"""Reads models from a file, folder, zip or tar archive without unpacking it, and writes packs.

An archive is listed first, and refused as a whole if a single entry in it is hostile. Its files are
then read as streams; the caller alone decides where they are written.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import itertools
import shutil
import stat
import tarfile
import time
import tomllib
import uuid
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from pydantic import TypeAdapter, ValidationError

from app.errors import SightlineError, UsageError
from app.tools.api import CancelToken, Progress
from app.tools.models.durable_files import (
    MOST_FILES,
    check_names,
    is_revision,
    is_sha256,
    publish,
    safe_name,
    unsafe,
)
from app.tools.models.places import ModelPaths
from app.tools.models.records import CHUNK, ByteProgress, read_sha256, to_toml

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
    """A file, folder or archive whose files can be listed, and then read once in stored order.

    Attributes:
        label: The source's name, for messages and for the installation's record.
        sizes: Maps each file's name, with "/", to its size in bytes.
        streams: A function that takes names of files and yields (name, open file) for each.
        is_file: True if the source is a single file.
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
    """Return the file, folder or archive at a path as a `Source`.

    Raises:
        UsageError: There is nothing at the path.
        UnsafeFileError: The archive or folder contains names or entries that are refused.
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
    """Return a folder as a `Source` with this label; hidden files and folders are left out.

    Symbolic links must not lead out of `root`, by default the folder itself.

    Raises:
        UnsafeFileError: The folder contains names, links or devices that are refused.
    """
    within = (root or path).resolve()
    sizes: dict[str, int] = {}
    # The walk ends early in a folder that is too large for a model.
    paths = list(itertools.islice(path.rglob("*"), 2 * MOST_FILES))
    if len(paths) == 2 * MOST_FILES:
        raise unsafe(f"it contains more than {MOST_FILES:,} files")
    for file in sorted(paths):
        parts = file.relative_to(path).parts
        name = "/".join(parts)
        if any(part.startswith(".") or part == "__pycache__" for part in parts):
            continue
        if file.is_symlink() and not file.resolve().is_relative_to(within):
            raise unsafe(f"it contains a link that leads out of it: {name!r}")
        if file.is_dir():
            if file.is_symlink():
                raise unsafe(f"it contains a link to a folder: {name!r}")
            continue
        if not file.is_file():
            raise unsafe(f"it contains something that is not a file: {name!r}")
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
    """Return True if a file's name ends in .zip, .tar, .tar.gz or .tgz, whatever its content."""
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
    """Turn errors from reading an archive in the `with` block into `SightlineError`s.

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
        raise unsafe("it would become far too large when unpacked")


def _zip_sizes(path: Path) -> dict[str, int]:
    sizes: dict[str, int] = {}
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
    for info in entries:
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise unsafe(f"it contains a link or device: {info.filename[:120]!r}")
        if info.flag_bits & 1:
            raise unsafe("it is encrypted")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise unsafe("it is compressed in a way that is not supported")
        if info.is_dir():
            safe_name(info.orig_filename.rstrip("/"))
            continue
        name = safe_name(info.orig_filename)
        if name in sizes:
            raise unsafe(f"it contains one file twice: {name[:120]!r}")
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
            raise unsafe("its headers are too long")
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
                raise unsafe(f"it contains a link or device: {name[:120]!r}")
            if name in sizes:
                raise unsafe(f"it contains one file twice: {name[:120]!r}")
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


MANIFEST = "sightline-model-pack.toml"
FORMAT = 1
LONGEST_MANIFEST = 1 << 22


@dataclass(frozen=True, slots=True)
class PackFile:
    """A model's file in a model pack: its name on the card, its size in bytes and its SHA-256."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class PackModel:
    """A model in a model pack: card name, files, commit and (for information only) licence."""

    card: str
    files: tuple[PackFile, ...]
    revision: str = ""
    licence: str = ""

    def inside(self, name: str) -> str:
        """Return the path inside the pack of the model's file `name`."""
        return f"{self.card}/{name}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a model pack; `made` is the time when it was written, ISO 8601 in UTC.

    A pack is a zip or tar archive, or a folder, with `sightline-model-pack.toml` at its root:
    `format = 1`; for each model `[[models]]` with `card` and `revision`; for each of its files
    `[[models.files]]` with `name` (it lies at <card>/<name>), `size` and `sha256`.
    """

    format: int
    models: tuple[PackModel, ...]
    made: str = ""


def read_manifest(data: bytes) -> Manifest:
    """Return the manifest of a model pack, from the bytes of its TOML file.

    Raises:
        SightlineError: The data is not a manifest, or is one in a later format.
        UnsafeFileError: The manifest contains names, digests or commits that are refused.
    """
    try:
        found: dict[str, Any] = tomllib.loads(data.decode("utf-8"))
        if found.get("format") != FORMAT:
            raise SightlineError(
                f"this model pack has format {found.get('format')!r}, which is not {FORMAT}",
                remedy="Install it with the Sightline that made it, or a later one.",
            )
        made = TypeAdapter(Manifest).validate_python(found)
    except (ValueError, ValidationError, RecursionError) as error:
        raise SightlineError(
            f"{MANIFEST} is not the manifest of a model pack", detail=str(error)[:2000]
        ) from error
    for model in made.models:
        safe_name(model.card)
        if model.revision and not is_revision(model.revision):
            raise unsafe("its manifest names a revision that is not a commit")
        for file in model.files:
            safe_name(file.name)
            if not is_sha256(file.sha256):
                raise unsafe("its manifest contains an invalid sha256")
    return made


def write_pack(
    places: Iterable[ModelPaths],
    out: Path,
    *,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
) -> Manifest:
    """Write a new pack of installed models, checked against their records; return its manifest.

    Raises:
        UsageError: The file exists, its ending is not .zip, .tar, .tar.gz or .tgz, or a model is
            not installed.
        Cancelled: `cancel` was set; no file is left behind.
        SightlineError: There is no disk space, or a model has changed since it was installed.
    """
    chosen = list(places)
    _check_out(out)
    manifest = Manifest(
        FORMAT,
        tuple(_describe(place, cancel) for place in chosen),
        made=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )
    total = sum(file.size for model in manifest.models for file in model.files)
    partial = out.with_name(f".{out.name}.{uuid.uuid4().hex[:8]}.part")
    counter = ByteProgress(total, progress, cancel)
    try:
        if shutil.disk_usage(out.parent).free < total:
            raise SightlineError(
                f"{out.parent} has not enough space: {total / 1e9:.1f} GB are needed",
                remedy="Make space, or write the pack elsewhere.",
            )
        _write_all(chosen, manifest, partial, out.name, counter)
        publish(partial, out)
    except OSError as error:
        raise SightlineError(
            f"it cannot be written ({error.strerror or error})", subject=str(out)
        ) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
    return manifest


def _check_out(out: Path) -> None:
    if not out.name.casefold().endswith((".zip", ".tar", ".tar.gz", ".tgz")):
        raise UsageError("a model pack is a .zip, .tar, .tar.gz or .tgz file", subject=str(out))
    if out.exists():
        raise UsageError("it exists already", subject=str(out), remedy="Choose another name.")
    if not out.parent.is_dir():
        raise UsageError("there is no such folder", subject=str(out.parent))


def _describe(place: ModelPaths, cancel: CancelToken | None) -> PackModel:
    if place.card.embedded or place.missing():
        why = "it comes with every Sightline" if place.card.embedded else "it is not installed"
        raise UsageError(why, subject=place.card.name)
    record = place.record()
    files: list[PackFile] = []
    for name in place.present_files(record):
        noted = record.file(name) if record else None
        path = place.file(name)
        sha256 = noted.sha256 if noted else read_sha256(path, cancel=cancel)
        files.append(PackFile(name, noted.size if noted else path.stat().st_size, sha256))
    revision = record.revision if record else ""
    return PackModel(place.card.name, tuple(files), revision, place.card.licence)


class _Hashed(io.RawIOBase):
    """A stream whose content is hashed while the archive's writer reads it."""

    def __init__(self, stream: IO[bytes], counter: ByteProgress) -> None:
        self._stream = stream
        self._counter = counter
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self.digest.update(data)
        self._counter(len(data))
        return data


def _write_all(
    places: list[ModelPaths], manifest: Manifest, target: Path, name: str, counter: ByteProgress
) -> None:
    text = to_toml(asdict(manifest)).encode()
    with _archive(target, name) as add:
        add(MANIFEST, len(text), io.BytesIO(text))
        for place, model in zip(places, manifest.models, strict=True):
            for file in model.files:
                path = place.file(file.name)
                changed = path.stat().st_size != file.size
                with path.open("rb") as stream:
                    hashed = _Hashed(stream, counter)
                    if not changed:
                        add(model.inside(file.name), file.size, hashed)
                if changed or hashed.digest.hexdigest() != file.sha256:
                    raise SightlineError(
                        f"{file.name} was changed since {model.card} was installed",
                        remedy="Install the model again; a pack contains what was installed.",
                    )


@contextlib.contextmanager
def _archive(target: Path, name: str) -> Generator[Callable[[str, int, Any], None]]:
    """Open an archive; yield a function `add(name, size, stream)`. Weights are not compressed."""
    if name.casefold().endswith(".zip"):
        with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED, allowZip64=True) as zipped:

            def add_to_zip(inside: str, size: int, stream: Any) -> None:
                # The earliest time that zip knows: digests identify the files, not times.
                info = zipfile.ZipInfo(inside, (1980, 1, 1, 0, 0, 0))
                info.external_attr = 0o100644 << 16
                with zipped.open(info, "w", force_zip64=size >= 1 << 31) as into:
                    shutil.copyfileobj(stream, into, CHUNK)

            yield add_to_zip
        return
    packed = name.casefold().endswith(("gz",))
    with tarfile.open(target, "w:gz" if packed else "w", format=tarfile.PAX_FORMAT) as tar:

        def add_to_tar(inside: str, size: int, stream: Any) -> None:
            info = tarfile.TarInfo(inside)
            info.size, info.mode = size, 0o644
            tar.addfile(info, stream)

        yield add_to_tar
