"""The dialogs of the Help menu: About, and the list of keys and mouse gestures."""

from __future__ import annotations

import re
from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QGridLayout, QScrollArea, QVBoxLayout, QWidget

from app import __version__
from app.imaging.processes.confinement import can_confine
from app.paths import build_facts, shipped_table
from app.views.layouts import LayoutPart, column, row
from app.views.theme import SPACE
from app.views.translation import tr
from app.views.widgets import IconLabel, label, push_button, rule

Rows = tuple[tuple[str, str], ...]
"""Pairs of a key or gesture and its effect."""

GESTURES: tuple[tuple[str, Rows], ...] = tuple(
    (title, tuple(rows.items())) for title, rows in shipped_table("window", "gestures").items()
)
_NAME = re.compile(r"\{([\w.+-]+)\}")  # of a command, in place of its key
_SHORTENED = 3  # keys with the same modifiers
_HELP_WIDTH = 1000  # px: each gesture on one line
_HELP_HEIGHT = 640  # px, as the smallest screens have; what is more is scrolled


def about(parent: QWidget) -> QDialog:
    """Return the about dialog."""
    built = ", ".join(build_facts().values())
    version = f"{__version__} ({built})" if built else __version__
    words = column(
        label("Sightline", "heading"),
        label(tr("Version {version}").format(version=version), "muted"),
        spacing=2,
    )
    warning = tr(
        "Not for diagnosis. Sightline is not a medical device; AI results may be wrong or "
        "incomplete."
    )
    credits_ = tr(
        "Fonts: Inter (OFL 1.1), JetBrains Mono (Apache 2.0). Icons: Lucide (ISC). "
        "Built with Qt for Python (LGPL 3), pyqtgraph and pydicom (MIT)."
    )
    confined = (
        tr(
            "Files are decoded in isolated processes: they cannot write files, start programs or "
            "use the network."
        )
        if can_confine()
        else tr(
            "This system cannot isolate the processes that decode files: they run with your "
            "permissions."
        )
    )
    dialog, _layout = _dialog(
        parent,
        tr("About Sightline"),
        row(IconLabel("sightline", 64), (words, 1), spacing=SPACE.l),
        label(tr("A medical image viewer with a built-in assistant."), wrap=True),
        label(warning, "warning", wrap=True),
        label(confined, "caption", wrap=True),
        rule(),
        label(credits_, "caption", wrap=True),
    )
    dialog.setFixedWidth(420)
    return dialog


def gestures(key_of: Callable[[str], str]) -> tuple[tuple[str, Rows], ...]:
    """Return the blocks of the list, with the keys that commands have now.

    Args:
        key_of: Returns the key of the command with a name, "" for none, or raises KeyError.
    """

    def key(found: re.Match[str]) -> str:
        try:
            text = QKeySequence(key_of(found[1])).toString(QKeySequence.SequenceFormat.NativeText)
        except KeyError:
            return ""  # a window without the assistant lacks its commands
        return text or tr("no key")

    return tuple(
        (title, tuple((_shortened(_NAME.sub(key, tr(keys))), what) for keys, what in rows))
        for title, rows in GESTURES
    )


def _shortened(keys: str) -> str:
    """Return "Ctrl+1, 2, 3" for "Ctrl+1, Ctrl+2, Ctrl+3"."""
    parts = keys.split(", ")
    held = {part.rpartition("+")[0] for part in parts}
    if len(parts) < _SHORTENED or len(held) > 1 or "" in held:
        return keys
    return ", ".join([parts[0], *(part.rpartition("+")[2] for part in parts[1:])])


def shortcuts(parent: QWidget, key_of: Callable[[str], str]) -> QDialog:
    """Return the dialog that lists the keys and mouse gestures."""
    left, middle, right = (
        column(label(tr(title), "title"), _grid(rows), spacing=SPACE.m)
        for title, rows in gestures(key_of)
    )
    inside = QWidget()
    beside = row(
        (column(left, middle, 1, spacing=SPACE.m), 11),
        (column(right, 1), 9),
        spacing=SPACE.xl,
        parent=inside,
    )
    area = _scrolling(inside, tr("Keys and gestures"))
    dialog, layout = _dialog(parent, tr("Keyboard and mouse"), (area, 1))
    margins = layout.contentsMargins()
    width = _HELP_WIDTH - margins.left() - margins.right() - SPACE.l  # and a scroll bar
    around = layout.minimumSize().height() - area.minimumSizeHint().height()
    height = min(beside.totalHeightForWidth(width) + around, _HELP_HEIGHT)
    wanted = QSize(_HELP_WIDTH, height)
    room = dialog.screen().availableGeometry().size() - QSize(40, 60)
    dialog.resize(wanted.boundedTo(room))
    return dialog


def _scrolling(inside: QWidget, name: str) -> QScrollArea:
    """Put a page into a scroll area, so that the button below stays on a small screen."""
    area = QScrollArea()
    area.setObjectName("helpArea")
    inside.setObjectName("helpPage")
    area.setStyleSheet("#helpArea, #helpPage { background: transparent; border: none; }")
    area.setAccessibleName(name)
    area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidgetResizable(True)
    area.setWidget(inside)
    return area


def _grid(rows: Rows) -> QGridLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(SPACE.l)
    grid.setVerticalSpacing(2)
    grid.setColumnStretch(1, 1)
    beginning = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop
    for number, (keys, what) in enumerate(rows):
        grid.addWidget(label(keys, "key"), number, 0, beginning)
        grid.addWidget(label(tr(what), "muted", wrap=True), number, 1)
    return grid


def _dialog(parent: QWidget, title: str, *parts: LayoutPart) -> tuple[QDialog, QVBoxLayout]:
    """Return a dialog with the parts above a Close button, and its layout."""
    dialog = QDialog(parent)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setWindowTitle(title)
    foot = row(1, push_button(tr("Close"), dialog.accept))
    margins = (SPACE.xl, SPACE.xl, SPACE.xl, SPACE.l)
    return dialog, column(*parts, foot, spacing=SPACE.m, margins=margins, parent=dialog)
