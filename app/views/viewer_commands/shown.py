"""What the viewports show: as words for an answer, as data and as pictures for a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF

from app.imaging.findings import Finding
from app.imaging.types import ImageRef, Plane, Study
from app.tools.api import JsonDict, ToolFailed, ToolRetry, ViewPicture
from app.tools.viewer.places import Region, region_in
from app.views import wording
from app.views.canvas import corner_text
from app.views.canvas.annotated_render import Look
from app.views.canvas.canvas import Canvas
from app.views.pictures.picture_source import PictureSource, source_of
from app.views.viewports.viewport_frame import ViewportFrame
from app.workspace import drawing
from app.workspace.annotations import Annotation
from app.workspace.viewport import Viewport

if TYPE_CHECKING:
    from app.views.main_window import MainWindow

MOST_FINDINGS = 60
_YEAR = re.compile(r"(?:19|20)\d\d")
_RUN_ID = re.compile("[0-9a-f]{32}")

Told = Mapping[tuple[int, str], str]
"""What is shown in words, by the viewport's number (0 for the layout) and what it is about."""


class ShownState:
    """What the window's viewports show."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._workspace = window.workspace
        self._spoken_of: tuple[list[str], str | None] = ([], None)
        self.commanding = False
        self._asked_since_click: int | None = None
        self._workspace.annotations.changed.connect(self._forget_removed)
        self._workspace.annotations.selection_changed.connect(self._note_click)

    # Viewports

    def frames(self, where: str) -> list[ViewportFrame]:
        """Return the viewports that an argument names; the active one for "".

        Raises:
            ToolRetry: There is none.
        """
        area, screen = self._window.viewports, self._workspace.layout.screen
        if (region := region_in(where)) is not None:
            return [self.of_region(region)]
        if where in ("", "active"):
            return [area.active]
        if where == "all":
            return [area.frame_of(one) for one in screen.viewports]
        if where.isdigit() and 1 <= int(where) <= len(screen.viewports):
            return [area.frame_of(screen.viewports[int(where) - 1])]
        if where in ("prior", "current"):
            return self._of_time(where)
        if _YEAR.fullmatch(where):
            return self._of_year(where)
        if where == "other":
            return [self._other()]
        if where.startswith("series "):
            return self._of_series(where.removeprefix("series "))
        words = where.split()
        if words and all(one in ("left", "right", "top", "bottom") for one in words):
            there = [one for one in screen.viewports if {*words} <= {*self.place(one).split()}]
            if len(there) > 1 and self._workspace.viewport in there:
                return [area.active]  # of several at this side it is meant
            if len(there) == 1:
                return [area.frame_of(there[0])]
            if there:
                numbers = [str(screen.viewports.index(one) + 1) for one in there]
                raise ToolRetry(
                    f"several viewports are at the {where}",
                    remedy=f"Say which: viewport {' or '.join(numbers)}, or click it.",
                )
        count = len(screen.viewports)
        raise ToolRetry(
            f"there is no viewport “{where}”",
            remedy="There is only one viewport." if count == 1 else f"There are {count}.",
        )

    def one_frame(self, where: str) -> ViewportFrame:
        """Return the one viewport that an argument names; the active one for "".

        Raises:
            ToolRetry: There is none, or there are several.
        """
        found = self.frames(where)
        if len(found) > 1:
            raise ToolRetry(f"several viewports are meant by “{where}”", remedy="Name one.")
        return found[0]

    def of_region(self, region: Region) -> ViewportFrame:
        """Return the viewport that shows a region's image, the active one before others.

        Raises:
            ToolRetry: None does, or images of the same name do.
        """
        area, layout = self._window.viewports, self._workspace.layout
        visible = [area.frame_of(one) for one in layout.visible]
        every = sorted(visible, key=lambda one: one is not area.active)
        drawn = [
            item.finding.image
            for item in self._workspace.annotations.all()
            if item.finding.geometry == region.box
            and drawing.is_mark(item.finding)
            and self._is_of(region, item.finding.image)
        ]
        shown = [(one, one.canvas.frame) for one in every if one.canvas.frame is not None]
        for ref in reversed(drawn):
            if found := next((one for one, frame in shown if frame.shows(ref)), None):
                return found
        # The box itself may be gone by now.
        alike = [] if drawn else [(o, f.ref) for o, f in shown if self._is_of(region, f.ref)]
        if len({ref for _, ref in alike}) > 1:
            raise ToolRetry(
                f"several images are called “{region.image}”",
                remedy="Attach the region again.",
            )
        if not alike:
            raise ToolRetry(
                "the image of the region is not shown any more",
                remedy=f"Show “{region.image}”, then ask again.",
            )
        return alike[0][0]

    def _is_of(self, region: Region, ref: ImageRef) -> bool:
        image = self._workspace.instance_of(ref.sop_instance_uid)
        return image is not None and region.is_of(image.path.name, ref.frame, image.frames)

    def _of_time(self, when: str) -> list[ViewportFrame]:
        """Return the viewports that show the study that is read ("current"), or another one.

        Of several the active one is meant, if it is among them. Where the study that is read is not
        shown, the "current image" is the active one.
        """
        newest = self.newest()
        there = [
            one
            for one in self._workspace.layout.screen.viewports
            if newest is not None
            and (uid := self.study_uid(one))
            and (uid == newest.uid) == (when == "current")
        ]
        if self._workspace.viewport in there or (when == "current" and not there):
            return [self._window.viewports.active]
        if not there:
            raise ToolRetry(f"no viewport shows the {when} study", remedy="Show it first.")
        return [self._window.viewports.frame_of(one) for one in there]

    def study_uid(self, viewport: Viewport) -> str:
        """Return the UID of the study that a viewport shows; "" for none."""
        image = viewport.acquired
        return self._workspace.study_uid_of(image.sop_instance_uid) if image else ""

    def newest(self) -> Study | None:
        """Return the study that is read: the latest of the shown patient."""
        shown = self._workspace.acquired
        study = self._workspace.studies.study_of(shown) if shown is not None else None
        return study if study is None else max(self.of_patient(study), key=lambda one: one.date)

    def of_patient(self, study: Study) -> list[Study]:
        """Return a study with the open earlier and later ones of its patient."""
        workspace = self._workspace
        later = [one for one in workspace.studies.all if study in workspace.priors(one)]
        return [study, *later, *workspace.priors(study)]

    def _of_year(self, year: str) -> list[ViewportFrame]:
        """Return the viewports that show a study of a year, as `_of_time` chooses among them."""
        there = [
            one
            for one in self._workspace.layout.screen.viewports
            if one.acquired is not None and one.acquired.get("StudyDate").startswith(year)
        ]
        if self._workspace.viewport in there:
            return [self._window.viewports.active]
        if not there:
            raise ToolRetry(f"no viewport shows a study of {year}", remedy="Show it first.")
        return [self._window.viewports.frame_of(one) for one in there]

    def _other(self) -> ViewportFrame:
        """Return the one viewport beside the active one that shows an image.

        Raises:
            ToolRetry: There is none, or there are several.
        """
        screen = self._workspace.layout.screen
        others = [
            one
            for one in screen.visible
            if one is not self._workspace.viewport and one.acquired is not None
        ]
        if len(others) == 1:
            return self._window.viewports.frame_of(others[0])
        if not others:
            raise ToolRetry("no other viewport shows an image", remedy="Name the viewport.")
        numbers = [str(screen.viewports.index(one) + 1) for one in others]
        raise ToolRetry(
            "several viewports are meant by “other”",
            remedy=f"Say which: viewport {' or '.join(numbers)}, or click it.",
        )

    def _of_series(self, name: str) -> list[ViewportFrame]:
        """Return the viewports that show a series of a number, or with words in its description.

        As `_of_time` chooses among them.
        """
        series_of, words = self._workspace.studies.series_of, set(name.split())
        there: list[Viewport] = []
        for one in self._workspace.layout.screen.viewports:
            series = series_of(one.acquired) if one.acquired is not None else None
            if series is None:
                continue
            described = set(re.findall(r"\w+", series.description.casefold()))
            if name == str(series.number) if name.isdigit() else words <= described:
                there.append(one)
        if self._workspace.viewport in there:
            return [self._window.viewports.active]
        if not there:
            raise ToolRetry(f"no viewport shows the series “{name}”", remedy="Show it first.")
        return [self._window.viewports.frame_of(one) for one in there]

    # Findings

    def listed(self, where: str = "") -> list[Annotation]:
        """Return the marks of the study in the active viewport, those on its image first.

        If a viewport is named, they are those of the series that it shows.

        Raises:
            ToolRetry: There is no such viewport.
        """
        workspace, shown = self._workspace, self._workspace.viewport.frame
        every = workspace.annotations.all()
        if where:
            images = {uid for one in self.frames(where) for uid in self._series_images(one)}
            mine = [item for item in every if item.finding.image.sop_instance_uid in images]
            shown = self.frames(where)[0].viewport.frame
        else:
            uid = self.study_uid(workspace.viewport)
            mine = [
                item
                for item in every
                if uid and workspace.study_uid_of(item.finding.image.sop_instance_uid) == uid
            ]
        return sorted(mine, key=lambda i: not (shown is not None and shown.shows(i.finding.image)))

    def speak_of(self, findings: Iterable[Finding], *, also: bool = False) -> None:
        """Note the findings that a command was about, which "it" means until another is selected.

        "Hide the nodule", then "reject it", whichever is selected. With `also`, what was spoken of
        before may be meant as well.
        """
        ids = [*(self._spoken_of[0] if also else ()), *(one.id for one in findings)]
        self._asked_since_click = None
        self._spoken_of = (ids, self._workspace.annotations.selected)

    def _note_click(self, finding_id: str) -> None:
        if finding_id and not self.commanding:
            self._asked_since_click = 0

    def end_run(self) -> None:
        """Note that a question was answered."""
        if self._asked_since_click is not None:
            self._asked_since_click += 1

    def _forget_removed(self) -> None:
        ids, selected = self._spoken_of
        if any(self._workspace.annotations.get(one) is None for one in ids):
            self._spoken_of = ([], selected)

    def it(self) -> list[Finding]:
        """Return the findings in the viewports that "it" means: those spoken of, or selected."""
        ids, selected = self._spoken_of
        chosen = self._workspace.annotations.selected
        meant = {*ids} if ids and selected == chosen else {chosen}
        every = {item.finding.id: item.finding for w in ("", "all") for item in self.listed(w)}
        return [one for key, one in every.items() if key in meant]

    def _series_images(self, frame: ViewportFrame) -> set[str]:
        """Return the UIDs of the images in the series that a viewport shows."""
        acquired = frame.viewport.acquired
        series = self._workspace.studies.series_of(acquired) if acquired is not None else None
        return {one.sop_instance_uid for one in series.instances} if series else set()

    def _selected(self) -> Finding | None:
        every = self._workspace.annotations.all()
        found = (item.finding for item in every)
        return next((f for f in found if f.id == self._workspace.annotations.selected), None)

    # Words

    def told(self) -> Told:
        """Return what the viewports of the active window show, in words."""
        viewports = self._workspace.layout.screen.viewports
        count = len(viewports)
        told = {(0, "layout"): "1 viewport" if count == 1 else f"{count} viewports"}
        large = self._workspace.layout.screen.maximised
        if large is not None:
            told[0, "layout"] = f"viewport {viewports.index(large) + 1} fills the screen"
        if (selected := self._selected()) is not None:
            every = self._workspace.annotations.all()
            hidden = any(one.finding.id == selected.id and not one.visible for one in every)
            name = wording.label_text(selected)
            told[0, "selected"] = f"selected: {name}{', hidden' if hidden else ''}"
        made = {frame.viewport: frame for frame in self._window.viewports.frames}
        for number, viewport in enumerate(viewports, 1):
            hidden = large is not None and viewport is not large
            words = self._source_words(viewport)
            if hidden:  # by the one that fills the screen
                words = {about: f"{text}, not in view now" for about, text in words.items()}
            elif (frame := made.get(viewport)) is not None and frame.canvas.picture is not None:
                words |= self._words(frame)
            else:
                continue
            told |= {(number, about): text for about, text in words.items()}
        return told

    def _source_words(self, viewport: Viewport) -> dict[str, str]:
        acquired, words = viewport.acquired, dict[str, str]()
        study = self._workspace.studies.study_of(acquired) if acquired is not None else None
        if study is not None and len(self.of_patient(study)) > 1:
            words["study"] = "current study" if study is self.newest() else "prior study"
        series = self._workspace.studies.series_of(acquired) if acquired is not None else None
        if series is not None and series.number:
            words["series"] = f"series {series.number}"
        return words

    def _words(self, frame: ViewportFrame) -> dict[str, str]:
        canvas, words = frame.canvas, dict[str, str]()
        plane = frame.planes.plane
        words["plane"] = "as acquired" if plane is Plane.ACQUIRED else f"{plane.value} plane"
        place, count = canvas.scroller.place
        words["image"] = f"image {place + 1} of {count}"
        if (window := canvas.shown_window) is not None:
            words["window"] = f"window C {window.center:g} W {window.width:g}"
        display = canvas.model.display
        words["invert"] = "inverted" if display.invert else "not inverted"
        words["turn"] = display.turn_text.lower() or "not turned"
        words["zoom"] = f"zoom {canvas.zoom * 100:.0f} %"
        return words

    def sentences(self) -> str:
        """Return what the viewports show, a sentence for each."""
        told = self.told()
        numbers = dict.fromkeys(number for number, _ in told)
        texts = [
            ", ".join(text for (one, _), text in told.items() if one == number)
            for number in numbers
        ]
        said = [
            f"viewport {number}: {text}" if number else text
            for number, text in zip(numbers, texts, strict=True)
        ]
        return " ".join(f"{text[:1].upper()}{text[1:]}." for text in said)

    def change(self, before: Told) -> str:
        """Return what is shown otherwise than it was told `before`; "" for nothing."""
        now = self.told()
        changed = {key: text for key, text in now.items() if before.get(key) != text}
        if (0, "layout") in changed:  # what follows from it need not be told
            changed = {key: text for key, text in changed.items() if key[1] in ("layout", "study")}
        other = {number for number, about in changed if about in ("study", "series")}
        changed = {
            (number, about): text
            for (number, about), text in changed.items()
            if number not in other or about in ("study", "series", "image")
        }
        count = len(self._workspace.layout.screen.viewports)
        texts: list[str] = []
        for (number, about), text in changed.items():
            if number == 0 or count == 1:
                texts.append(text)
            elif sum(changed.get((one + 1, about)) == text for one in range(count)) == count:
                texts.append(f"all viewports: {text}")
            else:
                texts.append(f"viewport {number}: {text}")
        said = [f"{text[:1].upper()}{text[1:]}." for text in dict.fromkeys(texts)]
        return " ".join(said)

    # Data

    def state(self, studies: Iterable[str] | None = None) -> JsonDict:
        """Return what is shown, as data; of `studies` (UIDs) only, if they are given."""
        workspace, area = self._workspace, self._window.viewports
        screen = workspace.layout.screen
        made = {frame.viewport: frame for frame in area.frames}
        images = self._image_ids()
        known = None if studies is None else {*studies}
        viewports: list[JsonDict] = []
        for number, viewport in enumerate(screen.viewports, 1):
            told: JsonDict = {"viewport": number, "active": viewport is workspace.viewport}
            frame = made.get(viewport)
            if known is not None and self.study_uid(viewport) not in {"", *known}:
                told["other_study"] = True
            elif frame is not None and frame.canvas.picture is not None:
                told |= {"place": self.place(viewport)} if len(screen.viewports) > 1 else {}
                told |= self._shown_in(frame, images)
                told |= self._of_others(frame) if len(screen.viewports) > 1 else {}
            viewports.append(told)
        state: JsonDict = {"viewports": viewports, "layout": screen.name, "findings": []}
        if known is not None and self.study_uid(workspace.viewport) not in known:
            return state
        selected = workspace.annotations.selected
        state["findings"] = [
            {
                "id": item.finding.id[:8],
                "label": item.finding.label,
                "state": item.finding.state.value,
                "visible": item.visible,
                **({"selected": True} if item.finding.id == selected else {}),
            }
            for item in self.listed()[:MOST_FINDINGS]
        ]
        if it := self.it():
            state["it"] = [one.label for one in it[:MOST_FINDINGS]]
            if self._asked_since_click is not None:
                state["questions_since_click"] = self._asked_since_click
        if pointed := self._window.canvas.clicked:
            state["pointed_at"] = dict(zip("xy", pointed[-1], strict=True))
        return state

    def _of_others(self, frame: ViewportFrame) -> JsonDict:
        """Return what tells a viewport from others: its study, and the names of its marks."""
        told: JsonDict = {}
        acquired = frame.viewport.acquired
        study = self._workspace.studies.study_of(acquired) if acquired is not None else None
        if study is not None and len(self.of_patient(study)) > 1:
            told["study"] = "current" if study is self.newest() else "prior"
        if frame.viewport is not self._workspace.viewport:
            marks = [item.finding.label for item in frame.canvas.findings_layer.shown()]
            told |= {"labels": [*dict.fromkeys(marks)][:MOST_FINDINGS]} if marks else {}
        return told

    def _image_ids(self) -> dict[int, str]:
        """Return the images' ids as `Workspace.open_images` numbers them, by identity."""
        images: dict[int, str] = {}
        workspace = self._workspace
        for viewport in (workspace.viewport, *workspace.layout.viewports):
            if (acquired := viewport.acquired) is not None:
                images.setdefault(id(acquired), f"image-{len(images) + 1}")
        return images

    def place(self, viewport: Viewport) -> str:
        """Return where a viewport stands: "left", "top right", "middle" and so on."""
        screen = self._workspace.layout.screen
        slot = screen.slots[screen.viewports.index(viewport)]
        down = ("top", "bottom") if slot.height < 1 else ("", "")
        across = ("left", "right") if slot.width < 1 else ("", "")
        x, y = slot.x + slot.width / 2, slot.y + slot.height / 2
        words = (_third(y, *down), _third(x, *across))
        return " ".join(word for word in words if word) or "whole"

    def _shown_in(self, frame: ViewportFrame, images: Mapping[int, str]) -> JsonDict:
        canvas, viewport = frame.canvas, frame.viewport
        place, count = canvas.scroller.place
        window, display = canvas.shown_window, viewport.display
        acquired = viewport.acquired
        series = self._workspace.studies.series_of(acquired) if acquired is not None else None
        return {
            "image": images.get(id(acquired), ""),
            "modality": acquired.get("Modality") if acquired is not None else "",
            **({"series": series.number} if series is not None and series.number else {}),
            "position": f"{place + 1} of {count}",
            "plane": frame.planes.plane.value,
            **(
                {"window": {"center": window.center, "width": window.width}}
                if window is not None
                else {}
            ),
            **({"inverted": True} if display.invert else {}),
            **({"turned": display.turn_text} if display.turn_text else {}),
            "zoom_percent": round(canvas.zoom * 100),
            "fitted": canvas.fitted,
            **({"playing": True} if canvas.scroller.playing else {}),
        }

    # Pictures

    def pictures(self) -> tuple[ViewPicture, ...]:
        """Return the viewports as they are shown now, the active one first, to be drawn later.

        They hold window, zoom, marks, and the labels that tools gave; no text of the file, and no
        label that a person wrote.
        """
        layout, images = self._workspace.layout, self._image_ids()
        viewports = sorted(layout.screen.visible, key=lambda one: one is not layout.active)
        made = {frame.viewport: frame for frame in self._window.viewports.frames}
        found: list[ViewPicture] = []
        for viewport in viewports:
            frame = made.get(viewport)
            if frame is None or viewport.acquired is None:
                continue
            source = source_of(frame.canvas, self._workspace, self._window.decoder)
            if source is None:
                continue
            ref = source.shown.ref
            found.append(
                ViewPicture(
                    image_id=images.get(id(viewport.acquired), ""),
                    image=f"{ref.sop_instance_uid} {ref.frame} {ref.pixel_sha256}",
                    risk=source.risk,
                    caption=self._caption(frame, images.get(id(viewport.acquired), "")),
                    draw=partial(_draw, source),
                )
            )
        return tuple(found)

    def _caption(self, frame: ViewportFrame, image: str) -> str:
        canvas, viewport = frame.canvas, frame.viewport
        screen = self._workspace.layout.screen
        number, count = screen.viewports.index(viewport) + 1, len(screen.viewports)
        parts = [f"Viewport {number} of {count} ({self.place(viewport)})"]
        parts += ["active"] if viewport is self._workspace.viewport else []
        place, images = canvas.scroller.place
        parts += [f"as the user sees it: {image}", f"position {place + 1} of {images}"]
        if (window := canvas.shown_window) is not None:
            parts.append(f"grey window center {window.center:g} width {window.width:g}")
        if canvas.model.display.invert:
            parts.append("black and white exchanged by the user")
        if turned := canvas.model.display.turn_text:
            parts.append(turned.lower())
        if canvas.frame is not None:
            sides = corner_text.side_letters(canvas.frame, canvas.model.display)
            each = ("left", sides.left), ("right", sides.right), ("top", sides.top)
            parts += [
                f"patient's {told} at the {edge} edge" for edge, told in each if _is_code(told)
            ]
        rect = QRectF(canvas.viewport().rect())
        one, other = canvas.to_image(rect.topLeft()), canvas.to_image(rect.bottomRight())
        xs, ys = sorted((one.x(), other.x())), sorted((one.y(), other.y()))
        parts.append(f"columns {xs[0]:.0f} to {xs[1]:.0f}, rows {ys[0]:.0f} to {ys[1]:.0f}")
        marks = [item.finding for item in canvas.findings_layer.shown() if item.visible]
        chosen = next((m for m in marks if m.id == self._workspace.annotations.selected), None)
        parts += [f"{len(marks)} marks drawn"] if marks else ["no marks drawn"]
        parts += [f"selected: mark {chosen.id[:8]}"] if chosen is not None else []
        if pointed := canvas.clicked:
            parts.append(f"the user clicked x {pointed[-1][0]:.0f}, y {pointed[-1][1]:.0f}")
        return f"{', '.join(parts)}."


def shown_canvas(frame: ViewportFrame) -> Canvas:
    """Return a viewport's canvas, which shows an image.

    Raises:
        ToolFailed: It shows none.
    """
    if frame.canvas.picture is None:
        raise ToolFailed("no image is shown", remedy="Open an image first.")
    return frame.canvas


def _is_code(directions: str) -> bool:
    """Return whether a text of a file is nothing but letters of the patient's directions."""
    return 0 < len(directions) <= 3 and {*directions} <= {*"RLAPHF"}


def _third(place: float, first: str, last: str) -> str:
    if not first:
        return ""
    return first if place < 0.5 else last if place > 0.5 else "middle"


def _draw(source: PictureSource) -> NDArray[np.uint8]:
    """Return a viewport as it is shown, without texts that people or files wrote."""
    look = Look(detail=None, view=source.view)
    return source.with_labels(_is_labelled_by_tool).draw(source.place, look)


def _is_labelled_by_tool(item: Annotation) -> bool:
    """Return whether a tool of this program gave a finding its label."""
    finding = item.finding
    same = finding.original is None or finding.original.label == finding.label
    return same and _RUN_ID.fullmatch(finding.provenance.run_id) is not None
