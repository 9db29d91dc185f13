"""Makes the pictures of docs/guide.md: `python -m tests.gui.guide_pictures [FOLDER]`.

The real window shows two made CT studies of one made patient (see `tests.bench.series_files`).
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pydicom
from pydicom.uid import UID
from PySide6.QtCore import QPoint, QPointF
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QWidget

from app.imaging.types import Plane
from app.views.application import create_application, use_offscreen
from app.views.command_palette import CommandPalette
from app.views.main_window import MainWindow
from app.wiring.program import Program
from app.wiring.window_builder import ViewRequest, build_window
from tests.bench.series_files import ct_series
from tests.conftest import REPO

SIZE = (1280, 800)
SLICES = 60


def main(folder: Path) -> None:
    """Write the pictures."""
    use_offscreen()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        studies = _studies(Path(made))
        _pictures(folder, studies)


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


def _pictures(folder: Path, studies: list[Path]) -> None:
    program, application = Program(), create_application()
    window = build_window(program, ViewRequest(paths=studies))
    window.resize(*SIZE)
    window.show()

    def settled(until: Callable[[], bool] = lambda: True) -> None:
        end = time.monotonic() + 120
        quiet = 0
        while quiet < 50:
            application.processEvents()
            time.sleep(0.01)
            quiet = quiet + 1 if until() and not window.busy else 0
            if time.monotonic() > end:
                raise TimeoutError

    settled(lambda: len(window.workspace.studies.all) == 2)
    _save(window, folder / "guide-priors.png")
    for notice in window.notices.all():
        notice.dismiss()
    window.workspace.commands.undo()
    _planes(window, settled)
    _save(window, folder / "guide-planes.png")
    menu = window.actions_.layout_menu
    menu.popup(window.mapToGlobal(QPoint(300, 70)))
    settled()
    _save(window, folder / "guide-layouts.png", (menu, QPoint(300, 70)))
    menu.close()
    window.find_command()
    (palette,) = window.findChildren(CommandPalette)
    palette.search.setText("link")
    settled()
    place = QPoint((window.width() - palette.width()) // 2, 180)
    _save(window, folder / "guide-palette.png", (palette, place))
    palette.reject()
    window.quit()
    program.close()


def _planes(window: MainWindow, settled: Callable[..., None]) -> None:
    """Show three planes of a series, with a point shown in all."""
    window.viewports.show_layout("1+2")
    settled()
    frames = window.viewports.frames
    series = window.workspace.studies.all[0].series[0].instances
    for frame, plane in zip(frames, (Plane.ACQUIRED, Plane.CORONAL, Plane.SAGITTAL), strict=True):
        frame.viewport.show(series[len(series) // 2])
        settled()
        window.workspace.layout.activate(frame.viewport)
        if plane is not Plane.ACQUIRED:
            window.planes.choose(plane)
            settled(lambda frame=frame, plane=plane: frame.planes.plane is plane)
    window.workspace.layout.activate(frames[0].viewport)
    window.links.set_link("scroll", True)
    frames[0].canvas.pointed.emit(QPointF(330, 250))
    settled()


def _save(window: QWidget, file: Path, over: tuple[QWidget, QPoint] | None = None) -> None:
    """Save a picture of the window, with another window laid over it at a place (px)."""
    picture: QPixmap = window.grab()
    if over is not None:
        painter = QPainter(picture)
        painter.drawPixmap(over[1], over[0].grab())
        painter.end()
    QApplication.processEvents()
    picture.save(str(file))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else REPO / "docs" / "images")
