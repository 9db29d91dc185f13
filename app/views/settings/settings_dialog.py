"""The settings window: a list of pages at the left, the selected one at the right.

The pages of the limits and of privacy are here, the others in files of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dataclasses import field as made_by
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStackedWidget,
    QWidget,
)
from shiboken6 import isValid

from app.agent.llm.probe import Probe
from app.agent.llm.providers import endpoint_url
from app.agent.policy import Grants, Policy
from app.agent.privacy.consents import Consents
from app.errors import SightlineError
from app.secrets import Secrets, key_name
from app.settings import LimitSettings, ModelSettings, Settings, bounds
from app.tools.api import ToolSpec
from app.tools.mcp.servers import McpServers
from app.tools.memory import Memory, Note
from app.views.background import DaemonTasks
from app.views.icons import icon
from app.views.layouts import column, row
from app.views.settings.fields import (
    Amount,
    Choice,
    Form,
    GrantList,
    SettingsPage,
    wrapped_label,
)
from app.views.settings.mcp_page import McpPage
from app.views.settings.memory_page import MemoryPage
from app.views.settings.model_page import PROVIDERS, ModelPage, host_of, where_it_runs
from app.views.settings.tools_page import ToolsPage
from app.views.text_view import TextView
from app.views.theme import SPACE, part_sheet
from app.views.translation import tr, translatable
from app.views.widgets import ElidedLabel, push_button
from app.workspace import review

_SIZE = QSize(780, 700)
_LIST_WIDTH = 168
_PAGES = (
    (translatable("Language model"), "sparkles", "model"),
    (translatable("Limits"), "clock", "limits"),
    (translatable("Tools"), "wrench", "tools"),
    (translatable("MCP servers"), "link", "mcp"),
    (translatable("Assistant memory"), "pin", "memory"),
    (translatable("Privacy"), "shield-check", "privacy"),
    (translatable("Appearance"), "contrast", "appearance"),
)
"""Title, icon and attribute of `SettingsDialog` of each page."""

_SENT = (
    translatable("Your questions and the earlier ones of the conversation, with their answers"),
    translatable("Names and descriptions of the tools, and the tools' results"),
    translatable(
        "Your notes that are ticked on the page Assistant memory, and your administrator's"
    ),
    translatable(
        "Pictures of what the viewer shows: only to models that are set to receive pictures, after "
        "you have seen them and agreed, and once more where they may identify the patient"
    ),
)
_NEVER = (
    translatable("Image files (DICOM and other), and other pixel data than those pictures"),
    translatable(
        "Names, ids, birth dates, study dates, institutions and file paths of the open study: they "
        "are removed from everything that is sent. Nothing else is removed from what you type"
    ),
    translatable("Keys of other hosts"),
)


@dataclass(frozen=True, slots=True)
class SettingsSources:
    """The objects besides the settings that the pages show or change.

    Attributes:
        show_audit: Opens the audit window; if None, there is no button for it.
        show_models: Opens the models window; if None, there is no button for it.
        site_rules: This computer's rules for tools, which apply in addition to the user's own.
        memory: The user's notes.
        without_patients: Returns a note without what names a patient; slow, called on a thread.
    """

    keys: Secrets
    consents: Consents
    grants: Grants
    probe: Probe
    show_audit: Callable[[], object] | None = None
    show_models: Callable[[], object] | None = None
    tools: tuple[ToolSpec, ...] = ()
    site_rules: tuple[Policy, ...] = ()
    packs: tuple[tuple[str, str], ...] = ()
    mcp: McpServers = made_by(default_factory=lambda: McpServers(list, lambda _name: ""))
    memory: Memory = made_by(default_factory=Memory)
    without_patients: Callable[[str], str] = str


class SettingsDialog(QDialog):
    """The dialog in which the settings are changed and saved.

    `apply` puts new settings into effect; it is called on a thread and may raise SightlineError.
    `applied` is called on the GUI thread with the result of `apply`.
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
        self.setWindowTitle(tr("Settings"))
        self.setStyleSheet(part_sheet("settings"))
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
        return LimitsPage(self._settings.limits)

    @cached_property
    def tools(self) -> ToolsPage:
        sources = self._sources
        return ToolsPage(
            self._settings,
            sources.grants,
            sources.tools,
            sources.site_rules,
            sources.show_models,
            sources.packs,
        )

    @cached_property
    def mcp(self) -> McpPage:
        sources = self._sources
        return McpPage(
            self._settings.mcp_servers, sources.mcp, sources.keys, self._tasks, self._update
        )

    @cached_property
    def memory(self) -> MemoryPage:
        memory = self._sources.memory
        return MemoryPage(memory.notes(), memory.site_notes())

    @cached_property
    def privacy(self) -> PrivacyPage:
        sources = self._sources
        return PrivacyPage(
            self._settings.llm, sources.consents, sources.keys, self._tasks, sources.show_audit
        )

    @cached_property
    def appearance(self) -> AppearancePage:
        return AppearancePage(self._settings.theme, self._settings.reviewer)

    def show_page(self, name: str) -> None:
        """Show a page: "model", "limits", "tools", "mcp", "memory", "privacy" or "appearance"."""
        self.list.setCurrentRow([page for _title, _icon, page in _PAGES].index(name))

    def current(self) -> Settings:
        """Return the settings as they are entered; pages that were not opened are unchanged."""
        changed: dict[str, Any] = {"llm": self.model.settings()}
        if "limits" in self.__dict__:
            changed["limits"] = self.limits.limits()
        if "tools" in self.__dict__:
            changed["policy"] = self.tools.policy()
            changed["profile"] = self.tools.profile()
            changed |= self.tools.device_values()
        if "mcp" in self.__dict__:
            changed["mcp_servers"] = self.mcp.servers()
        if "appearance" in self.__dict__:
            changed["theme"] = self.appearance.theme.value
            changed["reviewer"] = self.appearance.reviewer.text().strip()
        return self._settings.model_copy(update=changed)

    def save(self) -> None:
        """Store the typed key and the settings, put them into effect, and close."""
        if not self.save_button.isEnabled():
            return
        changed, typed = self.current(), dict([self.model.typed_key()])
        if "mcp" in self.__dict__:
            typed |= self.mcp.typed_keys()
        before = notes = ()
        if "memory" in self.__dict__:
            before, notes = self.memory.before, self.memory.notes()
        self.save_button.setEnabled(False)
        self._show_text(tr("Saving…"))
        keys, apply, applied = self._sources.keys, self._apply, self._applied
        sources = self._sources

        def work(_cancel: object) -> Any:
            _keep_notes(sources, before, notes)
            for name, value in typed.items():
                if name:
                    keys.set(name, value)
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
        self.list.setAccessibleName(tr("Pages of the settings"))
        self.list.setFixedWidth(_LIST_WIDTH)
        self.list.setIconSize(QSize(16, 16))
        for title, name, _page in _PAGES:
            self.list.addItem(QListWidgetItem(icon(name), tr(title)))
        self.pages.addWidget(self.model)
        self.list.setCurrentRow(0)
        body = row(self.list, (self.pages, 1), spacing=0)
        column((body, 1), self._make_foot(), spacing=0, parent=self)
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
        self.cancel_button = push_button(tr("Cancel"), self.reject)
        self.cancel_button.setAutoDefault(False)
        self.save_button = push_button(tr("Save"), self.save, primary=True)
        margins = (SPACE.xl, SPACE.m, SPACE.l, SPACE.m)
        row((self.note, 1), self.cancel_button, self.save_button, margins=margins, parent=foot)
        return foot

    def _update(self) -> None:
        problem = self.model.problem()
        if not problem and "mcp" in self.__dict__:
            problem = self.mcp.problem()
        self.save_button.setEnabled(not problem)
        self._show_text(problem)

    def _show_text(self, text: str) -> None:
        self.note.setText(text)
        self.save_button.setAccessibleDescription(text)

    def _set_size(self) -> None:
        """Set a size that reads well and fits on the screen."""
        room = self.screen().availableGeometry().size() - QSize(40, 60)
        self.resize(_SIZE.boundedTo(room))


def _keep_notes(sources: SettingsSources, before: Sequence[Note], notes: Sequence[Note]) -> None:
    """Keep changed notes; raise SightlineError if one names a patient or cannot be written."""
    for note in notes:
        if note.text not in {one.text for one in before}:
            left = sources.without_patients(note.text)
            if left != note.text:
                text = tr(
                    "A note seems to be about a patient or what an image shows, and nothing about "
                    "patients is kept. It may say how you want things done. Without that it is: "
                    "“{left}”"
                )
                raise SightlineError(text.format(left=left))
    try:
        sources.memory.replace(before, notes)
    except OSError as error:
        raise SightlineError(
            tr("The notes cannot be written: {reason}").format(reason=error.strerror or "")
        ) from error


class LimitsPage(SettingsPage):
    """The page with the limits: how far the assistant may go with one question."""

    def __init__(self, limits: LimitSettings) -> None:
        super().__init__()
        self.add_heading(
            tr("How far may one question go?"),
            tr(
                "Reaching a limit ends the run with a summary of what was found so far; nothing "
                "that was found is lost."
            ),
        )
        form = Form()
        self.fields: dict[str, Amount] = {}

        def add(name: str, title: str, note: str, unit: str = "", **look: Any) -> None:
            suffix = f" {unit}" if unit else ""
            field = Amount(*bounds(LimitSettings, name), suffix=suffix, **look)
            self.fields[name] = field
            form.add_row(title, field, note=note)

        whole: dict[str, Any] = {"decimals": 0}
        add(
            "steps",
            tr("Steps"),
            tr("How often the language model is asked."),
            tr("requests"),
            **whole,
        )
        add("tool_calls", tr("Tool calls"), tr("All tools together."), tr("calls"), **whole)
        note = tr("While one step of the plan is under way.")
        add("calls_per_task", tr("Calls per step"), note, tr("calls"), **whole)
        add(
            "minutes", tr("Time"), tr("Waiting for your own answers is not counted."), tr("minutes")
        )
        note = tr("Questions and answers of the language model together.")
        add("tokens", tr("Tokens"), note, tr("tokens"), step=50_000, **whole)
        note = tr("An estimate, for models whose prices are entered on their page.")
        add("cost", tr("Cost"), note, prefix="$ ", step=0.5)
        self.rules_first = QCheckBox(tr("Let rules answer what they are certain of"))
        note = tr(
            "A count, a ratio, a file's attributes: no language model is asked, and nothing is "
            "sent. Otherwise the model is asked every question."
        )
        form.add_row(tr("Rules first"), self.rules_first, note=note)
        self.plan_first = QCheckBox(tr("Show a plan of several steps before it begins"))
        note = tr(
            "You can change it or take steps out; it waits until you let it go on. Of the plans "
            "that rules make; a language model decides as it goes."
        )
        form.add_row(tr("Plan first"), self.plan_first, note=note)
        self.column.addLayout(form)
        self.restore = push_button(
            tr("Restore defaults"), lambda: self.show_limits(LimitSettings())
        )
        self.column.addLayout(row(self.restore, 1))
        self.column.addStretch(1)
        self.show_limits(limits)

    def limits(self) -> LimitSettings:
        numbers: dict[str, Any] = {name: field.value() for name, field in self.fields.items()}
        return LimitSettings(
            **numbers,
            rules_first=self.rules_first.isChecked(),
            plan_first=self.plan_first.isChecked(),
        )

    def show_limits(self, limits: LimitSettings) -> None:
        """Enter `limits` into the fields; they take effect once the settings are saved."""
        for name, field in self.fields.items():
            field.setValue(getattr(limits, name))
        self.rules_first.setChecked(limits.rules_first)
        self.plan_first.setChecked(limits.plan_first)


class AppearancePage(SettingsPage):
    """The page about how the windows look, and the user's name."""

    def __init__(self, theme: str, reviewer: str) -> None:
        super().__init__()
        self.add_heading(tr("How do the windows look?"))
        form = Form()
        schemes = (("system", tr("System")), ("dark", tr("Dark")), ("light", tr("Light")))
        self.theme = Choice(schemes)
        self.theme.choose(theme)
        note = tr("Also under View > Theme. Images are on black in every theme.")
        form.add_row(tr("Theme"), self.theme, note=note)
        self.reviewer = QLineEdit(reviewer)
        self.reviewer.setMaxLength(64)
        self.reviewer.setPlaceholderText(review.login())
        note = tr("Stands with what you accept, edit or reject. Empty: your login name.")
        form.add_row(tr("Your name for reports"), self.reviewer, note=note)
        self.column.addLayout(form)
        self.column.addStretch(1)


class PrivacyPage(SettingsPage):
    """Shows what may leave the computer, and lets the user withdraw consents."""

    def __init__(
        self,
        settings: ModelSettings,
        consents: Consents,
        keys: Secrets,
        tasks: DaemonTasks,
        show_audit: Callable[[], object] | None = None,
    ) -> None:
        super().__init__()
        self.add_heading(tr("What leaves this computer?"))
        fields = settings.of(settings.kind)
        title = tr(dict(PROVIDERS)[settings.kind])
        self.where = self._text(f"{title}. {where_it_runs(settings.kind, fields)}")
        self.add_section(tr("Allowed since Sightline was started"))
        self.hosts = GrantList(tr("No host: nothing is sent anywhere before you are asked."))
        self._add_hosts(consents)
        self.column.addWidget(self.hosts)
        self.add_section(tr("Sent to a host that you allowed"))
        self.sent = self._text(_list(_SENT))
        self.add_section(tr("Never sent"))
        self.never = self._text(_list(_NEVER))
        self.add_section(tr("Key"))
        self.key_note = wrapped_label("", "muted")
        self.column.addWidget(self.key_note)
        if show_audit is not None:
            self._add_audit(show_audit)
        self.column.addStretch(1)
        self._find_key(key_name(settings.kind, endpoint_url(settings.kind, fields)), keys, tasks)
        self._host = host_of(settings.kind, fields)

    def _add_audit(self, show_audit: Callable[[], object]) -> None:
        self.add_section(tr("On record"))
        about = tr(
            "Tool calls, permissions, transmissions and exports. It contains no patient data."
        )
        self.audit_button = push_button(tr("Audit log…"), show_audit)
        self.audit_button.setAutoDefault(False)
        self.column.addLayout(row((wrapped_label(about, "muted"), 1), self.audit_button))

    def _add_hosts(self, consents: Consents) -> None:
        texts, pictures = consents.hosts("text"), consents.hosts("pictures")
        for host in sorted({*texts, *pictures}):
            allowed = ((tr("text and results"), host in texts), (tr("pictures"), host in pictures))
            what = tr(" and ").join(name for name, on in allowed if on)
            undo = partial(consents.withdraw, host)
            button = self.hosts.add(host, ElidedLabel(host, "strong"), what, tr("Withdraw"), undo)
            button.setAccessibleName(tr("Withdraw what {host} was allowed").format(host=host))
            button.setToolTip(tr("You are asked again before anything more is sent there"))

    def _text(self, text: str) -> TextView:
        view = TextView()
        view.setProperty("tone", "muted")
        view.set_plain(text)
        self.column.addWidget(view)
        return view

    def _find_key(self, name: str, keys: Secrets, tasks: DaemonTasks) -> None:
        if not name:
            self.key_note.setText(tr("The chosen model needs none."))
            return
        self.key_note.setText(tr("Looking for a stored key…"))
        say: Callable[[str], None] = self.key_note.setText
        tasks.run(
            lambda _cancel: keys.where(name),
            lambda where: say(
                tr("The key for {host} is in {where}. It is sent to no other host.").format(
                    host=self._host, where=where
                )
                if where
                else tr("No key for {host} is known.").format(host=self._host)
            ),
            lambda _reason: say(tr("The keyring could not be read.")),
        )


def _list(lines: tuple[str, ...]) -> str:
    return "\n".join(f"•  {tr(line)}." for line in lines)
