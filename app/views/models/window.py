"""The window of the models: which there are, what they do now, install, check, remove."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, QSize, Qt, QTimer
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QSplitter,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from app.tools.hosting.states import ModelState
from app.tools.models.install_plan import InstallPlan
from app.tools.models.status import ModelStatus
from app.tools.models.store import ModelStore
from app.views.chat.widgets import Flow
from app.views.daemon_tasks import DaemonTasks
from app.views.models import asking
from app.views.models.agree import AgreeDialog, Asked, Yes
from app.views.models.details import Details
from app.views.models.table import ModelsModel, ModelsTable
from app.views.models.tasks import Host, Note, Outcome, Tasks
from app.views.pack_texts import PackTexts
from app.views.posting import post
from app.views.settings.settings_style import style_sheet
from app.views.theme import SPACE, THEME
from app.views.widgets import EmptyState, label, push_button

_SIZE = QSize(1240, 760)
_LEAST = QSize(760, 480)
_SHEET = f"""
#modelsWindow {{ background: {THEME.panel}; }}
#modelDetails, #modelDetailsPage {{ background: {THEME.window}; border: none; }}
"""


class ModelsWindow(QDialog):
    """Lists the models. What takes time goes on in a thread, one thing after the other.

    Closing it hides it: what is under way goes on, and is there when it is opened again.

    Args:
        store: The models folder.
        host: What runs them.
        note: Tells the audit log what was done.
        parent: Qt parent.
        texts: Titles of the tools that the models serve.
    """

    def __init__(
        self,
        store: ModelStore,
        host: Host,
        note: Note,
        parent: QWidget | None = None,
        texts: PackTexts | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("modelsWindow")
        self.setWindowTitle("Models")
        self.setStyleSheet(style_sheet().replace("#settingsDialog", "#modelsWindow") + _SHEET)
        self.setMinimumSize(_LEAST)
        self._store = store
        self._host = host
        self._wanted = ""  # which one to choose as soon as they are listed
        self._tasks = DaemonTasks(self)
        texts = texts or PackTexts()
        self.model = ModelsModel(texts, self)
        self.table = ModelsTable(self.model)
        self.table.selectionModel().currentRowChanged.connect(lambda _now, _old: self._show())
        self.details = Details(texts)
        self.tasks = Tasks(store, host, note, self)
        self.tasks.ended.connect(self._ended)
        self.tasks.busy_changed.connect(self._update)
        self._make_buttons()
        self._arrange()
        self._told = False
        self._post = post()
        self._unsubscribe = host.subscribe(self._stir)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Refresh), self, self.refresh)
        room = self.screen().availableGeometry().size() - QSize(40, 60)
        self.resize(_SIZE.boundedTo(room))
        self._update()
        self.refresh()

    # Parts

    def _make_buttons(self) -> None:
        self.install_button = push_button("Install…", lambda: None, primary=True)
        menu = QMenu(self.install_button)
        self.from_file = menu.addAction("From a file or model pack…", self.choose_file)
        self.from_folder = menu.addAction("From a folder…", self.choose_folder)
        self.install_button.setMenu(menu)
        self.install_button.setToolTip("Weights or a model pack that were brought here")
        self.verify_all_button = push_button("Verify all", lambda: self.verify(""))
        self.get_button = push_button("Download…", self.ask_download)
        self.verify_button = push_button("Verify", lambda: self.verify(self.chosen))
        self.verify_button.setToolTip("Read every file and compare it with what it should be")
        self.agree_button = push_button("Terms and code…", self.ask_agreement)
        self.unload_button = push_button("Unload", self.unload)
        self.unload_button.setToolTip("Take it out of memory; it is loaded again when needed")
        self.remove_button = push_button("Remove…", self.ask_remove)
        self.close_button = push_button("Close", self.reject)
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)
        for button in self._buttons:
            button.setAutoDefault(False)

    @property
    def _buttons(self) -> tuple[QPushButton, ...]:
        return (
            self.install_button,
            self.verify_all_button,
            self.get_button,
            self.verify_button,
            self.agree_button,
            self.unload_button,
            self.remove_button,
            self.close_button,
        )

    def _arrange(self) -> None:
        self.empty = EmptyState("cpu", "Looking into the models folder", "")
        left = QWidget()
        self._stack = QStackedLayout(left)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.table)
        right = QWidget()
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE.s)
        column.addWidget(self.details, 1)
        line = Flow(SPACE.s)
        own = (self.get_button, self.verify_button, self.agree_button, self.unload_button)
        for button in (*own, self.remove_button):
            line.addWidget(button)
        column.addLayout(line)
        split = QSplitter(Qt.Orientation.Horizontal)
        split.setChildrenCollapsible(False)
        split.addWidget(left)
        split.addWidget(right)
        split.setSizes([650, 556])
        top = QHBoxLayout()
        top.setSpacing(SPACE.s)
        self.where = label(f"In {self._store.folder}", "faint")
        self.where.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        top.addWidget(self.where, 1)
        top.addWidget(self.verify_all_button)
        top.addWidget(self.install_button)
        foot = QHBoxLayout()
        foot.setSpacing(SPACE.s)
        foot.addWidget(self.tasks.bar, 1)
        foot.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignBottom)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE.l, SPACE.l, SPACE.l, SPACE.l)
        column.setSpacing(SPACE.m)
        column.addLayout(top)
        column.addWidget(split, 1)
        column.addLayout(foot)

    # What is shown

    @property
    def chosen(self) -> str:
        """Name of the card that is chosen; "" for none."""
        number = self.table.chosen
        return self.model.status(number).card.name if number >= 0 else ""

    def choose(self, name: str) -> None:
        """Choose a model, as soon as they are listed."""
        number = self.model.find(name)
        self._wanted = "" if number >= 0 else name
        if number >= 0:
            self.table.choose(number)

    def refresh(self) -> None:
        """Look into the models folder again."""
        self._tasks.run(lambda _cancel: self._store.overview(), self._listed, self._not_listed)

    def _listed(self, statuses: tuple[ModelStatus, ...]) -> None:
        chosen = self._wanted or self.chosen
        begins = not self.model.rowCount()
        with QSignalBlocker(self.table.selectionModel()):
            self.model.show(statuses)
        self._stack.setCurrentIndex(1 if statuses else 0)
        if begins:
            self.table.setFocus()
        self._follow()
        self.choose(chosen if self.model.find(chosen) >= 0 else self._first())
        self._show()

    def _first(self) -> str:
        return self.model.status(0).card.name if self.model.rowCount() else ""

    def _not_listed(self, reason: str) -> None:
        self.empty.title.setText("The models folder cannot be read")
        self.empty.text.setText(reason)
        self._stack.setCurrentIndex(0)

    def _show(self) -> None:
        name = self.chosen
        if name:
            self.details.show_model(self.model.status(self.model.find(name)))
            self.details.verticalScrollBar().setValue(0)
        self._update()

    def _update(self) -> None:
        """The state of the chosen one, and what can be done with it."""
        number = self.model.find(self.chosen) if self.chosen else -1
        idle = not self.tasks.busy
        self.install_button.setEnabled(idle)
        self.verify_all_button.setEnabled(idle and self.model.rowCount() > 0)
        if number < 0:
            for button in (self.get_button, self.verify_button, self.unload_button):
                button.setEnabled(False)
            self.remove_button.setEnabled(False)
            self.agree_button.hide()
            return
        status = self.model.status(number)
        self.details.tell(self.model.told(number))
        somewhat = status.state != "not installed"
        published = asking.can_download(status)
        self.get_button.setEnabled(idle and published)
        self.get_button.setToolTip("" if published else "Its publisher gives it in another way")
        self.get_button.setText("Download again…" if status.there else "Download…")
        self.verify_button.setEnabled(idle and somewhat)
        self.remove_button.setEnabled(idle and somewhat and not status.card.embedded)
        self.unload_button.setEnabled(idle and asking.loaded(self.model.live(self.chosen)))
        self.agree_button.setVisible(asking.to_agree(status))
        self.agree_button.setEnabled(idle)

    # Live states

    def _stir(self, _state: ModelState) -> None:
        """From any thread: many changes at once are looked at once."""
        if not self._told:
            self._told = True
            self._post.send(self._follow)

    def _follow(self) -> None:
        self._told = False
        if isValid(self) and self.chosen in self.model.follow(self._host.states()):
            self._update()

    # What can be done

    def choose_file(self) -> None:
        """Ask for a file, and install it."""
        dialog = QFileDialog(self, "Install a model from a file or model pack")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters(list(asking.FILTERS))
        self._choose(dialog)

    def choose_folder(self) -> None:
        """Ask for a folder, and install what is in it."""
        dialog = QFileDialog(self, "Install a model from a folder")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        self._choose(dialog)

    def _choose(self, dialog: QFileDialog) -> None:
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.accepted.connect(lambda: self.look_at(Path(dialog.selectedFiles()[0])))
        dialog.open()

    def look_at(self, path: Path, name: str | None = None) -> None:
        """See what would be installed from a file or folder, and ask."""
        chosen = self.chosen
        self.tasks.look(path, name, lambda plan: self._planned(plan), chosen)

    def _planned(self, plan: InstallPlan | Asked) -> None:
        if isinstance(plan, Asked):  # what it is cannot be told: perhaps the chosen one
            path, name = self.tasks.path, self.chosen
            self._ask(plan, lambda _yes: self.look_at(path, name))
            return
        self._ask(asking.of_plan(plan), lambda yes: self.tasks.install(plan, yes))

    def ask_download(self) -> None:
        """Say from where and how much, and download it after the yes."""
        name, status = self.chosen, self._status()
        if status is not None:
            self._ask(asking.of_download(status), lambda yes: self.tasks.download(name, yes))

    def ask_agreement(self) -> None:
        """Ask for what is missing before the chosen model may be used."""
        name, status = self.chosen, self._status()
        if status is not None:
            self._ask(asking.of_agreement(status), lambda yes: self.tasks.accept(name, yes))

    def ask_remove(self) -> None:
        """Ask, and delete the chosen model's files."""
        name, status = self.chosen, self._status()
        if status is not None:
            self._ask(asking.of_removal(status), lambda _yes: self.tasks.remove(name))

    def verify(self, name: str) -> None:
        """Read every file of a model, or of all with ""."""
        self.tasks.verify(name)

    def unload(self) -> None:
        """Take the chosen model out of memory."""
        self.tasks.unload(self.chosen)

    def _status(self) -> ModelStatus | None:
        number = self.model.find(self.chosen) if self.chosen else -1
        return self.model.status(number) if number >= 0 else None

    def _ask(self, asked: Asked, agreed: Callable[[Yes], object]) -> None:
        AgreeDialog(asked, agreed, self).open()

    def _ended(self, outcome: Outcome) -> None:
        for status in outcome.statuses:
            self.model.put(status)
        if outcome.chosen:
            self.choose(outcome.chosen)
        self._show()
        if outcome.look_again:
            self.refresh()

    # The end

    def shut_down(self) -> None:
        """Stop what is under way and let go of the host; with the main window."""
        self._unsubscribe()
        self.tasks.close()
        self._tasks.close()
        self.close()


def show_models(
    store: ModelStore,
    host: Host,
    note: Note,
    parent: QWidget,
    name: str = "",
    texts: PackTexts | None = None,
) -> ModelsWindow:
    """Open the window, or bring the one that is there to the front.

    Args:
        store: The models folder.
        host: What runs them.
        note: Tells the audit log what was done.
        parent: The main window.
        name: The card to choose; "" for none in particular.
        texts: Titles of the tools that the models serve.
    """
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
    """Above a modal window, such as the settings: it could not be used below."""
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
    """The main window goes: stop what goes on in the window of the models, where there is one."""
    found = parent.findChild(ModelsWindow)
    if found is not None:
        found.shut_down()
