"""The page of an object that cannot be shown: what it is, and where to read on."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.imaging.types import Content, Instance
from app.views import wording
from app.views.contents import LOOKS
from app.views.theme import SPACE, THEME
from app.views.widgets import IconLabel, label, push_button

_NEEDS_IMAGES = (
    "It is drawn over images, and those are not open. Open the study that it belongs to."
)


class NotePage(QWidget):
    """Names an object and says why nothing of it is shown.

    Args:
        show_attributes: Opens the attributes panel.
    """

    def __init__(self, show_attributes: Callable[[], object]) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", "canvas")
        self._icon = IconLabel("file-question-mark", 40, THEME.text_faint)
        self.title = label("", "title", wrap=True)
        self.text = label("", "muted", wrap=True)
        self.files = label("", "caption", wrap=True)
        inner = QWidget()
        inner.setMaximumWidth(520)
        column = QVBoxLayout(inner)
        column.setContentsMargins(SPACE.xl, 0, SPACE.xl, 0)
        column.setSpacing(SPACE.m)
        column.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignHCenter)
        for part in (self.title, self.text, self.files):
            part.setAlignment(Qt.AlignmentFlag.AlignCenter)
            column.addWidget(part)
        button = push_button("Show its attributes", show_attributes)
        column.addWidget(button, 0, Qt.AlignmentFlag.AlignHCenter)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(inner, 4)
        row.addStretch(1)
        outer = QVBoxLayout(self)
        outer.addStretch(1)
        outer.addLayout(row)
        outer.addStretch(1)

    def show_instance(self, instance: Instance) -> None:
        """Name this object."""
        look = LOOKS[instance.content]
        self._icon.set_icon(look.icon)
        named = wording.one_line(instance.get("SeriesDescription"))
        self.title.setText(named or look.one.capitalize())
        if instance.content is Content.OTHER:
            note = wording.one_line(instance.note) or "This object is not displayable"
            self.text.setText(f"{note[:1].upper()}{note[1:].rstrip('.')}.")
        else:
            self.text.setText(f"This is a {look.one}. {_NEEDS_IMAGES}")
        self.files.setText(wording.one_line(instance.path.name))
