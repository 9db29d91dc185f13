"""The dialogs of the Help menu: about, and keys and mouse gestures."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app import __version__
from app.views.theme import SPACE
from app.views.widgets import IconLabel, label, push_button, rule

Rows = tuple[tuple[str, str], ...]
"""Pairs of a key or gesture and its effect."""

GESTURES: tuple[tuple[str, Rows], ...] = (
    (
        "Mouse on the image",
        (
            ("Left drag", "window: right is wider, down raises the centre"),
            ("Middle, or Space + left", "move the image"),
            ("Right drag, click", "zoom; what can be done here"),
            ("Wheel", "through the series, else zoom"),
            ("Ctrl + wheel", "zoom at the cursor"),
            ("Drag at the right edge", "through the series"),
            ("Double click", "fit to the window"),
            ("Click on a finding", "select it"),
            ("Drag a drawn point", "move it"),
        ),
    ),
    (
        "Window",
        (
            ("Ctrl+O, Ctrl+Shift+O", "open files, a folder"),
            ("Ctrl+W, Ctrl+Shift+W", "close the study, all studies"),
            ("Ctrl+,", "settings"),
            ("Ctrl+Q", "quit"),
            ("Ctrl+1 to Ctrl+5", "studies, attributes, findings, assistant, layers"),
            ("Ctrl+Z, Ctrl+Shift+Z", "undo, redo"),
            ("Delete", "remove the selected finding"),
            ("Esc, Shift+Esc", "in the chat: stop, stop after this tool"),
            ("F1", "this list"),
        ),
    ),
    (
        "Keys on the image",
        (
            ("Arrows", "next and previous frame or image"),
            ("Ctrl+Right, Ctrl+Left", "the same, wherever the focus is"),
            ("Page Up, Page Down", "ten at a time"),
            ("Home, End", "first and last"),
            ("N, Shift+N", "next, previous series"),
            ("K, Shift+K", "next, previous key image"),
            ("P, . and ,", "play or pause a cine; faster, slower"),
            ("A, C, S, O", "axial, coronal, sagittal; as acquired"),
            ("I, R", "invert; reset window and view"),
            ("F, 1", "fit; one image pixel on one screen pixel"),
            ("+ and -", "zoom (also Ctrl++, Ctrl+-)"),
            ("H, V", "flip left-right, top-bottom"),
            ("[ and ]", "rotate left, right"),
            ("L, Shift+L", "measure a length, an angle"),
            ("B, M, Shift+M", "mark a box, a point, one outside"),
            ("Ctrl+B", "segment what is marked"),
            ("Shift+H", "hide or show heatmaps"),
            ("Escape", "put the drawing tool away, deselect"),
        ),
    ),
)
_COLUMNS = ((0, 1), (2,))
"""Numbers of the groups in each column; the columns fit side by side in the smallest window."""

_HELP_WIDTH = 1000  # px: each gesture on one line


def about(parent: QWidget) -> QDialog:
    """Return the about dialog."""
    dialog = _dialog(parent, "About Sightline")
    head = QHBoxLayout()
    head.setSpacing(SPACE.l)
    head.addWidget(IconLabel("sightline", 64))
    words = QVBoxLayout()
    words.setSpacing(2)
    words.addWidget(label("Sightline", "heading"))
    words.addWidget(label(f"Version {__version__}", "muted"))
    head.addLayout(words, 1)
    column = dialog.layout()
    assert isinstance(column, QVBoxLayout)
    column.addLayout(head)
    column.addWidget(label("A viewer for medical images with an assistant inside.", wrap=True))
    warning = label(
        "Not for diagnosis. It is not a medical device; AI results may be wrong or incomplete.",
        "warning",
        wrap=True,
    )
    column.addWidget(warning)
    column.addWidget(rule())
    column.addWidget(
        label(
            "Fonts: Inter (OFL 1.1), JetBrains Mono (Apache 2.0). Icons: Lucide (ISC). "
            "Built with Qt for Python (LGPL 3), pyqtgraph and pydicom (MIT).",
            "caption",
            wrap=True,
        )
    )
    column.addWidget(push_button("Close", dialog.accept), 0, Qt.AlignmentFlag.AlignRight)
    dialog.setFixedWidth(420)
    return dialog


def shortcuts(parent: QWidget) -> QDialog:
    """Return the dialog that lists the keys and mouse gestures."""
    dialog = _dialog(parent, "Keyboard and mouse")
    column = dialog.layout()
    assert isinstance(column, QVBoxLayout)
    inside = QWidget()
    beside = QHBoxLayout(inside)
    beside.setContentsMargins(0, 0, 0, 0)
    beside.setSpacing(SPACE.xl)
    for groups, share in zip(_COLUMNS, (11, 9), strict=True):
        below = QVBoxLayout()
        below.setSpacing(SPACE.m)
        for number in groups:
            title, rows = GESTURES[number]
            below.addWidget(label(title, "title"))
            below.addLayout(_grid(rows))
        below.addStretch(1)
        beside.addLayout(below, share)
    column.addWidget(_scrolling(inside, "Keys and gestures"), 1)
    close = push_button("Close", dialog.accept)
    column.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)
    margins = column.contentsMargins()
    width = _HELP_WIDTH - margins.left() - margins.right() - SPACE.l  # and a scroll bar
    around = margins.top() + column.spacing() + close.sizeHint().height() + margins.bottom()
    wanted = QSize(_HELP_WIDTH, beside.totalHeightForWidth(width) + around)
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
    grid.setVerticalSpacing(6)
    grid.setColumnStretch(1, 1)
    beginning = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop
    for number, (keys, what) in enumerate(rows):
        grid.addWidget(label(keys, "key"), number, 0, beginning)
        grid.addWidget(label(what, "muted", wrap=True), number, 1)
    return grid


def _dialog(parent: QWidget, title: str) -> QDialog:
    dialog = QDialog(parent)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setWindowTitle(title)
    column = QVBoxLayout(dialog)
    column.setContentsMargins(SPACE.xl, SPACE.xl, SPACE.xl, SPACE.l)
    column.setSpacing(SPACE.m)
    return dialog
