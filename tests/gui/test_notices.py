"""The notices at the bottom of a window."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication, QLayoutItem, QVBoxLayout, QWidget

from app.views.chat.dock import _tab_order
from app.views.notices import Notices
from app.views.widgets import push_button

pytestmark = pytest.mark.gui


@pytest.fixture
def host(qapp: QApplication) -> Iterator[QWidget]:
    made = QWidget()
    made.show()
    yield made
    made.close()
    made.deleteLater()


def items_in_python() -> int:
    """Layout items that Python knows of; those of deleted widgets would be dangling pointers."""
    return sum(isinstance(one, QLayoutItem) for one in gc.get_objects() if type(one) is not type)


def test_notices_that_are_gone_leave_nothing_behind(host: QWidget):
    notices = Notices(host)
    before = items_in_python()
    for number in range(5):
        notices.show_notice("info", f"title {number}")
    titles = [one.title.text() for one in notices.all()]
    assert titles == [f"title {number}" for number in range(5)][-len(titles) :]
    for one in notices.all():
        one.dismiss()
    assert notices.all() == []
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    # Qt soon has something else at their addresses, which Python would take for them and crash.
    assert items_in_python() == before


def test_a_notice_that_says_the_same_again_stands_once(host: QWidget):
    notices = Notices(host)
    for text in ("Unlock it", "Unlock it", "Other", "Unlock it"):
        notices.show_notice("info", "The mark is locked", text)
    assert [one.text.text() for one in notices.all()] == ["Other", "Unlock it"]
    for _ in range(2):  # their buttons may do different things
        notices.show_notice("info", "Removed", "", ("Undo", lambda: None))
    assert [one.title.text() for one in notices.all()][-2:] == ["Removed", "Removed"]


def test_tab_goes_through_a_layout_in_its_order_and_leaves_nothing_behind(host: QWidget):
    outer, inner = QVBoxLayout(host), QVBoxLayout()
    first, second, third = (push_button(str(number), lambda: None) for number in range(3))
    outer.addWidget(third)
    outer.insertLayout(0, inner)
    inner.addWidget(second)
    inner.insertWidget(0, first)
    for one in (first, second, third):
        one.show()
    before = items_in_python()
    assert list(_tab_order(host)) == [first, second, third]
    assert items_in_python() == before
