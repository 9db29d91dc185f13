"""Studies that hang by themselves in the window, are put back by one key, and are remembered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QMessageBox

from app import paths
from app.imaging.types import Instance, Series, Study
from app.views.browser.study_rows import WarningRow
from app.views.main_window import MainWindow
from app.views.viewports.protocol_dialog import ProtocolDialog
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import FakeDecoder, WaitUntil, activate, found, instance

pytestmark = pytest.mark.gui


def study(name: str, date: str, ident: str = "4711", part: str = "HEAD") -> Study:
    image = instance(name, BodyPartExamined=part, PatientID=ident, StudyDate=date)
    series = (Series(f"{name}.1", "Axial", "CT", 1, (image,)),)
    return Study(name, "CT", "Doe^Jane", ident, date, series)


class Desk:
    def __init__(self, folder: Path, wait_until: WaitUntil) -> None:
        self.wait_until = wait_until
        self.decoder = FakeDecoder()
        self.window = MainWindow(
            Workspace(), self.decoder, QLabel("chat"), layout_file=folder / "window.ini"
        )
        self.window.show()

    def open(self, *studies: Study) -> None:
        self.decoder.result = found(*studies)
        self.window.open_paths([Path("/images")])
        self.wait_until(lambda: not self.window.busy)

    @property
    def shown(self) -> list[str]:
        instances: list[Instance | None] = [
            frame.viewport.instance for frame in self.window.viewports.frames
        ]
        return [one.sop_instance_uid if one else "" for one in instances]

    @property
    def notices(self) -> list[str]:
        """The texts of the notices on display."""
        labels = (one.findChildren(QLabel) for one in self.window.notices.all())
        return [" ".join(label.text() for label in texts) for texts in labels]


@pytest.fixture
def desk(
    qapp: QApplication, tmp_path: Path, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Desk]:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    made = Desk(tmp_path, wait_until)
    yield made
    made.window.quit()
    made.window.deleteLater()


def test_two_studies_of_a_patient_hang_current_beside_prior(desk: Desk):
    desk.open(study("old", "20200101"), study("now", "20240131"))
    assert desk.shown == ["now", "old"]
    (notice,) = desk.notices
    assert "current beside prior" in notice
    assert "Ctrl+Z" in notice


def test_ctrl_z_shows_the_study_as_before(desk: Desk):
    desk.open(study("old", "20200101"), study("now", "20240131"))
    activate(desk.window, desk.wait_until)
    QTest.keyClick(desk.window.canvas, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert desk.shown == ["old"]
    QTest.keyClick(
        desk.window.canvas,
        Qt.Key.Key_Z,
        Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier,
    )
    assert desk.shown == ["now", "old"]


def test_a_patient_of_the_same_name_and_another_id_never_hangs_beside(desk: Desk):
    desk.open(study("other", "20200101", ident="99"), study("now", "20240131"))
    assert len(desk.shown) == 1
    assert desk.notices == []


def test_the_windows_of_a_protocol_are_those_of_the_viewports(desk: Desk):
    desk.open(study("ct", "20240131", part="CHEST"))
    assert desk.shown == ["ct", "ct", "ct"]
    windows = [frame.canvas.shown_window for frame in desk.window.viewports.frames]
    assert [(one.center, one.width) for one in windows if one] == [
        (40, 400),
        (-600, 1500),
        (400, 1800),
    ]
    corners = [frame.canvas.overlay.corners for frame in desk.window.viewports.frames]
    assert all("(hanging protocol)" in one.bottom_left[-1] for one in corners)


def test_viewports_that_the_user_has_laid_out_are_not_arranged_anew(desk: Desk):
    desk.open(study("now", "20240131"))
    desk.window.viewports.show_layout("1x3")
    desk.open(study("old", "20200101"))
    assert len(desk.shown) == 3
    assert desk.notices == []


def test_a_layout_is_kept_for_studies_like_this(desk: Desk):
    desk.open(study("ct", "20240131"))
    desk.window.viewports.show_layout("1x2")
    second = desk.window.viewports.frames[1].viewport
    second.show(desk.window.workspace.instance_of("ct"))
    menu = desk.window.actions_.layout_menu
    menu.keep.trigger()
    (file,) = (paths.config_dir() / "hanging").glob("*.toml")
    assert file.name == "own-ct-head.toml"
    desk.window.close_all()
    desk.window.viewports.show_layout("1x1")
    desk.open(study("next", "20240201"))
    assert desk.shown == ["next", "next"]
    assert "Your own layout" in desk.notices[-1]


def test_the_menu_lists_what_the_study_can_fill_and_arranges_it(desk: Desk):
    desk.open(study("ct", "20240131", part="CHEST"))
    desk.window.workspace.commands.undo()
    assert desk.shown == ["ct"]
    menu = desk.window.actions_.layout_menu.protocols
    menu.aboutToShow.emit()
    titles = [action.text() for action in menu.actions()]
    assert "CT of the chest: soft tissue, lung and bone" in titles
    assert "Mammography: sides facing" not in titles
    menu.actions()[titles.index("CT of the chest: soft tissue, lung and bone")].trigger()
    assert desk.shown == ["ct", "ct", "ct"]


def test_a_broken_protocol_is_told_of_and_the_window_goes_on(desk: Desk):
    folder = paths.config_dir() / "hanging"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text("title = ", "utf-8")
    desk.open(study("ct", "20240131", part="CHEST"))
    assert desk.shown == ["ct", "ct", "ct"]
    assert any("not a hanging protocol" in notice.lower() for notice in desk.notices)
    assert (folder / "mine.toml.broken").exists()


def rows(desk: Desk) -> list[str]:
    model = desk.window.study_list.model
    texts = [model.row(model.index(number)) for number in range(model.rowCount())]
    return [f"{row.title} {row.detail}" for row in texts if not isinstance(row, WarningRow)]


def test_priors_stand_below_the_patient_s_latest_study_with_their_age(desk: Desk):
    desk.open(
        study("old", "20200101"),
        study("other", "20230101", ident="99"),
        study("now", "20240131"),
    )
    headings = [row for row in rows(desk) if "ID" in row]
    assert [heading.split("ID")[1].split()[0] for heading in headings] == ["4711", "4711", "99"]
    assert "4 y before" not in headings[0]
    assert "4 y before" in headings[1]
    assert "before" not in headings[2]


def test_the_search_keeps_what_has_all_the_words(desk: Desk):
    desk.open(study("old", "20200101"), study("now", "20240131"))
    field = desk.window.study_list.search
    assert field.isVisible()
    QTest.keyClicks(field, "doe 2020")
    assert len(rows(desk)) == 2  # the heading and its series
    assert "4 y before" in rows(desk)[0]
    field.clear()
    QTest.keyClicks(field, "nobody")
    assert rows(desk) == []
    QTest.keyClick(field, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(field, Qt.Key.Key_Delete)
    assert len(rows(desk)) == 4


def managed(desk: Desk) -> ProtocolDialog:
    """Open the dialog of hanging protocols by the command palette's name for it."""
    desk.window.actions_.layout_menu.manage.trigger()
    desk.wait_until(lambda: desk.window.findChildren(ProtocolDialog))
    (dialog,) = desk.window.findChildren(ProtocolDialog)
    return dialog


def choose(dialog: ProtocolDialog, title: str) -> None:
    (item,) = dialog.list.findItems(title, Qt.MatchFlag.MatchExactly)
    dialog.list.setCurrentItem(item)


def enter(field: QLineEdit, text: str) -> None:
    field.selectAll()
    QTest.keyClicks(field, text)


def press(button: QAbstractButton) -> None:
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def test_a_copy_of_a_shipped_protocol_is_edited_and_used(desk: Desk):
    dialog = managed(desk)
    choose(dialog, "CT: current beside prior")
    assert not dialog.title.isEnabled()
    assert not dialog.save.isEnabled()
    press(dialog.copy)
    assert dialog.title.text() == "CT: current beside prior (my own)"
    enter(dialog.title, "My CT")
    dialog.layout_name.setCurrentText("1x3")
    dialog.layout_name.activated.emit(dialog.layout_name.currentIndex())
    dialog.viewport.setCurrentIndex(2)
    dialog.viewport.activated.emit(2)
    dialog.source.setCurrentIndex(dialog.source.findData(1))
    dialog.source.activated.emit(0)
    enter(dialog.center, "-600")
    press(dialog.save)
    assert dialog.errors["window"].text().startswith("Enter both centre and width")
    enter(dialog.width_, "1500")
    enter(dialog.modality, "CT, what?")
    press(dialog.save)
    assert dialog.errors["window"].isHidden()
    assert "“WHAT?” is not a modality" in dialog.errors["modality"].text()
    enter(dialog.modality, "ct")
    press(dialog.save)
    assert dialog.note.text().startswith("Saved")
    (file,) = (paths.config_dir() / "hanging").glob("*.toml")
    assert 'title = "My CT"' in file.read_text()
    dialog.accept()
    desk.open(study("old", "20200101"), study("now", "20240131"))
    assert desk.shown == ["now", "old", "now"]
    window = desk.window.workspace.layout.viewports[2].display.window
    assert window is not None
    assert (window.center, window.width) == (-600, 1500)


def test_changes_are_not_lost_without_a_question(desk: Desk):
    dialog = managed(desk)
    press(dialog.copy)
    for number in range(dialog.viewport.count()):  # only looking is no change
        dialog.viewport.setCurrentIndex(number)
        dialog.viewport.activated.emit(number)
    dialog.list.setCurrentRow(3)
    dialog.list.setCurrentRow(0)
    assert dialog.findChildren(QMessageBox) == []
    enter(dialog.words, "knee")
    dialog.list.setCurrentRow(3)
    (question,) = dialog.findChildren(QMessageBox)
    assert dialog.list.currentRow() == 0
    question.reject()
    assert dialog.words.text() == "knee"
    dialog.accept()
    assert dialog.isVisible()
    question = next(one for one in dialog.findChildren(QMessageBox) if one.isVisible())
    press(next(one for one in question.buttons() if one.text() == "Discard"))
    assert not dialog.isVisible()


def test_a_protocol_that_is_switched_off_is_not_used_until_it_is_again(desk: Desk):
    dialog = managed(desk)
    (item,) = dialog.list.findItems("CT: current beside prior", Qt.MatchFlag.MatchExactly)
    item.setCheckState(Qt.CheckState.Unchecked)
    off = paths.config_dir() / "hanging" / "ct-prior.toml"
    assert off.read_text().startswith("enabled = false\n")
    desk.open(study("old", "20200101"), study("now", "20240131"))
    assert len(desk.shown) == 1
    (item,) = dialog.list.findItems("CT: current beside prior", Qt.MatchFlag.MatchExactly)
    item.setCheckState(Qt.CheckState.Checked)
    assert not off.exists(), "it was there to switch the shipped one off only"
    dialog.accept()
    desk.window.hanging.arrange()
    assert desk.shown == ["now", "old"]


def test_an_own_protocol_is_deleted_after_a_question(desk: Desk):
    dialog = managed(desk)
    press(dialog.copy)
    count = dialog.list.count()
    press(dialog.delete)
    (question,) = dialog.findChildren(QMessageBox)
    press(next(one for one in question.buttons() if one.text() == "Delete"))
    assert dialog.list.count() == count - 1
    assert list((paths.config_dir() / "hanging").glob("*.toml")) == []
    assert not dialog.delete.isEnabled()
    dialog.accept()
