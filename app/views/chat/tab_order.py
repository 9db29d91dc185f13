"""What the Tab key goes through: in the order on the screen, whatever was made first."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLayout, QPushButton, QScrollArea, QWidget


def tab_order(box: QWidget) -> Iterator[QWidget]:
    """The fields in a widget that can be reached now, from top to bottom.

    Qt keeps the order in which they were made: cards of a run that goes on would come last, after
    all that is in the window.
    """
    if not box.isVisible() or not box.isEnabled():
        return
    if box.focusPolicy() & Qt.FocusPolicy.TabFocus and box.focusProxy() is None:
        yield box
    layout = box.layout()
    if layout is not None:
        yield from _in_layout(layout)
    elif isinstance(box, QScrollArea) and (inside := box.widget()) is not None:
        yield from tab_order(inside)
        for button in box.findChildren(
            QPushButton, options=Qt.FindChildOption.FindDirectChildrenOnly
        ):
            yield from tab_order(button)


def _in_layout(layout: QLayout) -> Iterator[QWidget]:
    for place in range(layout.count()):
        item = layout.itemAt(place)
        if item is None:
            continue
        widget, inner = item.widget(), item.layout()
        if widget is not None:
            yield from tab_order(widget)
        elif inner is not None:
            yield from _in_layout(inner)


def step(box: QWidget, *, forward: bool) -> QWidget | None:
    """The field after the one that has the focus, or before it; None where `box` ends."""
    fields = list(tab_order(box))
    focused = box.window().focusWidget()
    if focused not in fields:
        return None
    at = fields.index(focused) + (1 if forward else -1)
    return fields[at] if 0 <= at < len(fields) else None
