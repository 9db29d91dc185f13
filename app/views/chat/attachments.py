"""What a question is about besides its words: files that were opened for it, and marked regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QFrame, QWidget

from app.imaging.findings import Box, Finding
from app.views.chat.widgets import ElidedText
from app.views.layouts import Flow, row
from app.views.theme import THEME
from app.views.translation import tr
from app.views.widgets import IconLabel, tool_button
from app.workspace import drawing
from app.workspace.workspace import Workspace

_LOOK_MS = 100  # between looks at whether a file is open by now


@dataclass(eq=False, slots=True)
class _Attached:
    """A file, or the id of a mark, with its chip."""

    chip: QFrame
    path: Path | None = None
    mark: str = ""
    opening: bool = False


class Attachments(QWidget):
    """The chips above the question field; hidden while there are none.

    Attributes:
        is_opening: Whether the window still opens files.
        is_open: Whether a file is open in the window.
    """

    changed = Signal()  # `opening`, or what is attached
    marked = Signal()  # the region that `ask_for_region` waits for was drawn

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.is_opening: Callable[[], bool] = lambda: False
        self.is_open: Callable[[Path], bool] = lambda _path: False
        self._workspace = workspace
        self._items: list[_Attached] = []
        self._before: frozenset[str] | None = None  # boxes at `ask_for_region`; None: not waiting
        self._layout = Flow(4)
        self.setLayout(self._layout)
        self.setAccessibleName(tr("Attached to the question"))
        self.hide()
        self._looks = QTimer(self, interval=_LOOK_MS)
        self._looks.timeout.connect(self._look)
        self.disconnect_workspace = workspace.annotations.changed.connect(self._on_marks)

    @property
    def opening(self) -> bool:
        """Whether an attached file is not open yet; the question waits for it."""
        return any(item.opening for item in self._items)

    def add_files(self, paths: Sequence[Path]) -> None:
        """Attach files that the window has begun to open."""
        for path in paths:
            self._add(_Attached(self._chip("paperclip", path.name), path=path, opening=True))
        self._looks.start()

    def ask_for_region(self) -> None:
        """Attach the next box that the user draws."""
        self._before = frozenset(self._boxes())

    def words(self) -> str:
        """Return the lines that name what is attached, as they stand below a question."""
        lines: list[str] = []
        for item in self._items:
            if item.path is not None:
                lines += [tr("Attached file: {name}").format(name=item.path.name)]
            elif (found := self._workspace.annotations.get(item.mark)) is not None:
                lines += [self._region(found.finding)]
        return "\n".join(lines)

    def clear(self) -> None:
        self._before = None
        for item in tuple(self._items):
            self._remove(item)

    def _boxes(self) -> dict[str, Finding]:
        found = (item.finding for item in self._workspace.annotations.all())
        return {
            one.id: one
            for one in found
            if one.provenance.tool == drawing.BOX and isinstance(one.geometry, Box)
        }

    def _on_marks(self) -> None:
        boxes = self._boxes()
        if self._before is not None and (made := boxes.keys() - self._before):
            self._before = None
            for key in made:
                self._add(_Attached(self._chip("square-dashed", tr("Marked region")), mark=key))
            self.marked.emit()
        for item in tuple(self._items):
            if item.mark and self._workspace.annotations.get(item.mark) is None:
                self._remove(item)  # the mark was deleted

    def _region(self, finding: Finding) -> str:
        shape = finding.geometry
        instance = self._workspace.instance_of(finding.image.sop_instance_uid)
        if not isinstance(shape, Box) or instance is None:
            return ""
        # The first and last pixels: its edges lie between pixels, so that rounding could go either
        # way. `app.tools.viewer.places` reads the line.
        place = tr("Region: x {x0:.0f} to {x1:.0f}, y {y0:.0f} to {y1:.0f} px of {name}").format(
            x0=shape.x0 + 0.5,
            x1=shape.x1 - 0.5,
            y0=shape.y0 + 0.5,
            y1=shape.y1 - 0.5,
            name=instance.path.name,
        )
        frame = finding.image.frame
        if instance.frames > 1:
            place += " " + tr("(frame {number})").format(number=frame + 1)
        return place

    def _look(self) -> None:
        if self.is_opening():
            return
        self._looks.stop()
        for item in tuple(self._items):
            if item.opening:
                item.opening = False
                if item.path is not None and not self.is_open(item.path):
                    self._remove(item)  # the window has said why
        self.changed.emit()

    def _chip(self, icon_name: str, text: str) -> QFrame:
        chip = QFrame()
        chip.setObjectName("chatPending")
        words = ElidedText(text, "label", middle=True)
        words.setFixedWidth(min(180, words.fontMetrics().horizontalAdvance(words.full) + 12))
        remove = tool_button("x", tr("Do not attach {name}").format(name=text), None, 12)
        remove.clicked.connect(lambda: self._remove_chip(chip))
        mark = IconLabel(icon_name, 14, THEME.text_faint)
        row(mark, (words, 1), remove, spacing=4, margins=(6, 1, 2, 1), parent=chip)
        return chip

    def _add(self, item: _Attached) -> None:
        self._items.append(item)
        self._layout.addWidget(item.chip)
        self.show()
        self.changed.emit()

    def _remove_chip(self, chip: QFrame) -> None:
        for item in tuple(self._items):
            if item.chip is chip:
                self._remove(item)

    def _remove(self, item: _Attached) -> None:
        self._items.remove(item)
        self._layout.removeWidget(item.chip)
        item.chip.hide()
        item.chip.deleteLater()
        self.setVisible(bool(self._items))
        self.changed.emit()
