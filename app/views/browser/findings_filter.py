"""Which findings the list shows: by text, kind, state, source and image."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from app.imaging.findings import (
    Box,
    Ellipse,
    Finding,
    Heatmap,
    Instances,
    Mask,
    Point,
    Polygon,
    State,
)
from app.views import wording
from app.views.layouts import column, row
from app.views.theme import SPACE
from app.views.translation import tr, translatable
from app.views.widgets import label, search_field, tool_button
from app.workspace import drawing
from app.workspace.annotations import Annotation

MINE, AI = "mine", "ai"
SOURCES = {
    "": translatable("From any source"),
    MINE: translatable("Made by hand"),
    AI: translatable("AI findings"),
}
KINDS = {
    "": translatable("Of any kind"),
    "measurement": translatable("Measurements"),
    "region": translatable("Boxes and outlines"),
    "mask": translatable("Masks"),
    "point": translatable("Points"),
    "text": translatable("Texts and arrows"),
    "heatmap": translatable("Heatmaps"),
}


def kind_of(finding: Finding) -> str:
    """Return the kind of a finding: a key of `KINDS`."""
    shape = finding.geometry
    if drawing.by_hand(finding) and finding.provenance.tool in drawing.TEXTS:
        return "text"
    if isinstance(shape, Mask | Instances):
        return "mask"
    if isinstance(shape, Heatmap):
        return "heatmap"
    if isinstance(shape, Box | Ellipse | Polygon):
        return "region"
    probe = drawing.by_hand(finding) and finding.provenance.tool == drawing.PROBE
    return "point" if isinstance(shape, Point) and not probe else "measurement"


@dataclass(frozen=True, slots=True)
class Filter:
    """What the list shows: findings for which all of it holds.

    Attributes:
        text: Words that label, group, description or codes contain.
        source: `MINE`, `AI`, or "" for any.
        kind: A key of `KINDS`; "" for any.
        here: Only those on the shown image.
    """

    text: str = ""
    source: str = ""
    kind: str = ""
    state: State | None = None
    here: bool = False

    @property
    def active(self) -> bool:
        return self != Filter()

    @property
    def narrow(self) -> bool:
        """Whether it asks for what labels from a file don't have."""
        return bool(self.source or self.kind or self.state)

    def says(self, texts: Iterable[str]) -> bool:
        """Return whether texts contain all words of the filter."""
        if not self.text:
            return True
        said = "\n".join(texts).casefold()
        return all(word in said for word in self.text.casefold().split())

    def passes(self, one: Annotation, *, here: bool) -> bool:
        """Return whether a finding is shown; `here`: it is on the shown image."""
        finding = one.finding
        if self.here and not here:
            return False
        if self.state is not None and finding.state is not self.state:
            return False
        if self.kind and kind_of(finding) != self.kind:
            return False
        if self.source and (self.source == MINE) != drawing.by_hand(finding):
            return False
        codes = (code.meaning for code in (finding.code, finding.site) if code is not None)
        return self.says((wording.label_text(finding), one.folder, finding.description, *codes))


class FilterLine(QWidget):
    """The line above the list: a search field, a menu, and how many findings are left out."""

    changed = Signal(object)  # the Filter

    def __init__(self) -> None:
        super().__init__()
        self.filter = Filter()
        tip = tr("List the findings whose label, group, description or code contains all words")
        self.search = search_field(tr("Search the findings"), tip=tip)
        self.search.textChanged.connect(lambda text: self._change(text=text.strip()))
        self.button = tool_button("list-filter", tr("Filter the findings"))
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.button.setCheckable(True)
        self.menu = QMenu(self)
        self.choices: dict[tuple[str, object], QAction] = {}
        self._add("source", SOURCES)
        self._add("kind", KINDS)
        states = {one: wording.sentence(wording.state_name(one)) for one in State}
        self._add("state", {None: tr("In any state"), **states})
        self.here = self.menu.addAction(tr("Only on the shown image"))
        self.here.setCheckable(True)
        self.here.toggled.connect(lambda on: self._change(here=on))
        self.menu.addSeparator()
        self.clear = self.menu.addAction(tr("Show all findings again"), self.reset)
        self.button.setMenu(self.menu)
        self.note = label("", "warning", wrap=True)
        self.note.hide()
        margins = (SPACE.s, SPACE.xs, SPACE.s, SPACE.xs)
        column(
            row((self.search, 1), self.button, spacing=SPACE.xs),
            self.note,
            margins=margins,
            spacing=SPACE.xs,
            parent=self,
        )

    def _add(self, field: str, names: dict[object, str] | dict[str, str]) -> None:
        group = QActionGroup(self)
        for value, text in names.items():
            action = self.menu.addAction(tr(text))
            action.setCheckable(True)
            action.setChecked(not value)
            group.addAction(action)
            action.triggered.connect(partial(self._choose, field, value))
            self.choices[field, value] = action
        self.menu.addSeparator()

    def _choose(self, field: str, value: object, _checked: bool = False) -> None:
        self._change(**{field: value})

    def _change(self, **fields: object) -> None:
        self.filter = replace(self.filter, **fields)  # pyright: ignore[reportArgumentType]
        self.button.setChecked(self.filter != Filter(text=self.filter.text))
        self.changed.emit(self.filter)

    def reset(self) -> None:
        for field, value in (("source", ""), ("kind", ""), ("state", None)):
            self.choices[field, value].setChecked(True)
        self.filter = Filter()
        self.here.setChecked(False)
        self.search.clear()
        self._change()

    def tell(self, shown: int, count: int) -> None:
        """Say how many of all findings are shown, if some are left out."""
        self.note.setVisible(shown < count)
        text = tr("{shown} of {count} findings are shown")
        self.note.setText(text.format(shown=shown, count=count))
        self.clear.setEnabled(self.filter.active)
        self.button.setChecked(self.filter != Filter(text=self.filter.text))
