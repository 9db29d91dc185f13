"""The tool `volume_compare`: a CT or MR next to an earlier one of the same patient.

The two volumes are registered (`volume_registration`, in the model process), what a person drew or
accepted on both is paired by its place (`volume_marks`), and the change of each pair is tabled.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from app.errors import FileProblem
from app.imaging.findings import (
    Finding,
    Geometry,
    Mask,
    Measurement,
    Polygon,
    Polyline,
    Segments,
    State,
    new_id,
)
from app.imaging.pixels.greys import modality_values
from app.imaging.space.planes import frame_plane, instance_plane
from app.imaging.studies.catalogue import are_different_patients, identity_of
from app.imaging.types import FramePlane, ImageRef, Instance, SpacingSource
from app.tools import prior_pair
from app.tools.api import (
    Artifact,
    ImageSnapshot,
    ImageVolume,
    Resource,
    ToolContext,
    ToolFailed,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
    takes,
)
from app.tools.files import plain
from app.tools.general import volume_marks
from app.tools.general.volume_marks import Mark, Points, Row
from app.tools.general.volume_wording import MODALITIES
from app.tools.result_wording import one_line
from app.user_files import write_atomic

TOLERANCE_MM = 15.0
LEAST_SIMILARITY = 0.4
"""Similarity (see `volume_registration.Fit`) below which two volumes are not taken for one place.

Two halves of one real head CT and MR reach 0.95 and 0.97, a drawn chest and a real head 0.12, two
heads of different people and modalities 0.31.
"""
MOST_APART_MM = 5.0
"""Distance of the two registrations, there and back, above which neither is trusted."""
_LEAST_OVERLAP = 0.25
_GRID_MM = 3.0  # voxels that are registered, at least
_LEAST_SLICES, _LEAST_MM = 5, 30.0
_TIMEOUT_S = 240.0
_IN_PATIENT = (SpacingSource.PATIENT, SpacingSource.CALIBRATED)
_MAIN = {volume_marks.LENGTH: "Length", volume_marks.AXES: "Long axis"}
_REMEDY = "Open two CT or two MR series of one patient, and name the current and the prior."


class VolumeCompareInput(ToolInput):
    """Arguments of `volume_compare`."""

    image_path: str = takes(Resource.IMAGE, "An image of the current series: its id or path.")
    prior_path: str | None = takes(
        Resource.IMAGE,
        "An image of the earlier series; the latest earlier one of the patient if left out.",
        default=None,
    )
    tolerance_mm: float = Field(
        default=TOLERANCE_MM,
        ge=1,
        le=50,
        description="Greatest distance of the middles of two marks that are a pair.",
    )


class VolumeCompareOutput(BaseModel):
    """Output of `volume_compare`: the registration, pairs of marks, and their change."""

    registration: dict[str, Any]
    pairs: list[dict[str, Any]]
    only_in_the_current: list[str]
    only_in_the_prior: list[str]
    rejected: dict[str, str] = Field(
        description="Marks that have no partner because that of this study was rejected."
    )
    rows: list[dict[str, Any]] = Field(description="A figure of a mark in each row.")
    measurements: dict[str, dict[str, float]]
    dates: dict[str, str]
    days_between: int | None
    marks: dict[str, int]


SPEC = ToolSpec(
    name="volume_compare",
    title="Compare with a prior scan",
    icon="history",
    description=(
        "Compares a CT or MR series with an earlier one of the same patient: registers them "
        "(rigidly, in patient mm, with how well it fits), pairs the marks and accepted findings of "
        "both by place, and tables length, long axis, area, volume and mean of each with its "
        "change. Finds the latest earlier series if none is named. Measures nothing that is not "
        "marked."
    ),
    Input=VolumeCompareInput,
    Output=VolumeCompareOutput,
    timeout_s=420.0,
    pack="general",
)


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """One of the two series.

    Attributes:
        name: Id of the image that stands for it.
        snapshot: That image.
        affine: [4, 4] matrix from its voxels (x, y, z) to patient mm.
        planes: Each of its slices: the image's id, the frame, and the plane.
        step_mm: Distance of its slices as acquired; 0 if it is unknown or varies.
    """

    name: str
    snapshot: ImageSnapshot
    volume: ImageVolume
    affine: Points
    planes: tuple[tuple[str, int, FramePlane], ...]
    step_mm: float

    @property
    def instance(self) -> Instance:
        """The header of the image that stands for it."""
        return self.snapshot.instance


class VolumeCompare:
    """The tool `volume_compare`: compares a CT or MR with an earlier one."""

    spec = SPEC

    def run(self, args: VolumeCompareInput, context: ToolContext) -> ToolResult:
        """Compare the current series with the prior one; for errors see `app.tools.api.Tool`."""
        context.progress(0.01, "Reading the series")
        names, warnings = _names(args, context)
        shown = [context.images.resolve(name) for name in names]
        first, second = ((one.instance, one.ref) for one in shown)
        warnings += prior_pair.check_patient(first, second, context, remedy=_REMEDY)
        swapped, order = prior_pair.wrong_order(shown[0].instance, shown[1].instance)
        if swapped:
            names.reverse()
        warnings += order
        current, prior = (_scan(name, context) for name in names)
        warnings += _differences(current, prior)
        registration, to_prior = _registered(current, prior, context)
        context.cancel.check()
        made = _Comparison(current, prior, to_prior, args.tolerance_mm, context)
        if registration["accepted"]:
            made.pair()
        _hang(made, context)
        return _result(made, registration, swapped, warnings)


def _names(args: VolumeCompareInput, context: ToolContext) -> tuple[list[str], list[str]]:
    """Return the names of the current and the prior image, and warnings.

    Raises:
        ToolRetry: Both are of one series.
        ToolFailed: No other series of the patient is open.
    """
    every = context.images.instances()
    shown = context.images.resolve(args.image_path).instance
    if args.prior_path is not None:
        other = context.images.resolve(args.prior_path).instance
        if _series(other) == _series(shown):
            raise ToolRetry("both names refer to the same series", remedy=_REMEDY)
        return [args.image_path, args.prior_path], []
    modality = shown.get("Modality").upper()
    if modality not in MODALITIES:
        raise ToolFailed("only a CT or MR can be compared by this", remedy=_REMEDY)
    groups: dict[tuple[str, str], list[str]] = {}
    for name, one in every.items():
        if one.is_image and one.get("Modality").upper() == modality and _is_prior_of(one, shown):
            groups.setdefault(_series(one), []).append(name)
    now = prior_pair.study_day(shown)
    on_screen = set(prior_pair.shown_images(context))
    ranked = sorted(
        (_rank(every[ids[0]], len(ids), shown, not on_screen.isdisjoint(ids)), ids[0])
        for ids in groups.values()
        if len(ids) >= _LEAST_SLICES or every[ids[0]].frames >= _LEAST_SLICES
    )
    if now is None or not ranked:
        raise ToolFailed(
            f"no earlier {modality} series of this patient is open",
            remedy="Open the prior as well.",
        )
    chosen = ranked[0][1]
    day = prior_pair.study_day(every[chosen])
    if day is not None and day > now:  # the prior is what is looked at
        text = "the shown series is the earlier one: it is compared as the prior of the later one"
        return [chosen, args.image_path], [text]
    return [args.image_path, chosen], []


def _series(one: Instance) -> tuple[str, str]:
    return one.get("StudyInstanceUID"), one.get("SeriesInstanceUID") or one.sop_instance_uid


def _is_prior_of(one: Instance, shown: Instance) -> bool:
    """Return whether an image is surely of the same patient and was taken on another day."""
    days = prior_pair.days_between(shown, one)
    return (
        bool(days)
        and "LOCALIZER" not in one.get("ImageType").upper()
        and not are_different_patients(one, shown)
        and prior_pair.is_same_identity(identity_of(one), identity_of(shown))
    )


def _rank(
    one: Instance, count: int, shown: Instance, on_screen: bool
) -> tuple[bool, int, bool, bool, bool, float, int]:
    """Return what a series is sorted by: the one that suits best comes first."""
    days = prior_pair.days_between(shown, one) or 0
    mine, theirs = instance_plane(shown), instance_plane(one)
    parallel = mine is not None and theirs is not None
    if mine is not None and theirs is not None:
        parallel = abs(float(np.dot(mine.normal, theirs.normal))) > 0.9
    named = shown.get("SeriesDescription").casefold() == one.get("SeriesDescription").casefold()
    thick = [_number(each.get("SliceThickness")) for each in (shown, one)]
    return (
        days < 0,
        abs(days),
        not on_screen,
        not named,
        not parallel,
        abs(thick[0] - thick[1]),
        -count,
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _scan(name: str, context: ToolContext) -> Scan:
    """Read a series as a volume; raise ToolFailed for one that has no place or scale in mm."""
    snapshot = context.images.resolve(name)
    try:
        volume = context.images.volume(name, cancel=context.cancel)
    except (FileProblem, ToolRetry) as error:
        raise ToolFailed(f"{name} cannot be compared: {error.reason}", remedy=_REMEDY) from None
    affine = volume.affine
    spacing = snapshot.frame.spacing
    if affine is None or not spacing.known or spacing.source not in _IN_PATIENT:
        raise ToolFailed(
            f"{name} does not say where it lies in the patient, or how far its pixels are apart: "
            "nothing on it can be compared in mm",
            remedy=_REMEDY,
        )
    count, tall = volume.voxels.shape[0], float(np.linalg.norm(affine[:3, 2]))
    if count < _LEAST_SLICES or count * tall < _LEAST_MM:
        raise ToolFailed(
            f"{name} has {count} slices over {count * tall:.0f} mm: too few to be registered",
            remedy=_REMEDY,
        )
    instances = context.images.instances()
    own = {key: one for key, one in instances.items() if _series(one) == _series(snapshot.instance)}
    if snapshot.instance.frames > 1:
        planes = [(key, frame, _plane(affine, k)) for k, (key, frame) in enumerate(volume.slices)]
    else:
        planes = [(key, 0, plane) for key, one in own.items() if (plane := instance_plane(one))]
    return Scan(name, snapshot, volume, affine, tuple(planes), volume.step_mm or 0.0)


def _plane(affine: Points, number: int) -> FramePlane:
    """Return the plane of a slice of a volume."""
    steps = np.linalg.norm(affine[:3, :3], axis=0)
    x, y, z = (affine @ (0.0, 0.0, float(number), 1.0))[:3].tolist()
    a, b, c = (affine[:3, 0] / steps[0]).tolist()
    d, e, f = (affine[:3, 1] / steps[1]).tolist()
    return FramePlane((x, y, z), (a, b, c), (d, e, f), (float(steps[1]), float(steps[0])))


def _differences(current: Scan, prior: Scan) -> list[str]:
    """Return what differs between the two series so that figures differ too."""
    found = [f"{one.name}: {text}" for one in (current, prior) for text in one.volume.warnings]
    now, then = (float(np.linalg.norm(one.affine[:3, 2])) for one in (current, prior))
    if abs(now - then) > 0.1 * max(now, then):
        found.append(f"the slices are {then:.3g} mm apart before and {now:.3g} mm now")
    for keyword, name in (("ConvolutionKernel", "kernel"), ("ContrastBolusAgent", "contrast")):
        texts = {one_line(one.instance.get(keyword), 40) or "none" for one in (current, prior)}
        if len(texts) > 1:
            found.append(f"the two differ in their {name}")
    return found


def _registered(current: Scan, prior: Scan, context: ToolContext) -> tuple[dict[str, Any], Points]:
    """Return the figures of the registration and its matrix from the current to the prior."""
    ct = {one.instance.get("Modality").upper() for one in (current, prior)} == {"CT"}
    sides = {name: _reduced(one.volume) for name, one in (("current", current), ("prior", prior))}

    def report(fraction: float, text: str) -> None:
        context.progress(0.2 + 0.7 * fraction, text)

    answer = context.host.call(
        "app.tools.general.volume_registration:entry",
        {**sides, "ct": ct},
        cancel=context.cancel,
        timeout_s=_TIMEOUT_S,
        progress=report,
    )
    matrix = np.array(answer["matrix"], float)
    turn = float(np.degrees(np.arccos(np.clip((np.trace(matrix[:3, :3]) - 1) / 2, -1, 1))))
    middle = current.affine @ (*(n / 2 for n in current.volume.voxels.shape[::-1]), 1.0)
    shift = float(np.linalg.norm((matrix @ middle - middle)[:3]))
    similarity, overlap = (round(float(answer[key]), 2) for key in ("similarity", "overlap"))
    apart = round(float(answer["two_way_mm"]), 1)
    frames = {one.instance.get("FrameOfReferenceUID") for one in (current, prior)}
    problem = _problem(similarity, overlap, apart)
    figures: dict[str, Any] = {
        "accepted": not problem,
        "why": problem,
        "kind": "rigid, mutual information, patient coordinates (LPS)",
        "similarity": similarity,
        "overlap": overlap,
        "two_way_mm": apart,
        "shift_mm": round(shift, 1),
        "rotation_degrees": round(turn, 1),
        "one_frame_of_reference": len(frames) == 1 and "" not in frames,
    }
    return figures, matrix


def _problem(similarity: float, overlap: float, apart: float) -> str:
    """Return why a registration cannot be trusted, or ""."""
    if overlap < _LEAST_OVERLAP:
        return f"the two share only {overlap:.0%} of the body"
    if not similarity >= LEAST_SIMILARITY:  # or it is no number
        return (
            f"laid on each other they do not look alike (similarity {similarity:.2f}, at least "
            f"{LEAST_SIMILARITY:g} is needed): another body part or position"
        )
    if apart > MOST_APART_MM:
        return f"registered in the other direction they lie {apart:g} mm elsewhere"
    return ""


def _reduced(volume: ImageVolume) -> dict[str, NDArray[Any]]:
    """Return a volume's values averaged to voxels of about 3 mm, with the matrix to patient mm."""
    assert volume.affine is not None
    voxels, affine = volume.voxels, volume.affine.copy()
    steps = np.linalg.norm(affine[:3, :3], axis=0)[::-1]
    times = [max(1, int(_GRID_MM / step)) for step in steps]
    counts = [max(1, size // n) for size, n in zip(voxels.shape, times, strict=True)]
    times = [min(n, size) for n, size in zip(times, voxels.shape, strict=True)]
    (down, rows, columns), (n, p, q) = counts, times
    values = np.empty(counts, np.float32)
    for k in range(down):
        part = voxels[k * n : (k + 1) * n, : rows * p, : columns * q]
        blocks = part.reshape(n, rows, p, columns, q)
        values[k] = blocks.mean(axis=(0, 2, 4), dtype=np.float64)
    affine[:3, 3] = (affine @ ((q - 1) / 2, (p - 1) / 2, (n - 1) / 2, 1.0))[:3]
    affine[:3, :3] *= (q, p, n)
    values = values * volume.rescale.slope + volume.rescale.intercept
    return {"voxels": values.astype(np.float32), "affine": affine}


class _Comparison:
    """The marks of two registered series, in pairs.

    Attributes:
        sides: The marks of the current and of the prior study.
        paired: Whether the two are registered, so that there are pairs.
        pairs: Their indices, the distance in mm; None for what is missing.
        rows: The figures of each pair.
        findings: Where each mark lies on the other study.
        outside: Names of marks whose place the other series does not show.
        rejected: Name of a mark -> the study, "current" or "prior", on which its partner was
            rejected. Such a mark is neither a pair nor new or gone.
        proposed: Numbers of tools' findings that nobody has accepted, and of other marks.
    """

    def __init__(
        self, current: Scan, prior: Scan, to_prior: Points, tolerance: float, context: ToolContext
    ) -> None:
        self.scans, self.to_prior, self.tolerance = (current, prior), to_prior, tolerance
        self._back: Points = np.linalg.inv(to_prior).astype(np.float64)
        self.context = context
        self.proposed = self.others = 0
        marks = [self._marks(one) for one in (current, prior)]
        self.sides = (marks[0][0], marks[1][0])
        self._refused = (marks[0][1], marks[1][1])
        self.rejected: dict[str, str] = {}
        self.paired = False
        self.pairs: list[tuple[int | None, int | None, float | None]] = []
        self.findings: list[Finding] = []
        self.outside: list[str] = []
        self.rows: list[Row] = []

    def _marks(self, scan: Scan) -> tuple[list[Mark], list[Mark]]:
        """Return what a person drew or accepted on a series, and what was rejected, in mm."""
        found: list[Mark] = []
        rejected: list[Mark] = []
        for name, finding in self.context.images.marks(scan.name):
            if finding.provenance.tool == SPEC.name:
                continue
            if finding.state is State.PROPOSED and finding.provenance.run_id:
                self.proposed += 1
                continue
            mark = self._mark(name, finding)
            if finding.state is State.REJECTED:
                rejected += [mark] if mark is not None else []
            elif mark is None:
                self.others += 1
            else:
                found.append(mark)
        step = scan.step_mm
        return volume_marks.joined(found, step), volume_marks.joined(rejected, step)

    def _mark(self, image: str, finding: Finding) -> Mark | None:
        plane, frame = finding.plane, None
        if not volume_marks.kind_of(finding):
            return None
        if plane is None:
            frame = self.context.images.resolve(image, finding.image.frame).frame
            if not frame.shows(finding.image) or frame.spacing.source not in _IN_PATIENT:
                return None
            plane = frame_plane(frame)
        if plane is None:
            return None
        mean = next(((m.value, m.units) for m in finding.measurements if m.name == "Mean"), None)
        if isinstance(finding.geometry, Mask) and frame is not None:
            inside = modality_values(frame, frame.stored[finding.geometry.pixels])
            mean = (float(inside.mean()), frame.rescale.units) if inside.size else None
        name = one_line(finding.label, 60) or "Mark"
        return volume_marks.measured(finding, plane, name, mean)

    def pair(self) -> None:
        """Set the pairs, their rows, and where each mark lies on the other study."""
        self.paired = True
        self.pairs = volume_marks.pairs_of(*self.sides, self.to_prior, self.tolerance)
        for number, (i, j, _) in enumerate(self.pairs, 1):
            now = None if i is None else self.sides[0][i]
            then = None if j is None else self.sides[1][j]
            name = self.name(number)
            rows = volume_marks.rows_of(name, now, then, self.to_prior)
            if study := self._partner_rejected(now, then):
                self.rejected[name] = study
                why = f"the mark on the {study} study was rejected"
                self.rows += [replace(row, why=why) for row in rows]
                continue
            self.rows += rows
            if then is not None:
                self._place(f"Prior, {name}", then, now, 0, self._back)
            if now is not None:
                self._place(f"Now, {name}", now, then, 1, self.to_prior)

    def _partner_rejected(self, now: Mark | None, then: Mark | None) -> str:
        """Return the study on which a rejected mark is the partner of a lone one, or ""."""
        if now is not None and then is not None:
            return ""
        side, mark, matrix = (1, now, self.to_prior) if then is None else (0, then, self._back)
        assert mark is not None
        place = volume_marks.moved(mark.centre, matrix)
        alike = any(
            float(np.linalg.norm(place - one.centre)) <= self.tolerance
            and (one.kind == mark.kind or one.name.casefold() == mark.name.casefold())
            for one in self._refused[side]
        )
        return ("current", "prior")[side] if alike else ""

    def name(self, number: int) -> str:
        """Return what the pair with a number is called, from 1."""
        i, j, _ = self.pairs[number - 1]
        names = [] if i is None else [self.sides[0][i].name]
        names += [] if j is None else [self.sides[1][j].name]
        return f"{' / '.join(dict.fromkeys(names))} {number}"

    def _place(
        self, label: str, mark: Mark, partner: Mark | None, side: int, matrix: Points
    ) -> None:
        """Add where a mark of the other study lies on that of `side` (0 the current one)."""
        scan, other = self.scans[side], self.scans[1 - side]
        found = slice_at(scan, volume_marks.moved(mark.centre, matrix))
        if found is None:
            self.outside.append(label)
            return
        image, number, plane = found
        snapshot = self.context.images.resolve(image, number)
        points = volume_marks.moved(mark.in_mm, matrix)
        flat = tuple(plane.pixel((x, y, z))[:2] for x, y, z in points.tolist())
        shapes = {volume_marks.LENGTH: Polyline, volume_marks.AXES: Segments}
        shape: Geometry = shapes.get(mark.kind, Polygon)(flat)
        main = _MAIN.get(mark.kind, "Long axis")
        sizes = [
            Measurement(
                main + (f", {'current' if side else 'prior'}" if one is mark else ""),
                one.figures[main, "mm"],
                "mm",
                str(SpacingSource.PATIENT),
                (other.instance.get("StudyDate") or "unknown") if one is mark else "",
            )
            for one in (partner, mark)
            if one is not None
        ]
        when = "current" if side else "prior"
        self.findings.append(
            Finding(
                id=new_id(),
                image=snapshot.ref,
                geometry=shape,
                label=label,
                score=None,
                units="",
                provenance=self.context.provenance(SPEC),
                description=f"Where the mark of the {when} study lies on this one.",
                group=f"compare-{self.context.call_id}",
                measurements=tuple(sizes),
                rests_on=((partner or mark).name,),
                partners=tuple(one.id for one in partner.findings) if partner else (),
            )
        )

    def shown_pair(self) -> tuple[ImageRef, ImageRef | None]:
        """Return the image to show of the current study, and the one at the same place before."""
        current, prior = self.scans
        image = current.snapshot
        if not self.paired:
            return image.ref, prior.snapshot.ref
        point = np.array(_middle(image))
        before = volume_marks.moved(point, self.to_prior)
        if self.pairs:  # the first is a pair, where there is one
            point, before = self._centres(*self.pairs[0][:2])
            if (found := slice_at(current, point)) is not None:
                image = self.context.images.resolve(*found[:2])
        there = slice_at(prior, before)
        if there is None:
            return image.ref, None
        return image.ref, self.context.images.resolve(*there[:2]).ref

    def _centres(self, i: int | None, j: int | None) -> tuple[Points, Points]:
        """Return the middles (mm) of a pair on both series; of a lone mark, where it would lie."""
        if i is None:
            assert j is not None
            before = self.sides[1][j].centre
            return volume_marks.moved(before, self._back), before
        now = self.sides[0][i].centre
        before = volume_marks.moved(now, self.to_prior) if j is None else self.sides[1][j].centre
        return now, before

    def linked_places(self) -> list[list[list[float]]]:
        """Return for each pair its place (mm) on both series, on the slices that show it."""
        found: list[list[list[float]]] = []
        for i, j, _ in self.pairs:
            centres = self._centres(i, j)
            slices = [slice_at(*one) for one in zip(self.scans, centres, strict=True)]
            places: list[list[float]] = []
            for centre, one in zip(centres, slices, strict=True):
                if one is not None:
                    x, y, z = centre.tolist()
                    places.append([*one[2].point(*one[2].pixel((x, y, z))[:2])])
            if len(places) == len(centres):
                found.append(places)
        return found


def _middle(image: ImageSnapshot) -> tuple[float, float, float]:
    plane = frame_plane(image.frame)
    assert plane is not None
    return plane.point((image.frame.columns - 1) / 2, (image.frame.rows - 1) / 2)


def slice_at(scan: Scan, point: Points) -> tuple[str, int, FramePlane] | None:
    """Return the slice (image, frame, plane) of a series at a place in mm, None if outside."""
    x, y, z = point.tolist()
    found = min(scan.planes, key=lambda one: abs(one[2].pixel((x, y, z))[2]), default=None)
    if found is None:
        return None
    across, down, away = found[2].pixel((x, y, z))
    rows, columns = scan.snapshot.frame.rows, scan.snapshot.frame.columns
    reach = max(scan.step_mm, float(np.linalg.norm(scan.affine[:3, 2]))) * 0.75
    inside = -0.5 <= across <= columns - 0.5 and -0.5 <= down <= rows - 0.5
    return found if inside and abs(away) <= max(reach, 1.0) else None


def _hang(made: _Comparison, context: ToolContext) -> None:
    """Show both series at one place, where the window does not show something else beside."""
    every = context.images.instances()
    shown = prior_pair.shown_images(context)
    series = [_series(every[one]) for one in shown if one in every]
    wanted = [_series(one.instance) for one in made.scans]
    now, then = made.shown_pair()
    if then is None:
        return
    if len(set(series)) < 2:
        prior_pair.hang_beside(now, then, context)
    elif not set(wanted) <= set(series):
        return  # the user has something else beside
    else:
        places = [str(series.index(key) + 1) for key in wanted]
        prior_pair.show_in(list(zip(places, (now, then), strict=True)), context)
    if made.paired and context.viewer is not None:
        with suppress(ToolFailed, ToolRetry):
            context.viewer.do("viewer_command", {"command": "link scrolling"}, context)


def _result(
    made: _Comparison,
    registration: dict[str, Any],
    swapped: bool,
    warnings: list[str],
) -> ToolResult:
    current, prior = made.scans
    context = made.context
    if registration["why"]:
        warnings.append(
            f"the two series could not be registered: {registration['why']}. So nothing is paired"
        )
    pairs: list[dict[str, Any]] = []
    alone: tuple[list[str], list[str]] = ([], [])
    for number, (i, j, away) in enumerate(made.pairs, 1):
        name = made.name(number)
        if i is None or j is None:
            if name not in made.rejected:
                alone[i is None].append(name)
            continue
        names = [made.sides[0][i].name, made.sides[1][j].name]
        pairs.append(
            {
                "mark": name,
                "current": names[0],
                "prior": names[1],
                "apart_mm": round(away or 0.0, 1),
            }
        )
    rows = [asdict(row) for row in made.rows]
    days = prior_pair.days_between(current.instance, prior.instance)
    output = {
        "registration": registration,
        "pairs": pairs,
        "only_in_the_current": alone[0],
        "only_in_the_prior": alone[1],
        "rejected": made.rejected,
        "outside": made.outside,
        "rows": rows,
        "measurements": _figures(made.rows),
        "dates": {"current": _day(current.instance), "prior": _day(prior.instance)},
        "days_between": days,
        "marks": {
            "current": len(made.sides[0]),
            "prior": len(made.sides[1]),
            "proposed": made.proposed,
            "other_kinds": made.others,
        },
    }
    metadata = {
        "image_path": current.name,
        "prior_path": prior.name,
        "modality": current.instance.get("Modality"),
        "swapped": swapped,
        "tolerance_mm": made.tolerance,
        "warnings": list(dict.fromkeys(warnings)),
        "status": "completed",
    }
    artifacts = () if registration["why"] else (_artifact(made, context),)
    text = _summary(output, metadata)
    return ToolResult(text, plain(output), plain(metadata), tuple(made.findings), artifacts)


def _figures(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Return the rows' numbers by name, so that answers can cite each one."""
    endings = {"mm": "mm", "mm²": "mm2", "HU": "hu"}
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        end = f"_{endings[row.unit]}" if row.unit in endings else ""
        told = found.setdefault(row.mark, {})
        for name, value in (("current", row.current), ("prior", row.prior), ("change", row.change)):
            if value is not None:
                told[f"{row.what}_{name}{end}".replace(" ", "_")] = value
        if row.percent is not None:
            told[f"{row.what}_change_percent".replace(" ", "_")] = row.percent
    return found


def _day(instance: Instance) -> str:
    day: date | None = prior_pair.study_day(instance)
    return "" if day is None else day.isoformat()


def _artifact(made: _Comparison, context: ToolContext) -> Artifact:
    """Write the registration as a file, by which the window links the two series."""
    path = context.out_dir / f"registration-{context.call_id or 'call'}.json"
    matrix = made.to_prior.tolist()
    about = "patient coordinates (LPS, mm) of the current series to those of the prior"
    write_atomic(path, json.dumps({"matrix": matrix, "about": about}).encode())
    current, prior = (one.snapshot.ref for one in made.scans)
    return Artifact(
        path,
        role="file",
        title="Registration",
        source=current,
        options={
            "prior": prior.sop_instance_uid,
            "to_prior": matrix,
            "pairs": made.linked_places(),
        },
    )


def _summary(output: dict[str, Any], metadata: dict[str, Any]) -> str:
    days = output["days_between"]
    when = "" if days is None else f" ({days} days apart)"
    laid = output["registration"]
    if not laid["accepted"]:
        return f"Not compared with the prior series{when}: {laid['why']}."
    count = len(output["pairs"])
    only = [len(output[key]) for key in ("only_in_the_current", "only_in_the_prior")]
    changes = [
        f"{row['mark']} {row['what'].lower()} {row['prior']:g} -> {row['current']:g} {row['unit']}"
        for row in output["rows"]
        if row["comparable"]
    ]
    text = (
        f"Registered with the prior series{when}: {count} pair{'' if count == 1 else 's'} of "
        f"marks, {only[0]} only in the current study, {only[1]} only in the prior."
    )
    text += f" {'; '.join(changes)}." if changes else ""
    for mark, study in output["rejected"].items():
        text += f" {mark} is not compared: the mark on the {study} study was rejected."
    warnings = metadata["warnings"]
    return f"{text} Warnings: {'; '.join(warnings)}." if warnings else text
