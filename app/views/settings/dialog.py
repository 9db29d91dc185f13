"""The settings window: pages on the left, the chosen one on the right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from app.agent.policy import Policy
from app.settings import Settings
from app.tools.api import ToolSpec
from app.views.chat.widgets import row
from app.views.daemon_tasks import DaemonTasks
from app.views.icons import icon
from app.views.settings.key_field import KeyStore
from app.views.settings.limits_page import LimitsPage
from app.views.settings.model_page import ModelPage, Probe, TypedKey
from app.views.settings.parts import Column, wrapped
from app.views.settings.permissions_page import Granted, PermissionsPage
from app.views.settings.privacy_page import Allowed, PrivacyPage
from app.views.settings.style import sheet
from app.views.theme import SPACE

_SIZE = QSize(780, 700)
_LIST_WIDTH = 168
_PAGES = (
    ("Language model", "sparkles", "model"),
    ("Limits", "clock", "limits"),
    ("Tools", "wrench", "permissions"),
    ("Privacy", "shield-check", "privacy"),
)
"""(title, icon, attribute) of each page."""


@dataclass(frozen=True, slots=True)
class Rooms:
    """What the settings look into.

    Attributes:
        keys: Where keys are kept.
        allowed: What may be sent where.
        granted: What tools may do again.
        probe: Tries language models.
        show_audit: Opens the audit log; None leaves its button out.
        show_models: Opens the models; None leaves their button out.
        tools: The tools that are installed.
        site: Rules for tools of this computer, which hold beside the user's own.
    """

    keys: KeyStore
    allowed: Allowed
    granted: Granted
    probe: Probe
    show_audit: Callable[[], object] | None = None
    show_models: Callable[[], object] | None = None
    tools: tuple[ToolSpec, ...] = ()
    site: tuple[Policy, ...] = ()


class SettingsDialog(QDialog):
    """Look at the settings, change them, save them.

    Args:
        settings: What is in use.
        rooms: What the pages look into.
        apply: Takes the new settings into use; called on another thread, raises SightlineError.
        applied: Told on the GUI thread what `apply` returned.
        parent: Qt parent.
    """

    def __init__(
        self,
        settings: Settings,
        rooms: Rooms,
        apply: Callable[[Settings], Any],
        applied: Callable[[Any], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("settingsDialog")
        self.setWindowTitle("Settings")
        self.setStyleSheet(sheet())
        self._settings = settings
        self._rooms = rooms
        self._apply = apply
        self._applied = applied
        self._tasks = DaemonTasks(self)
        # Not the dialog's child: what is being saved is taken into use, even if it is closed.
        self._saving = DaemonTasks()
        self.finished.connect(self._tasks.close)
        self._build()
        self.model.edited.connect(self._update)
        self.model.provider_shown.connect(self._order)
        self._order()
        self._update()
        self._fit()

    @cached_property
    def limits(self) -> LimitsPage:
        """The page of the limits."""
        return LimitsPage(self._settings.limits)

    @cached_property
    def permissions(self) -> PermissionsPage:
        """The page of the tools."""
        rooms = self._rooms
        settings = self._settings
        return PermissionsPage(
            settings.policy, rooms.granted, rooms.tools, rooms.site, settings, rooms.show_models
        )

    @cached_property
    def privacy(self) -> PrivacyPage:
        """The page of what may leave the machine."""
        rooms = self._rooms
        llm, show_audit = self._settings.llm, rooms.show_audit
        return PrivacyPage(llm, rooms.allowed, rooms.keys, self._tasks, show_audit)

    def show_page(self, name: str) -> None:
        """Turn to a page: "model", "limits", "permissions" or "privacy"."""
        self.list.setCurrentRow([page for _title, _icon, page in _PAGES].index(name))

    def current(self) -> Settings:
        """What is entered on all pages; what was not looked at is as it was."""
        changed: dict[str, Any] = {"llm": self.model.settings()}
        if "limits" in self.__dict__:
            changed["limits"] = self.limits.limits()
        if "permissions" in self.__dict__:
            changed["policy"] = self.permissions.policy()
            changed |= self.permissions.models.chosen()
        return self._settings.model_copy(update=changed)

    def save(self) -> None:
        """Keep the typed key and the settings, take them into use, close."""
        if not self.save_button.isEnabled():
            return
        changed, typed = self.current(), self.model.typed_key()
        self.save_button.setEnabled(False)
        self._say("Saving…")
        keys, apply, applied = self._rooms.keys, self._apply, self._applied

        def work(_cancel: object) -> Any:
            _keep(keys, typed)
            return apply(changed)

        def done(result: Any) -> None:
            if isValid(self):
                self.accept()
            applied(result)

        self._saving.run(work, done, self._not_saved)

    def closeEvent(self, event: QCloseEvent) -> None:
        self._tasks.close()
        super().closeEvent(event)

    def _not_saved(self, reason: str) -> None:
        if isValid(self):
            self.save_button.setEnabled(True)
            self._say(reason)

    def _build(self) -> None:
        settings, rooms = self._settings, self._rooms
        self.model = ModelPage(settings.llm, rooms.keys, rooms.probe, self._tasks)
        self.pages = QStackedWidget()
        self.list = QListWidget()
        self.list.setObjectName("settingsList")
        self.list.setAccessibleName("Pages of the settings")
        self.list.setFixedWidth(_LIST_WIDTH)
        self.list.setIconSize(QSize(16, 16))
        for title, name, _page in _PAGES:
            self.list.addItem(QListWidgetItem(icon(name), title))
        self.pages.addWidget(self.model)
        self.list.setCurrentRow(0)
        beside = QHBoxLayout()
        beside.setContentsMargins(0, 0, 0, 0)
        beside.setSpacing(0)
        beside.addWidget(self.list)
        beside.addWidget(self.pages, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(beside, 1)
        column.addWidget(self._foot())
        self.save_button.setDefault(True)  # of this window: not before the button is in it
        self.list.currentRowChanged.connect(self._turn_to)

    def _turn_to(self, number: int) -> None:
        """Show a page; it is made when it is first looked at, since each takes some ms."""
        page = getattr(self, _PAGES[number][2])
        if self.pages.indexOf(page) < 0:
            self.pages.addWidget(page)
        self.pages.setCurrentWidget(page)
        self._order()

    def _order(self) -> None:
        """Tab goes from the list through the page to the buttons, whatever was made first."""
        page = self.pages.currentWidget()
        fields = page.tab_fields() if isinstance(page, Column) else []
        ordered = [self.list, *fields, self.cancel_button, self.save_button]
        for before, after in pairwise(ordered):
            QWidget.setTabOrder(before, after)

    def _foot(self) -> QWidget:
        foot = QWidget()
        foot.setObjectName("settingsFoot")
        foot.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.note = wrapped("", "caption")
        self.cancel_button = QPushButton("Cancel")
        self.cancel_button.setAutoDefault(False)
        self.cancel_button.clicked.connect(lambda _checked=False: self.reject())
        self.save_button = QPushButton("Save")
        self.save_button.setProperty("primary", True)
        self.save_button.clicked.connect(lambda _checked=False: self.save())
        line = row(self.note, self.cancel_button, self.save_button)
        line.setStretch(0, 1)
        line.setContentsMargins(SPACE.xl, SPACE.m, SPACE.l, SPACE.m)
        foot.setLayout(line)
        return foot

    def _update(self) -> None:
        problem = self.model.problem()
        self.save_button.setEnabled(not problem)
        self._say(problem)

    def _say(self, text: str) -> None:
        self.note.setText(text)
        self.save_button.setAccessibleDescription(text)

    def _fit(self) -> None:
        """As large as is good to read, and no larger than the screen."""
        room = self.screen().availableGeometry().size() - QSize(40, 60)
        self.resize(_SIZE.boundedTo(room))


def _keep(keys: KeyStore, typed: TypedKey | None) -> None:
    if typed is not None and typed.name:
        keys.set(typed.name, typed.value)
