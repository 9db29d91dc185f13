"""The models window: lists the models with their state; installs, checks and removes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, QSize, Qt, QTimer
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFileDialog,
    QMenu,
    QPushButton,
    QScrollArea,
    QSplitter,
    QStackedLayout,
    QWidget,
)
from shiboken6 import isValid

from app.tools.hosting.states import ModelState
from app.tools.models.install_plan import Consent, InstallPlan
from app.tools.models.status import ModelStatus
from app.tools.models.store import ModelStore
from app.views import wording
from app.views.background import DaemonTasks, gui_calls
from app.views.layouts import Flow, column, row
from app.views.models import consent_dialog, model_wording
from app.views.models.consent_dialog import ConsentDialog, Question
from app.views.models.model_tasks import AuditNote, Host, ModelTasks, Outcome
from app.views.models.models_table import TONES, ModelsModel, ModelsTable
from app.views.settings.fields import wrapped_label
from app.views.text_view import BULLET, TextView
from app.views.theme import SPACE, THEME, current, current_sheet, part_sheet
from app.views.translation import tr, translatable
from app.views.widgets import EmptyState, IconLabel, label, push_button
from app.views.wording import PackTexts

_SIZE = QSize(1240, 760)
_LEAST = QSize(760, 480)
_SHEET = f"""
#modelsWindow {{ background: {THEME.panel}; }}
#modelDetails, #modelDetailsPage {{ background: {THEME.window}; border: none; }}
"""

_TERMS_HEIGHT = 120
_PARTS: dict[str, Callable[[ModelStatus], str]] = {
    translatable("Made for"): lambda status: status.card.intended_use,
    translatable("Limits"): lambda status: "\n".join(
        f"{BULLET}{limit}" for limit in status.card.limits
    ),
    translatable("Self-check"): lambda status: wording.sentence(status.self_check),
    translatable("Tested here"): lambda status: status.card.tried,
    translatable("Licence"): lambda status: status.card.licence,
    translatable("Terms"): lambda status: _terms(status),
    translatable("Code"): lambda status: tr(_CODE[status.code]),
    translatable("Memory"): lambda status: model_wording.memory(status.card),
    translatable("Files"): model_wording.files,
    translatable("Where"): lambda status: _where(status),
    translatable("Source"): lambda status: _source(status),
    translatable("Sources"): lambda status: model_wording.sources(status.card),
    translatable("How to get it"): lambda status: "" if status.usable else status.how_to_get,
}
"""Headings of the details, and the texts below them."""

_CODE = {
    "": "",
    "allowed": translatable("Program code came with its weights. You allowed it to run."),
    "changed": translatable(
        "The program code with its weights was changed since you allowed it. It is not "
        "run until you allow it again."
    ),
    "not allowed": translatable(
        "Its publisher's own program code can come with the weights. It is run only after your yes."
    ),
}


class ModelsWindow(QDialog):
    """The window with the list of models, the details of the chosen one, and buttons for actions.

    Closing the window hides it; a running task continues and is shown when the window is opened
    again. `note` writes to the audit log; `texts` has the titles of the tools that use the models.
    """

    def __init__(
        self,
        store: ModelStore,
        host: Host,
        note: AuditNote,
        parent: QWidget | None = None,
        texts: PackTexts | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("modelsWindow")
        self.setWindowTitle(tr("Models"))
        self.setStyleSheet(
            part_sheet("settings").replace("#settingsDialog", "#modelsWindow")
            + current_sheet(_SHEET)
        )
        self.setMinimumSize(_LEAST)
        self._store = store
        self._host = host
        self._wanted = ""  # the model to choose as soon as the models are listed
        self._tasks = DaemonTasks(self)
        texts = texts or PackTexts()
        self.model = ModelsModel(texts, self)
        self.table = ModelsTable(self.model)
        self.table.selectionModel().currentRowChanged.connect(lambda _now, _old: self._show())
        self.details = ModelDetails(texts)
        self.tasks = ModelTasks(store, host, note, self)
        self.tasks.finished.connect(self._finished)
        self.tasks.busy_changed.connect(self._update)
        self._make_buttons()
        self._arrange()
        self._update_requested = False
        self._post = gui_calls()
        self._unsubscribe = host.subscribe(self._request_update)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Refresh), self, self.refresh)
        room = self.screen().availableGeometry().size() - QSize(40, 60)
        self.resize(_SIZE.boundedTo(room))
        self._update()
        self.refresh()

    # Parts

    def _make_buttons(self) -> None:
        self.install_button = push_button(tr("Install…"), lambda: None, primary=True)
        menu = QMenu(self.install_button)
        self.from_file = menu.addAction(tr("From a file or model pack…"), self.choose_file)
        self.from_folder = menu.addAction(tr("From a folder…"), self.choose_folder)
        self.install_button.setMenu(menu)
        self.install_button.setToolTip(tr("Weights or a model pack on this computer"))
        self.verify_all_button = push_button(tr("Verify all"), lambda: self.tasks.verify(""))
        self.get_button = push_button(tr("Download…"), self._ask_download)
        self.verify_button = push_button(tr("Verify"), lambda: self.tasks.verify(self.chosen))
        self.verify_button.setToolTip(tr("Read every file and compare it with the published one"))
        self.agree_button = push_button(tr("Terms and code…"), self._ask_agreement)
        self.unload_button = push_button(tr("Unload"), lambda: self.tasks.unload(self.chosen))
        self.unload_button.setToolTip(tr("Take it out of memory; it is loaded again when needed"))
        self.remove_button = push_button(tr("Remove…"), self._ask_remove)
        self.close_button = push_button(tr("Close"), self.reject)

    def _arrange(self) -> None:
        self.empty = EmptyState("cpu", tr("Reading the models folder"), "")
        left, right = QWidget(), QWidget()
        self._stack = QStackedLayout(left)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.table)
        buttons = Flow(SPACE.s)
        own = (self.get_button, self.verify_button, self.agree_button, self.unload_button)
        for button in (*own, self.remove_button):
            buttons.addWidget(button)
        column((self.details, 1), buttons, parent=right)
        split = QSplitter(Qt.Orientation.Horizontal)
        split.setChildrenCollapsible(False)
        split.addWidget(left)
        split.addWidget(right)
        split.setSizes([650, 556])
        self.where = label(tr("In {folder}").format(folder=self._store.folder), "faint")
        self.where.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        top = row((self.where, 1), self.verify_all_button, self.install_button)
        foot = row((self.tasks.bar, 1), self.close_button)
        foot.setAlignment(self.close_button, Qt.AlignmentFlag.AlignBottom)
        margins = (SPACE.l, SPACE.l, SPACE.l, SPACE.l)
        column(top, (split, 1), foot, spacing=SPACE.m, margins=margins, parent=self)
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)  # Enter in the list must not press one

    # What is shown

    @property
    def chosen(self) -> str:
        """Name on the chosen model's card; "" if none is chosen."""
        status = self._status()
        return status.card.name if status is not None else ""

    def choose(self, name: str) -> None:
        number = self.model.find(name)
        self._wanted = "" if number >= 0 else name
        if number >= 0:
            self.table.choose(number)

    def refresh(self) -> None:
        self._tasks.run(lambda _cancel: self._store.overview(), self._listed, self._not_listed)

    def _listed(self, statuses: tuple[ModelStatus, ...]) -> None:
        chosen = self._wanted or self.chosen
        begins = not self.model.rowCount()
        with QSignalBlocker(self.table.selectionModel()):
            self.model.show(statuses)
        self._stack.setCurrentIndex(1 if statuses else 0)
        if begins:
            self.table.setFocus()
        self._update_live()
        if statuses and self.model.find(chosen) < 0:
            chosen = self.model.status(0).card.name
        self.choose(chosen)
        self._show()

    def _not_listed(self, reason: str) -> None:
        self.empty.title.setText(tr("The models folder cannot be read"))
        self.empty.text.setText(reason)
        self._stack.setCurrentIndex(0)

    def _show(self) -> None:
        status = self._status()
        if status is not None:
            self.details.show_model(status)
            self.details.verticalScrollBar().setValue(0)
        self._update()

    def _update(self) -> None:
        status = self._status()
        idle = not self.tasks.busy
        self.install_button.setEnabled(idle)
        self.verify_all_button.setEnabled(idle and self.model.rowCount() > 0)
        if status is None:
            own = (self.get_button, self.verify_button, self.unload_button, self.remove_button)
            for button in own:
                button.setEnabled(False)
            self.agree_button.hide()
            return
        self.details.show_state(self.model.state_text(self.table.chosen))
        present = status.state != "not installed"
        published = consent_dialog.can_download(status)
        self.get_button.setEnabled(idle and published)
        self.get_button.setToolTip(
            "" if published else tr("Its publisher provides it in another way")
        )
        self.get_button.setText(tr("Download again…") if status.usable else tr("Download…"))
        self.verify_button.setEnabled(idle and present)
        self.remove_button.setEnabled(idle and present and not status.card.embedded)
        loaded = consent_dialog.is_loaded(self.model.live(status.card.name))
        self.unload_button.setEnabled(idle and loaded)
        self.agree_button.setVisible(consent_dialog.needs_consent(status))
        self.agree_button.setEnabled(idle)

    # Live states

    def _request_update(self, _state: ModelState) -> None:
        """Ask for one update, on any thread, however many changes come at once."""
        if not self._update_requested:
            self._update_requested = True
            self._post.send(self._update_live)

    def _update_live(self) -> None:
        self._update_requested = False
        if isValid(self) and self.chosen in self.model.update_live(self._host.states()):
            self._update()

    # What can be done

    def choose_file(self) -> None:
        dialog = QFileDialog(self, tr("Install a model from a file or model pack"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters(list(map(tr, consent_dialog.FILTERS)))
        self._choose(dialog)

    def choose_folder(self) -> None:
        dialog = QFileDialog(self, tr("Install a model from a folder"))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        self._choose(dialog)

    def _choose(self, dialog: QFileDialog) -> None:
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.accepted.connect(lambda: self.inspect(Path(dialog.selectedFiles()[0])))
        dialog.open()

    def inspect(self, path: Path, name: str | None = None) -> None:
        """Ask for consent to install the files at a path as model `name` (None: recognize it)."""
        chosen = self.chosen
        self.tasks.inspect(path, name, lambda plan: self._planned(plan), chosen)

    def _planned(self, plan: InstallPlan | Question) -> None:
        if isinstance(plan, Question):  # it cannot be identified: perhaps it is the chosen model
            path, name = self.tasks.path, self.chosen
            self._ask(plan, lambda _yes: self.inspect(path, name))
            return
        self._ask(consent_dialog.install_question(plan), lambda yes: self.tasks.install(plan, yes))

    def _ask_download(self) -> None:
        self._ask_about(consent_dialog.download_question, self.tasks.download)

    def _ask_agreement(self) -> None:
        self._ask_about(consent_dialog.agreement_question, self.tasks.accept)

    def _ask_remove(self) -> None:
        self._ask_about(consent_dialog.removal_question, lambda name, _yes: self.tasks.remove(name))

    def _ask_about(
        self, question: Callable[[ModelStatus], Question], agreed: Callable[[str, Consent], object]
    ) -> None:
        """Ask a question about the chosen model; with consent, call `agreed(name, consent)`."""
        status = self._status()
        if status is not None:
            self._ask(question(status), lambda yes: agreed(status.card.name, yes))

    def _status(self) -> ModelStatus | None:
        number = self.table.chosen
        return self.model.status(number) if number >= 0 else None

    def _ask(self, question: Question, agreed: Callable[[Consent], object]) -> None:
        ConsentDialog(question, agreed, self).open()

    def _finished(self, outcome: Outcome) -> None:
        for status in outcome.statuses:
            self.model.put(status)
        if outcome.chosen:
            self.choose(outcome.chosen)
        self._show()
        if outcome.refresh:
            self.refresh()

    # The end

    def shut_down(self) -> None:
        """Stop the running task and the updates from the model host, and close the window."""
        self._unsubscribe()
        self.tasks.close()
        self._tasks.close()
        self.close()


def show_models(
    store: ModelStore,
    host: Host,
    note: AuditNote,
    parent: QWidget,
    name: str = "",
    texts: PackTexts | None = None,
) -> ModelsWindow:
    """Open the models window of `parent`, or bring it to the front, and choose the model `name`."""
    found = parent.findChild(ModelsWindow)
    if found is None:
        found = ModelsWindow(store, host, note, parent, texts)
    else:
        found.refresh()
    if name:
        found.choose(name)
    _put_above(found, parent)
    found.show()
    found.raise_()
    QTimer.singleShot(0, found, found.activateWindow)
    return found


def _put_above(window: ModelsWindow, parent: QWidget) -> None:
    """Put the window above a modal one, such as the settings, below which it could not be used."""
    above = QApplication.activeModalWidget()
    if not isinstance(above, QDialog) or window.isAncestorOf(above):
        return
    window.setParent(above, window.windowFlags())

    def back() -> None:
        shown = window.isVisible()
        window.setParent(parent, window.windowFlags())
        window.setVisible(shown)

    above.finished.connect(back)


def close_models(parent: QWidget) -> None:
    """Shut down the models window if there is one; called when the main window closes."""
    found = parent.findChild(ModelsWindow)
    if found is not None:
        found.shut_down()


class ModelDetails(QScrollArea):
    """The details of one model: purpose, limits, licence, files, memory, and how it was tested."""

    def __init__(self, texts: PackTexts | None = None) -> None:
        super().__init__()
        self._texts = texts or PackTexts()
        self.setObjectName("modelDetails")
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # arrows scroll it
        self.setAccessibleName(tr("About the chosen model"))
        inside = QWidget()
        inside.setObjectName("modelDetailsPage")
        self.title = wrapped_label("", "heading")
        self.tools = wrapped_label("", "muted")
        self.state_icon = IconLabel("cpu", 16)
        self.state = wrapped_label("", "strong")
        self.state_more = wrapped_label("", "muted")
        state = row(self.state_icon, (self.state, 1), spacing=6)
        margins = (SPACE.l, SPACE.m, SPACE.l, SPACE.l)
        self._column = column(
            self.title, self.tools, spacing=SPACE.xs, margins=margins, parent=inside
        )
        self._column.addSpacing(SPACE.s)
        self._column.addLayout(state)
        self._column.addWidget(self.state_more)
        # The box holds heading and text, so that both are hidden together with their spacing.
        self.parts: dict[str, tuple[QWidget, TextView]] = {}
        for name in _PARTS:
            view = TextView(max_height=_TERMS_HEIGHT if name == "Terms" else 0)
            view.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
            box = QWidget()
            margins = (0, SPACE.s, 0, 0)
            column(label(tr(name), "section"), view, spacing=SPACE.xs, margins=margins, parent=box)
            self._column.addWidget(box)
            self.parts[name] = (box, view)
        self._column.addStretch(1)
        self.setWidget(inside)

    def show_model(self, status: ModelStatus) -> None:
        card = status.card
        self.title.setText(wording.one_line(card.title))
        used = ", ".join(f"{self._texts.title(tool)} ({tool})" for tool in card.tools)
        self.tools.setText(used)
        for name, text_of in _PARTS.items():
            text = text_of(status)
            box, view = self.parts[name]
            view.set_plain(text)
            view.setAccessibleName(f"{tr(name)}: {wording.one_line(text)[:300]}")
            box.setVisible(bool(text))

    def show_state(self, state: model_wording.StateText) -> None:
        self.state.setText(state.text)
        self.state_more.setText(state.more)
        self.state_more.setVisible(bool(state.more))
        tint = current(TONES[state.tone])
        self.state.setStyleSheet(f"color: {tint};")
        self.state_icon.set_icon(state.icon, tint)


def _terms(status: ModelStatus) -> str:
    if not status.card.terms:
        return ""
    said = (
        tr("You accepted these terms.")
        if status.accepted
        else tr("To be accepted before it is used.")
    )
    return f"{said}\n\n{status.card.terms.strip()}"


def _where(status: ModelStatus) -> str:
    when = (
        "\n" + tr("Installed {time} UTC").format(time=status.installed[:16].replace("T", " "))
        if status.installed
        else ""
    )
    return f"{status.path}{when}"


def _source(status: ModelStatus) -> str:
    card = status.card
    lines = [card.url or (f"https://huggingface.co/{card.repository}" if card.repository else "")]
    if status.revision:
        lines.append(tr("Revision {revision}").format(revision=status.revision))
    if card.gated:
        lines.append(tr("Its publisher asks for a login, and for its terms to be accepted there."))
    return "\n".join(line for line in lines if line)
