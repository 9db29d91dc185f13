"""The settings window: a list of pages at the left, the selected one at the right.

The pages of the limits and of privacy are here, those of the model and the tools in files of their
own.
"""

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
from app.agent.llm.providers import endpoint_url
from app.agent.policy import Grants, Policy
from app.agent.privacy.consents import Consents
from app.secrets import Secrets, key_name
from app.settings import LimitSettings, ModelSettings, Settings, bounds
from app.tools.api import ToolSpec
from app.views.daemon_tasks import DaemonTasks
from app.views.icons import icon
from app.views.layouts import row
from app.views.settings.fields import Amount, Check, Count, Form, SettingsPage, wrapped_label
from app.views.settings.model_page import ModelPage
from app.views.settings.provider_text import PROVIDERS, host_of, where_it_runs
from app.views.settings.settings_style import style_sheet
from app.views.settings.tools_page import ToolsPage
from app.views.text_view import TextView
from app.views.theme import SPACE
from app.views.widgets import ElidedLabel, label

_SIZE = QSize(780, 700)
_LIST_WIDTH = 168
_PAGES = (
    ("Language model", "sparkles", "model"),
    ("Limits", "clock", "limits"),
    ("Tools", "wrench", "tools"),
    ("Privacy", "shield-check", "privacy"),
)
"""Title, icon and attribute of `SettingsDialog` of each page."""

_SENT = (
    "Your questions and the earlier ones of the conversation, with their answers",
    "Names and descriptions of the tools, and the tools' results",
    "Pictures of what the viewer shows, only after a second question that shows them, after a "
    "third one where they may show who the patient is, and only to models that are set to look "
    "at pictures",
)
_NEVER = (
    "Image files (DICOM and other), and other pixel data than those pictures",
    "Names, ids, birth dates, study dates, institutions and file paths of the open study: they are "
    "cut from everything that is sent. In what you type yourself nothing else is cut",
    "Keys of other hosts",
)


@dataclass(frozen=True, slots=True)
class SettingsSources:
    """The objects besides the settings that the pages show or change.

    Attributes:
        keys: The store of the endpoints' keys.
        consents: The hosts to which data may be sent.
        grants: The user's answers that are valid for a conversation or the session.
        probe: Tests language models.
        show_audit: Opens the audit window; None leaves its button out.
        show_models: Opens the models window; None leaves its button out.
        tools: The installed tools.
        site: This computer's rules for tools, which apply in addition to the user's own.
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
    """The dialog in which the settings are changed and saved.

    Args:
        settings: The settings in use.
        sources: The other objects that the pages show or change.
        apply: Puts new settings into effect; called on a thread, may raise SightlineError.
        applied: Called on the GUI thread with the result of `apply`.
        parent: The parent for Qt.
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
        self._set_size()

    @cached_property
    def limits(self) -> LimitsPage:
        """The page with the limits."""
        return LimitsPage(self._settings.limits)

    @cached_property
    def tools(self) -> ToolsPage:
        """The page with the rules for tools."""
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
        """The page about data that may leave the computer."""
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
            changed |= self.tools.models.values()
        return self._settings.model_copy(update=changed)

    def save(self) -> None:
        """Store the typed key and the settings, put them into effect, and close."""
        if not self.save_button.isEnabled():
            return
        changed, typed = self.current(), self.model.typed_key()
        self.save_button.setEnabled(False)
        self._show_text("Saving…")
        keys, apply, applied = self._sources.keys, self._apply, self._applied

        def work(_cancel: object) -> Any:
            if typed is not None and typed.name:
                keys.set(typed.name, typed.value)
            return apply(changed)

        def done(result: Any) -> None:
            if isValid(self):
                self.accept()
            applied(result)

        self._saving.run(work, done, self._show_not_saved)

    def closeEvent(self, event: QCloseEvent) -> None:
        self._tasks.close()
        super().closeEvent(event)

    def _show_not_saved(self, reason: str) -> None:
        if isValid(self):
            self.save_button.setEnabled(True)
            self._show_text(reason)

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
        column.addWidget(self._make_foot())
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

    def _make_foot(self) -> QWidget:
        foot = QWidget()
        foot.setObjectName("settingsFoot")
        foot.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.note = wrapped_label("", "caption")
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
        self._show_text(problem)

    def _show_text(self, text: str) -> None:
        self.note.setText(text)
        self.save_button.setAccessibleDescription(text)

    def _set_size(self) -> None:
        """Set a size that reads well and fits on the screen."""
        room = self.screen().availableGeometry().size() - QSize(40, 60)
        self.resize(_SIZE.boundedTo(room))


class LimitsPage(SettingsPage):
    """The page with the limits: how far the assistant may go with one question.

    Args:
        limits: The limits in use.
    """

    def __init__(self, limits: LimitSettings) -> None:
        super().__init__()
        self.add_heading(
            "How far may one question go?",
            "Reaching a limit ends the run with a summary of what was found so far; nothing that "
            "was found is lost.",
        )
        form = Form()
        self.steps = self._count("steps", "requests")
        form.add_row("Steps", self.steps)
        form.add_note("How often the language model is asked.", self.steps)
        self.tool_calls = self._count("tool_calls", "calls")
        form.add_row("Tool calls", self.tool_calls)
        form.add_note("All tools together.", self.tool_calls)
        self.calls_per_task = self._count("calls_per_task", "calls")
        form.add_row("Calls a task", self.calls_per_task)
        form.add_note("While one step of the plan is under way.", self.calls_per_task)
        self.minutes = Amount(*bounds(LimitSettings, "minutes"), suffix=" minutes")
        form.add_row("Time", self.minutes)
        form.add_note("Waiting for your own answers is not counted.", self.minutes)
        self.tokens = self._count("tokens", "tokens", step=50_000)
        form.add_row("Tokens", self.tokens)
        form.add_note("Questions and answers of the language model together.", self.tokens)
        self.cost = Amount(*bounds(LimitSettings, "cost"), prefix="$ ", step=0.5)
        form.add_row("Cost", self.cost)
        form.add_note("An estimate, for models whose prices are entered on their page.", self.cost)
        self.rules_first = Check("Let rules answer what they are certain of")
        form.add_row("Rules first", self.rules_first)
        form.add_note(
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
        """Return the entered limits; the fields accept only values in range."""
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


class PrivacyPage(SettingsPage):
    """Shows what may leave the computer, and lets the user withdraw consents.

    Args:
        settings: The settings of the language model in use.
        consents: The hosts that were allowed since the program was started.
        keys: The store of the endpoints' keys.
        tasks: Runs slow work on threads.
        show_audit: Opens the audit window; None leaves its button out.
    """

    def __init__(
        self,
        settings: ModelSettings,
        consents: Consents,
        keys: Secrets,
        tasks: DaemonTasks,
        show_audit: Callable[[], object] | None = None,
    ) -> None:
        super().__init__()
        self._consents = consents
        self.withdraw_buttons: dict[str, QPushButton] = {}
        self.add_heading("What leaves this computer?")
        fields = settings.of(settings.kind)
        title = dict(PROVIDERS)[settings.kind]
        self.where = self._text(f"{title}. {where_it_runs(settings.kind, fields)}")
        self.add_section("Allowed since Sightline was started")
        self._hosts = QVBoxLayout()
        self._hosts.setSpacing(SPACE.s)
        self.column.addLayout(self._hosts)
        self.add_section("Sent to a host that you allowed")
        self.sent = self._text(_list(_SENT))
        self.add_section("Never sent")
        self.never = self._text(_list(_NEVER))
        self.add_section("Key")
        self.key_note = wrapped_label("", "muted")
        self.column.addWidget(self.key_note)
        if show_audit is not None:
            self._add_audit(show_audit)
        self.column.addStretch(1)
        self.show_hosts()
        self._find_key(key_name(settings.kind, endpoint_url(settings.kind, fields)), keys, tasks)
        self._host = host_of(settings.kind, fields)

    def _add_audit(self, show_audit: Callable[[], object]) -> None:
        self.add_section("On record")
        about = "Tool calls, what was allowed, sent and exported. It holds no patient data."
        self.audit_button = QPushButton("Audit log…")
        self.audit_button.setAutoDefault(False)
        self.audit_button.clicked.connect(lambda _checked=False: show_audit())
        line = QWidget()
        parts = row(wrapped_label(about, "muted"), self.audit_button)
        parts.setStretch(0, 1)
        line.setLayout(parts)
        self.column.addWidget(line)

    def show_hosts(self) -> None:
        """Show the hosts that are currently allowed."""
        while (item := self._hosts.takeAt(0)) is not None:
            shown = item.widget()
            if shown is not None:
                shown.hide()
                shown.deleteLater()
        self.withdraw_buttons.clear()
        texts, pictures = self._consents.hosts("text"), self._consents.hosts("pictures")
        for host in sorted({*texts, *pictures}):
            self._hosts.addWidget(self._host_row(host, host in texts, host in pictures))
        if not (texts or pictures):
            none = "No host: nothing is sent anywhere before you are asked."
            self._hosts.addWidget(wrapped_label(none, "muted"))

    def _host_row(self, host: str, text: bool, pictures: bool) -> QWidget:
        what = " and ".join(
            name for name, on in (("text and results", text), ("pictures", pictures)) if on
        )
        button = QPushButton("Withdraw")
        button.setAccessibleName(f"Withdraw what {host} was allowed")
        button.setToolTip("You are asked again before anything more is sent there")
        button.clicked.connect(lambda _checked=False: self._withdraw(host))
        self.withdraw_buttons[host] = button
        line = QWidget()
        parts = row(ElidedLabel(host, "strong"), label(what, "muted"), button)
        parts.setStretch(0, 1)
        line.setLayout(parts)
        return line

    def _withdraw(self, host: str) -> None:
        self._consents.withdraw(host)
        self.show_hosts()

    def _text(self, text: str) -> TextView:
        view = TextView()
        view.setProperty("tone", "muted")
        view.set_plain(text)
        self.column.addWidget(view)
        return view

    def _find_key(self, name: str, keys: Secrets, tasks: DaemonTasks) -> None:
        if not name:
            self.key_note.setText("The chosen model needs none.")
            return
        self.key_note.setText("Looking for a stored key…")
        say: Callable[[str], None] = self.key_note.setText
        tasks.run(
            lambda _cancel: keys.where(name),
            lambda where: say(
                f"The key for {self._host} is in {where}. It is sent to no other host."
                if where
                else f"No key for {self._host} is known."
            ),
            lambda _reason: say("The keyring could not be asked."),
        )


def _list(lines: tuple[str, ...]) -> str:
    return "\n".join(f"•  {line}." for line in lines)
