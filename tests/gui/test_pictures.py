"""Pictures and movies of what a viewport shows: files, clipboard, print; read by other programs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pypdfium2
import pytest
import tifffile
from PIL import Image
from pydicom.data import get_testdata_file
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QGuiApplication, QPageSize
from PySide6.QtPrintSupport import QPrinter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel

from app.cli import main
from app.errors import Cancelled, FileProblem
from app.imaging.findings import Box, Finding, Polyline, State
from app.imaging.layers import Label, Layer, LayerFrame, LayerItem, Shape
from app.imaging.pixels import pipeline
from app.imaging.types import Frame, OverlayPlane, Spacing, SpacingSource
from app.tools.api import CancelToken
from app.views.canvas import text_overlay
from app.views.canvas.annotated_render import Look, Marks, render_annotated
from app.views.canvas.corner_text import Corners, Detail, Shown, corners_of
from app.views.canvas.image_layer import to_qimage
from app.views.main_window import MainWindow
from app.views.pictures import movie_file, printing
from app.views.pictures.export_dialog import ExportDialog, PrintDialog, write_pictures
from app.views.pictures.movie_file import encoder_problem
from app.views.pictures.picture_files import Form
from app.views.pictures.picture_source import PictureSource, source_of
from app.workspace.annotations import Annotation
from app.workspace.layers import overlay_layer
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import (
    FakeDecoder,
    WaitUntil,
    activate,
    finding,
    found,
    frame,
    instance,
    study,
)

pytestmark = [pytest.mark.gui, pytest.mark.usefixtures("forked")]

CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
SIZE = (240, 300)
TIMES = (0.0, 40.0, 145.0, 185.0, 500.0)
PLAIN = Look(marks=False, detail=None)
SPACING = Spacing(0.5, 0.5, SpacingSource.PATIENT)


def stored(index: int) -> np.ndarray:
    """A ramp that differs from frame to frame."""
    rows, columns = SIZE
    ramp = np.linspace(0, 1000, columns)[None].repeat(rows, 0)
    ramp[:20, :20] = index * 200
    return ramp.astype(np.int16)


@pytest.fixture
def decoder() -> FakeDecoder:
    made = FakeDecoder()
    for index in range(5):
        made.frames[("1.1", index)] = frame("1.1", index, stored=stored(index), spacing=SPACING)
    image = instance("1.1", frames=5, size=SIZE, StudyDescription="Head of Jane")
    made.result = found(study(replace(image, frame_times_ms=TIMES)))
    return made


@pytest.fixture
def window(
    qapp: QApplication, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
) -> Iterator[MainWindow]:
    made = MainWindow(Workspace(), decoder, QLabel("chat"), layout_file=tmp_path / "window.ini")
    made.resize(1280, 800)
    made.show()
    made.open_paths([Path("/images")])
    wait_until(lambda: made.canvas.picture is not None and not made.busy)
    activate(made, wait_until)
    yield made
    made.quit()
    made.deleteLater()


def source(window: MainWindow, decoder: FakeDecoder) -> PictureSource:
    made = source_of(window.canvas, window.workspace, decoder)
    assert made is not None
    return made


def mark(window: MainWindow, wait_until: WaitUntil) -> Finding:
    ref = window.canvas.frame.ref
    made = finding(ref, Box(99.5, 79.5, 199.5, 159.5))
    window.workspace.annotations.add([made])
    wait_until(lambda: not window.busy)
    return made


def finish(window: MainWindow, wait_until: WaitUntil) -> None:
    """Wait until the dialog has written its files and is closed."""

    def problem() -> str:
        return "".join(one.problem.text() for one in window.findChildren(ExportDialog))

    wait_until(lambda: not window.findChildren(ExportDialog) or problem(), 20)
    assert not problem()


def pixels_of(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        assert not image.getexif()
        return np.asarray(image).astype(int)


def test_a_png_has_exactly_the_pixels_of_the_pipeline(
    window: MainWindow, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
):
    out = tmp_path / "out"
    out.mkdir()
    QTest.keyClick(window, Qt.Key.Key_E, CONTROL)
    (dialog,) = window.findChildren(ExportDialog)
    assert dialog.options.look == Look(detail=Detail.NO_NAMES)
    assert not dialog.options.warning.isHidden()  # the file says nothing of burnt-in text
    QTest.keyClick(dialog.options.texts, Qt.Key.Key_End)
    QTest.keyClick(dialog.options.marks, Qt.Key.Key_Space)
    assert dialog.options.look == PLAIN
    QTest.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton)
    (chooser,) = dialog.findChildren(QFileDialog)
    name = Path(chooser.selectedFiles()[0]).name
    assert name.startswith("Sightline picture")
    chooser.close()
    dialog.save(out / "picture.png")
    finish(window, wait_until)
    with Image.open(out / "picture.png") as image:
        assert not image.info
        assert np.array_equal(np.asarray(image), pipeline.render(decoder.frames[("1.1", 0)]))
    assert [one.name for one in out.iterdir()] == ["picture.png"]


def test_a_finding_is_drawn_at_its_place_unless_it_is_rejected(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
):
    written: list[Corners] = []
    real = text_overlay.corner_blocks

    def spied(corners: Corners, *rest: object, **more: object) -> object:
        written.append(corners)
        return real(corners, *rest, **more)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(text_overlay, "corner_blocks", spied)
    plain = source(window, decoder).draw(0, PLAIN)
    made = mark(window, wait_until)
    shown = source(window, decoder)
    written.clear()
    drawn = shown.draw(0, replace(PLAIN, marks=True))
    assert any("diagnosis" in line for line in written[-1].warning)  # even without texts
    changed = np.any(drawn != plain, axis=2)
    edges = changed[80:160, 99:101].any(axis=1), changed[158:161, 120:190].any(axis=0)
    assert all(0.5 < edge.mean() < 1 for edge in edges)  # dashed, since nobody has accepted it
    assert not changed[95:145, 115:185].any()  # nothing inside
    assert np.array_equal(shown.draw(0, PLAIN), plain)
    assert not np.any(shown.draw(1, replace(PLAIN, marks=True)) != shown.draw(1, PLAIN))
    window.workspace.annotations.decide([made.id], State.ACCEPTED)
    wait_until(lambda: not window.busy)
    drawn = source(window, decoder).draw(0, replace(PLAIN, marks=True))
    assert np.any(drawn != plain, axis=2)[80:160, 99:101].any(axis=1).all()
    window.workspace.annotations.decide([made.id], State.REJECTED)
    wait_until(lambda: not window.busy)
    rejected = source(window, decoder).draw(0, replace(PLAIN, marks=True))
    assert np.array_equal(rejected, plain)
    assert written[-1].warning == ()


def test_names_and_dates_are_not_drawn_unless_asked_for(
    window: MainWindow, decoder: FakeDecoder, monkeypatch: pytest.MonkeyPatch
):
    written: list[Corners] = []
    real = text_overlay.corner_blocks

    def spied(corners: Corners, *rest: object, **more: object) -> object:
        written.append(corners)
        return real(corners, *rest, **more)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(text_overlay, "corner_blocks", spied)
    shown = source(window, decoder)
    for look in (Look(detail=Detail.NO_NAMES), Look(detail=Detail.NO_NAMES, view=shown.view)):
        shown.draw(0, look)
        said = str(written[-1])
        assert "CT" in said
        assert not any(part in said for part in ("Doe", "Jane", "4711", "2024", "Axial"))
    shown.draw(0, Look(detail=Detail.ALL))
    assert "Doe, Jane" in written[-1].top_left[0]


@pytest.mark.parametrize("detail", [Detail.NO_NAMES, Detail.NONE, None])
def test_without_names_no_file_draws_texts_and_no_label_names_the_patient(
    qapp: QApplication, detail: Detail | None
):
    bits = np.ones((20, 40), bool)
    plain = frame(stored=np.zeros(SIZE, np.int16))
    base = replace(plain, overlays=(OverlayPlane(bits, 100, 60),))
    image, state = instance(size=SIZE), instance("7.7")
    here = plain.ref
    text = Shape(1, Label("DOE JANE", (80.0, 80.0)))
    line = Shape(1, Polyline(((20.0, 200.0), (120.0, 200.0))))
    layer = Layer(state, "State", (LayerItem(1, "Texts", (255, 120, 40)),))

    def drawn(shapes: tuple[Shape, ...], on: Frame, label: str, look: Look) -> np.ndarray:
        mark = finding(here, Box(150, 50, 200, 90), label=label, state=State.ACCEPTED)
        layers = [(layer, LayerFrame(shapes)), overlay_layer(image, on)]
        marks = Marks((Annotation(mark, 1),))
        return render_annotated(on, image, layers=layers, marks=marks, look=look)

    nameless, named = Look(detail=detail), Look()
    found_ = drawn((text, line), base, "Nodule of Jane", nameless)
    assert np.array_equal(found_, drawn((line,), plain, "", nameless))
    assert not np.array_equal(found_, drawn((), plain, "", nameless))
    assert np.any(drawn((text,), plain, "", named) != drawn((), plain, "", named))
    assert np.any(drawn((), base, "", named) != drawn((), plain, "", named))
    other = drawn((), plain, "Nodule", nameless)
    assert np.any(other != drawn((), plain, "", nameless))


def test_a_typed_body_part_is_no_code_and_may_name_the_patient():
    typed = instance("1.1", BodyPartExamined="KNEE OF DOE")
    assert "DOE" not in str(corners_of(Shown(typed, frame()), Detail.NO_NAMES))
    coded = instance("1.1", BodyPartExamined="KNEE")
    assert "KNEE" in str(corners_of(Shown(coded, frame()), Detail.NO_NAMES))


def test_the_dialog_says_that_texts_of_files_are_left_out_without_names(
    window: MainWindow, wait_until: WaitUntil
):
    QTest.keyClick(window, Qt.Key.Key_E, CONTROL)
    (dialog,) = window.findChildren(ExportDialog)
    assert dialog.options.left_out.isVisible()
    QTest.keyClick(dialog.options.texts, Qt.Key.Key_Down)
    assert dialog.options.look.detail is Detail.ALL
    assert not dialog.options.left_out.isVisible()
    QTest.keyClick(dialog.options.texts, Qt.Key.Key_Up)
    QTest.keyClick(dialog.options.marks, Qt.Key.Key_Space)
    assert not dialog.options.left_out.isVisible()
    dialog.reject()


def test_a_small_picture_with_a_tools_finding_says_not_for_diagnosis(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    mark(window, wait_until)
    small = source(window, decoder).draw(0, Look(scale=0.3, detail=None))
    plain = source(window, decoder).draw(0, Look(scale=0.3, detail=None, marks=False))
    assert small.shape == (72, 90, 3)
    assert (small[-10:] != plain[-10:]).any()


def test_the_picture_of_the_screen_is_what_the_canvas_shows(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    canvas = window.canvas
    canvas.flip(across=True)
    canvas.zoom_by(1.5)
    canvas.pan_by(40, 25)
    canvas.toggle_invert()
    wait_until(lambda: not window.busy)
    shown = source(window, decoder)
    drawn = shown.draw(0, replace(PLAIN, view=shown.view))
    size = canvas.viewport().size()
    assert drawn.shape == (size.height(), size.width(), 3)
    canvas.overlay.hide()
    canvas.scrubber.hide()
    grabbed = canvas.viewport().grab().toImage()
    for x in range(20, size.width() - 30, 97):
        for y in range(20, size.height() - 20, 61):
            there = grabbed.pixelColor(x, y)
            assert abs(int(drawn[y, x, 0]) - there.red()) <= 2, (x, y)


def test_ctrl_shift_c_copies_the_picture(window: MainWindow, wait_until: WaitUntil):
    clipboard = QGuiApplication.clipboard()
    clipboard.clear()
    QTest.keyClick(window, Qt.Key.Key_C, CONTROL | SHIFT)
    wait_until(lambda: not clipboard.image().isNull())
    viewport = window.canvas.viewport()
    assert clipboard.image().size() == QSize(viewport.width(), viewport.height())


@pytest.mark.parametrize("form", [Form.PNG, Form.JPEG, Form.TIFF, Form.GIF])
def test_a_series_is_written_whole(
    window: MainWindow, decoder: FakeDecoder, tmp_path: Path, form: Form
):
    out = tmp_path / "out"
    out.mkdir()
    shown, told = source(window, decoder), list[int]()
    path = out / f"series.{form}"
    write_pictures(shown, range(5), PLAIN, form, path, CancelToken(), progress=told.append)
    assert told == [1, 2, 3, 4, 5]
    truth = [pipeline.render(decoder.frames[("1.1", index)]) for index in range(5)]
    if form in (Form.PNG, Form.JPEG):
        names = sorted(out.iterdir())
        assert [one.stem for one in names] == [f"series-{number:03}" for number in range(1, 6)]
        read = [pixels_of(one) for one in names]
        worst = max(np.abs(one - other).max() for one, other in zip(read, truth, strict=True))
        assert worst <= (0 if form is Form.PNG else 30)
        with pytest.raises(FileProblem, match="exists already"):
            write_pictures(shown, range(5), PLAIN, form, path, CancelToken())
    elif form is Form.TIFF:
        with tifffile.TiffFile(path) as file:
            assert np.array_equal(file.asarray(), np.stack(truth))
            tags = {tag.name for page in file.pages for tag in page.tags}  # pyright: ignore[reportAttributeAccessIssue]
        assert not tags & {"ImageDescription", "Software", "Artist", "DocumentName", "DateTime"}
    else:
        with Image.open(path) as image:
            assert image.n_frames == 5  # pyright: ignore[reportAttributeAccessIssue]
            durations = list[int]()
            for index in range(5):
                image.seek(index)
                durations.append(image.info["duration"])
                assert np.array_equal(np.asarray(image.convert("L")), truth[index])
        starts = np.cumsum([0, *durations[:-1]])
        assert np.abs(starts - TIMES).max() <= 5  # GIF counts in steps of 10 ms


def test_an_mp4_has_each_frame_at_its_time(
    window: MainWindow, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
):
    if reason := encoder_problem():
        pytest.skip(reason)
    QTest.keyClick(window, Qt.Key.Key_E, CONTROL)
    (dialog,) = window.findChildren(ExportDialog)
    dialog.what.setCurrentIndex(1)
    dialog.form.setCurrentIndex(dialog.form.findData(Form.MP4.value))
    path = tmp_path / "series.mp4"
    dialog.save(path)
    finish(window, wait_until)
    data = path.read_bytes()
    assert data[4:8] == b"ftyp"
    assert b"Doe" not in data
    at = data.index(b"stts")  # ISO 14496-12, 8.6.1.2: pairs of (count, ticks)
    runs = np.frombuffer(data, ">u4", offset=at + 12, count=1 + 1)
    pairs = np.frombuffer(
        data, ">u4", offset=at + 12, count=2 * int.from_bytes(data[at + 8 : at + 12])
    )
    assert runs.size == 2
    lasting = np.repeat(pairs[1::2], pairs[0::2])
    at = data.index(b"mdhd")
    ticks = int.from_bytes(data[at + 16 : at + 20])
    starts = np.concatenate([[0], np.cumsum(lasting)])[:5] / ticks * 1000
    assert lasting.size == 5
    assert np.allclose(starts, TIMES, atol=1)


@pytest.mark.parametrize("reason", ["", "there is no encoder for MP4 movies"])
def test_the_window_does_not_wait_for_the_movie_library(
    window: MainWindow, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch, reason: str
):
    """It takes 60 to 110 ms to load."""
    loaded_on: list[threading.Thread] = []

    def load() -> str:
        loaded_on.append(threading.current_thread())
        return reason

    monkeypatch.setattr(movie_file, "encoder_problem", load)
    window.actions_.export_movie.trigger()
    (dialog,) = (one for one in window.findChildren(ExportDialog) if one.isVisible())
    assert not dialog.save_button.isEnabled()
    wait_until(lambda: dialog.problem.text() if reason else dialog.save_button.isEnabled())
    assert dialog.save_button.isEnabled() is not bool(reason)
    assert threading.main_thread() not in loaded_on
    dialog.reject()


def test_what_was_written_goes_when_the_export_is_cancelled_or_fails(
    window: MainWindow, decoder: FakeDecoder, tmp_path: Path
):
    out = tmp_path / "out"
    out.mkdir()
    shown = source(window, decoder)
    for form in (Form.PNG, Form.TIFF, Form.GIF, *(() if encoder_problem() else (Form.MP4,))):
        token = CancelToken()

        def stop(number: int, token: CancelToken = token) -> None:
            if number == 3:
                token.cancel()

        path = out / f"series.{form}"
        with pytest.raises(Cancelled):
            write_pictures(shown, range(5), PLAIN, form, path, token, progress=stop)
        assert not list(out.iterdir())
    with pytest.raises(FileProblem, match="cannot be written"):
        write_pictures(shown, [0], PLAIN, Form.PNG, out / "no" / "a.png", CancelToken())
    decoder.broken = FileProblem("it is cut off", subject="x", remedy="Copy it again")
    with pytest.raises(FileProblem, match="cut off"):
        write_pictures(shown, range(5), PLAIN, Form.TIFF, out / "a.tiff", CancelToken())
    assert not list(out.iterdir())


def printed(page: printing.Page, path: Path) -> pypdfium2.PdfDocument:
    printer = printing.new_printer(page)
    printer.setOutputFormat(QPrinter.OutputFormat.PdfFormat)
    printer.setOutputFileName(str(path))
    printer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
    printing.paint(printer, page)
    return pypdfium2.PdfDocument(path)


def test_a_page_is_printed_in_true_size(
    window: MainWindow, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
):
    shown = source(window, decoder)
    pixels = shown.draw(0, PLAIN)
    image = to_qimage(pixels).copy()
    width = printing.width_mm(shown.shown, shown.turned)
    assert width == 150.0
    text = printing.caption(PLAIN, SPACING)
    document = printed(printing.Page(image, text, width), tmp_path / "page.pdf")
    (page,) = list(document)
    across, down = (side / 72 * 25.4 for side in page.get_size())
    assert across == pytest.approx(297, abs=1)
    assert down == pytest.approx(210, abs=1)
    (drawn,) = (one for one in page.get_objects() if one.type == 3)  # pyright: ignore[reportAttributeAccessIssue]
    left, bottom, right, top = drawn.get_bounds()
    assert (right - left) / 72 * 25.4 == pytest.approx(150, abs=0.2)
    assert (top - bottom) / 72 * 25.4 == pytest.approx(120, abs=0.2)
    said = page.get_textpage().get_text_range()
    assert "not for diagnosis" in said
    assert "1 mm on paper" in said.replace("\r\n", " ")
    assert not any(name in said for name in ("Doe", "Jane", "4711"))
    document.close()
    whole = printed(printing.Page(image, text), tmp_path / "whole.pdf")
    (drawn,) = (one for one in whole[0].get_objects() if one.type == 3)  # pyright: ignore[reportAttributeAccessIssue]
    left, bottom, right, top = drawn.get_bounds()
    assert (right - left) / (top - bottom) == pytest.approx(300 / 240, rel=1e-3)
    assert (top - bottom) / 72 * 25.4 > 150
    whole.close()


def test_the_print_preview_opens_by_its_key(window: MainWindow, wait_until: WaitUntil):
    QTest.keyClick(window, Qt.Key.Key_P, CONTROL)
    (dialog,) = window.findChildren(PrintDialog)
    assert dialog.true_size.isEnabled()
    QTest.mouseClick(dialog.preview_button, Qt.MouseButton.LeftButton)
    wait_until(lambda: window.findChildren(printing.PrintPreview))
    (preview,) = window.findChildren(printing.PrintPreview)
    preview.close()


@pytest.mark.parametrize("form", ["png", "jpeg", "tiff"])
def test_the_command_line_writes_pictures(qapp: QApplication, tmp_path: Path, form: str):
    image = get_testdata_file("CT_small.dcm")
    out = tmp_path / f"picture.{form}"
    assert main(["export", "--image", str(image), "--as", form, "--out", str(out)]) == 0
    with Image.open(out) as picture:
        assert picture.size == (128, 128)
        assert not picture.getexif() or form == "tiff"
    assert b"CompressedSamples" not in out.read_bytes()
