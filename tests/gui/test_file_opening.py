"""Opening: the first image is shown while the rest is still read; nothing later disturbs."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from app.imaging.types import Content, Instance, Problem, ScanResult, Series, Study, Window
from app.views import file_opening
from app.views.browser.problem_list import problems_text
from app.views.main_window import MainWindow
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import FakeDecoder, WaitUntil, found, instance

pytestmark = pytest.mark.gui


@pytest.fixture
def decoder() -> FakeDecoder:
    return FakeDecoder()


@pytest.fixture
def window(
    qapp: QApplication, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
) -> Iterator[MainWindow]:
    chat = QWidget()
    column = QVBoxLayout(chat)
    column.addWidget(QPlainTextEdit())
    column.addWidget(QLineEdit())
    made = MainWindow(Workspace(), decoder, chat, layout_file=tmp_path / "window.ini")
    made.resize(1280, 800)
    made.show()
    wait_until(lambda: not made.busy)
    yield made
    made.close()
    made.deleteLater()


def a_study(*images: Instance, uid: str = "s") -> Study:
    return Study(uid, uid, "Doe^Jane", "1", "", (Series(f"{uid}.1", "A", "CT", 1, images),), uid)


def opened_in_parts(window: MainWindow, decoder: FakeDecoder, *parts: ScanResult) -> None:
    """Begin a scan that has found `parts` so far and goes on."""
    decoder.partial = list(parts)
    decoder.held = Future()
    window.open_paths([Path("/images")])


def shown(window: MainWindow) -> str:
    instance = window.workspace.viewport.instance
    return instance.sop_instance_uid if instance else ""


A, B, C = instance("1.1"), instance("1.2"), instance("1.3")


def test_a_folder_begins_with_the_first_image_listed_not_the_first_scanned(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    late, early = a_study(B), a_study(A)
    later = Series("s.2", "Second", "CT", 2, (instance("2.1"),))
    both = replace(early, series=(*early.series, later))
    opened_in_parts(window, decoder, found(replace(late, series=(later,))), found(both))
    wait_until(lambda: window.canvas.picture is not None)
    assert shown(window) == "2.1"
    assert decoder.held is not None
    decoder.held.set_result(found(both))
    wait_until(lambda: not window.busy)
    assert shown(window) == "1.1"


def test_the_first_image_is_shown_while_the_scan_goes_on(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    opened_in_parts(window, decoder, found(a_study(B)), found(a_study(A, B)))
    wait_until(lambda: window.canvas.picture is not None)
    assert window.opening.busy
    assert window.opening.progress.isVisible()
    assert shown(window) == "1.2", "what is shown first stays when an earlier slice is found"
    (study,) = window.workspace.studies.all
    assert [item.sop_instance_uid for item in study.series[0].instances] == ["1.1", "1.2"]
    assert decoder.held is not None
    decoder.held.set_result(found(a_study(A, B, C)))
    wait_until(lambda: not window.busy)
    assert shown(window) == "1.1", "a short scan ends at the first image of the series"
    assert not window.opening.progress.isVisible()
    assert sum(map(len, window.workspace.studies.instances())) == 3


@pytest.mark.parametrize("touch", ["window", "scroll", "late"])
def test_an_image_that_is_looked_at_stays(
    window: MainWindow,
    decoder: FakeDecoder,
    wait_until: WaitUntil,
    monkeypatch: pytest.MonkeyPatch,
    touch: str,
):
    opened_in_parts(window, decoder, found(a_study(B, C)), found(a_study(A, B, C)))
    wait_until(lambda: window.canvas.picture is not None)
    if touch == "window":
        window.canvas.set_window(Window(40, 80))
    elif touch == "scroll":
        window.canvas.scroller.step(1)
        wait_until(lambda: not window.canvas.busy)
    else:
        monkeypatch.setattr(file_opening, "SETTLES_S", -1)
    before = shown(window)
    assert decoder.held is not None
    decoder.held.set_result(found(a_study(A, B, C)))
    wait_until(lambda: not window.busy)
    assert shown(window) == before != "1.1"


def test_a_report_waits_for_an_image_but_not_for_ever(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    letter = replace(instance("9.9"), content=Content.DOCUMENT)
    opened_in_parts(window, decoder, found(a_study(letter)))
    wait_until(lambda: window.workspace.studies.all)
    assert shown(window) == ""
    assert decoder.held is not None
    decoder.held.set_result(found(a_study(letter)))
    wait_until(lambda: shown(window) == "9.9")
    wait_until(lambda: not window.busy)


def test_what_the_user_chose_meanwhile_stays(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    decoder.result = found(a_study(A, uid="first"))
    window.open_paths([Path("/first")])
    wait_until(lambda: shown(window) == "1.1")
    opened_in_parts(window, decoder)
    chosen = instance("7.7")
    window.workspace.add(found(a_study(chosen, uid="third")))
    assert decoder.held is not None
    decoder.held.set_result(found(a_study(B, uid="second")))
    wait_until(lambda: len(window.workspace.studies.all) == 3)
    wait_until(lambda: not window.busy)
    assert shown(window) == "7.7"


def test_a_second_opening_shows_its_own_image(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    opened_in_parts(window, decoder, found(a_study(A, uid="first")))
    first = decoder.held
    wait_until(lambda: shown(window) == "1.1")
    opened_in_parts(window, decoder, found(a_study(B, uid="second")))
    wait_until(lambda: shown(window) == "1.2")
    for scan, study in ((first, a_study(A, uid="first")), (decoder.held, a_study(B, uid="second"))):
        assert scan is not None
        scan.set_result(found(study))
    wait_until(lambda: not window.busy)
    assert shown(window) == "1.2"


def test_stopping_keeps_what_was_found_and_says_so(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    opened_in_parts(window, decoder, found(a_study(A)))
    wait_until(lambda: shown(window) == "1.1")
    window.opening.stop()
    assert not window.opening.busy
    (notice,) = window.notices.all()
    assert "stay open" in notice.text.text()
    assert decoder.held is not None
    decoder.held.set_result(found(a_study(A, B)))
    wait_until(lambda: not window.busy)
    assert sum(map(len, window.workspace.studies.instances())) == 1, "a late answer is dropped"


def test_thousands_of_bad_files_are_one_notice_of_few_words(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    bad = [
        Problem(Path(f"/x/{n}.txt"), "it is not an image", "Open DICOM files") for n in range(5000)
    ]
    empty = Problem(Path("/x/empty.dcm"), "it is empty", "Copy it again")
    decoder.result = found(problems=[*bad, empty])
    window.open_paths([Path("/x")])
    wait_until(window.notices.all)
    (notice,) = window.notices.all()
    assert notice.title.text() == "5,001 files could not be opened"
    assert notice.text.text().startswith("5,000 files: it is not an image. empty.dcm: it is empty.")
    assert len(notice.text.text()) < 200


def drop_on(target: QWidget, data: QMimeData) -> None:
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(5, 5), Qt.DropAction.CopyAction, data, buttons, keys)
    QApplication.sendEvent(target, enter)
    event = QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, buttons, keys)
    QApplication.sendEvent(target, event)


@pytest.mark.parametrize(
    "kind", [QPlainTextEdit, QLineEdit], ids=["text field", "line of the attributes' search"]
)
def test_files_dropped_on_a_text_field_are_opened_and_text_is_still_text(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, kind: type[QWidget]
):
    field = window.chat.findChild(kind) if window.chat else None
    assert field is not None
    target = field.viewport() if isinstance(field, QPlainTextEdit) else field
    decoder.result = found(a_study(A))
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile("/images/a.zip"), QUrl.fromLocalFile("/images/DICOMDIR")])
    drop_on(target, data)
    assert decoder.scans == [(Path("/images/a.zip"), Path("/images/DICOMDIR"))]
    wait_until(lambda: not window.busy)
    text = QMimeData()
    text.setText("right upper lobe")
    drop_on(target, text)
    assert len(decoder.scans) == 1
    content = field.toPlainText() if isinstance(field, QPlainTextEdit) else field.text()  # type: ignore[attr-defined]
    assert content == "right upper lobe"


def test_a_remark_about_a_file_is_not_told_as_a_file_that_could_not_be_opened():
    copy = Problem(Path("b.dcm"), "it is a copy of a.dcm, which is listed", remark=True)
    broken = Problem(Path("c.dcm"), "the file is empty")
    assert problems_text([copy]) == "1 warning about files"
    assert problems_text([broken, copy, copy]) == "1 file could not be opened, 2 warnings"
    assert problems_text([]) == ""


def test_a_series_that_was_still_being_read_is_no_more_once_all_is_there(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    def told() -> bool:
        rows = window.study_list.model
        texts = [
            str(rows.index(n).data(Qt.ItemDataRole.ToolTipRole)) for n in range(rows.rowCount())
        ]
        on_image = window.canvas.overlay.corners.series_warning
        both = {any("more images" in text for text in where) for where in (texts, on_image)}
        assert len(both) == 1, "list and image say the same"
        return both.pop()

    study = a_study(A, B, C)
    unread = replace(study.series[0], warnings=("there may be more images",))
    opened_in_parts(window, decoder, found(replace(study, series=(unread,))))
    wait_until(lambda: window.canvas.picture is not None)
    assert told()
    assert decoder.held is not None
    decoder.held.set_result(found(study))
    wait_until(lambda: not window.busy)
    assert not told()
