"""The images that a run may touch: what was open when it started, and what it makes.

A tool names an image by the app's id ("image-1") or a path. A path is taken only if it is that of
an open image or lies in the run's own output folder; of any other nothing is said, not even
whether it exists, and nothing on the disk is touched.
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from app.errors import SightlineError
from app.imaging.attributes import AttributeRow
from app.imaging.files import synthetic
from app.imaging.pixels import pipeline, windows
from app.imaging.types import Content, Frame, ImageRef, Instance, Window
from app.tools import lineage
from app.tools.api import ImageSnapshot, LaidOn, ToolRetry
from app.tools.laid_pictures import laid_snapshot
from app.tools.open_images import OpenImage, OpenImages, lexical

__all__ = ["FrameSource", "OpenImage", "RunImages"]

_KEPT = 4
_DECODE_TIMEOUT_S = 120.0
_LISTED = 8
_HEADERS = 200  # files whose whole header is read

_NAMES = {
    Content.IMAGE: "an image",
    Content.SEGMENTATION: "a segmentation",
    Content.STRUCTURES: "a set of contours",
    Content.PRESENTATION: "a presentation state",
    Content.KEY_OBJECTS: "a selection of key images",
    Content.REPORT: "a report",
    Content.DOCUMENT: "a document",
    Content.WAVEFORM: "a waveform",
    Content.OTHER: "an object that cannot be displayed",
}


class FrameSource(Protocol):
    """What decodes; `app.imaging.decode.Decoder` is one."""

    def frame(self, instance: Instance, index: int) -> Future[Frame]:
        """The decoded frame, soon."""
        ...


class RunImages:
    """Implements `app.tools.api.Images`. Thread-safe.

    Args:
        opened: What is open, the current image first.
        out_dir: The run's own output folder; it exists.
        source: Decodes frames.
    """

    def __init__(self, opened: Sequence[OpenImage], out_dir: Path, source: FrameSource) -> None:
        self._opened = tuple(opened)
        self._by_name = OpenImages(self._opened)
        self._source = source
        self._out = lexical(out_dir)
        self._out_real = self._out.resolve()
        self._derived: OrderedDict[Path, tuple[ImageSnapshot | None, LaidOn | None]] = OrderedDict()
        self._cache: OrderedDict[tuple[Path, int], ImageSnapshot] = OrderedDict()
        self._used: dict[tuple[str, int], dict[str, Any]] = {}
        self._lock = threading.Lock()

    def resolve(self, name: str, frame: int | None = None) -> ImageSnapshot:
        """The image named by the app's id or a path; see `app.tools.api.Images`.

        Raises:
            ToolRetry: It is neither open nor in the run's output folder, or has no such frame.
            FileProblem: It cannot be decoded.
        """
        image = self._by_name.find(name)
        if image is not None:
            return self._snapshot_of(image, frame)
        path = self._own_file(name)
        if path is None:
            raise ToolRetry("that names no image of this run", remedy=self._offer())
        if frame not in (None, 0):
            raise ToolRetry("a picture made in this run has one frame, number 0")
        return self._picture(path)

    def add_derived(
        self, path: Path, source: ImageSnapshot | None, *, laid: LaidOn | None = None
    ) -> None:
        """Note that `path` was made in this run; see `app.tools.api.Images`.

        Raises:
            ValueError: It does not lie in the run's output folder.
        """
        real = path.resolve()
        if not real.is_relative_to(self._out_real):
            raise ValueError("a derived image must lie in the run's output folder")
        with self._lock:
            self._derived[real] = source, laid
            self._cache.pop((real, 0), None)
        # A picture of what is not open itself (drawn by a model here) stands alone another day: its
        # own file says that it is synthetic.
        uids = {image.instance.sop_instance_uid for image in self._opened}
        refs = [image.ref for image in (source, laid.image if laid else source) if image]
        if source is not None and all(ref.sop_instance_uid in uids for ref in refs):
            origin = lineage.Origin(source.ref, source.window)
            if laid is not None:
                origin = replace(origin, laid_on=laid.image.ref, scale=laid.scale)
            lineage.record(self._out_real, self._noted_name(real), origin)

    def names(self) -> tuple[str, ...]:
        """Ids of the open images, the current one first, then the paths of those made here.

        A report or another object that is shown is no image and not among them.
        """
        with self._lock:
            made = [str(path) for path in self._derived]
        return (*(image.id for image in self._opened if image.instance.is_image), *made)

    def headers(self) -> list[tuple[str, str]]:
        """Keyword (tag, of a private attribute) and value of all that the open files' headers say.

        Of each series one file is read, and the one that is shown; one that cannot be read says
        nothing. It takes as long as the files take to be read.
        """
        ask = getattr(self._source, "attributes", None)
        if ask is None:
            return []
        series = {
            (i.instance.get("SeriesInstanceUID"), i.instance.content): i.instance
            for i in reversed(self._opened[1:])
        }
        chosen = [*(i.instance for i in self._opened[:1]), *series.values()][:_HEADERS]
        pending = [ask(instance) for instance in chosen if instance.kind == "dicom"]
        told: list[tuple[str, str]] = []
        for reply in pending:
            with contextlib.suppress(SightlineError, TimeoutError, CancelledError):
                rows = reply.result(_DECODE_TIMEOUT_S)
                told += [(_key_of(row), row.value) for row in rows if row.value]
        return told

    def knows(self, name: str) -> bool:
        """Whether this names an open image, by its id, its path or a file name of its own."""
        return self._by_name.find(name) is not None

    def notes(self, remote: bool) -> list[dict[str, Any]]:
        """What a language model is told of the open images; see `OpenImages.notes`."""
        return self._by_name.notes(remote)

    def used(self) -> list[dict[str, Any]]:
        """What was read so far, for the record: which pixels of which file, and how shown."""
        with self._lock:
            return list(self._used.values())

    def studies(self) -> list[str]:
        """StudyInstanceUID of what is open."""
        uids = {image.instance.get("StudyInstanceUID") for image in self._opened}
        return sorted(uids - {""})

    def _own_file(self, name: str) -> Path | None:
        r"""The file in the output folder, links and ".." followed; None for anything else.

        The text alone must already lie in the folder: a path elsewhere is never touched, since on
        Windows merely looking at \\server\share logs in there.
        """
        wanted = name.strip()
        if not wanted or "\0" in wanted:
            return None
        path = lexical(self._out / wanted)
        if not (path.is_relative_to(self._out) or path.is_relative_to(self._out_real)):
            return None
        try:
            real = path.resolve()
            inside = real.is_relative_to(self._out_real) and real.is_file()
        except (OSError, RuntimeError, ValueError):
            return None
        return real if inside else None

    def _offer(self) -> str:
        names = self.names()
        if not names:
            return "No image is open: ask the user to open one."
        more = "" if len(names) <= _LISTED else f" and {len(names) - _LISTED} more"
        return f"Use one of: {', '.join(names[:_LISTED])}{more}."

    def _snapshot_of(self, image: OpenImage, index: int | None) -> ImageSnapshot:
        if not image.instance.is_image:
            raise ToolRetry(
                f"{image.id} is {_NAMES[image.instance.content]}, and tools are run on images only",
                remedy=self._offer(),
            )
        number = image.frame_index if index is None else index
        if not 0 <= number < image.instance.frames:
            raise ToolRetry(
                f"{image.id} has {image.instance.frames} frames, numbered from 0",
                remedy=f"Name a frame from 0 to {image.instance.frames - 1}.",
            )
        key = (Path(image.id), number)
        known = self._cached(key)
        if known is not None:
            return known
        frame = self._decode(image.instance, number)
        self._note_used(image, frame)
        window = None if frame.is_color else image.window or windows.default_window(frame)
        drawn = tuple(finding for finding in image.drawn if finding.image == frame.ref)
        natural = _snapshot(image.instance, frame, window)
        made = replace(natural, inverted=image.invert, drawn=drawn)
        return self._keep(key, made)

    def _note_used(self, image: OpenImage, frame: Frame) -> None:
        instance, ref = image.instance, frame.ref
        facts = {
            "id": image.id,
            "path": str(instance.path),
            "part": instance.part,
            "sop_instance_uid": ref.sop_instance_uid,
            "study_instance_uid": instance.get("StudyInstanceUID"),
            "frame": ref.frame,
            "pixel_sha256": ref.pixel_sha256,
            "shown_frame": image.frame_index,
            "window": lineage.window_json(image.window),
            "invert": image.invert,
        }
        with self._lock:
            self._used[image.id, ref.frame] = facts

    def _picture(self, path: Path) -> ImageSnapshot:
        """A picture of the output folder; what it was made from lends it spacing and identity."""
        key = (path, 0)
        known = self._cached(key)
        if known is not None:
            return known
        frame = self._decode(Instance(path, "", "picture", 0, 0), 0)
        # As it is: an automatic window would stretch a picture of few greys.
        display = np.asarray(frame.stored, np.uint8) if _is_bytes(frame) else pipeline.render(frame)
        source, laid = self._source_of(path)
        like = laid.image if laid else source
        size = None if like is None else (like.frame.rows, like.frame.columns)
        if source is None or display.shape[:2] != size:
            made = _alone(path, frame, display)
        elif laid is not None:
            made = laid_snapshot(path, frame, display, source, laid)
        else:
            made = ImageSnapshot(
                ref=source.ref,
                path=path,
                instance=source.instance,
                frame=source.frame,
                display=display,
                window=source.window,
                derived=True,
                drawn=source.drawn,
            )
        return self._keep(key, made)

    def _source_of(self, path: Path) -> tuple[ImageSnapshot | None, LaidOn | None]:
        """What a picture was made from, now or by an earlier question of the conversation.

        Raises:
            ToolRetry: From an image that is not open any more. Taken on its own, the picture would
                have lost modality, sides and spacing: a CT slice would pass for a radiograph.
        """
        with self._lock:
            if path in self._derived:
                return self._derived[path]
        origin = lineage.find(self._out_real, self._noted_name(path))
        if origin is None:
            return None, None
        source = self._once_more(origin.ref, origin.window)
        if origin.laid_on is None:
            return source, None
        return source, LaidOn(self._once_more(origin.laid_on, None), origin.scale)

    def _once_more(self, wanted: ImageRef, window: Window | None) -> ImageSnapshot:
        """The open image with these pixels.

        Raises:
            ToolRetry: It is not open any more.
        """
        for image in self._opened:
            same = image.instance.sop_instance_uid == wanted.sop_instance_uid
            if same and 0 <= wanted.frame < image.instance.frames:
                frame = self._decode(image.instance, wanted.frame)
                if frame.ref == wanted:
                    return _snapshot(image.instance, frame, window)
        raise ToolRetry(
            "the image that this picture was made from is not open any more",
            remedy=f"Open it again. {self._offer()}",
        )

    def _noted_name(self, path: Path) -> str:
        return path.relative_to(self._out_real).as_posix()

    def _decode(self, instance: Instance, index: int) -> Frame:
        return self._source.frame(instance, index).result(_DECODE_TIMEOUT_S)

    def _cached(self, key: tuple[Path, int]) -> ImageSnapshot | None:
        with self._lock:
            known = self._cache.get(key)
            if known is not None:
                self._cache.move_to_end(key)
            return known

    def _keep(self, key: tuple[Path, int], snapshot: ImageSnapshot) -> ImageSnapshot:
        with self._lock:
            self._cache[key] = snapshot
            while len(self._cache) > _KEPT:
                self._cache.popitem(last=False)
        return snapshot


def _snapshot(instance: Instance, frame: Frame, window: Window | None) -> ImageSnapshot:
    return ImageSnapshot(
        ref=frame.ref,
        path=instance.path,
        instance=instance,
        frame=frame,
        display=pipeline.render(frame, window),
        window=window,
    )


def _alone(path: Path, frame: Frame, display: NDArray[np.uint8]) -> ImageSnapshot:
    """A picture of which no more is known than it says itself."""
    model = synthetic.file_model_title(path)
    says = {synthetic.ATTRIBUTE: model} if model else {}
    uid = frame.ref.sop_instance_uid
    instance = Instance(path, uid, "picture", frame.rows, frame.columns, attributes=says)
    return ImageSnapshot(frame.ref, path, instance, frame, display, None, derived=True)


def _key_of(row: AttributeRow) -> str:
    return row.tag if row.keyword.startswith("[") else row.keyword


def _is_bytes(frame: Frame) -> bool:
    return frame.stored.dtype == np.uint8 and frame.palette is None
