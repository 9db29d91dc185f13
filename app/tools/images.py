"""The images that a run may read: those that were open when it started, and those it makes.

A tool names an image by the app's id ("image-1") or a path. A path is accepted only if it is that
of an open image or lies in the run's own output folder. Any other path is never touched, and the
error does not even say whether it exists.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Container, Iterable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from stat import S_ISREG
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from app.errors import SightlineError
from app.imaging.axes import Axes, dye_names
from app.imaging.files import synthetic
from app.imaging.findings import Finding, State
from app.imaging.pixels import pipeline, windows
from app.imaging.pixels.regions import Box, PixelRegion, clipped, cropped
from app.imaging.space import projections
from app.imaging.studies.catalogue import Identity, conflict, identity_of, surely_same
from app.imaging.types import (
    MISSING_ROWS,
    Content,
    Frame,
    ImageRef,
    Instance,
    Orientation,
    Series,
    Spacing,
    Volume,
    Window,
)
from app.tools import groups, picture_sources
from app.tools.api import (
    MAX_VOLUME_BYTES,
    CancelToken,
    ImageSnapshot,
    ImageVolume,
    RegistrationTarget,
    ToolFailed,
    ToolRetry,
)

_MOST_DECIDED = 60  # findings that a language model is told of
_MOST_NOTES = 200  # images that a language model is told of


@dataclass(frozen=True, slots=True)
class OpenImage:
    """An image as it was shown in the viewer when the run started.

    Attributes:
        id: The app's id; "image-1" is the current image.
        instance: The image's file.
        frame_index: Index of the shown frame, from 0.
        window: The grey-value window that it was shown with; None for the window given in the file.
        invert: Whether the user had inverted the greys. Tools always get the image with its natural
            polarity, which their models expect.
        drawn: Boxes and points that the user marked on any of its frames, the latest last.
        findings: Findings of tools on any of its frames, with what the user made of them.
        place: (number of the image in its series, from 1; number of images in that series), or
            (0, 0) if unknown.
        marks: All that the user drew on any of its frames or on sections through it.
        series: The series that it belongs to; None for the open images with its UID of a series.
    """

    id: str
    instance: Instance
    frame_index: int = 0
    window: Window | None = None
    invert: bool = False
    drawn: tuple[Finding, ...] = ()
    place: tuple[int, int] = (0, 0)
    findings: tuple[Finding, ...] = ()
    series: Series | None = None
    marks: tuple[Finding, ...] = ()


def _axes(axes: Axes | None) -> dict[str, Any]:
    """Return what a language model and planner are told of the axes of an image."""
    if axes is None:
        return {}
    told: dict[str, Any] = {}
    if len(axes.channels) > 1:
        told["channels"] = list(axes.names)
    if axes.depths > 1:
        told["depths"] = axes.depths
    if axes.times > 1:
        told["times"] = axes.times
    return told


def _place(place: tuple[int, int]) -> dict[str, int]:
    return {"image_number": place[0], "images_in_series": place[1]} if place[1] > 1 else {}


def _grouped(member: groups.Membership) -> dict[str, str]:
    known = {"group": member.group, "replicate": member.replicate}
    return {key: value for key, value in known.items() if value}


def rejected_calls(images: Iterable[OpenImage], runs: Container[str]) -> tuple[str, ...]:
    """Return the ids of the tool calls of whose findings the user has rejected every one.

    Only calls of a conversation's `runs`, by their ids: another may have a call with the same id.
    """
    states: dict[str, set[State]] = {}
    for image in images:
        for one in (found for found in image.findings if found.provenance.run_id in runs):
            states.setdefault(one.provenance.call_id, set()).add(one.state)
    return tuple(call for call, found in states.items() if call and found == {State.REJECTED})


def _decisions(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return what the user made of tools' findings: their labels by tool, by state."""
    found: dict[str, list[str]] = {}
    decided = [one for one in findings if one.state is not State.PROPOSED]
    for one in decided[-_MOST_DECIDED:]:
        found.setdefault(one.state.value, []).append(f"{one.label} ({one.provenance.tool})")
    keys = {"rejected": "rejected_by_user_do_not_use", "edited": "edited_by_user"}
    return {keys.get(state, f"{state}_by_user"): labels for state, labels in found.items()}


def _names_of(path: Path, folders: dict[Path, Path]) -> tuple[Path, Path]:
    """Return a file's path as given, and with links resolved; `folders` caches resolved folders."""
    named = lexical(path)
    if named.is_symlink():
        return named, named.resolve()
    parent = named.parent
    if parent not in folders:
        folders[parent] = parent.resolve()
    return named, folders[parent] / named.name


def lexical(path: Path) -> Path:
    """Return a path made absolute and without "." and "..", without accessing the disk."""
    return Path(os.path.normpath(path.absolute()))


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


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file is written again; None for what is no file."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns, found.st_size) if S_ISREG(found.st_mode) else None


def _later(current: Instance, other: Instance) -> dict[str, bool]:
    """Return whether another image than the current one was surely taken later."""
    for name in ("StudyDate", "StudyTime", "AcquisitionTime", "ContentTime"):
        now, then = (one.get(name).strip() for one in (current, other))
        if name == "StudyDate" and not (now and then):
            return {}
        if now and then and now != then:
            return {"later_than_current": True} if then > now else {}
    return {}


class FrameSource(Protocol):
    """An object that decodes frames, such as `app.imaging.decode.Decoder`."""

    def frame(self, instance: Instance, index: int) -> Future[Frame]:
        """Start decoding frame `index` (from 0) of a file, and return a future of the frame."""
        ...


def _study_date(instance: Instance) -> dict[str, str]:
    try:
        return {"study_date": date.fromisoformat(instance.get("StudyDate")[:8]).isoformat()}
    except ValueError:
        return {}


def _earlier(current: Instance, other: Instance) -> dict[str, int]:
    """Return how many days before the current image another one of surely the same patient is."""
    sexes = {one.get("PatientSex").strip() for one in (current, other)} - {""}
    if len(sexes) > 1 or not surely_same(identity_of(current), identity_of(other)):
        return {}
    try:
        now, then = (date.fromisoformat(one.get("StudyDate")[:8]) for one in (current, other))
    except ValueError:
        return {}
    return {"days_before_current": (now - then).days} if then < now else {}


def _patient_numbers(images: Sequence[OpenImage]) -> list[int]:
    """Return a number from 1 for each image's patient, the same where no identity contradicts."""
    known: list[Identity] = []
    numbers: list[int] = []
    for image in images:
        one = identity_of(image.instance)
        same = next((n for n, other in enumerate(known) if not conflict(one, other)), len(known))
        if same == len(known):
            known.append(one)
        numbers.append(same + 1)
    return numbers


class RunImages:
    """The images that one run may read; implements `app.tools.api.Images`. Thread-safe.

    Args:
        opened: The open images, the current one first.
        out_dir: The run's own output folder; it exists.
        source: Decodes frames.
        earlier: Paths that were in the output folder before the run; tools may not read them.
    """

    def __init__(
        self,
        opened: Sequence[OpenImage],
        out_dir: Path,
        source: FrameSource,
        earlier: Iterable[Path] = (),
    ) -> None:
        self._earlier = {path.name: _stamp(path) for path in earlier}
        self._opened = tuple(opened)
        # Resolved now, since a link that the user opened may point elsewhere later.
        self._paths: dict[Path, OpenImage] = {}
        folders: dict[Path, Path] = {}
        for image in reversed(self._opened):
            for path in _names_of(image.instance.path, folders):
                self._paths[path] = image
        self._source = source
        self._out = lexical(out_dir)
        self._out_real = self._out.resolve()
        self._derived: dict[Path, tuple[ImageSnapshot | None, RegistrationTarget | None]] = {}
        self._used: dict[tuple[str, int], dict[str, Any]] = {}
        self._grouping: groups.Grouping | None = None
        self._lock = threading.Lock()

    @property
    def grouping(self) -> groups.Grouping:
        """The groups of the open pictures; DICOM files have none, their names may be patients'."""
        if self._grouping is None:
            pictures = (i.instance for i in self._opened if i.instance.kind in ("picture", "tiff"))
            self._grouping = groups.grouping(lexical(instance.path) for instance in pictures)
        return self._grouping

    def _member(self, instance: Instance) -> groups.Membership:
        if instance.kind not in ("picture", "tiff"):
            return groups.NONE
        return self.grouping.members.get(lexical(instance.path), groups.NONE)

    def marks(self, name: str) -> tuple[tuple[str, Finding], ...]:
        """Return the marks on the series of an image; see `app.tools.api.Images`."""
        image = self._find(name)
        if image is None:
            raise ToolRetry("that image is not open", remedy=self._offer())
        own = {one.sop_instance_uid for one in self._series_of(image).instances}
        return tuple(
            (one.id, mark)
            for one in self._opened
            if one.instance.sop_instance_uid in own
            for mark in (*one.marks, *one.findings)
        )

    def accepted_findings(self) -> tuple[Finding, ...]:
        """Return tools' findings on the shown study that a person has accepted or edited.

        Those on other studies may be another patient's, or of another time.
        """
        own = [one for one in self._opened if _study(one) == _study(self._opened[0])]
        found = (one for image in own for one in image.findings)
        return tuple(one for one in found if one.state in (State.ACCEPTED, State.EDITED))

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Return the ids of the open images of each group; see `app.tools.api.Images`."""
        found: dict[str, list[str]] = {}
        for image in self._opened:
            name = self._member(image.instance).group
            if name:
                found.setdefault(name, []).append(image.id)
        return {name: tuple(ids) for name, ids in found.items()}

    def resolve(
        self,
        name: str,
        frame: int | None = None,
        *,
        channel: int | str | None = None,
        z: int | None = None,
        time: int | None = None,
    ) -> ImageSnapshot:
        """Return the image that an id ("image-1") or a path names; see `app.tools.api.Images`."""
        image = self._find(name)
        if image is not None:
            if frame is None:
                frame = frame_at(image, channel, z, time)
            return self._snapshot_of(image, frame)
        path = self._own_file(name)
        if path is None:
            raise ToolRetry("that names no image of this run", remedy=self._offer())
        if frame not in (None, 0) or channel not in (None, 0) or z or time:
            raise ToolRetry("a picture made in this run has one frame, number 0")
        return self._picture(path)

    def volume(
        self,
        name: str,
        *,
        channel: int | str | None = None,
        time: int | None = None,
        cancel: CancelToken | None = None,
    ) -> ImageVolume:
        """Return all depths of an image, or all slices of a series; see `app.tools.api.Images`."""
        cancel = cancel or CancelToken()
        image = self._find(name)
        if image is None:
            self.resolve(name)  # refuses what is no image of this run
            raise ToolRetry(f"{name} is a single picture, not a volume")
        axes = image.instance.axes
        if axes is not None and axes.depths > 1:
            return self._depths(image, axes, channel, time, cancel)
        first = self.resolve(name, channel=channel, time=time)
        if first.frame.is_color:
            raise ToolRetry(f"{image.id} is a colour picture, not a volume")
        source = image.instance if image.instance.frames > 1 else self._series_of(image)
        count = source.frames if isinstance(source, Instance) else len(source.instances)
        if axes is not None or count < 2:
            raise ToolRetry(
                f"{image.id} has one depth, so it is not a volume",
                remedy="Name an image with several depths, or of a series of slices.",
            )
        _check_memory(image.id, count, first.frame)
        ask = getattr(self._source, "volume", None)
        if ask is None:
            raise ToolFailed(f"the slices of {image.id} cannot be read together here")
        volume: Volume = ask(source, cancel).result()
        cancel.check()
        x, y, z = volume.spacing
        return ImageVolume(
            volume.voxels,
            (z, y, x),
            volume.template.rescale,
            self._slice_names(source, volume),
            volume.warnings,
            volume.affine,
            z if volume.slices else None,
        )

    def _depths(
        self,
        image: OpenImage,
        axes: Axes,
        channel: int | str | None,
        time: int | None,
        cancel: CancelToken,
    ) -> ImageVolume:
        """Return all depths of a channel of a microscope's image."""
        places = [frame_at(image, channel, z, time) for z in range(axes.depths)]
        first = self._snapshot_of(image, places[0]).frame
        if first.is_color:
            raise ToolRetry(f"{image.id} is in colour, and volumes have one value a pixel")
        _check_memory(image.id, axes.depths, first)
        voxels = np.empty((axes.depths, *first.stored.shape), first.stored.dtype)
        for z, index in enumerate(places):
            cancel.check()
            voxels[z] = self._decode(image.instance, index).stored
        spacing = (axes.z_step_mm, first.spacing.row_mm, first.spacing.column_mm)
        return ImageVolume(
            voxels, spacing, first.rescale, tuple((image.id, index) for index in places)
        )

    def region(
        self, name: str, x: int, y: int, width: int, height: int, level: int | None = None
    ) -> PixelRegion:
        """Return a part of an image; see `app.tools.api.Images`."""
        box, image = (x, y, x + width, y + height), self._find(name)
        if image is None:
            made = self.resolve(name)
            sizes = ((made.frame.columns, made.frame.rows),)
            box = clipped(made.path, box, level or 0, sizes)
            return PixelRegion(cropped(made.frame, box), box[0], box[1], 0, sizes)
        self._check_readable(image)
        instance, index = image.instance, image.frame_index
        files = self._slide_files(image)
        if len(files) > 1:  # each level of a DICOM slide is a file of its own
            number = files.index(instance) if level is None else level
            sizes = tuple((one.columns, one.rows) for one in files)
            clipped(instance.path, box, number, sizes)
            shown = index if files[number].frames == instance.frames else 0
            part = self._region_of(files[number], shown, box, None)
            return replace(part, level=number, levels=sizes)
        return self._region_of(instance, index, box, level)

    def _region_of(
        self, instance: Instance, index: int, box: Box, level: int | None
    ) -> PixelRegion:
        ask = getattr(self._source, "region", None)
        if ask is None:
            raise ToolFailed("parts of images cannot be read here")
        return ask(instance, index, box, level).result(_DECODE_TIMEOUT_S)

    def _slide_files(self, image: OpenImage) -> list[Instance]:
        """Return the levels of a DICOM slide, the largest first; not its label and overview."""
        instance = image.instance
        if instance.kind != "dicom" or instance.get("Modality") != "SM":
            return [instance]

        def alike(one: Instance) -> bool:
            shape = one.columns * instance.rows / max(one.rows * instance.columns, 1)
            return one.is_image and 0.95 < shape < 1.05

        found = [one for one in self._series_of(image).instances if alike(one)]
        return sorted(found or [instance], key=lambda one: -one.columns)

    def _series_of(self, image: OpenImage) -> Series:
        if image.series is not None:
            return image.series
        uid = image.instance.get("SeriesInstanceUID")
        own = [one.instance for one in self._opened if one.instance.get("SeriesInstanceUID") == uid]
        instances = tuple(own) if uid else (image.instance,)
        return Series(uid, "", image.instance.get("Modality"), 0, instances)

    def _slice_names(
        self, source: Series | Instance, volume: Volume
    ) -> tuple[tuple[str, int], ...]:
        """Return the name and frame of each slice of a volume; () if one of them is not open."""
        ids = {image.instance.sop_instance_uid: image.id for image in self._opened}
        instances = (source,) if isinstance(source, Instance) else source.instances
        frames = [
            (ids.get(one.sop_instance_uid, ""), n) for one in instances for n in range(one.frames)
        ]
        names = tuple(frames[place] for place in volume.slices)
        return names if all(name for name, _ in names) else ()

    def add_derived(
        self, path: Path, source: ImageSnapshot | None, *, target: RegistrationTarget | None = None
    ) -> None:
        """Record a picture that was made in this run; see `app.tools.api.Images`.

        Raises:
            ValueError: `path` is not in the run's output folder.
        """
        real = path.resolve()
        if not real.is_relative_to(self._out_real):
            raise ValueError("a derived image must lie in the run's output folder")
        with self._lock:
            self._derived[real] = source, target
        # A picture whose source is not open (drawn by a model) gets no note: a later run takes it
        # on its own, and its file says that it is synthetic.
        uids = {image.instance.sop_instance_uid for image in self._opened}
        refs = [image.ref for image in (source, target.image if target else source) if image]
        if source is not None and all(ref.sop_instance_uid in uids for ref in refs):
            origin = picture_sources.Origin(source.ref, source.window)
            if target is not None:
                origin = replace(origin, target=target.image.ref, scale=target.scale)
            picture_sources.record(self._out_real, self._noted_name(real), origin)

    def names(self) -> tuple[str, ...]:
        """Return the ids of open images, the current first, then the paths of the run's pictures.

        Open files that are not images, such as reports, and images with missing rows are left out.
        """
        with self._lock:
            made = [str(path) for path in self._derived]
        whole = (
            image.id
            for image in self._opened
            if image.instance.is_image and not image.instance.get(MISSING_ROWS)
        )
        return (*whole, *made)

    def instances(self) -> dict[str, Instance]:
        """Return the headers of all open files by id; see `app.tools.api.Images`."""
        return {image.id: image.instance for image in self._opened}

    def headers(self) -> list[tuple[str, str]]:
        """Return (keyword, value) for each attribute that has a value in the headers of open files.

        A private attribute has its tag as the keyword. Only the current file and one file of each
        series are read, without unreadable ones. Blocks until all are read.
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
                told += [
                    (row.tag if row.keyword.startswith("[") else row.keyword, row.value)
                    for row in rows
                    if row.value
                ]
        return told

    def knows(self, name: str) -> bool:
        """Return True if `name` is the id, path or unique file name of an open image."""
        return self._find(name) is not None

    def is_made(self, path: Path) -> bool:
        """Return True if this run made the file `path` (links resolved) in the output folder.

        Other files may be there: the folder may be the user's own, with pictures of other patients.
        One of an earlier run that this run has written again is this run's.
        """
        if path in self._derived:
            return True
        if not path.is_relative_to(self._out_real):
            return False
        parts = path.relative_to(self._out_real).parts
        if not parts or parts[0] not in self._earlier:
            return True
        before = self._earlier[parts[0]]
        return len(parts) == 1 and before is not None and _stamp(path) not in (None, before)

    def notes(self, remote: bool) -> list[dict[str, Any]]:
        """Return JSON-ready descriptions of the open images (at most 200) for a language model.

        The current image is the first. An image of another patient has the key "patient" with that
        patient's number (2, 3, ...); images of the current image's patient lack this key. One that
        is surely of the same patient and was taken earlier has "days_before_current"; one that may
        be that patient's and was taken later has "later_than_current".

        Args:
            remote: Whether the model runs on another machine. If so, ids are given in place of
                paths, since folder and file names often contain patients' names.
        """
        opened = self._opened[:_MOST_NOTES]
        return [
            {
                "id": image.id,
                "path": image.id if remote else str(image.instance.path),
                "kind": image.instance.kind,
                "content": image.instance.content.value,
                "modality": image.instance.get("Modality"),
                "view": projections.projection_name(image.instance),
                **({} if remote else _study_date(image.instance)),
                "rows": image.instance.rows,
                "columns": image.instance.columns,
                "frames": image.instance.frames,
                # Some write a name into it.
                **({} if remote else {"body_part": image.instance.get("BodyPartExamined")}),
                **_axes(image.instance.axes),
                **_place(image.place),
                **_grouped(self._member(image.instance)),
                **({"synthetic": True} if image.instance.get(synthetic.ATTRIBUTE) else {}),
                **(
                    {"patient": number}
                    if number > 1
                    else _later(opened[0].instance, image.instance)
                ),
                **_earlier(opened[0].instance, image.instance),
                **_decisions(image.findings),
            }
            for image, number in zip(opened, _patient_numbers(opened), strict=True)
        ]

    def used(self) -> list[dict[str, Any]]:
        """Return JSON-ready facts on each frame that tools read: file, pixel digest, window, ..."""
        with self._lock:
            return list(self._used.values())

    def studies(self) -> list[str]:
        """Return the StudyInstanceUIDs of the open images, sorted."""
        uids = {image.instance.get("StudyInstanceUID") for image in self._opened}
        return sorted(uids - {""})

    def _find(self, name: str) -> OpenImage | None:
        wanted = name.strip()
        for image in self._opened:
            if wanted.lower() == image.id.lower():
                return image
        if not wanted or "\0" in wanted:
            return None
        found = self._paths.get(lexical(Path(wanted))) if Path(wanted).is_absolute() else None
        if found is None and Path(wanted).name == wanted:
            same = {i.instance.path: i for i in self._opened if i.instance.path.name == wanted}
            found = next(iter(same.values())) if len(same) == 1 else None
        return found

    def _own_file(self, name: str) -> Path | None:
        r"""Return the resolved path of a file in the output folder; None for anything else.

        The path as written must already lie in the folder: a path elsewhere is never touched,
        since on Windows merely looking at \\server\share logs in there.
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
        return real if inside and self.is_made(real) else None

    def _offer(self) -> str:
        names = self.names()
        if not names:
            return "No image is open: ask the user to open one."
        more = "" if len(names) <= _LISTED else f" and {len(names) - _LISTED} more"
        return f"Use one of: {', '.join(names[:_LISTED])}{more}."

    def _snapshot_of(self, image: OpenImage, index: int | None) -> ImageSnapshot:
        self._check_readable(image)
        number = image.frame_index if index is None else index
        if not 0 <= number < image.instance.frames:
            raise ToolRetry(
                f"{image.id} has {image.instance.frames} frames, numbered from 0",
                remedy=f"Name a frame from 0 to {image.instance.frames - 1}.",
            )
        frame = self._decode(image.instance, number)
        self._note_used(image, frame)
        # A window is set for one channel, and may show nothing of another.
        shown_with = image.window if _same_channel(image, number) else None
        window = None if frame.is_color else shown_with or windows.default_window(frame)
        drawn = tuple(finding for finding in image.drawn if frame.shows(finding.image))
        found = tuple(one for one in image.findings if frame.shows(one.image))
        natural = self._snapshot(image.instance, frame, window)
        return replace(natural, inverted=image.invert, drawn=drawn, found=found)

    def _check_readable(self, image: OpenImage) -> None:
        """Raise ToolRetry for what is no image, or not all of it."""
        if not image.instance.is_image:
            raise ToolRetry(
                f"{image.id} is {_NAMES[image.instance.content]}, and tools are run on images only",
                remedy=self._offer(),
            )
        if image.instance.get(MISSING_ROWS):
            raise ToolRetry(
                f"the file of {image.id} is cut short, and tools are run on whole images only",
                remedy=self._offer(),
            )

    def _snapshot(self, instance: Instance, frame: Frame, window: Window | None) -> ImageSnapshot:
        member = self._member(instance)
        plain = _snapshot(instance, frame, window)
        return replace(plain, group=member.group, replicate=member.replicate)

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
            "window": picture_sources.window_json(image.window),
            "invert": image.invert,
        }
        with self._lock:
            self._used[image.id, ref.frame] = facts

    def _picture(self, path: Path) -> ImageSnapshot:
        """Return a picture of the output folder, with the spacing and identity of its source."""
        frame = self._decode(Instance(path, "", "picture", 0, 0), 0)
        # Unchanged, since an automatic window would stretch a picture of few greys.
        is_bytes = frame.stored.dtype == np.uint8 and frame.palette is None
        display = np.asarray(frame.stored, np.uint8) if is_bytes else pipeline.render(frame)
        source, target = self._source_of(path)
        like = target.image if target else source
        size = None if like is None else (like.frame.rows, like.frame.columns)
        if source is None or display.shape[:2] != size:
            return _alone(path, frame, display)
        if target is not None:
            return registered_snapshot(path, frame, display, source, target)
        return replace(
            source, path=path, display=display, derived=True, inverted=False, own=frame.stored
        )

    def _source_of(self, path: Path) -> tuple[ImageSnapshot | None, RegistrationTarget | None]:
        """Return the images that a picture was made from, in this run or an earlier one.

        Raises:
            ToolRetry: The source is not open any more. Without it the picture would lack modality,
                sides and spacing: a CT slice would pass for a radiograph.
        """
        with self._lock:
            if path in self._derived:
                return self._derived[path]
        origin = picture_sources.find(self._out_real, self._noted_name(path))
        if origin is None:
            return None, None
        source = self._reopened(origin.ref, origin.window)
        if origin.target is None:
            return source, None
        return source, RegistrationTarget(self._reopened(origin.target, None), origin.scale)

    def _reopened(self, wanted: ImageRef, window: Window | None) -> ImageSnapshot:
        """Return the open image with these pixels; raise `ToolRetry` if it is not open any more."""
        for image in self._opened:
            same = image.instance.sop_instance_uid == wanted.sop_instance_uid
            if same and 0 <= wanted.frame < image.instance.frames:
                frame = self._decode(image.instance, wanted.frame)
                if frame.ref == wanted:
                    return self._snapshot(image.instance, frame, window)
        raise ToolRetry(
            "the image that this picture was made from is not open any more",
            remedy=f"Open it again. {self._offer()}",
        )

    def _noted_name(self, path: Path) -> str:
        return path.relative_to(self._out_real).as_posix()

    def _decode(self, instance: Instance, index: int) -> Frame:
        return self._source.frame(instance, index).result(_DECODE_TIMEOUT_S)


def frame_at(image: OpenImage, channel: int | str | None, z: int | None, time: int | None) -> int:
    """Return the index of a frame from its channel, depth and time; None for those shown.

    Raises:
        ToolRetry: The image has no such frame; the message lists the channels that it has.
    """
    axes = image.instance.axes
    if (channel, z, time) == (None, None, None):
        return image.frame_index
    if axes is None:
        if channel in (None, 0) and not time:
            return image.frame_index if z is None else z  # refused later if there is none
        raise ToolRetry(f"{image.id} has one channel and one time point")
    shown = axes.place(image.frame_index)
    number = shown[0] if channel is None else _channel_number(image.id, axes, channel)
    place = (number, shown[1] if z is None else z, shown[2] if time is None else time)
    for value, count, what in ((place[1], axes.depths, "depth"), (place[2], axes.times, "time")):
        if not 0 <= value < count:
            name = {"depth": "depths", "time": "time points"}[what] if count > 1 else what
            numbers = f", numbered 0 to {count - 1}" if count > 1 else ", number 0"
            raise ToolRetry(f"{image.id} has {count} {name}{numbers}; there is no {value}")
    return axes.index(*place)


def _channel_number(name: str, axes: Axes, channel: int | str) -> int:
    """Return a channel's number from 0, from it or from its name in any case."""
    names = [one.casefold() for one in axes.names]
    text = str(channel).strip().casefold()
    # A model elsewhere is told the dyes alone.
    for known in (names, [one.casefold() for one in dye_names(axes.names)]):
        if isinstance(channel, str) and text in known:
            return known.index(text)
    if isinstance(channel, int) or text.isdecimal():
        number = int(text)
        if 0 <= number < len(names):
            return number
    if len(names) == 1:
        raise ToolRetry(f"{name} has one channel, so there is no channel {channel}")
    listed = ", ".join(f"{n} ({one})" for n, one in enumerate(dye_names(axes.names)))
    raise ToolRetry(
        f"{name} has no channel {channel}", remedy=f"It has {len(names)}, by number: {listed}."
    )


def _same_channel(image: OpenImage, index: int) -> bool:
    axes = image.instance.axes
    return axes is None or axes.place(index)[0] == axes.place(image.frame_index)[0]


def _check_memory(name: str, slices: int, frame: Frame) -> None:
    needed = slices * frame.stored.nbytes
    if needed > MAX_VOLUME_BYTES:
        raise ToolFailed(
            f"the volume of {name} would take {needed / 1e9:.1f} GB of memory, and at most "
            f"{MAX_VOLUME_BYTES / 1e9:.1f} GB are given to a tool",
            remedy="Use single depths, or a smaller image.",
        )


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
    """Return a picture without a source: only its own file describes it."""
    model = synthetic.file_model_title(path)
    says = {synthetic.ATTRIBUTE: model} if model else {}
    uid = frame.ref.sop_instance_uid
    instance = Instance(path, uid, "picture", frame.rows, frame.columns, attributes=says)
    return ImageSnapshot(frame.ref, path, instance, frame, display, None, derived=True)


_PIXEL_ATTRIBUTES = frozenset(
    """
    PhotometricInterpretation BitsAllocated BitsStored PixelRepresentation
    SamplesPerPixel NumberOfFrames PixelSpacing ImagerPixelSpacing NominalScannedPixelSpacing
    EstimatedRadiographicMagnificationFactor ImagePositionPatient ImageOrientationPatient
    PatientOrientation WindowCenter WindowWidth RescaleSlope RescaleIntercept RescaleType
    LossyImageCompression LossyImageCompressionRatio LossyImageCompressionMethod
    """.split()  # noqa: SIM905 - a list of 20 literals reads worse
)
"""DICOM attributes that are no longer valid for a picture whose pixels were moved."""


def registered_snapshot(
    path: Path,
    frame: Frame,
    display: NDArray[np.uint8],
    source: ImageSnapshot,
    target: RegistrationTarget,
) -> ImageSnapshot:
    """Return the snapshot of a picture in which one open image was registered to another.

    Patient, date and view come from `source`, as does its mark if a model made it. Rows, columns
    and patient orientation come from `target`, as does the pixel spacing, which is multiplied by
    `target.scale`. `frame` and `display` are the decoded picture.
    """
    sides = target.image.frame.orientation
    instance = source.instance
    kept = {k: v for k, v in instance.attributes.items() if k not in _PIXEL_ATTRIBUTES}
    if sides.row and sides.column:
        kept["PatientOrientation"] = f"{sides.row}\\{sides.column}"
    model = kept.get(synthetic.ATTRIBUTE) or synthetic.file_model_title(path)
    if model:
        kept[synthetic.ATTRIBUTE] = model
    shown = replace(
        instance,
        path=path,
        sop_instance_uid=frame.ref.sop_instance_uid,
        rows=frame.rows,
        columns=frame.columns,
        frames=1,
        attributes=kept,
        part=0,
    )
    spacing, orientation = _spacing(source, target), Orientation(sides.row, sides.column)
    frame = replace(frame, spacing=spacing, orientation=orientation)
    return ImageSnapshot(frame.ref, path, shown, frame, display, None, derived=True)


def _spacing(source: ImageSnapshot, target: RegistrationTarget) -> Spacing:
    """Return the shown image's pixel spacing, whose origin is that of the source, scaled to fit."""
    own, other = source.frame.spacing, target.image.frame.spacing
    rows, columns = other.row_mm, other.column_mm
    if target.scale is None or rows is None or columns is None or not own.known:
        note = "the spacing of an image that it was made from is unknown"
        return Spacing(aspect=other.aspect, note=note)
    return Spacing(rows * target.scale, columns * target.scale, own.source, other.aspect, own.note)


def _study(image: OpenImage) -> tuple[str, str]:
    return image.instance.get("StudyInstanceUID"), image.instance.get("PatientID")
