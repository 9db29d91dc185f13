"""The menu of what can be done with marks: copy, paste, lock, name, group, colour, code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QColor, QIcon, QPixmap
from PySide6.QtWidgets import (
    QDialog,
    QInputDialog,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QWidget,
)

from app import paths
from app.imaging.findings import Code
from app.imaging.space import planes
from app.imaging.space.planes import FramePlane
from app.views import slice_paste
from app.views.layouts import column, row
from app.views.theme import DARK, SPACE
from app.views.translation import tr, tr_report
from app.views.widgets import label, push_button
from app.workspace import editing, review
from app.workspace.annotations import Annotation
from app.workspace.viewport import REFORMAT

if TYPE_CHECKING:
    from app.views.main_window import MainWindow

_CODE = Qt.ItemDataRole.UserRole


def codes_of(kind: str) -> list[Code]:
    """Return the coded labels (`kind` "finding") or anatomical sites ("site") to choose from."""
    result: dict[str, Code] = {}
    for group in paths.shipped_table("codes", kind):
        for value, scheme, meaning in group["codes"]:
            result.setdefault(value, Code(value, scheme, meaning))
    return sorted(result.values(), key=lambda one: one.meaning.lower())


class CodeDialog(QDialog):
    """A searchable list of coded labels and one of sites, for marks."""

    def __init__(
        self, first: Annotation, take: Callable[[Code | None, Code | None], object], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Coded label and site"))
        self._take = take
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("Search"))
        self.search.setAccessibleName(tr("Search"))
        self.search.textChanged.connect(self._filter)
        self.findings = self._list("finding", tr("Coded label"), first.finding.code)
        self.sites = self._list("site", tr("Site"), first.finding.site)
        apply = push_button(tr("Apply"), self._apply, primary=True)
        cancel = push_button(tr("Cancel"), self.reject)
        for button in (apply, cancel):  # Enter is that of the field
            button.setAutoDefault(False)
        self.search.returnPressed.connect(self._apply)
        column(
            self.search,
            row(
                column(label(tr("Coded label"), "caption"), self.findings),
                column(label(tr("Site"), "caption"), self.sites),
            ),
            row(1, cancel, apply),
            margins=SPACE.l,
            spacing=SPACE.m,
            parent=self,
        )
        self.resize(560, 460)
        self.search.setFocus()

    def _list(self, kind: str, name: str, chosen: Code | None) -> QListWidget:
        made = QListWidget()
        made.setAccessibleName(name)
        none = QListWidgetItem(tr("None"))
        made.addItem(none)
        made.setCurrentItem(none)
        for code in codes_of(kind):
            item = QListWidgetItem(code.meaning)
            item.setToolTip(f"{code.scheme} {code.value}")
            item.setData(_CODE, code.value)
            made.addItem(item)
            if chosen is not None and chosen.value == code.value:
                made.setCurrentItem(item)
        return made

    def _filter(self, text: str) -> None:
        for one in (self.findings, self.sites):
            for number in range(1, one.count()):
                item = one.item(number)
                item.setHidden(text.strip().lower() not in item.text().lower())

    def _apply(self) -> None:
        known = {one.value: one for kind in ("finding", "site") for one in codes_of(kind)}
        chosen = [one.currentItem().data(_CODE) for one in (self.findings, self.sites)]
        self._take(known.get(chosen[0]), known.get(chosen[1]))
        self.accept()


class MarkMenu(QMenu):
    """What can be done with the selected marks; also the keys to copy and paste them."""

    def __init__(self, window: MainWindow, make_action: Callable[..., QAction]) -> None:
        super().__init__(tr("Marks"), window)
        self._window = window
        self._annotations = window.workspace.annotations
        self._kept: editing.Copied | None = None
        add = make_action
        self.cut = add(tr("Cut marks"), self._cut, "Ctrl+X")
        self.copy = add(tr("Copy marks"), self._copy, "Ctrl+C", "copy")
        self.paste = add(tr("Paste marks"), self._paste, "Ctrl+V")
        self.paste_on_slices = add(tr("Paste on several slices…"), self._slices, "Ctrl+Shift+V")
        self.duplicate = add(tr("Duplicate marks"), self._duplicate, "Ctrl+D")
        self.lock = add(tr("Lock or unlock marks"), self._lock)
        self.hide_marks = add(tr("Hide or show marks"), self._hide, "Ctrl+Shift+H")
        self.rename = add(tr("Rename mark…"), self._rename)
        self.group = add(tr("Group marks…"), self._group)
        self.ungroup = add(tr("Ungroup marks"), self._ungroup)
        self.code = add(tr("Coded label and site…"), self._code)
        self.colors = QMenu(tr("Colour"), self)
        self.colors.aboutToShow.connect(self._fill_colors)
        self._fields = (self.cut, self.copy, self.paste)
        for action in self._fields:  # in fields of text these keys are the field's
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            window.findings_list.view.addAction(action)
        for entry in (
            self.cut,
            self.copy,
            self.paste,
            self.paste_on_slices,
            self.duplicate,
            None,
            self.lock,
            self.hide_marks,
            self.rename,
        ):
            self._put(entry)
        for entry in (None, self.group, self.ungroup, None, self.code):
            self._put(entry)
        self.addMenu(self.colors)
        for frame in window.viewports.frames:
            self._attach(frame)
        window.viewports.frame_made.connect(self._attach)
        self._annotations.refused.connect(self._tell_locked)

    @property
    def entries(self) -> tuple[QAction | QMenu | None, ...]:
        """The commands, None for a separator, and the menu of colours."""
        pasting = (self.cut, self.copy, self.paste, self.paste_on_slices, self.duplicate)
        named = (*pasting, None, self.lock, self.hide_marks, self.rename)
        return (*named, self.group, self.ungroup, self.code, self.colors)

    def _put(self, entry: QAction | None) -> None:
        if entry is None:
            self.addSeparator()
        else:
            self.addAction(entry)

    def _attach(self, frame: object) -> None:
        for action in self._fields:
            frame.canvas.addAction(action)  # type: ignore[attr-defined]

    def _items(self) -> list[Annotation]:
        ids = self._window.findings_list.chosen_ids()
        found = (self._annotations.get(one) for one in ids)
        return [one for one in found if one is not None]

    def _ids(self) -> list[str]:
        return [one.finding.id for one in self._items()]

    def _tell(self, title: str, text: str = "") -> None:
        self._window.notices.show_notice("info", title, text)

    def _tell_locked(self, _count: int) -> None:
        self._tell(tr("The mark is locked"), tr("Unlock it to move, change or delete it."))

    def _place(self) -> FramePlane | None:
        picture = self._window.canvas.picture
        if picture is None:
            return None
        space = picture.job.instance.get("FrameOfReferenceUID")
        return planes.frame_plane(picture.job.frame, space) if space else None

    def _here(self) -> list[Annotation]:
        """Return the selected marks that are drawn, in the pixels of the shown image."""
        layer = self._window.canvas.findings_layer
        drawn = {one.id for one in layer.findings}
        shown = {one.finding.id: one for one in layer.shown() if one.finding.id in drawn}
        return [shown[one] for one in self._ids() if one in shown]

    def _copy(self) -> bool:
        items, frame = self._here(), self._window.canvas.frame
        if not items or frame is None:
            self._tell(tr("No mark on the shown image is selected"))
            return False
        self._kept = editing.copied(items, frame, self._place())
        return True

    def _cut(self) -> None:
        if self._copy() and self._kept is not None:  # the others that are selected stay
            copied = [one.finding.id for one in self._kept.items]
            self._annotations.remove(copied, "Cut marks")

    def _paste(self) -> None:
        self._paste_kept(self._kept, "Paste marks")

    def _slices(self) -> None:
        """Paste what was copied, else the selected marks, on slices of the shown series."""
        window, frame = self._window, self._window.canvas.frame
        kept, picture = self._kept, self._window.canvas.picture
        if kept is None and frame is not None and (items := self._here()):
            kept = editing.copied(items, frame, self._place())
        if kept is None or picture is None:
            self._tell(tr("Nothing to paste"), tr("Copy a mark first."))
            return
        job = picture.job
        places = slice_paste.slices_of(window.workspace, job.instance, job.frame_index)
        if len(places) < 2:
            self._tell(tr("The shown series has a single slice"))
            return
        slice_paste.SlicePasteDialog(kept, places, window.decoder, window.workspace, window).open()

    def _duplicate(self) -> None:
        items, frame = self._here(), self._window.canvas.frame
        if items and frame is not None:
            self._paste_kept(editing.copied(items, frame, self._place()), "Duplicate marks")

    def _paste_kept(self, kept: editing.Copied | None, text: str) -> None:
        frame = self._window.canvas.frame
        if kept is None or frame is None:
            self._tell(tr("Nothing to paste"), tr("Copy a mark first."))
            return
        same = any(frame.shows(one.finding.image) for one in kept.items)
        picture = self._window.canvas.picture
        section = picture is not None and picture.job.instance.kind == REFORMAT
        made, reason = editing.pasted(
            kept, frame, self._place(), 8.0 if same else 0.0, section=section
        )
        self._annotations.put_all(made, text)
        if made:
            self._annotations.select(made[-1].finding.id)
        if reason:
            self._tell(tr("Not all marks could be pasted"), tr_report(reason))

    def _lock(self) -> None:
        locked = all(one.locked for one in self._items())
        text = "Unlock marks" if locked else "Lock marks"
        self._annotations.alter(self._ids(), text, lambda one: replace(one, locked=not locked))

    def _hide(self) -> None:
        hidden = any(one.visible for one in self._items())
        text = "Hide marks" if hidden else "Show marks"
        self._annotations.alter(self._ids(), text, lambda one: replace(one, visible=not hidden))

    def _ask(self, title: str, text: str, take: Callable[[str], object]) -> None:
        dialog = QInputDialog(self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle(title)
        dialog.setLabelText(tr("Name"))
        dialog.setTextValue(text)
        dialog.textValueSelected.connect(take)
        dialog.open()

    def _rename(self) -> None:
        item = self._annotations.get(self._annotations.selected)

        def take(text: str) -> None:
            now = self._annotations.get(item.finding.id) if item is not None else None
            if text.strip() and now is not None:
                finding = replace(now.finding, label=text.strip()[:200])
                self._annotations.put(finding, "Rename mark")

        if item is not None and not self._annotations.is_locked(item.finding.id):
            self._ask(tr("Rename mark"), item.finding.label, take)

    def _group(self) -> None:
        ids = self._ids()

        def take(text: str) -> None:
            name = text.strip()[:200]
            self._annotations.alter(ids, "Group marks", lambda one: replace(one, folder=name))

        if ids:
            self._ask(tr("Group marks"), self._items()[0].folder, take)

    def _ungroup(self) -> None:
        self._annotations.alter(self._ids(), "Ungroup marks", lambda one: replace(one, folder=""))

    def _code(self) -> None:
        items = self._items()
        ids = self._ids()

        def take(code: Code | None, site: Code | None) -> None:
            def change(one: Annotation) -> Annotation:
                coded = replace(one.finding, code=code, site=site)
                by = self._annotations.reviewer
                return replace(one, finding=review.by_person(coded, one.finding, by))

            self._annotations.alter(ids, "Code marks", change)

        if items:
            CodeDialog(items[0], take, self._window).open()

    def _fill_colors(self) -> None:
        self.colors.clear()
        for number, tint in enumerate(DARK.annotation, 1):
            swatch = QPixmap(16, 16)
            swatch.fill(QColor(tint))
            text = tr("Colour {number}").format(number=number)
            action = self.colors.addAction(QIcon(swatch), text)
            action.triggered.connect(partial(self._tint, tint))
        self.colors.addAction(tr("As its label")).triggered.connect(partial(self._tint, ""))

    def _tint(self, tint: str, _checked: bool = False) -> None:
        self._annotations.alter(self._ids(), "Colour marks", lambda one: replace(one, tint=tint))
