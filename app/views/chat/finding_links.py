"""Links between the chat and the findings: chips and names select findings on the canvas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol
from weakref import WeakSet

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QPushButton, QSizePolicy
from shiboken6 import isValid

from app.imaging.findings import Finding, State
from app.views import wording
from app.views.plain_text import menu_text, one_line
from app.views.theme import THEME
from app.views.translation import tr
from app.views.widgets import plain_tip
from app.workspace import drawing
from app.workspace.workspace import Workspace

_DOT = 8  # px
_CHARS = 40  # of a chip's text; its tooltip has all


class FindingChip(QPushButton):
    """A finding as a small button with its colour, label and measurement."""

    def __init__(self, finding: Finding) -> None:
        super().__init__()
        self.setObjectName("chatChip")
        self.setIconSize(QSize(_DOT, _DOT))
        self.set_tint(THEME.text_faint)
        self.finding = finding
        self._brief = False
        self.setCheckable(True)
        self.describe(finding)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Show {text} on the image").format(text=self.text()))

    def set_brief(self) -> None:
        self._brief = True
        self.describe(self.finding)

    def describe(self, finding: Finding) -> None:
        label = wording.label_text(finding) if self._brief else wording.chip_text(finding)
        self.setText(menu_text(one_line(label, _CHARS)) or tr("Finding"))
        details = wording.maker_details(finding)
        parts = (finding.description, details, wording.state_text(finding))
        self.setToolTip(plain_tip("\n".join(part for part in parts if part)))
        self.setAccessibleDescription(wording.state_text(finding))
        font = self.font()
        font.setStrikeOut(finding.state is State.REJECTED)
        self.setFont(font)

    def set_tint(self, tint: str) -> None:
        """Set the colour of the chip's dot, which is the finding's colour on the canvas."""
        dot = QPixmap(QSize(4 * _DOT, 4 * _DOT))
        dot.fill(Qt.GlobalColor.transparent)
        painter = QPainter(dot)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tint))
        painter.drawEllipse(dot.rect())
        painter.end()
        self.setIcon(QIcon(dot))


class LinkedText(Protocol):
    """Protocol of a chat text with links to findings; `FindingLinks` keeps it up to date."""

    def update_links(self) -> None: ...


class FindingLinks:
    """Links the chat's chips and texts to findings; call `close` before the dock is destroyed."""

    def __init__(
        self, workspace: Workspace, tell_closed: Callable[[], object] = lambda: None
    ) -> None:
        self._workspace = workspace
        self._tell_closed = tell_closed  # called where the image of a finding to show is closed
        self._chips: WeakSet[FindingChip] = WeakSet()
        self._texts: WeakSet[LinkedText] = WeakSet()
        self._made: dict[str, Finding] = {}  # as the tool made them, by id
        self._disconnect: list[Callable[[], None]] = [
            workspace.annotations.changed.connect(self._on_changed),
            workspace.annotations.changed.connect(self._update_texts),
            workspace.annotations.selection_changed.connect(lambda _id: self._on_changed()),
        ]

    def close(self) -> None:
        for disconnect in self._disconnect:
            disconnect()
        self._disconnect.clear()

    def chip(self, finding: Finding) -> FindingChip:
        """Return a chip that selects `finding` and shows whether it is selected."""
        chip = FindingChip(finding)
        self._made[finding.id] = finding
        chip.clicked.connect(lambda _checked=False, key=finding.id: self.select(key))
        self._chips.add(chip)
        self._dress(chip)
        return chip

    def keep_current(self, text: LinkedText) -> None:
        """Call `text.update_links` from now on whenever the findings change."""
        self._texts.add(text)

    def existing(self, targets: Mapping[str, str]) -> dict[str, str]:
        """Return the items (label: id) whose finding, or one that has since replaced it, exists."""
        there = self._workspace.annotations.get
        return {label: key for label, key in targets.items() if there(self._current(key))}

    def outdated(self, finding_ids: Iterable[str]) -> str:
        """Return a warning that names findings whose outline was changed by hand; "" if none."""
        there = (self._workspace.annotations.get(self._current(key)) for key in finding_ids)
        labels = [
            wording.one_line(item.finding.label)
            for item in there
            if item is not None
            and (item.finding.corrected or drawing.OUTDATED in item.finding.description)
        ]
        if not labels:
            return ""
        return tr(
            "Outdated: an outline was changed by hand ({labels}). Figures from "
            "it no longer hold; the findings list has those of now."
        ).format(labels=", ".join(dict.fromkeys(labels)))

    @property
    def shown(self) -> str:
        """SOP Instance UID of the image that is currently shown; "" for none."""
        instance = self._workspace.viewport.instance
        return instance.sop_instance_uid if instance is not None else ""

    def targets(self, findings: Iterable[Finding] = (), shown: str = "") -> dict[str, str]:
        """Return the ids, by label, of the findings to which a run's text may link.

        These are the run's own `findings`, and older ones by tools on the same images or on the
        image with SOP Instance UID `shown`, which the question was about. Findings on other images
        are left out, since they may be another patient's.
        """
        own = sorted(findings, key=lambda item: item.image.sop_instance_uid == shown)
        images = {shown, *(item.image.sop_instance_uid for item in own)}
        there = (item.finding for item in self._workspace.annotations.all())
        # Labels of hand-drawn findings ("Length") are ordinary words in an answer.
        before = [
            item
            for item in there
            if item.image.sop_instance_uid in images and not drawing.by_hand(item)
        ]
        return {item.label: item.id for item in (*before, *own) if item.label.strip()}

    def of_call(self, run_id: str, call_id: str) -> list[Finding]:
        """Return the findings of a run's tool call that still exist in the workspace."""
        everything = (item.finding for item in self._workspace.annotations.all())
        call = (run_id, call_id)
        return [
            one for one in everything if (one.provenance.run_id, one.provenance.call_id) == call
        ]

    def select(self, finding_id: str) -> None:
        """Show a finding; if it is already selected, clear the selection."""
        annotations = self._workspace.annotations
        if annotations.selected and annotations.selected == self._current(finding_id):
            annotations.select("")
        else:
            self.show(finding_id)

    def show(self, finding_id: str) -> bool:
        """Select a finding and show it: its viewport, its frame, and its region in view.

        Return False if there is no such finding any more.
        """
        key = self._current(finding_id)
        item = self._workspace.annotations.get(key)
        if item is None:
            self._on_changed()
            return False
        self._workspace.show_finding(key)
        if self._workspace.instance_of(item.finding.image.sop_instance_uid) is None:
            self._tell_closed()
        return True

    def show_entry(self, entry_id: str) -> None:
        self._workspace.record.entry_wanted.emit(entry_id)

    def show_next(self, findings: Sequence[Finding]) -> bool:
        """Show the first of `findings`; if one of them is selected, show the one after it.

        Return False if none of them is there any more.
        """
        annotations = self._workspace.annotations
        there = [key for item in findings if annotations.get(key := self._current(item.id))]
        if there:
            chosen = there.index(annotations.selected) + 1 if annotations.selected in there else 0
            self.show(there[chosen % len(there)])
        return bool(there)

    def point_at(self, finding_ids: Iterable[str]) -> None:
        """Highlight findings on the images while the pointer is on a link; none ends this."""
        self._workspace.annotations.point_at(self._current(key) for key in finding_ids)

    def same_image(self, one: str, other: str) -> bool:
        """Return whether two findings, by their ids, are on the same image."""
        found = [self._workspace.annotations.get(self._current(key)) for key in (one, other)]
        images = {item.finding.image.sop_instance_uid for item in found if item is not None}
        return len(images) == 1 and None not in found

    def is_same(self, one: str, other: str) -> bool:
        """Return whether two ids are of one finding, or of one that has replaced the other."""
        return self._current(one) == self._current(other)

    def _current(self, finding_id: str) -> str:
        """Return the id of the finding, or of the one that replaced it when the tool ran again.

        Where that may be one of several, or the user deleted the finding, it is the old id.
        """
        annotations = self._workspace.annotations
        made = self._made.get(finding_id)
        if made is None or annotations.get(finding_id) is not None:
            return finding_id
        own = annotations.of_call(made.provenance)
        newer = [
            one.finding.id
            for one in annotations.on_image(made.image)
            if one.finding.label == made.label
            and one.finding.provenance.tool == made.provenance.tool
            and one.finding.id not in own
        ]
        return newer[0] if len(newer) == 1 else finding_id

    def _dress(self, chip: FindingChip) -> None:
        annotations = self._workspace.annotations
        key = self._current(chip.finding.id)
        item = annotations.get(key)
        chip.setEnabled(item is not None)
        if item is not None:
            chip.describe(item.finding)
            chip.set_tint(THEME.annotation_color(item.color))
        chip.setChecked(item is not None and annotations.selected == key)

    def _update_texts(self) -> None:
        for text in tuple(self._texts):
            text.update_links()

    def _on_changed(self) -> None:
        for chip in tuple(self._chips):
            if isValid(chip):
                self._dress(chip)
            else:  # Qt deleted it with its card, and Python still holds the wrapper
                self._chips.discard(chip)
