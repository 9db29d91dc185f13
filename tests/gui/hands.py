"""What a person's hands do in a test: never to what is not shown yet, covered or out of sight."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QLineEdit,
    QScrollArea,
    QWidget,
)

from app.views.settings.settings_dialog import SettingsDialog
from app.views.settings.tools_page import ToolRuleList


def click(button: QAbstractButton) -> None:
    """Scroll to a button and click it.

    A layout shows and places what was put into it in a later pass of the event loop: a click in
    between, which no person could make, would go past it on a busy machine only.
    """
    bring_into_view(button)
    assert button.isVisible(), f"{button.text()!r} is not shown"
    assert button.isEnabled(), f"{button.text()!r} cannot be clicked"
    middle = button.rect().center()
    assert button.visibleRegion().contains(middle), f"{button.text()!r} is covered or cut off"
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def bring_into_view(widget: QWidget) -> None:
    """Lay out what was put off, and scroll whatever the widget lies in."""
    QCoreApplication.sendPostedEvents()
    around = widget.parentWidget()
    while around is not None:
        if isinstance(around, QScrollArea):
            around.ensureWidgetVisible(widget)
        around = around.parentWidget()
    QCoreApplication.sendPostedEvents()


def retype(field: QWidget, text: str) -> None:
    """Replace a field's text."""
    edit = field.lineEdit() if isinstance(field, QComboBox) else field
    assert isinstance(edit, QLineEdit)
    edit.setFocus()
    edit.selectAll()
    QTest.keyClick(edit, Qt.Key.Key_Delete)
    QTest.keyClicks(edit, text)


def rule_text(tools: ToolRuleList, name: str) -> str:
    """The words for a tool's rule in the list."""
    items = map(tools.list.topLevelItem, range(tools.list.topLevelItemCount()))
    role = Qt.ItemDataRole.UserRole
    return next(item.text(2) for item in items if item is not None and item.data(0, role) == name)


def choose(box: QComboBox, text: str) -> None:
    """Choose an item with the arrow keys."""
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Home)
    for _ in range(box.findText(text)):
        QTest.keyClick(box, Qt.Key.Key_Down)
    assert box.currentText() == text


def open_page(dialog: SettingsDialog, title: str) -> None:
    """Choose a page of the settings in their list."""
    (item,) = dialog.list.findItems(title, Qt.MatchFlag.MatchExactly)
    at = dialog.list.visualItemRect(item).center()
    QTest.mouseClick(dialog.list.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert dialog.pages.currentWidget().isVisible()
