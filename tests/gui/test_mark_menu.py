"""Marks are copied, pasted, locked, named, grouped and coded in the window."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QInputDialog, QLineEdit

from app.imaging.findings import Polyline, State
from app.imaging.space.planes import FramePlane
from app.views.browser.findings_list import FindingRow
from app.views.main_window import MainWindow
from app.views.mark_menu import CodeDialog
from app.workspace import drawing
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

CTRL = Qt.KeyboardModifier.ControlModifier


def test_marks_in_the_window(qapp: QApplication, wait_until: WaitUntil) -> None:
    workspace = Workspace()
    window = MainWindow(workspace, FakeDecoder())
    window.show()
    workspace.add(found(study(instance("1.1"), instance("1.2"))))
    wait_until(lambda: window.canvas.frame is not None and not window.busy)
    activate(window, wait_until)
    try:
        _edit(window, workspace, wait_until)
    finally:
        window.quit()


def test_cut_takes_the_shown_marks_and_a_code_is_a_decision(
    qapp: QApplication, wait_until: WaitUntil
) -> None:
    workspace = Workspace()
    window = MainWindow(workspace, FakeDecoder())
    window.show()
    workspace.add(found(study(instance("1.1"), instance("1.2"))))
    wait_until(lambda: window.canvas.frame is not None and not window.busy)
    activate(window, wait_until)
    try:
        marks, view, menu = workspace.annotations, window.findings_list.view, window.actions_
        here, other = (
            drawing.draw(drawing.RULER, frame(uid), [(20, 40), (60, 40)]) for uid in ("1.1", "1.2")
        )
        for one in (here, other):
            marks.put(one, "Measure length")
        marks.select(here.id)
        wait_until(lambda: window.findings_list.model.index_of(other.id).isValid())
        view.selectAll()
        assert {here.id, other.id} <= set(window.findings_list.chosen_ids())
        menu.mark_menu.cut.trigger()
        assert [one.finding.id for one in marks.all()] == [other.id]

        made = finding(frame("1.1").ref, Polyline(((1, 1), (9, 9))))
        marks.add([made])
        marks.select(made.id)
        wait_until(lambda: set(window.findings_list.chosen_ids()) == {made.id})
        menu.mark_menu.code.trigger()
        dialog = window.findChild(CodeDialog)
        assert dialog is not None
        dialog.findings.setCurrentRow(2)
        QTest.keyClick(dialog.search, Qt.Key.Key_Return)
        coded = marks.get(made.id)
        assert coded is not None
        assert coded.finding.code is not None
        assert coded.finding.state is State.EDITED
        assert coded.finding.original == made
    finally:
        window.quit()


def _edit(window: MainWindow, workspace: Workspace, wait_until: WaitUntil) -> None:
    marks, canvas, listed = workspace.annotations, window.canvas, window.findings_list
    menu = window.actions_.mark_menu
    assert canvas.frame is not None
    line = drawing.draw(drawing.RULER, canvas.frame, [(20, 40), (60, 40)])
    marks.put(line, "Measure length")
    marks.select(line.id)
    canvas.setFocus()
    QTest.keyClick(canvas, Qt.Key.Key_C, CTRL)
    QTest.keyClick(canvas, Qt.Key.Key_V, CTRL)
    assert len(marks) == 2  # beside the first on the same image
    workspace.commands.undo()
    canvas.scroller.step(1)
    wait_until(lambda: canvas.frame.ref.sop_instance_uid == "1.2" and not window.busy)
    canvas.setFocus()
    QTest.keyClick(canvas, Qt.Key.Key_V, CTRL)
    pasted = marks.all()[1].finding
    assert pasted.image == canvas.frame.ref
    assert pasted.geometry == Polyline(((20, 40), (60, 40)))
    assert marks.selected == pasted.id

    # Several in the list: locked, then unlocked, at once.
    view = listed.view
    wait_until(lambda: listed.model.index_of(pasted.id).isValid())
    spots = [view.visualRect(listed.model.index_of(key)).center() for key in (line.id, pasted.id)]
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=spots[0])
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, CTRL, spots[1])
    assert set(listed.chosen_ids()) == {line.id, pasted.id}
    window.actions_.mark_menu.lock.trigger()
    assert all(one.locked for one in marks.all())
    workspace.commands.undo()
    assert not any(one.locked for one in marks.all())

    # The menu renames the selected one.
    marks.select(pasted.id)
    menu.rename.trigger()
    dialog = window.findChild(QInputDialog)
    assert dialog is not None
    dialog.setTextValue("Lesion A")
    dialog.accept()
    named = marks.get(pasted.id)
    assert named is not None
    assert named.finding.label == "Lesion A"

    window.actions_.mark_menu.code.trigger()
    chooser = window.findChild(CodeDialog)
    assert chooser is not None
    activate(chooser, wait_until)
    QTest.keyClicks(chooser.search, "pleural eff")
    shown = [
        item
        for number in range(1, chooser.findings.count())
        if not (item := chooser.findings.item(number)).isHidden()
    ]
    assert [item.text() for item in shown] == ["Pleural effusion"]
    chooser.findings.setCurrentItem(shown[0])
    QTest.keyClick(chooser.search, Qt.Key.Key_Return)
    coded = marks.get(pasted.id)
    assert coded is not None
    assert coded.finding.code is not None
    assert (coded.finding.code.value, coded.finding.code.scheme) == ("60046008", "SCT")
    rows = [listed.model.row(listed.model.index(n)) for n in range(listed.model.rowCount())]
    assert any(isinstance(one, FindingRow) for one in rows)


def test_a_section_s_mark_is_copied_as_it_lies_on_the_shown_image(
    qapp: QApplication, wait_until: WaitUntil
) -> None:
    workspace = Workspace()
    window = MainWindow(workspace, FakeDecoder())
    window.show()
    workspace.add(found(study(instance("1.1"))))
    wait_until(lambda: window.canvas.frame is not None and not window.busy)
    try:
        fine = FramePlane((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.5, 0.5), "1.9")
        shown = FramePlane((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 1.0), "1.9")
        line = drawing.draw(drawing.RULER, frame("7.7"), [(20, 40), (60, 40)])
        line = replace(line, plane=fine)
        workspace.annotations.put(line, "Measure length")
        layer = window.canvas.findings_layer
        layer.set_image(None)
        layer.set_image(frame("1.1"), shown, 4.0)
        workspace.annotations.select(line.id)
        wait_until(lambda: window.findings_list.chosen_ids() == [line.id])
        (copied,) = window.actions_.mark_menu._here()
        assert copied.finding.geometry == Polyline(((10, 20), (30, 20)))
    finally:
        window.quit()


def headings(window: MainWindow) -> str:
    model = window.findings_list.model
    rows = (model.row(model.index(number)) for number in range(model.rowCount()))
    return " ".join(str(one) for one in rows if not isinstance(one, FindingRow))


def test_marks_are_grouped_coloured_and_duplicated_and_each_step_undone(
    qapp: QApplication, wait_until: WaitUntil
) -> None:
    workspace = Workspace()
    window = MainWindow(workspace, FakeDecoder())
    window.show()
    workspace.add(found(study(instance("1.1"))))
    wait_until(lambda: window.canvas.frame is not None and not window.busy)
    activate(window, wait_until)
    try:
        marks, menu, listed = workspace.annotations, window.actions_.mark_menu, window.findings_list
        canvas = window.canvas
        assert canvas.frame is not None
        line = drawing.draw(drawing.RULER, canvas.frame, [(20, 40), (60, 40)])
        marks.put(line, "Measure length")
        marks.select(line.id)
        wait_until(lambda: listed.chosen_ids() == [line.id])

        menu.group.trigger()
        dialog = window.findChild(QInputDialog)
        assert dialog is not None
        activate(dialog, wait_until)
        field = dialog.findChild(QLineEdit)
        assert field is not None
        QTest.keyClicks(field, "Follow-up")
        QTest.keyClick(dialog, Qt.Key.Key_Return)
        assert marks.all()[0].folder == "Follow-up"
        wait_until(lambda: "Follow-up" in headings(window))
        menu.ungroup.trigger()
        assert marks.all()[0].folder == ""
        window.actions_.undo.trigger()
        assert marks.all()[0].folder == "Follow-up"

        menu.colors.aboutToShow.emit()
        menu.colors.actions()[2].trigger()
        assert marks.all()[0].tint.startswith("#")
        window.actions_.undo.trigger()
        assert marks.all()[0].tint == ""

        activate(window, wait_until)
        canvas.setFocus()
        QTest.keyClick(canvas, Qt.Key.Key_D, CTRL)
        assert len(marks) == 2
        assert marks.all()[1].folder == "Follow-up"
        assert marks.selected == marks.all()[1].finding.id
        window.actions_.undo.trigger()
        assert [one.finding.id for one in marks.all()] == [line.id]
    finally:
        window.quit()
