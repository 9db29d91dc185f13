"""Makes the pictures of docs/guide.md: `python -m tests.gui.guide_pictures`.

The real window shows two made CT studies of one made patient (see `tests.bench.series_files`) and
the demo film. `--size`, `--scale`, `--theme` and `--language` make the same pictures as other users
see them, into another `--folder`, to look at.
"""

from __future__ import annotations

import argparse
import io
import math
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pydicom
from PIL import Image
from pydicom.uid import UID
from PySide6.QtCore import QBuffer, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QWidget

from app.imaging.deidentify.options import Option
from app.imaging.findings import Box, Finding, Polygon, Provenance, State, new_id
from app.imaging.types import Plane
from app.views import theme, translation
from app.views.application import create_application, use_offscreen
from app.views.chat.dock import ChatDock
from app.views.deidentify_dialog import DeidentifyDialog
from app.views.dicom_export_dialog import DicomExportDialog
from app.views.main_window import MainWindow
from app.wiring.program import Program
from app.wiring.window_builder import ViewRequest, build_window
from app.workspace import drawing
from tests.bench.series_files import ct_series
from tests.conftest import REPO

SLICES = 60
CONTROL_ALT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
QUESTION = """Run tools in this order:
1) chest_xray_segmentation on the image
2) image_visualizer on segmentation_image_path with title "Segmentation overlay"
"""


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=REPO / "docs" / "images")
    parser.add_argument("--size", default="1280x800", help="of the window, in px")
    parser.add_argument("--scale", default="1", help="of the display")
    parser.add_argument("--theme", default="dark", choices=("dark", "light"))
    parser.add_argument("--language", default="en", choices=tuple(translation.LANGUAGES))
    given = parser.parse_args()
    os.environ["QT_SCALE_FACTOR"] = given.scale
    os.environ["SIGHTLINE_LANGUAGE"] = given.language
    width, height = (int(one) for one in given.size.split("x"))
    use_offscreen()
    given.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        # Nothing of this user's settings is in the pictures, and nothing is changed.
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
            os.environ[name] = str(Path(made) / name)
        pictures = Pictures(given.folder, _studies(Path(made)), given.theme)
        pictures.window.resize(width, height)
        pictures.make()


def _studies(folder: Path) -> list[Path]:
    """Copy a part of the made CT twice, as studies of one patient two years apart."""
    found: list[Path] = []
    for name, date in (("2024", "20240131"), ("2022", "20220120")):
        target = folder / name
        target.mkdir()
        for number, file in enumerate(sorted(ct_series().glob("*.dcm"))[::8][:SLICES]):
            source = pydicom.dcmread(file)
            source.PatientName, source.PatientID = "Sample^Jane", "S-1"
            source.StudyDate = source.SeriesDate = date
            source.BodyPartExamined, source.StudyDescription = "ABDOMEN", "CT abdomen"
            source.SeriesDescription = "Axial 8 mm"
            for keyword in ("StudyInstanceUID", "SeriesInstanceUID", "FrameOfReferenceUID"):
                setattr(source, keyword, f"1.2.826.9.{name}.{len(keyword)}")
            source.SOPInstanceUID = UID(f"1.2.826.9.{name}.{number + 1}")
            source.file_meta.MediaStorageSOPInstanceUID = source.SOPInstanceUID
            source.save_as(target / f"{number:03}.dcm")
        found.append(target)
    return found


class Pictures:
    """The window, and what is done in it for the pictures."""

    def __init__(self, folder: Path, studies: list[Path], scheme: str) -> None:
        self.folder = folder
        self.program, self.application = Program(), create_application()
        self.window: MainWindow = build_window(self.program, ViewRequest(paths=studies))
        theme.show(self.application, scheme)
        self.window.show()

    def settle(self, until: Callable[[], bool] = lambda: True) -> None:
        """Handle events until nothing is unfinished and `until` holds."""
        end = time.monotonic() + 120
        quiet = 0
        while quiet < 50:
            self.application.processEvents()
            time.sleep(0.01)
            quiet = quiet + 1 if until() and not self.window.busy else 0
            if time.monotonic() > end:
                raise TimeoutError

    def make(self) -> None:
        """Make every picture."""
        window = self.window
        self.settle(lambda: len(window.workspace.studies.all) == 2)
        self.save("guide-priors")
        self._dismiss()
        window.workspace.commands.undo()
        self._planes()
        self.save("guide-planes")
        menu = window.actions_.layout_menu
        menu.popup(window.mapToGlobal(QPoint(300, 70)))
        self.settle()
        self.save("guide-layouts", menu, QPoint(300, 70))
        menu.close()
        window.find_command()
        self._save_dialog("guide-palette", lambda dialog: QTest.keyClicks(_field(dialog), "link"))
        self._display()
        self._marks()
        self._of_marks()
        self._review()
        self._handing_on()
        window.hanging.manage()
        self._save_dialog("guide-protocols")
        window.actions_.edit_keys.trigger()
        self._save_dialog("guide-keys")
        window.edit_presets()
        self._save_dialog("guide-presets")
        self._second()
        self._film()
        self._chat()
        window.quit()
        self.program.close()

    def save(self, name: str, over: QWidget | None = None, place: QPoint | None = None) -> None:
        """Save a picture of the window, with another window over it, by default in its middle."""
        picture: QPixmap = self.window.grab()
        if over is not None:
            middle = QPoint(
                (self.window.width() - over.width()) // 2,
                (self.window.height() - over.height()) // 2,
            )
            painter = QPainter(picture)
            painter.drawPixmap(place or middle, over.grab())
            painter.end()
        self._keep(picture, name)

    def _keep(self, picture: QPixmap, name: str) -> None:
        """Save a picture with 256 colours: it is a third as large, and looks the same."""
        buffer = QBuffer()
        buffer.open(QBuffer.OpenModeFlag.ReadWrite)
        picture.save(buffer, "PNG")
        with Image.open(io.BytesIO(bytes(buffer.data().data()))) as made:
            few = made.convert("RGB").quantize(
                256, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE
            )
        few.save(self.folder / f"{name}.png", optimize=True)

    def _save_dialog(
        self, name: str, prepare: Callable[[QDialog], object] = lambda _dialog: None
    ) -> None:
        self.settle(lambda: any(one.isVisible() for one in self.window.findChildren(QDialog)))
        dialogs = [one for one in self.window.findChildren(QDialog) if one.isVisible()]
        prepare(dialogs[-1])
        self.settle()
        self.save(name, dialogs[-1])
        dialogs[-1].close()
        self.settle()

    def _dismiss(self) -> None:
        for notice in self.window.notices.all():
            notice.dismiss()

    def _planes(self) -> None:
        """Show three planes of a series, with a point shown in all."""
        window = self.window
        window.viewports.show_layout("1+2")
        self.settle()
        frames = window.viewports.frames
        series = window.workspace.studies.all[0].series[0].instances
        planes = (Plane.ACQUIRED, Plane.CORONAL, Plane.SAGITTAL)
        for frame, plane in zip(frames, planes, strict=True):
            frame.viewport.show(series[len(series) // 2])
            self.settle()
            window.workspace.layout.activate(frame.viewport)
            if plane is not Plane.ACQUIRED:
                window.planes.choose(plane)
                self.settle(lambda frame=frame, plane=plane: frame.planes.plane is plane)
        window.workspace.layout.activate(frames[0].viewport)
        window.links.set_link("scroll", True)
        frames[0].canvas.pointed.emit(QPointF(330, 250))
        self.settle()

    def _display(self) -> None:
        """Show the histogram and the magnifier."""
        window = self.window
        window.viewports.show_layout("1x1")
        self.settle()
        actions = window.actions_
        actions.histogram.trigger()
        self._save_dialog("guide-histogram")
        canvas = window.canvas
        canvas.magnifier.set_on(True)
        canvas.magnifier.follow(QPointF(canvas.width() * 0.5, canvas.height() * 0.72))
        self.settle()
        self.save("guide-magnifier")
        canvas.magnifier.set_on(False)
        actions.calibrate.trigger()
        self._save_dialog("guide-true-size")

    def _marks(self) -> None:
        """Show marks of several kinds on one image."""
        window = self.window
        frame = window.canvas.scaled_frame
        assert frame is not None
        kinds = (
            (drawing.BIDIRECTIONAL, (200, 240), (260, 262)),
            (drawing.ELLIPSE, (290, 230), (340, 280)),
            (drawing.POLYGON, (150, 160), (230, 145), (250, 195), (190, 225)),
            (drawing.COBB, (340, 330), (410, 320), (340, 370), (410, 392)),
            (drawing.POLYLINE, (310, 130), (350, 160), (390, 150), (420, 190)),
            (drawing.PROBE, (256, 330)),
        )
        for tool, *points in kinds:
            made = drawing.with_statistics(drawing.draw(tool, frame, points), frame)
            window.workspace.annotations.put(made, "Measure")
        window.workspace.annotations.select(window.workspace.annotations.all()[0].finding.id)
        window.canvas.drawing_tool.set_tool(drawing.POLYGON)
        self.settle()
        self.save("guide-marks")
        canvas = window.canvas
        canvas.drawing_tool.set_tool(drawing.FILL)
        place = canvas.to_widget(170, 255).toPoint()
        QTest.mouseClick(canvas.viewport(), Qt.MouseButton.LeftButton, pos=place)
        self.settle(lambda: canvas.drawing_tool.filling.strip.isVisible())
        window.findings_list.filter_line.choices["kind", "mask"].trigger()
        self.settle()
        self.save("guide-fill")
        window.findings_list.filter_line.reset()
        window.canvas.drawing_tool.set_tool("")
        window.workspace.annotations.remove(
            [one.finding.id for one in window.workspace.annotations.all()]
        )

    def _draw(self, tool: str, *points: tuple[float, float]) -> None:
        """Draw a mark and select it."""
        frame = self.window.canvas.scaled_frame
        assert frame is not None
        made = drawing.with_statistics(drawing.draw(tool, frame, points), frame)
        self.window.workspace.annotations.put(made, "Measure")
        self.window.workspace.annotations.select(made.id)
        self.settle()

    def _of_marks(self) -> None:
        """Show what there is to a mark: histogram, code, calibration by it, and the store."""
        window, actions = self.window, self.window.actions_
        self._draw(drawing.ELLIPSE, (190, 300), (330, 420))
        actions.region_histogram.trigger()
        self._save_dialog("guide-region")
        actions.mark_menu.code.trigger()
        self._save_dialog("guide-codes", lambda dialog: QTest.keyClicks(_field(dialog), "ver"))
        self._draw(drawing.RULER, (215, 340), (295, 340))
        actions.calibrate_length.trigger()
        self._save_dialog("guide-calibration")
        self.settle(lambda: window.marks is not None and window.marks.saved)
        actions.saved_marks.trigger()
        self._save_dialog("guide-kept")
        self._clear()

    def _clear(self) -> None:
        annotations = self.window.workspace.annotations
        annotations.remove([one.finding.id for one in annotations.all()])

    def _review(self) -> None:
        """Show findings that are proposed, accepted, rejected, and edited beside the original."""
        window, annotations = self.window, self.window.workspace.annotations
        frame = window.canvas.scaled_frame
        assert frame is not None
        shapes = (
            ("Right lung", Polygon(_around(150, 250, 62, 92))),
            ("Left lung", Polygon(_around(345, 265, 44, 72))),
            ("Vertebra", Polygon(_around(256, 372, 34, 40))),
            ("Nodule", Box(395.5, 170.5, 425.5, 200.5)),
        )
        made = Provenance("example_finder", "1", "example-net", "", "run", "call")
        findings = [
            Finding(new_id(), frame.ref, shape, name, 0.9, "", made) for name, shape in shapes
        ]
        annotations.add(findings)
        right, left, _bone, nodule = (one.id for one in findings)
        annotations.decide([right], State.ACCEPTED)
        annotations.decide([nodule], State.REJECTED)
        wider = Polygon(_around(362, 250, 62, 92))
        annotations.put(drawing.with_shape(findings[1], frame, wider), "Change")
        annotations.show_originals(True)
        annotations.select(left)
        self.settle()
        self.save("guide-review")
        annotations.show_originals(False)

    def _handing_on(self) -> None:
        """Show a key image, and the dialogs that hand on."""
        window, actions = self.window, self.window.actions_
        actions.key_image.trigger()
        window.canvas.scroller.step(1)
        self.settle()
        window.canvas.scroller.step(-1)
        self.settle()
        self.save("guide-key-image")
        actions.export_picture.trigger()
        self._save_dialog("guide-export")
        actions.export_dicom.trigger()
        self._save_dialog("guide-dicom", _choose_objects)
        actions.key_image.trigger()
        self._clear()
        self._draw(drawing.BOX, (20, 20), (140, 60))
        actions.deidentify.trigger()
        self._save_dialog("guide-deidentify", _choose_options)
        self._clear()

    def _second(self) -> None:
        """Show the second window beside the main one."""
        window = self.window
        window.workspace.layout.open_second()
        second = window.second
        assert second is not None
        second.resize(window.size() * 0.7)
        window.viewports.show_layout("1x2")
        series = window.workspace.studies.all[1].series[0].instances
        for number, frame in enumerate(window.viewports.frames[1:]):
            frame.viewport.show(series[20 + 10 * number])
        self.settle()
        self._dismiss()
        main, other = window.grab(), second.grab()
        scale = main.devicePixelRatio()
        picture = QPixmap(main.width() + other.width() + 30, main.height())
        picture.fill(QColor("#808080"))
        painter = QPainter(picture)
        main.setDevicePixelRatio(1)
        other.setDevicePixelRatio(1)
        painter.drawPixmap(0, 0, main)
        painter.drawPixmap(main.width() + 30, 0, other)
        painter.end()
        picture.setDevicePixelRatio(scale)
        self._keep(picture, "guide-second")
        window.workspace.layout.close_second()
        self.settle()

    def _film(self) -> None:
        """Show the demo film: its window, what a tool drew, and a narrow window."""
        window = self.window
        window.close_all()
        assert window.open_demo is not None
        window.open_demo()
        self.settle(lambda: window.canvas.picture is not None)
        self.save("guide-hint")
        self._dismiss()
        assert isinstance(window.chat, ChatDock)
        window.chat.submit(QUESTION)
        self.settle(lambda: bool(window.workspace.panes.all))
        self._dismiss()
        self.save("guide-pictures")
        for pane in window.workspace.panes.all:
            window.workspace.panes.close(pane)
        window.chat.submit("zoom to the left lung and invert")
        self.settle(lambda: window.workspace.viewport.display.invert)
        chat = window.chat
        assert isinstance(chat, ChatDock)
        self.settle(chat._agent.is_idle)
        self._dismiss()
        self.save("guide-commands")
        wide = window.size()
        window.resize(min(1024, wide.width()), min(700, wide.height()))
        self.settle()
        self.save("guide-rail")
        window.resize(wide)
        if self.folder == REPO / "docs" / "images":  # the others are in one theme
            theme.show(self.application, "light")
            self.settle()
            self.save("guide-light")

    def _chat(self) -> None:
        """Show the chat: a question asked anew, crops below the answer, a region attached."""
        window = self.window
        window.close_all()
        assert window.open_demo is not None
        window.open_demo()
        self.settle(lambda: window.canvas.picture is not None)
        self._dismiss()
        chat = window.chat
        assert isinstance(chat, ChatDock)
        chat.new_thread()
        for text in ("Where are the lungs?", "Where are the lungs, and is the heart enlarged?"):
            runs = chat.conversation.runs
            if runs:
                runs[0].bubble._edit(text)
                self.settle(lambda: len(chat.conversation.runs) == 1)
            else:
                chat.submit(text)
            self.settle(
                lambda: bool(chat.conversation.runs) and bool(chat.conversation.runs[0].ended)
            )
        frame = window.canvas.scaled_frame
        assert frame is not None
        chat.composer.set_text("Is there anything behind the heart here?")
        chat.attachments.ask_for_region()
        corners = [(950.0, 1200.0), (1250.0, 1500.0)]
        window.workspace.annotations.add([drawing.draw(drawing.BOX, frame, corners)])
        size = window.size()
        window.resize(size.width(), 1180)  # the whole answer in one picture
        chat.conversation.to_end()
        self.settle()
        self._keep(chat.grab(), "guide-chat")
        window.resize(size)


def _around(x: float, y: float, across: float, down: float) -> tuple[tuple[float, float], ...]:
    """The corners of an outline around a point."""
    turns = [2 * math.pi * step / 24 for step in range(24)]
    return tuple((x + across * math.cos(one), y + down * math.sin(one)) for one in turns)


def _choose_objects(dialog: QDialog) -> None:
    """Tick what is written, and name a folder."""
    assert isinstance(dialog, DicomExportDialog)
    for box in dialog.kinds.values():
        box.setChecked(box.isEnabled())
    dialog.folder.setText("/home/jane/export")
    dialog.verifier.setText("Roe^Richard")


def _choose_options(dialog: QDialog) -> None:
    """Tick some of what stays, and what is blanked; name a folder."""
    assert isinstance(dialog, DeidentifyDialog)
    dialog.options[Option.MODIFIED_DATES].setChecked(True)
    dialog.blank.setChecked(True)
    dialog.folder.setText("/home/jane/teaching")


def _field(dialog: QDialog) -> QWidget:
    """Return the widget of a dialog that takes what is typed."""
    field = dialog.focusWidget()
    assert field is not None
    return field


if __name__ == "__main__":
    main()
