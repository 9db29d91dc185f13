"""Writes pictures one after the other: PNG, JPEG, TIFF, GIF or, with `movie_file`, MP4.

Only one picture is in memory at a time. A file appears under its name when it is whole, and holds
pixels only: nothing of the image's header, no file name, no program.
"""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from PIL import GifImagePlugin, Image, TiffImagePlugin

from app.audit.exports import check_target
from app.errors import FileProblem
from app.imaging.guards import problem
from app.views.translation import tr

Pixels = NDArray[np.uint8]

QUALITY = 90
"""Quality of JPEG pictures unless the user chooses another, 1 to 100."""

_TIFF_BYTES = 4 * 10**9  # addresses in a TIFF file have 32 bits
_CENTISECOND = 10.0  # ms, the unit of durations in GIF
_LEAST_GIF = 2  # centiseconds; many programs slow down what is shorter


class Form(StrEnum):
    """The form of a picture's file, named by its suffix."""

    PNG = "png"
    JPEG = "jpg"
    TIFF = "tiff"
    GIF = "gif"
    MP4 = "mp4"


SUFFIXES = {"jpeg": Form.JPEG, "tif": Form.TIFF, **{form.value: form for form in Form}}
"""Forms by lower-case suffix without the dot."""

NUMBERED = (Form.PNG, Form.JPEG)
"""Forms that hold one picture: a series becomes numbered files."""

MOVIES = (Form.MP4, Form.GIF)


class PictureWriter(ABC):
    """Writes pictures of one size; use it in a `with` statement.

    Pictures of another size are centred on black, or cut. If the body of the `with` statement
    raises, what was written is deleted.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._size: tuple[int, int] | None = None

    def __enter__(self) -> PictureWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        try:
            if kind is None:
                self._finish()
            else:
                self._discard()
        except OSError as failed:
            self._discard()
            raise _unwritten(self.path, failed) from None
        except BaseException:
            self._discard()
            raise

    def write(self, pixels: Pixels, duration_ms: float = 0.0) -> None:
        """Write uint8 [rows, columns, 3] RGB; `duration_ms` is how long a movie shows it.

        Raises:
            FileProblem: The file cannot be written.
        """
        if self._size is None:
            self._size = pixels.shape[0], pixels.shape[1]
        if pixels.shape[:2] != self._size:
            pixels = _placed(pixels, self._size)
        try:
            self._add(pixels, duration_ms)
        except OSError as failed:
            raise _unwritten(self.path, failed) from None

    @abstractmethod
    def _add(self, pixels: Pixels, duration_ms: float) -> None: ...

    @abstractmethod
    def _finish(self) -> None: ...

    @abstractmethod
    def _discard(self) -> None: ...


class TemporaryFile:
    """A file beside its place; moved there when it is whole.

    Attributes:
        path: Where it is now.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        try:
            handle, name = tempfile.mkstemp(
                dir=target.parent, prefix=".sightline-", suffix=target.suffix
            )
        except OSError as failed:
            raise _unwritten(target, failed) from None
        os.close(handle)
        self.path = Path(name)

    def keep(self) -> None:
        """Move it to its place, on the disk."""
        with self.path.open("rb+") as stream:
            os.fsync(stream.fileno())
        self.path.replace(self._target)

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)


class _Numbered(PictureWriter):
    """One file a picture; with more than one, numbered from 1."""

    def __init__(self, path: Path, form: Form, count: int, quality: int) -> None:
        super().__init__(path)
        self._form, self._quality = form, quality
        self._names = iter(numbered(path, count))
        self._written: list[tuple[TemporaryFile, Path]] = []

    def write(self, pixels: Pixels, duration_ms: float = 0.0) -> None:
        self._size = None  # each file may have a size of its own
        super().write(pixels, duration_ms)

    def _add(self, pixels: Pixels, duration_ms: float) -> None:
        name = next(self._names)
        file = TemporaryFile(name)
        self._written.append((file, name))
        save_picture(pixels, file.path, self._form, self._quality)

    def _finish(self) -> None:
        for file, _name in self._written:
            file.keep()

    def _discard(self) -> None:
        for file, _name in self._written:
            file.discard()


class _Stream(PictureWriter):
    """One file, written through a stream."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._file = TemporaryFile(path)
        self._stream: IO[bytes] = self._file.path.open("w+b")

    def _finish(self) -> None:
        self._stream.close()
        self._file.keep()

    def _discard(self) -> None:
        self._stream.close()
        self._file.discard()


class _Tiff(_Stream):
    """A TIFF file with a page for each picture."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._pages: Any = TiffImagePlugin.AppendingTiffWriter(self._stream, new=True)

    def _add(self, pixels: Pixels, duration_ms: float) -> None:
        if self._stream.tell() + pixels.nbytes > _TIFF_BYTES:
            raise FileProblem(
                tr("a TIFF file cannot be larger than 4 GB"),
                subject=str(self.path),
                remedy="Choose a smaller size, or numbered PNG files",
            )
        _image(pixels).save(self._pages, "TIFF", compression="tiff_deflate")
        self._pages.newFrame()

    def _finish(self) -> None:
        self._pages.finalize()
        super()._finish()


class _Gif(_Stream):
    """An animated GIF file that starts again at its end; each picture has its own 256 colours."""

    def __init__(self, path: Path, *, lasting: bool) -> None:
        super().__init__(path)
        self._lasting = lasting  # whether it is a movie
        self._time = self._written = 0.0
        self._begun = False

    def _add(self, pixels: Pixels, duration_ms: float) -> None:
        image = _image(pixels)
        if image.mode == "L":
            greys = bytes(level for level in range(256) for _part in range(3))
            image = Image.frombytes("P", image.size, image.tobytes())
            image.putpalette(greys)
        else:
            image = image.quantize(256, Image.Quantize.FASTOCTREE)
        if not self._begun:
            loop = {"loop": 0, "duration": duration_ms} if self._lasting else {}
            for block in GifImagePlugin._get_global_header(image, loop):
                self._stream.write(block)
            self._begun = True
        # Rounded from the start of the movie, so that roundings do not add up.
        self._time += duration_ms
        steps = max(round((self._time - self._written) / _CENTISECOND), _LEAST_GIF)
        self._written += steps * _CENTISECOND
        lasting: dict[str, Any] = {"duration": steps * int(_CENTISECOND)} if self._lasting else {}
        for block in GifImagePlugin.getdata(image, include_color_table=True, **lasting):
            self._stream.write(block)

    def _finish(self) -> None:
        self._stream.write(b";")
        super()._finish()


def open_writer(path: Path, form: Form, count: int = 1, quality: int = QUALITY) -> PictureWriter:
    """Return a writer of `count` pictures to `path`, or to numbered files beside it.

    `quality` is that of JPEG, 1 to 100.

    Raises:
        FileProblem: The folder cannot be written to, or there is no encoder for movies.
    """
    if form in NUMBERED:
        return _Numbered(path, form, count, quality)
    if form is Form.TIFF:
        return _Tiff(path)
    if form is Form.GIF:
        return _Gif(path, lasting=count > 1)
    from app.views.pictures.movie_file import Mp4Writer  # its libraries take 0.2 s to load

    return Mp4Writer(path)


def numbered(path: Path, count: int) -> list[Path]:
    """Return the names of `count` files: `path`, or if there are several "name-001.png" etc."""
    if count == 1:
        return [path]
    digits = max(len(str(count)), 3)
    return [path.with_stem(f"{path.stem}-{number:0{digits}}") for number in range(1, count + 1)]


def check_files(path: Path, form: Form, count: int, opened: Iterable[Path], replace: bool) -> None:
    """Check that files may be written; numbered ones must be new: only `path` was asked for."""
    several = form in NUMBERED and count > 1
    names = numbered(path, count) if several else [path]
    opened = list(opened) if any(name.exists() for name in names) else []
    for name in names:
        if several and name.exists():
            raise FileProblem(
                tr("it exists already"),
                subject=str(name),
                remedy="Choose another name or an empty folder",
            )
        check_target(name, opened, replace=replace)


def save_picture(
    pixels: Pixels, target: Path | IO[bytes], form: Form, quality: int = QUALITY
) -> None:
    """Write one picture, uint8 [rows, columns, 3] or [rows, columns], as PNG or JPEG."""
    image = _image(pixels)
    if form is Form.JPEG:
        # Full colour resolution: thin coloured lines would be blurred otherwise.
        image.save(target, "JPEG", quality=quality, subsampling=0)
    else:
        image.save(target, "PNG", compress_level=1)


def _image(pixels: Pixels) -> Image.Image:
    """Return a picture; a grey one where all colours are greys."""
    if pixels.ndim == 3:
        red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
        if np.array_equal(red, green) and np.array_equal(red, blue):
            pixels = red
    return Image.fromarray(np.ascontiguousarray(pixels))


def _placed(pixels: Pixels, size: tuple[int, int]) -> Pixels:
    """Return a picture in the middle of a black one of `size` (rows, columns), or cut to it."""
    result = np.zeros((*size, *pixels.shape[2:]), np.uint8)
    here: list[slice] = []
    there: list[slice] = []
    for wanted, given in zip(size, pixels.shape[:2], strict=True):
        least = min(wanted, given)
        start, at = (given - least) // 2, (wanted - least) // 2
        here.append(slice(at, at + least))
        there.append(slice(start, start + least))
    result[here[0], here[1]] = pixels[there[0], there[1]]
    return result


def _unwritten(path: Path, error: OSError) -> FileProblem:
    return problem(
        path,
        tr("it cannot be written ({strerror})").format(
            strerror=error.strerror or type(error).__name__
        ),
        "Check the folder's permissions and the space on the disk",
    )
