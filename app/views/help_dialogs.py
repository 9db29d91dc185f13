"""The dialogs of the Help menu: about, and keys and mouse gestures."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QDialog, QGridLayout, QScrollArea, QVBoxLayout, QWidget

from app import __version__
from app.imaging.processes.confinement import holds
from app.views.layouts import LayoutPart, column, row
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
            ("Drag a point, a label", "move it; a tool's finding is selected first"),
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
_HELP_WIDTH = 1000  # px: each gesture on one line


def about(parent: QWidget) -> QDialog:
    """Return the about dialog."""
    words = column(
        label("Sightline", "heading"), label(f"Version {__version__}", "muted"), spacing=2
    )
    warning = (
        "Not for diagnosis. It is not a medical device; AI results may be wrong or incomplete."
    )
    credits_ = (
        "Fonts: Inter (OFL 1.1), JetBrains Mono (Apache 2.0). Icons: Lucide (ISC). "
        "Built with Qt for Python (LGPL 3), pyqtgraph and pydicom (MIT)."
    )
    confined = (
        "Files are decoded by processes that can read only what was opened, and have no network."
        if holds()
        else "This system cannot confine the processes that decode files: they have your rights."
    )
    dialog, _layout = _dialog(
        parent,
        "About Sightline",
        row(IconLabel("sightline", 64), (words, 1), spacing=SPACE.l),
        label("A viewer for medical images with an assistant inside.", wrap=True),
        label(warning, "warning", wrap=True),
        label(confined, "caption", wrap=True),
        rule(),
        label(credits_, "caption", wrap=True),
    )
    dialog.setFixedWidth(420)
    return dialog


def shortcuts(parent: QWidget) -> QDialog:
    """Return the dialog that lists the keys and mouse gestures."""
    left, middle, right = (
        column(label(title, "title"), _grid(rows), spacing=SPACE.m) for title, rows in GESTURES
    )
    inside = QWidget()
    beside = row(
        (column(left, middle, 1, spacing=SPACE.m), 11),
        (column(right, 1), 9),
        spacing=SPACE.xl,
        parent=inside,
    )
    area = _scrolling(inside, "Keys and gestures")
    dialog, layout = _dialog(parent, "Keyboard and mouse", (area, 1))
    margins = layout.contentsMargins()
    width = _HELP_WIDTH - margins.left() - margins.right() - SPACE.l  # and a scroll bar
    around = layout.minimumSize().height() - area.minimumSizeHint().height()
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


def _dialog(parent: QWidget, title: str, *parts: LayoutPart) -> tuple[QDialog, QVBoxLayout]:
    """Return a dialog with the parts above a Close button, and its layout."""
    dialog = QDialog(parent)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setWindowTitle(title)
    foot = row(1, push_button("Close", dialog.accept))
    margins = (SPACE.xl, SPACE.xl, SPACE.xl, SPACE.l)
    return dialog, column(*parts, foot, spacing=SPACE.m, margins=margins, parent=dialog)
