"""The dialog in which hanging protocols are looked at, edited, switched off and deleted."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QSignalBlocker, QSize, Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QGridLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QSpinBox,
    QWidget,
)

from app.views.layouts import column, row
from app.views.theme import SPACE
from app.views.translation import tr, translatable
from app.views.widgets import confirm, label, plain_tip, push_button
from app.views.wording import one_line
from app.workspace.hanging import Protocol, Protocols, write_protocol
from app.workspace.layout import LAYOUTS, Slot

_OWN_SLOTS = translatable("as it is")  # the layout of a protocol whose viewports were split by hand
_MODALITY = re.compile(r"[A-Z][A-Z0-9]{1,15}")
_LIST_WIDTH = 230
_STATES = {True: Qt.CheckState.Checked, False: Qt.CheckState.Unchecked}
_SIDES = (("", translatable("Any")), ("R", translatable("Right")), ("L", translatable("Left")))


class ProtocolDialog(QDialog):
    """A list of all protocols, and the chosen one in fields; shipped ones are copied to be edited.

    Args:
        changed: Called after protocols were saved, deleted or switched on or off.
    """

    def __init__(
        self, protocols: Protocols, changed: Callable[[], object], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Hanging protocols"))
        self._protocols = protocols
        self._changed = changed
        self._shown: Protocol | None = None
        self._slots: tuple[Slot, ...] = ()
        self._rules: list[dict[str, Any]] = []
        self._at = 0  # the viewport whose rule is in the fields
        self._row = 0  # of the list, whose protocol is in the fields
        self._before = ""  # what the fields said at first
        self.errors: dict[str, QLabel] = {}
        self.list = QListWidget()
        self.list.setFixedWidth(_LIST_WIDTH)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setAccessibleName(tr("Hanging protocols; those that are ticked are used"))
        self.list.currentRowChanged.connect(self._leave_for)
        self.list.itemChanged.connect(self._ticked)
        self.about = label("", "muted", wrap=True)
        self.copy = push_button(tr("Duplicate to edit"), self._duplicate)
        self.delete = push_button(tr("Delete…"), self._ask_delete)
        self.save = push_button(tr("Save"), self._save, primary=True)
        close = push_button(tr("Close"), self.accept)
        self.note = label("", "warning", wrap=True)
        for button in (self.copy, self.delete, self.save, close):
            button.setAutoDefault(False)
        form = QWidget()
        column(
            self.about,
            label(tr("For which studies"), "section"),
            self._match_fields(),
            label(tr("What the viewports show"), "section"),
            self._viewport_fields(),
            1,
            spacing=SPACE.m,
            margins=(SPACE.l, 0, SPACE.l, 0),
            parent=form,
        )
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(form)
        self._form = form
        column(
            (row(column((self.list, 1), self.copy, self.delete), (area, 1)), 1),
            row((self.note, 1), close, self.save),
            margins=SPACE.l,
            spacing=SPACE.m,
            parent=self,
        )
        room = self.screen().availableGeometry().size() - QSize(40, 60)
        self.resize(QSize(860, 720).boundedTo(room))
        self._fill()

    # Fields

    def _match_fields(self) -> QGridLayout:
        self.title = QLineEdit()
        self.modality = QLineEdit()
        self.modality.setPlaceholderText(tr("any, or such as CT, MR"))
        self.words = QLineEdit()
        self.words.setPlaceholderText(tr("any, or such as chest, thorax"))
        self.series = QSpinBox()
        self.series.setRange(0, 1000)
        self.series.lineEdit().setTextMargins(SPACE.s, 0, 0, 0)
        self.prior = QCheckBox(tr("An earlier study of the patient is open"))
        return self._grid(
            ("title", tr("Title"), self.title),
            ("modality", tr("Modality"), self.modality),
            ("words", tr("Body part or words"), self.words),
            ("series", tr("Least series"), self.series),
            ("prior", "", self.prior),
        )

    def _viewport_fields(self) -> QGridLayout:
        self.layout_name = QComboBox()
        self.layout_name.activated.connect(lambda _index: self._choose_layout())
        self.viewport = QComboBox()
        self.viewport.activated.connect(self._choose_viewport)
        self.source = QComboBox()
        self.source.activated.connect(lambda _index: self._enable())
        self.rule_modality = QLineEdit()
        self.rule_words = QLineEdit()
        self.without = QLineEdit()
        self.description = QLineEdit()
        self.view = QLineEdit()
        self.view.setPlaceholderText(tr("any, or such as PA, LATERAL, CC"))
        self.side = QComboBox()
        for value, text in _SIDES:
            self.side.addItem(tr(text), value)
        self.center, self.width_ = QLineEdit(), QLineEdit()
        self.center.setAccessibleName(tr("Centre of the window"))
        self.center.setPlaceholderText(tr("centre: the image's own"))
        self.width_.setPlaceholderText(tr("width"))
        self.width_.setAccessibleName(tr("Width of the window"))
        self.facing = QCheckBox(tr("Flip a mammogram to face the middle"))
        self.optional = QCheckBox(tr("May stay empty"))
        windows = QWidget()
        row((self.center, 1), (self.width_, 1), parent=windows)
        return self._grid(
            ("layout", tr("Layout"), self.layout_name),
            ("viewport", tr("Viewport"), self.viewport),
            ("source", tr("Shows"), self.source),
            ("rule_modality", tr("Modality"), self.rule_modality),
            ("rule_words", tr("One of the words"), self.rule_words),
            ("without", tr("None of the words"), self.without),
            ("description", tr("Series description"), self.description),
            ("view", tr("View"), self.view),
            ("side", tr("Side"), self.side),
            ("window", tr("Window"), windows),
            ("facing", "", self.facing),
            ("optional", "", self.optional),
        )

    def _grid(self, *rows: tuple[str, str, QWidget]) -> QGridLayout:
        """Return a form in which each field has a line below it for what is wrong with it."""
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        grid.setColumnMinimumWidth(0, 130)
        grid.setHorizontalSpacing(SPACE.m)
        grid.setVerticalSpacing(SPACE.xs)
        for number, (key, name, field) in enumerate(rows):
            if name:
                caption = label(name, "muted")
                caption.setBuddy(field)
                grid.addWidget(caption, 2 * number, 0)
                field.setAccessibleName(name)
            grid.addWidget(field, 2 * number, 1)
            error = label("", "warning", wrap=True)
            error.hide()
            grid.addWidget(error, 2 * number + 1, 1)
            self.errors[key] = error
        return grid

    # The list

    def _fill(self, name: str = "") -> None:
        """List the protocols, and choose the one with a name, or the first."""
        with QSignalBlocker(self.list):
            self.list.clear()
            for one in self._protocols.listed:
                title = one.title if one.own else tr(one.title)
                item = QListWidgetItem(one_line(title))
                off_only = one.own and not one.enabled and self._protocols.is_shipped(one.name)
                kind = tr("Your own") if one.own and not off_only else tr("Shipped")
                item.setToolTip(plain_tip(f"{title}\n{kind}: {one.name}.toml"))
                item.setData(Qt.ItemDataRole.UserRole, one.name)
                item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
                item.setCheckState(_STATES[one.enabled])
                self.list.addItem(item)
            names = [one.name for one in self._protocols.listed]
            self.list.setCurrentRow(names.index(name) if name in names else 0)
        self._show_chosen()

    def _leave_for(self, row: int) -> None:
        if row == self._row or not self._changed_fields():
            self._show_chosen()
            return
        with QSignalBlocker(self.list):
            self.list.setCurrentRow(self._row)
        self._ask_discard(lambda: self._discard(row))

    def _discard(self, row: int) -> None:
        self._before = self._entered()
        self.list.setCurrentRow(row)

    def _ask_discard(self, then: Callable[[], object]) -> None:
        text = tr("Discard the changes to “{title}”?").format(title=one_line(self.title.text()))
        confirm(self, tr("Discard"), text, tr("They are not saved."), tr("Discard"), then)

    def _unless_changed(self, then: Callable[[], object]) -> None:
        if self._changed_fields():
            self._ask_discard(then)
        else:
            then()

    def done(self, result: int) -> None:
        """Close; ask first if changes would be lost."""
        self._unless_changed(lambda: super(ProtocolDialog, self).done(result))

    def _changed_fields(self) -> bool:
        return self._shown is not None and self._shown.own and self._entered() != self._before

    def _chosen(self) -> Protocol | None:
        at, listed = self.list.currentRow(), self._protocols.listed
        return listed[at] if 0 <= at < len(listed) else None

    def _ticked(self, item: QListWidgetItem) -> None:
        name = item.data(Qt.ItemDataRole.UserRole)
        found = next((one for one in self._protocols.listed if one.name == name), None)
        on = item.checkState() is Qt.CheckState.Checked
        if found is None or on is found.enabled:
            return
        if self._changed_fields():
            with QSignalBlocker(self.list):
                item.setCheckState(_STATES[found.enabled])
        self._unless_changed(lambda: self._do(lambda: self._protocols.enable(found, on), name))

    def _do(self, work: Callable[[], object], name: str) -> bool:
        try:
            work()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self._fill(name)
            self.note.setText(tr("It cannot be saved: {reason}.").format(reason=reason))
            return False
        self._fill(name)
        self.note.setText("")
        self._changed()
        return True

    def _duplicate(self) -> None:
        shown = self._chosen()
        if shown is None:
            return
        self._unless_changed(lambda: self._copy(shown))

    def _copy(self, shown: Protocol) -> None:
        title = tr("{title} (my own)").format(title=shown.title)[:100]
        name = self._protocols.free_name(shown.title)
        self._do(lambda: self._protocols.save(name, _text(replace(shown, title=title))), name)

    def _ask_delete(self) -> None:
        shown = self._chosen()
        if shown is not None and shown.own:
            back = self._protocols.is_shipped(shown.name)
            more = tr("The shipped one is used again.") if back else tr("This cannot be undone.")
            text = tr("Delete “{title}”?").format(title=one_line(shown.title))
            confirm(self, tr("Delete"), text, more, tr("Delete"), lambda: self._delete(shown))

    def _delete(self, protocol: Protocol) -> None:
        self._do(lambda: self._protocols.delete(protocol.name), "")

    # The chosen protocol

    def _show_chosen(self) -> None:
        shown = self._shown = self._chosen()
        self._row = self.list.currentRow()
        self._form.setEnabled(shown is not None and shown.own)
        self.save.setEnabled(shown is not None and shown.own)
        self.copy.setEnabled(shown is not None)
        self.delete.setEnabled(shown is not None and shown.own)
        self._show_errors({})
        self.note.setText("")
        if shown is None:
            return
        self.about.setText(
            tr("Your own; it goes before those that are shipped.")
            if shown.own
            else tr("Shipped with Sightline. Duplicate it to have one that you can edit.")
        )
        match = shown.match
        self.title.setText(shown.title if shown.own else tr(shown.title))
        self.modality.setText(", ".join(match.modality))
        self.words.setText(", ".join(match.words))
        self.series.setValue(match.series)
        self.prior.setChecked(match.prior)
        self._slots = shown.slots
        self._rules = [_rule_dict(one) for one in shown.rules]
        self._fill_layouts()
        self._at = 0
        self._fill_viewports()
        self._before = self._entered()

    def _fill_layouts(self) -> None:
        name = next((name for name, known in LAYOUTS.items() if known == self._slots), "")
        self.layout_name.clear()
        self.layout_name.addItems([*LAYOUTS, *(() if name else (tr(_OWN_SLOTS),))])
        self.layout_name.setCurrentText(name or tr(_OWN_SLOTS))

    def _fill_viewports(self) -> None:
        self.viewport.clear()
        self.viewport.addItems([f"{number}" for number in range(1, len(self._rules) + 1)])
        self._at = min(self._at, len(self._rules) - 1)
        self.viewport.setCurrentIndex(self._at)
        self._show_rule()

    def _choose_layout(self) -> None:
        """Give every viewport of another layout a rule; new ones show what is not shown yet."""
        slots = LAYOUTS.get(self.layout_name.currentText(), self._slots)
        self._keep_rule()
        more = len(slots) - len(self._rules)
        self._rules = [*self._rules, *({"optional": True} for _ in range(more))][: len(slots)]
        self._slots = slots
        self._fill_viewports()

    def _choose_viewport(self, number: int) -> None:
        if self._keep_rule():
            self._at = number
            self._show_rule()
        else:
            self.viewport.setCurrentIndex(self._at)

    def _show_rule(self) -> None:
        rule = self._rules[self._at]
        self.source.clear()
        self.source.addItem(tr("A series of the study"), "")
        self.source.addItem(tr("A series of the earlier study"), "prior")
        self.source.addItem(tr("Nothing"), "empty")
        for number in range(1, self._at + 1):
            self.source.addItem(tr("The series of viewport {number}").format(number=number), number)
        kind = rule.get("as") or ("empty" if rule.get("empty") else "")
        kind = kind or ("prior" if rule.get("prior") else "")
        self.source.setCurrentIndex(max(0, self.source.findData(kind)))
        self.rule_modality.setText(", ".join(rule.get("modality", ())))
        self.rule_words.setText(", ".join(rule.get("words", ())))
        self.without.setText(", ".join(rule.get("without", ())))
        self.description.setText(rule.get("description", ""))
        self.view.setText(", ".join(rule.get("view", ())))
        self.side.setCurrentIndex(max(0, self.side.findData(rule.get("laterality", ""))))
        window = rule.get("window") or ("", "")
        self.center.setText(_shown(window[0]))
        self.width_.setText(_shown(window[1]))
        self.facing.setChecked(bool(rule.get("facing")))
        self.optional.setChecked(bool(rule.get("optional")))
        self._enable()

    def _enable(self) -> None:
        """Enable the fields that say which series, where the viewport is to choose one."""
        chosen = self.source.currentData()
        for field in (
            *(self.rule_modality, self.rule_words, self.without, self.description),
            *(self.view, self.side),
        ):
            field.setEnabled(chosen in ("", "prior"))
        for field in (self.center, self.width_, self.facing):
            field.setEnabled(chosen != "empty")

    def _keep_rule(self) -> bool:
        """Take the fields of the chosen viewport over; return False if they are not valid."""
        rule, wrong = self._entered_rule()
        self._show_errors(wrong)
        if not wrong:
            self._rules[self._at] = rule
        return not wrong

    def _entered_rule(self) -> tuple[dict[str, Any], dict[str, str]]:
        modality, problem = _modalities(self.rule_modality.text())
        window, no_window = _window(self.center.text(), self.width_.text())
        wrong = {"rule_modality": problem, "window": no_window}
        wrong = {key: text for key, text in wrong.items() if text}
        chosen = self.source.currentData()
        rule: dict[str, Any] = {"window": window, "facing": self.facing.isChecked()}
        if chosen in ("", "prior"):
            rule |= {
                "prior": chosen == "prior",
                "modality": modality,
                "words": _words(self.rule_words.text()),
                "without": _words(self.without.text()),
                "description": self.description.text().strip(),
                "view": [one.upper() for one in _words(self.view.text())],
                "laterality": self.side.currentData(),
            }
        elif chosen == "empty":
            rule = {"empty": True}
        else:
            rule["as"] = chosen
        rule["optional"] = self.optional.isChecked() or chosen == "empty"
        return {key: value for key, value in rule.items() if value}, wrong

    def _entered(self) -> str:
        """Return all that the fields say, valid or not, to find whether something was changed."""
        rules = list(self._rules)
        rule, wrong = self._entered_rule()
        typed = (self.rule_modality.text(), self.center.text(), self.width_.text())
        rules[self._at] = rule | ({"wrong": list(typed)} if wrong else {})
        match = (self.modality.text(), self.words.text(), self.series.value())
        plain = [sorted((key, str(_plain(value))) for key, value in one.items()) for one in rules]
        more = (self.prior.isChecked(), self._slots, plain)
        return repr((self.title.text(), match, more))

    def _save(self) -> None:
        shown = self._shown
        if shown is None or not shown.own:
            return
        wrong: dict[str, str] = {}
        title = self.title.text().strip()
        if not 0 < len(title) <= 100:
            wrong["title"] = tr("A title has 1 to 100 characters.")
        modality, problem = _modalities(self.modality.text())
        if problem:
            wrong["modality"] = problem
        valid = self._keep_rule()
        if wrong or not valid:
            said = {key: one.text() for key, one in self.errors.items() if not one.isHidden()}
            self._show_errors(said | wrong)
            return
        match = {
            "modality": modality,
            "words": _words(self.words.text()),
            "series": self.series.value(),
            "prior": self.prior.isChecked(),
        }
        text = write_protocol(title, self._slots, match, self._rules)
        text = text if shown.enabled else f"enabled = false\n{text}"
        if self._do(lambda: self._protocols.save(shown.name, text), shown.name):
            self.note.setText(tr("Saved. It holds for the next study that is opened."))

    def _show_errors(self, wrong: dict[str, str]) -> None:
        for key, error in self.errors.items():
            error.setText(wrong.get(key, ""))
            error.setVisible(key in wrong)
        self.note.setText(tr("Some fields cannot be saved as they are.") if wrong else "")


def _text(protocol: Protocol) -> str:
    match = protocol.match.model_dump(exclude_defaults=True)
    rules = [_rule_dict(one) for one in protocol.rules]
    return write_protocol(protocol.title, protocol.slots, match, rules)


def _rule_dict(rule: Any) -> dict[str, Any]:
    """Return a rule by the keys of its file, without those that are as if left out."""
    return rule.model_dump(by_alias=True, exclude_defaults=True)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _words(text: str) -> list[str]:
    """Return the words of a list with commas."""
    return [word for part in text.split(",") if (word := part.strip())]


def _modalities(text: str) -> tuple[list[str], str]:
    """Return the modalities of a list with commas, and what is wrong with it, or ""."""
    found = [word.upper() for word in _words(text)]
    wrong = next((one for one in found if not _MODALITY.fullmatch(one)), "")
    text = tr("“{word}” is not a modality such as CT, MR or DX.").format(word=wrong)
    return found, text if wrong else ""


def _window(center: str, width: str) -> tuple[list[float], str]:
    """Return [centre, width], [] for the image's own, and what is wrong with them, or ""."""
    if not center.strip() and not width.strip():
        return [], ""
    try:
        numbers = [float(center), float(width)]
    except ValueError:
        return [], tr("Enter both centre and width as numbers, such as 40 and 400, or neither.")
    if not (abs(numbers[0]) <= 1e9 and 0 < numbers[1] <= 1e9):
        return [], tr("The width must be above 0, and both numbers below a billion.")
    return numbers, ""


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.9g}"
