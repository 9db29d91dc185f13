"""The state of one window: what is open, how it is shown, what was found; without any GUI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from app.imaging.findings import Finding, State
from app.imaging.layers import Layer, layers_for, may_be_same_patient
from app.imaging.pixels.windows import has_own_scale
from app.imaging.types import Content, Frame, ImageRef, Instance, ScanResult, Series, Study, Window
from app.workspace import calibration, drawing
from app.workspace.alignments import Alignments
from app.workspace.annotations import Annotations, Command, CommandStack
from app.workspace.diagnosis import OpenDiagnosis
from app.workspace.key_marks import KeyMarks
from app.workspace.layers import Layers, LayerStore
from app.workspace.layers import ScaleKey as ScaleKey
from app.workspace.layout import MOST, Layout, Screen, Slot
from app.workspace.mark_scales import MarkScales
from app.workspace.priors import priors_of
from app.workspace.recent import Session
from app.workspace.record import OpenRecord
from app.workspace.signals import Signal
from app.workspace.studies import Studies, StudyUids, instances_of, key_of
from app.workspace.viewport import DATA, Display, Pane, Panes, Place, Viewport
from app.workspace.viewport import REFORMAT as REFORMAT
from app.workspace.window_presets import WindowPresets

if TYPE_CHECKING:
    # Imported when they are needed, since the window is shown before.
    from app.tools.api import Artifact
    from app.tools.images import OpenImage
    from app.workspace.hanging import Arrangement

MOST_IMAGES = 2000
"""Largest number of images that one run may use; each is named when the question is asked."""


@dataclass(frozen=True, slots=True)
class Placed:
    """What one viewport shows, and how; `instance` None for nothing.

    Attributes:
        display: How it is shown; None for as its series was shown last.
    """

    instance: Instance | None
    frame_index: int
    display: Display | None


@dataclass(frozen=True, slots=True)
class Shown:
    """What the viewports of a window show; `active` is the index of the active one."""

    screen: Screen
    slots: tuple[Slot, ...]
    placed: tuple[Placed, ...]
    active: int


class Workspace:
    """The state of one window: what is open, how it is shown, and what was found.

    Args:
        labels: Labels with fixed colours (see `LabelColors`).
        titles: Maps a tool's name to a title for its results, e.g. "Chest segmentation".
    """

    def __init__(
        self, labels: Sequence[str] = (), titles: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.titles = titles
        self._reformats: dict[str, tuple[Instance, Place]] = {}  # with their source
        self.studies = Studies()
        self.commands = CommandStack()
        self.annotations = Annotations(self.commands, labels)
        self.key_marks = KeyMarks(self.commands)
        self.alignments = Alignments()
        self.scales = MarkScales(
            self.annotations, self.studies, self.instance_of, self.study_uid_of
        )
        """Measures marks: connected first, so that nobody sees figures of another scale."""
        self.panes = Panes()
        self.record = OpenRecord()
        self.diagnosis = OpenDiagnosis(self._shown_study, self._accepted_in, self.record)
        self.annotations.changed.connect(self.diagnosis.follow_findings)
        self.window_presets = WindowPresets()
        self.closed: Signal[tuple[Study, ...]] = Signal()
        """Emitted with the studies that were closed."""
        self.image_changed: Signal[()] = Signal()
        """The active viewport shows another instance, or another viewport is active."""
        self.frame_changed: Signal[()] = Signal()
        """The active viewport has new pixels or an error, or another viewport is active."""
        self.display_changed: Signal[()] = Signal()
        """The active viewport's display changed, or another viewport is active."""
        self.layers_changed: Signal[()] = Signal()
        """The active viewport's layers changed, or another viewport is active."""
        self.placing = False
        """Whether viewports are being filled by an arrangement, and not by the user."""
        self._layer_store = LayerStore()
        self._rejected: dict[str, list[Instance]] | None = None
        self._beside: tuple[Study, ...] = ()
        self._has_pictures = False
        self.studies.changed.connect(self._forget_places)
        self.image_changed.connect(self.diagnosis.follow_study)
        self.studies.changed.connect(self.diagnosis.follow_study)
        self.closed.connect(lambda closed: self.diagnosis.close(map(key_of, closed)))
        self.layout = Layout(self._new_viewport)
        self.layout.changed.connect(self._follow_studies)
        self.layout.changed.connect(self._follow_pictures)
        self.layout.active_changed.connect(self._follow_active)

    def _new_viewport(self) -> Viewport:
        viewport = Viewport(self.scale_key, Layers(self._layer_store), self._reformats)
        for source, relay in (
            (viewport.image_changed, self.image_changed),
            (viewport.frame_changed, self.frame_changed),
            (viewport.display_changed, self.display_changed),
            (viewport.layers.changed, self.layers_changed),
        ):
            source.connect(partial(self._relay, viewport, relay))
        viewport.frame_changed.connect(partial(self._learn, viewport))
        viewport.image_changed.connect(partial(self._replace_pictures, viewport))
        viewport.image_changed.connect(self._follow_studies)
        return viewport

    def _learn(self, viewport: Viewport) -> None:
        if viewport.frame is not None:
            for frame in (viewport.frame, *viewport.frame.channels):
                self.scales.learn(frame)

    def _relay(self, viewport: Viewport, relay: Signal[()]) -> None:
        if viewport is self.layout.active:
            relay.emit()

    def _follow_active(self) -> None:
        for relay in (
            *(self.image_changed, self.frame_changed),
            *(self.display_changed, self.layers_changed),
        ):
            relay.emit()

    @property
    def viewport(self) -> Viewport:
        """The active viewport: the one that commands and the assistant work on."""
        return self.layout.active

    @property
    def layers(self) -> Layers:
        """The layers of the active viewport."""
        return self.layout.active.layers

    def close(self) -> None:
        """Disconnect all listeners from the workspace's signals, when its window closes."""
        for viewport in self.layout.made:
            viewport.close()
        models = (self.studies, self.commands, self.annotations, self.layout, self.panes)
        models = (*models, self.key_marks, self.scales, self.record, self.diagnosis)
        for model in (self, *models, self._layer_store):
            for value in vars(model).values():
                if isinstance(value, Signal):
                    value.clear()

    def title_of(self, tool: str) -> str:
        """Return the title of a tool's results; if there is none, the tool's name in words."""
        words = tool.replace("_", " ")
        return self.titles.get(tool) or words[:1].upper() + words[1:]

    def add(self, result: ScanResult, *, show: bool = True, images_only: bool = False) -> bool:
        """Add the (possibly still partial) result of a scan and, if `show`, show its first object.

        With `images_only`, only an image is shown, since a scan in progress may still find one.
        Returns whether anything was shown.
        """
        self.studies.add(result)
        first = first_to_show(result, images_only) if show else None
        if first is not None:
            self.viewport.show(first)
        return first is not None

    def arrange(self, slots: Sequence[Slot]) -> None:
        """Place the active screen's viewports in `slots`; new ones show series not shown yet.

        Series of the active viewport's study are taken in their order, those after the shown one
        first. Where there are none left, a new viewport stays empty.
        """
        added = self.layout.arrange(slots)
        shown = self.acquired
        study = self.studies.study_of(shown) if shown is not None else None
        if study is None or not added:
            return
        images = [series for series in study.series if series.content is Content.IMAGE]
        places = {id(series): number for number, series in enumerate(images)}
        active = places.get(id(self.studies.series_of(shown)) if shown else 0, 0)
        taken = {
            id(self.studies.series_of(one.acquired))
            for one in self.layout.viewports
            if one.acquired is not None
        }
        free = [series for series in images if id(series) not in taken]
        free.sort(key=lambda series: (places[id(series)] < active, places[id(series)]))
        for viewport, series in zip(added, free, strict=False):
            viewport.show(series.instances[0])

    def priors(self, study: Study) -> list[Study]:
        """Return the open earlier studies of a study's patient, the latest first."""
        return priors_of(study, self.studies.all)

    def hang(self, arrangement: Arrangement) -> None:
        """Show what a hanging protocol chose, as one step that can be undone.

        It is shown in the window of the active viewport.
        """
        screen = self.layout.screen
        before = self._placed(screen)
        after = [
            Placed(
                one.instance,
                0,
                Display(window=one.window, flip_h=one.flip) if one.shown_so else None,
            )
            for one in arrangement.hung
        ]
        slots, active = screen.slots, screen.viewports.index(self.layout.active)
        hung = arrangement.protocol.slots

        def do() -> None:
            if screen in self.layout.screens:
                self._place(screen, hung, after, 0)

        def undo() -> None:
            # Not what the user has laid out since, nor for studies that are closed by now.
            images = [one.instance for one in before if one.instance is not None]
            open_still = not images or any(self._is_open(image) for image in images)
            if screen in self.layout.screens and screen.slots == hung and open_still:
                self._place(screen, slots, before, active)

        title = f"Arrange as {arrangement.protocol.title}"
        self.commands.push(Command(title, do, undo))

    def arrangement(self) -> Shown:
        """Return what the viewports of the active screen show, to be shown again later."""
        screen = self.layout.screen
        active = screen.viewports.index(self.layout.active)
        return Shown(screen, screen.slots, tuple(self._placed(screen)), active)

    def show_again(self, shown: Shown) -> bool:
        """Show what `arrangement` returned; False if its window or all its images are closed."""
        images = [one.instance for one in shown.placed if one.instance is not None]
        if shown.screen not in self.layout.screens:
            return False
        if images and not any(self._is_open(image) for image in images):
            return False
        self._place(shown.screen, shown.slots, shown.placed, shown.active)
        return True

    def restore(self, session: Session) -> bool:
        """Show the images of an earlier session in its layout; return False if none is open."""
        found = [self.studies.with_uid(uid) if uid else None for uid in session.shown]
        if not any(found) or len(found) > MOST:
            return False
        slots = tuple(Slot(*one) for one in session.slots)
        from app.workspace.hanging import Arrangement, Hung, Match, Protocol

        protocol = Protocol("session", "the last session", slots, Match(), ())
        self.hang(Arrangement(protocol, tuple(map(Hung, found)), ""))
        return True

    def _is_open(self, instance: Instance) -> bool:
        return self.studies.study_of(self._acquired_of(instance)) is not None

    def _placed(self, screen: Screen) -> list[Placed]:
        return [Placed(one.instance, one.frame_index, one.display) for one in screen.viewports]

    def _place(
        self, screen: Screen, slots: Sequence[Slot], placed: Sequence[Placed], active: int
    ) -> None:
        """Show images in the viewports of a window; those that were closed meanwhile are not."""
        self.placing = True
        try:
            self._place_all(screen, slots, placed, active)
        finally:
            self.placing = False

    def _place_all(
        self, screen: Screen, slots: Sequence[Slot], placed: Sequence[Placed], active: int
    ) -> None:
        if screen is not self.layout.screen:
            self.layout.activate(screen.visible[0])
        self.layout.arrange(slots)
        for viewport, one in zip(screen.viewports, placed, strict=True):
            instance = one.instance
            if instance is not None and not self._is_open(instance):
                instance = None
            if viewport.instance is not instance or viewport.frame_index != one.frame_index:
                viewport.show(instance, one.frame_index)
            if one.display is not None:
                viewport.set_display(one.display)
        self.layout.activate(screen.viewports[active])

    def opened_files(self) -> list[Path]:
        """Return the paths of all open instances; that of a zip member begins with the zip's."""
        return [item.path for item in instances_of(self.studies.all)]

    def shown_images(self) -> list[str]:
        """Return the SOP Instance UIDs of all images of which a viewport or pane shows pixels."""
        uids = [pane.sop_instance_uid for pane in self.panes.all]
        for viewport in self.layout.visible:
            frame, acquired = viewport.frame, viewport.acquired
            if acquired is not viewport.instance and acquired is not None:
                source = self.scale_source(acquired)  # a section has pixels of every slice
                instances = source.instances if isinstance(source, Series) else (source,)
                uids += [one.sop_instance_uid for one in instances]
            elif frame is not None:
                uids.append(frame.ref.sop_instance_uid)
        return uids

    def instance_of(self, sop_instance_uid: str) -> Instance | None:
        """Return the open instance or reformat with a SOP Instance UID; None if there is none."""
        found = self.studies.with_uid(sop_instance_uid)
        return found or self._reformats.get(sop_instance_uid, (None,))[0]

    def study_uid_of(self, sop_instance_uid: str) -> str:
        """Return the Study Instance UID of an open image or of a section of one; "" if unknown."""
        image = self.instance_of(sop_instance_uid)
        study = self.studies.study_of(self._acquired_of(image)) if image is not None else None
        return study.uid if study is not None else ""

    def study_key_at(self, sop_instance_uid: str) -> str:
        """Return the key of the study of an open image or of a section of one; "" if unknown."""
        return self._study_key_of(self.instance_of(sop_instance_uid))

    def is_same_patient(self, one: Instance, other: Instance) -> bool:
        """Return whether two open images belong to one study or have the same Patient ID."""
        studies = [self.studies.study_of(self._acquired_of(image)) for image in (one, other)]
        patient = one.get("PatientID")
        same_id = bool(patient) and patient == other.get("PatientID")
        return same_id or (studies[0] is not None and studies[0] is studies[1])

    def _acquired_of(self, image: Instance) -> Instance:
        """Return the image that sections were made from; any other image is returned unchanged."""
        known = self._reformats.get(image.sop_instance_uid)
        return known[1][0] if known else image

    def show_image(self, ref: ImageRef) -> None:
        """Show an image, if it is open, in the viewport of its series, or else in the active one.

        A viewport that shows the image scrolls to its frame.
        """
        viewports = (self.viewport, *self.layout.viewports)
        for viewport in viewports:
            shown = viewport.instance
            if shown is not None and shown.sop_instance_uid == ref.sop_instance_uid:
                self.layout.activate(viewport)
                viewport.scroll_to(ref.frame)
                return
        if (instance := self.instance_of(ref.sop_instance_uid)) is None:
            return
        series = self.studies.series_of(instance)
        for viewport in viewports:
            shown = viewport.instance
            if series is not None and shown is not None and shown in series.instances:
                self.layout.activate(viewport)
                break
        self.viewport.show(instance, ref.frame)

    def show_finding(self, finding_id: str) -> None:
        """Show a finding: its image, visible and selected, with its region in view."""
        item = self.annotations.get(finding_id)
        if item is None:
            return
        self.show_image(item.finding.image)
        if not item.visible:
            self.annotations.set_visible([finding_id], True)
        self.annotations.select(finding_id)
        self.annotations.region_wanted.emit(finding_id)

    def scaled(self, instance: Instance, frame: Frame) -> Frame:
        """Return a frame with the scale that its marks are measured with, by hand or its own."""
        return self.scales.scaled(instance, frame)

    def calibrate(
        self, line: Finding, frame: Frame, mm: float | None, series: bool = False
    ) -> None:
        """Calibrate an image, or its series, by the known length of a line on it; can be undone.

        Args:
            line: The line; see `calibration.can_calibrate`.
            frame: Its image, with the file's own scale.
            mm: Its true length; None ends its calibration.
            series: Whether the other images of the series with as many pixels have this scale too.
        """
        instance = self.instance_of(line.image.sop_instance_uid)
        own = self.studies.series_of(instance) if instance is not None else None
        self.scales.learn(frame)
        changed = [calibration.with_known_length(line, mm, series=series)]
        for item in self.annotations.all():  # one line at a time calibrates an image or series
            one = item.finding
            if one.id == line.id or calibration.known_length(one) is None:
                continue
            image = self.studies.with_uid(one.image.sop_instance_uid)
            beside = series and image is not None and self.studies.series_of(image) is own
            if beside or one.image == line.image:
                changed.append(calibration.with_known_length(one, None))
        label = "Calibrate by a length" if mm is not None else "End the calibration"
        self.annotations.change(changed, label)  # and `scales` measures all marks anew

    def rejection_of(self, instance: Instance) -> str:
        """Return why a key object selection withdraws an image (IHE IOCM); "" if none does."""
        if self._rejected is None:
            self._rejected = {}
            for study in self.studies.all:
                for series in study.series:
                    selections = series.instances if series.content is Content.KEY_OBJECTS else ()
                    for item in (one for one in selections if one.note):
                        for uid in item.references:
                            self._rejected.setdefault(uid, []).append(item)
        notes = self._rejected.get(instance.sop_instance_uid, ())
        mine = (item for item in notes if may_be_same_patient(item, instance))
        return next((item.note.split(":")[0] for item in mine), "")

    def is_key_image(self, ref: ImageRef) -> bool:
        """Return whether a frame is marked as a key image, or named by a key object selection."""
        named = self.key_marks.is_named(ref.sop_instance_uid, ref.frame)
        return named or self.key_marks.is_own(ref)

    @property
    def acquired(self) -> Instance | None:
        """The acquired image that the active viewport shows, or made its sections from; or None."""
        return self.viewport.acquired

    def scale_source(self, instance: Instance) -> Series | Instance:
        """Return the images windowed in the same way as an instance: its series, or it alone."""
        instance = self._acquired_of(instance)
        if has_own_scale(instance):
            return instance
        return self.studies.series_of(instance) or instance

    def scale_key(self, instance: Instance) -> ScaleKey:
        """Return a key for the images that share an instance's grey scale, as `scale_source` says.

        The key stays the same while a scan adds images to the group.
        """
        source = self.scale_source(instance)
        if isinstance(source, Instance):
            return str(source.path), f"{source.sop_instance_uid}/{source.part}"
        study = self.studies.study_of(source.instances[0])
        return key_of(study) if study else "", source.key

    def lay(self, over: ScaleKey, layer: Layer, *, lift: bool = False) -> None:
        """Lay a label volume over the images with key `over` (see `scale_key`); can be undone.

        With `lift`, the label volume is removed from the images instead.
        """
        steps = [lambda: self.layers.lay(over, layer), lambda: self.layers.lift(over, layer)]
        do, undo = reversed(steps) if lift else steps
        verb = "Remove" if lift else "Overlay"
        self.commands.push(Command(f"{verb} {layer.title}", do, undo))

    def lift(self, key: str) -> None:
        """Remove a label volume, by its layer's key, from the shown images; can be undone."""
        for entry in self.layers.entries:
            if entry.key == key and entry.layer is not None and self.acquired is not None:
                self.lay(self.scale_key(self.acquired), entry.layer, lift=True)

    def set_findings_visible(self, visible: bool) -> None:
        """Show or hide all findings, including the labels of label volumes laid over images."""
        every = [item.finding.id for item in self.annotations.all()]
        self.annotations.set_visible(every, visible)
        self.layers.set_laid_visible(visible)

    def image_of(self, instance: Instance) -> Instance | None:
        """Return the first open image that an object refers to or is drawn on, or None."""
        study = self.studies.study_of(instance)
        named = (self.instance_of(uid) for uid in instance.references)
        found = next((item for item in named if item is not None and item.is_image), None)
        if found is not None or study is None:
            return found
        images = (item for one in study.series for item in one.instances if item.is_image)
        return next((item for item in images if layers_for(item, [instance])), None)

    def close_study(self, *keys: str) -> None:
        """Close the studies with these keys (`studies.key_of`); clear viewports that show them.

        Findings are kept; they are shown again when their image is reopened. Unknown keys are
        ignored.
        """
        shown = [(one, self._study_in(one)) for one in self.layout.viewports]
        closed = [item for item in self.studies.all if key_of(item) in keys]
        if not closed:
            return
        self.studies.close(*keys)
        for one in closed:
            self.panes.close_study(StudyUids(one))
        # Layers keep data of objects only, not of images, of which there are many.
        objects = (s for one in closed for s in one.series if s.content is not Content.IMAGE)
        self.layers.forget(item for series in objects for item in series.instances)
        for viewport, study in shown:
            if any(study is one for one in closed):
                viewport.show(None)
        for uid, (_, (source, _frame)) in list(self._reformats.items()):
            if self.studies.study_of(source) is None:
                del self._reformats[uid]
        self.scales.forget({one.uid for one in closed})
        self.alignments.forget({one.uid for one in closed})
        self.closed.emit(tuple(closed))

    def _study_in(self, viewport: Viewport) -> Study | None:
        shown = viewport.acquired
        return self.studies.study_of(shown) if shown else None

    def close_all(self) -> None:
        """Close every study."""
        self.close_study(*(key_of(study) for study in self.studies.all))

    def open_images(self) -> tuple[OpenImage, ...]:
        """Return the images that a run may use, in their current state.

        The object in the active viewport comes first, even if it is a report, so that tools refuse
        the report rather than run on an image that the user does not see. Next are those in the
        other viewports, then images from the shown study, from its priors and from other studies,
        up to `MOST_IMAGES`. For a reformat the acquired image is returned, since findings belong to
        acquired pixels.
        """
        from app.tools.images import OpenImage

        images: list[OpenImage] = []
        drawn, made, by_hand = self._drawn(), self._made(), self._by_hand()
        seen: dict[int, tuple[Instance, Viewport]] = {}  # by identity
        for viewport in (self.viewport, *self.layout.viewports):
            if (acquired := viewport.acquired) is not None:
                seen.setdefault(id(acquired), (acquired, viewport))
        for item, viewport in seen.values():
            found = self.studies.place_of(item)
            shown = viewport.frame_index if item is viewport.instance else 0
            shown, window = _only_visible(viewport, shown)
            images.append(
                OpenImage(
                    f"image-{len(images) + 1}",
                    item,
                    shown,
                    window,
                    viewport.display.invert,
                    drawn.get(item.sop_instance_uid, ()),
                    (found[1] + 1, len(found[0].instances)) if found else (0, 0),
                    made.get(item.sop_instance_uid, ()),
                    found[0] if found else None,
                    by_hand.get(item.sop_instance_uid, ()),
                )
            )
        rest = (item for item in self._images() if id(item) not in seen)
        for item in islice(rest, MOST_IMAGES - len(images)):
            name, marks = f"image-{len(images) + 1}", drawn.get(item.sop_instance_uid, ())
            known = made.get(item.sop_instance_uid, ())
            series = self.studies.series_of(item)
            every = by_hand.get(item.sop_instance_uid, ())
            images.append(
                OpenImage(
                    *(name, item, 0, None, False, marks),
                    findings=known,
                    series=series,
                    marks=every,
                )
            )
        return tuple(images)

    def _drawn(self) -> dict[str, tuple[Finding, ...]]:
        """Return the visible marks of the user by SOP Instance UID, the latest last.

        Those on other pixels than the open image's are left out, also by `_made`, and so are those
        of an earlier session until the image has been read.
        """
        found: dict[str, tuple[Finding, ...]] = {}
        for item in self.annotations.all():
            known = self.scales.is_of(item.finding.image)
            if item.visible and known and drawing.is_mark(item.finding):
                uid = item.finding.image.sop_instance_uid
                found[uid] = (*found.get(uid, ()), item.finding)
        return found

    def _by_hand(self) -> dict[str, tuple[Finding, ...]]:
        """Return all that the user drew, by the SOP Instance UID of the acquired image."""
        found: dict[str, tuple[Finding, ...]] = {}
        for item in self.annotations.all():
            if not drawing.by_hand(item.finding):
                continue
            image = self.instance_of(item.finding.image.sop_instance_uid)
            if image is None:
                continue
            if image.kind == REFORMAT or self.scales.is_of(item.finding.image):
                uid = self._acquired_of(image).sop_instance_uid
                found[uid] = (*found.get(uid, ()), item.finding)
        return found

    def _made(self) -> dict[str, tuple[Finding, ...]]:
        """Return the tools' findings by SOP Instance UID, the latest last."""
        found: dict[str, list[Finding]] = {}
        for item in self.annotations.all():
            if not drawing.by_hand(item.finding) and self.scales.is_of(item.finding.image):
                found.setdefault(item.finding.image.sop_instance_uid, []).append(item.finding)
        return {uid: tuple(findings) for uid, findings in found.items()}

    def _shown_study(self) -> str:
        return self._study_key_of(self.acquired)

    def _study_key_of(self, image: Instance | None) -> str:
        study = self.studies.study_of(self._acquired_of(image)) if image is not None else None
        return key_of(study) if study is not None else ""

    def _accepted_in(self, study: str) -> list[Finding]:
        """Return the tools' findings that a person accepted on a study's images, by its key."""
        states = (State.ACCEPTED, State.EDITED)
        found = [item.finding for item in self.annotations.all() if item.finding.state in states]
        return [
            one
            for one in found
            if not drawing.by_hand(one)
            and self._study_key_of(self.instance_of(one.image.sop_instance_uid)) == study
        ]

    def shown_marks(self) -> tuple[Finding, ...]:
        """Return the visible marks that the user drew for tools on the frame; () on a reformat."""
        frame = self.viewport.frame
        if frame is None or self.acquired is not self.viewport.instance:
            return ()
        uid = frame.ref.sop_instance_uid
        return tuple(item for item in self._drawn().get(uid, ()) if frame.shows(item.image))

    @property
    def marked(self) -> bool:
        """Whether the user has marked an object on the frame; points outside it do not count."""
        return any(item.provenance.tool != drawing.OUTSIDE for item in self.shown_marks())

    def _images(self) -> Iterator[Instance]:
        """Yield the open images: of the shown study, of its priors, then of the other studies."""
        shown = self.acquired
        own = self.studies.study_of(shown) if shown else None
        first = [own, *self.priors(own)] if own else []
        others = (study for study in self.studies.all if study not in first)
        for study in (*first, *others):
            for series in study.series:
                yield from (item for item in series.instances if item.is_image)

    def take_results(
        self,
        tool: str,
        findings: Sequence[Finding],
        artifacts: Sequence[Artifact],
        about: str | None = None,
        output: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Add a tool call's findings, and open its pictures (artifacts to be shown) in panes.

        The `output` of a differential becomes that of the study that was shown.

        Pictures without a source stand beside the image with the SOP Instance UID `about`, which
        was shown when they were asked for ("" for none); by default beside the shown one.
        """
        from app.tools.diagnosis.differential_tool import COMPUTE

        self.scales.trust(findings)
        self.annotations.add(findings, label=self.title_of(tool))
        if tool == COMPUTE and output:
            image = self.acquired if about is None else self.instance_of(about) if about else None
            self.diagnosis.take(output, self._study_key_of(image) if image or about else None)
        for one in artifacts:
            self._align(one)
        panes = [self._pane(tool, one, about) for one in artifacts if one.role == "show"]
        new = [pane for pane in panes if self.panes.of_picture(pane.path) is None]
        for pane in panes:
            self.panes.show(pane)
        if new and not findings:  # else undo takes the findings back, and their picture stays

            def show() -> None:
                for pane in new:
                    self.panes.show(pane)

            def close() -> None:
                for pane in new:
                    self.panes.close(pane)

            self.commands.push(Command(self.title_of(tool), show, close), performed=True)

    def _align(self, artifact: Artifact) -> None:
        """Take over a registration of two series, by which viewports are linked."""
        matrix, prior = artifact.options.get("to_prior"), artifact.options.get("prior")
        if not matrix or artifact.source is None:
            return
        current, other = (
            self.instance_of(uid) for uid in (artifact.source.sop_instance_uid, str(prior))
        )
        if current is not None and other is not None:
            self.alignments.add(current, other, matrix, artifact.options.get("pairs") or ())

    def open_artifact(self, tool: str, artifact: Artifact) -> None:
        """Show a picture, table or plot in a pane beside the image that it was made from."""
        pane = self._pane(tool, artifact)
        self.panes.show(pane)
        if pane not in self.panes.all:
            source = self.instance_of(pane.sop_instance_uid)
            if source is not None:
                self.viewport.show(source)

    def _pane(self, tool: str, artifact: Artifact, about: str | None = None) -> Pane:
        shown = self.acquired
        source = artifact.source.sop_instance_uid if artifact.source else ""
        known = self.panes.of_picture(artifact.path)  # shown again: still of that image
        shown_uid = shown.sop_instance_uid if shown else ""
        beside = shown_uid if about is None else about
        content = str(artifact.options.get("shows") or source)
        options = dict(artifact.options)
        if artifact.role in DATA:
            return self._data_pane(tool, artifact)
        if known is not None:
            options = {"sides": known.options.get("sides"), **options}
        return Pane(
            artifact.path,
            artifact.title or artifact.path.name,
            artifact.description,
            self.title_of(tool),
            options,
            source or (known.sop_instance_uid if known else "") or beside,
            known.instance if known else self.instance_of(content) if content else None,
        )

    def _data_pane(self, tool: str, artifact: Artifact) -> Pane:
        """Return the pane of a table or plot; one about several images stands beside any."""
        given = artifact.options.get("findings")
        ids = list(given.values()) if isinstance(given, dict) else []
        item = self.annotations.get(ids[0]) if len(ids) == 1 and isinstance(ids[0], str) else None
        return Pane(
            artifact.path,
            artifact.title or artifact.path.name,
            artifact.description,
            self.title_of(tool),
            dict(artifact.options),
            item.finding.image.sop_instance_uid if item is not None else "",
            role=artifact.role,
        )

    def _follow_studies(self) -> None:
        found = (self._study_in(viewport) for viewport in self.layout.viewports)
        studies = tuple({id(study): study for study in found if study is not None}.values())
        if [*map(id, studies)] != [*map(id, self._beside)]:
            self._beside = studies
            self.panes.set_studies([StudyUids(study) for study in studies])

    def _replace_pictures(self, viewport: Viewport) -> None:
        """Let an image take the place of the tools' pictures."""
        if viewport is self.layout.pictures and viewport.instance is not None:
            self.layout.pictures = None
            self.layout.changed.emit()

    def _follow_pictures(self) -> None:
        """Close the pictures with their viewport."""
        had, self._has_pictures = self._has_pictures, self.layout.pictures is not None
        if had and not self._has_pictures:
            for pane in self.panes.all:
                self.panes.close(pane)

    def _forget_places(self) -> None:
        self._rejected = None

    def next_instance(self, step: int, viewport: Viewport | None = None) -> Instance | None:
        """Return the instance `step` positions further in a series, or None past its ends.

        The series is that of `viewport`, by default the active one.
        """
        shown = (viewport or self.viewport).instance
        found = self.studies.place_of(shown) if shown else None
        if found is None:
            return None
        series, place = found
        index = place + step
        return series.instances[index] if 0 <= index < len(series.instances) else None


def _only_visible(viewport: Viewport, index: int) -> tuple[int, Window | None]:
    """Return the frame and window for tools: of the selected channel, or the only visible one."""
    axes, display = viewport.axes, viewport.display
    if axes is not None and display.together:
        visible = [number for number, look in enumerate(display.channels) if look.visible]
        if len(visible) == 1 and visible[0] != viewport.channel:
            _, z, time = axes.place(index)
            look = display.channels[visible[0]]
            window = look.window or viewport.automatic_windows.get(visible[0])
            return axes.index(visible[0], z, time), window
    return index, viewport.acquired_window


def first_to_show(result: ScanResult, images_only: bool = False) -> Instance | None:
    """Return the object to show first: an image, else an object with frames, else any object.

    With `images_only`, None is returned if there is no image.
    """
    best: Instance | None = None
    for study in result.studies:
        for item in (item for series in study.series for item in series.instances[:1]):
            if item.is_image:
                return item
            if best is None or (item.has_frames and not best.has_frames):
                best = item
    return None if images_only else best
