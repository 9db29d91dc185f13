"""The settings window: a list of pages at the left, the selected one at the right; the limits."""

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

from app.agent.llm.probe import Probe
from app.agent.policy import Grants, Policy
from app.agent.privacy.consents import Consents
from app.secrets import Secrets
from app.settings import LimitSettings, Settings, bounds
from app.tools.api import ToolSpec
from app.views.chat.widgets import row
from app.views.daemon_tasks import DaemonTasks
from app.views.icons import icon
from app.views.settings.fields import Amount, Check, Count, Form, SettingsPage, wrapped
from app.views.settings.model_page import ModelPage
from app.views.settings.privacy_page import PrivacyPage
from app.views.settings.settings_style import style_sheet
from app.views.settings.tools_page import ToolsPage
from app.views.theme import SPACE

_SIZE = QSize(780, 700)
_LIST_WIDTH = 168
_PAGES = (
    ("Language model", "sparkles", "model"),
    ("Limits", "clock", "limits"),
    ("Tools", "wrench", "tools"),
    ("Privacy", "shield-check", "privacy"),
)
"""Title, icon and attribute of `SettingsDialog` of each page."""


@dataclass(frozen=True, slots=True)
class SettingsSources:
    """The objects bodys the settings that the pages show or change.

    Attributes:
        keys: The store of the endpoints' keys.
        consents: Hosts that may be sent to.
        grants: Answers that hold for conversations and the session.
        probe: Tests language models.
        show_audit: Opens the audit window; None leaves its button out.
        show_models: Opens the models window; None leaves its button out.
        tools: The installed tools.
        site: Rules for tools of this computer, which hold body the user's own.
    """

    keys: Secrets
    consents: Consents
    grants: Grants
    probe: Probe
    show_audit: Callable[[], object] | None = None
    show_models: Callable[[], object] | None = None
    tools: tuple[ToolSpec, ...] = ()
    site: tuple[Policy, ...] = ()


class SettingsDialog(QDialog):
    """The dialogue in which the settings are changed and saved.

    Args:
        settings: The settings in use.
        sources: The other objects that the pages show or change.
        apply: Takes new settings into use; called on a thread, may raise SightlineError.
        applied: Called on the GUI thread with the result of `apply`.
        parent: Qt parent.
    """

    def __init__(
        self,
        settings: Settings,
        sources: SettingsSources,
        apply: Callable[[Settings], Any],
        applied: Callable[[Any], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("settingsDialog")
        self.setWindowTitle("Settings")
        self.setStyleSheet(style_sheet())
        self._settings = settings
        self._sources = sources
        self._apply = apply
        self._applied = applied
        self._tasks = DaemonTasks(self)
        # Without an owner: settings that are being saved take effect even if the dialogue closes.
        self._saving = DaemonTasks()
        self.finished.connect(self._tasks.close)
        self._build()
        self.model.edited.connect(self._update)
        self.model.provider_shown.connect(self._set_tab_order)
        self._set_tab_order()
        self._update()
        self._fit()

    @cached_property
    def limits(self) -> LimitsPage:
        """The page of the limits."""
        return LimitsPage(self._settings.limits)

    @cached_property
    def tools(self) -> ToolsPage:
        """The page of the tools."""
        settings, sources = self._settings, self._sources
        return ToolsPage(
            settings.policy,
            sources.grants,
            sources.tools,
            sources.site,
            settings,
            sources.show_models,
        )

    @cached_property
    def privacy(self) -> PrivacyPage:
        """The page of the data that may leave the computer."""
        sources = self._sources
        return PrivacyPage(
            self._settings.llm, sources.consents, sources.keys, self._tasks, sources.show_audit
        )

    def show_page(self, name: str) -> None:
        """Show a page: "model", "limits", "tools" or "privacy"."""
        self.list.setCurrentRow([page for _title, _icon, page in _PAGES].index(name))

    def current(self) -> Settings:
        """Return the settings as they are entered; pages that were not opened are unchanged."""
        changed: dict[str, Any] = {"llm": self.model.settings()}
        if "limits" in self.__dict__:
            changed["limits"] = self.limits.limits()
        if "tools" in self.__dict__:
            changed["policy"] = self.tools.policy()
            changed |= self.tools.models.chosen()
        return self._settings.model_copy(update=changed)

    def save(self) -> None:
        """Store the typed key and the settings, take them into use, and close."""
        if not self.save_button.isEnabled():
            return
        changed, typed = self.current(), self.model.typed_key()
        self.save_button.setEnabled(False)
        self._say("Saving…")
        keys, apply, applied = self._sources.keys, self._apply, self._applied

        def work(_cancel: object) -> Any:
            if typed is not None and typed.name:
                keys.set(typed.name, typed.value)
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
        settings, sources = self._settings, self._sources
        self.model = ModelPage(settings.llm, sources.keys, sources.probe, self._tasks)
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
        body = QHBoxLayout()
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(0)
        body.addWidget(self.list)
        body.addWidget(self.pages, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(body, 1)
        column.addWidget(self._foot())
        self.save_button.setDefault(True)  # of this window: not before the button is in it
        self.list.currentRowChanged.connect(self._show_page)

    def _show_page(self, number: int) -> None:
        """Show a page, which is created on its first use: each takes a few ms."""
        page = getattr(self, _PAGES[number][2])
        if self.pages.indexOf(page) < 0:
            self.pages.addWidget(page)
        self.pages.setCurrentWidget(page)
        self._set_tab_order()

    def _set_tab_order(self) -> None:
        """Make the Tab key go from the list through the page to the buttons."""
        page = self.pages.currentWidget()
        fields = page.tab_fields() if isinstance(page, SettingsPage) else []
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
        """Set a size that reads well and fits on the screen."""
        room = self.screen().availableGeometry().size() - QSize(40, 60)
        self.resize(_SIZE.boundedTo(room))


class LimitsPage(SettingsPage):
    """The page of the limits: how far the assistant may go with one question.

    Args:
        limits: The limits in use.
    """

    def __init__(self, limits: LimitSettings) -> None:
        super().__init__()
        self.heading(
            "How far may one question go?",
            "Reaching a limit ends the run with a summary of what was found so far; nothing that "
            "was found is lost.",
        )
        form = Form()
        self.steps = self._count("steps", "requests")
        form.put("Steps", self.steps)
        form.note("How often the language model is asked.", self.steps)
        self.tool_calls = self._count("tool_calls", "calls")
        form.put("Tool calls", self.tool_calls)
        form.note("All tools together.", self.tool_calls)
        self.calls_per_task = self._count("calls_per_task", "calls")
        form.put("Calls a task", self.calls_per_task)
        form.note("While one step of the plan is under way.", self.calls_per_task)
        self.minutes = Amount(*bounds(LimitSettings, "minutes"), suffix=" minutes")
        form.put("Time", self.minutes)
        form.note("Waiting for your own answers is not counted.", self.minutes)
        self.tokens = self._count("tokens", "tokens", step=50_000)
        form.put("Tokens", self.tokens)
        form.note("Questions and answers of the language model together.", self.tokens)
        self.cost = Amount(*bounds(LimitSettings, "cost"), prefix="$ ", step=0.5)
        form.put("Cost", self.cost)
        form.note("An estimate, for models whose prices are entered on their page.", self.cost)
        self.rules_first = Check("Let rules answer what they are certain of")
        form.put("Rules first", self.rules_first)
        form.note(
            "A count, a ratio, a file's attributes: no language model is asked, and nothing is "
            "sent. Otherwise the model is asked every question.",
            self.rules_first,
        )
        self.column.addLayout(form)
        self.restore = QPushButton("Restore defaults")
        self.restore.clicked.connect(lambda _checked=False: self.show_limits(LimitSettings()))
        self.column.addLayout(row(self.restore, 1))
        self.column.addStretch(1)
        self.show_limits(limits)

    def limits(self) -> LimitSettings:
        """Return the entered limits; the fields allow no value out of range."""
        return LimitSettings(
            steps=self.steps.value(),
            tool_calls=self.tool_calls.value(),
            calls_per_task=self.calls_per_task.value(),
            tokens=self.tokens.value(),
            cost=self.cost.value(),
            minutes=self.minutes.value(),
            rules_first=self.rules_first.isChecked(),
        )

    def show_limits(self, limits: LimitSettings) -> None:
        """Show other limits; they take effect once the settings are saved."""
        self.steps.setValue(limits.steps)
        self.tool_calls.setValue(limits.tool_calls)
        self.calls_per_task.setValue(limits.calls_per_task)
        self.tokens.setValue(limits.tokens)
        self.cost.setValue(limits.cost)
        self.rules_first.setChecked(limits.rules_first)
        self.minutes.setValue(limits.minutes)

    def _count(self, name: str, unit: str, *, step: int = 1) -> Count:
        return Count(*bounds(LimitSettings, name), unit, step=step)
