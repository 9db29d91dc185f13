"""Model packs: models with a manifest, for places without a network.

A pack is a zip or tar archive, or a folder, with `sightline-model-pack.toml` at its root:

    format = 1

    [[models]]
    card = "maira-2"
    revision = "<commit>"

    [[models.files]]
    name = "config.json"        # lies at maira-2/config.json
    size = 1234
    sha256 = "..."
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import shutil
import tarfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Generator, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from pydantic import TypeAdapter, ValidationError

from app.errors import SightlineError, UsageError
from app.tools.api import CancelToken, Progress
from app.tools.models.digests import CHUNK, ByteProgress, read_sha256
from app.tools.models.durable_files import publish
from app.tools.models.file_names import hostile, is_revision, is_sha256, safe_name
from app.tools.models.places import Place
from app.tools.models.records import to_toml

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
    """A model in a model pack: card name, files, commit and, for information only, licence."""

    card: str
    files: tuple[PackFile, ...]
    revision: str = ""
    licence: str = ""

    def inside(self, name: str) -> str:
        """Return the path inside the pack of the model's file `name`."""
        return f"{self.card}/{name}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a model pack; `made` is the time when it was written, ISO 8601 in UTC."""

    format: int
    models: tuple[PackModel, ...]
    made: str = ""


def read_manifest(data: bytes) -> Manifest:
    """Parse a pack's manifest.

    Raises:
        SightlineError: The data is not a manifest, or is one in a later format.
        Hostile: The manifest contains names, digests or commits that are refused.
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
            raise hostile("its manifest names a revision that is not a commit")
        for file in model.files:
            safe_name(file.name)
            if not is_sha256(file.sha256):
                raise hostile("its manifest contains an invalid sha256")
    return made


def write_pack(
    places: Iterable[Place],
    out: Path,
    *,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
) -> Manifest:
    """Write installed models into a new pack, checking each file against its record.

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
    partial = out.with_name(f"{out.name}.part")
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


def _describe(place: Place, cancel: CancelToken | None) -> PackModel:
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
        """Read up to `size` bytes."""
        data = self._stream.read(size)
        self.digest.update(data)
        self._counter(len(data))
        return data


def _write_all(
    places: list[Place], manifest: Manifest, target: Path, name: str, counter: ByteProgress
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
