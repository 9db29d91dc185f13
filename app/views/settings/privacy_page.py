"""The settings page of privacy: hosts that are allowed, data that is sent, place of the key."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from app.agent.llm.providers import url_of
from app.agent.privacy.consents import Consents
from app.secrets import Secrets, key_name
from app.settings import ModelSettings
from app.views.chat.textview import TextView
from app.views.chat.widgets import row
from app.views.daemon_tasks import DaemonTasks
from app.views.settings.fields import SettingsPage, wrapped
from app.views.settings.provider_text import PROVIDERS, host_of, where_it_runs
from app.views.theme import SPACE
from app.views.widgets import ElidedLabel, label

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


class PrivacyPage(SettingsPage):
    """Shows what may leave the computer, and withdraws consents.

    Args:
        settings: The language model in use.
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
        self.heading("What leaves this computer?")
        fields = settings.of(settings.kind)
        title = dict(PROVIDERS)[settings.kind]
        self.where = self._text(f"{title}. {where_it_runs(settings.kind, fields)}")
        self.section("Allowed since Sightline was started")
        self._hosts = QVBoxLayout()
        self._hosts.setSpacing(SPACE.s)
        self.column.addLayout(self._hosts)
        self.section("Sent to a host that you allowed")
        self.sent = self._text(_list(_SENT))
        self.section("Never sent")
        self.never = self._text(_list(_NEVER))
        self.section("Key")
        self.key_note = wrapped("", "muted")
        self.column.addWidget(self.key_note)
        if show_audit is not None:
            self._add_audit(show_audit)
        self.column.addStretch(1)
        self.show_hosts()
        self._find_key(key_name(settings.kind, url_of(settings.kind, fields)), keys, tasks)
        self._host = host_of(settings.kind, fields)

    def _add_audit(self, show_audit: Callable[[], object]) -> None:
        self.section("On record")
        about = "Tool calls, what was allowed, sent and exported. It holds no patient data."
        self.audit_button = QPushButton("Audit log…")
        self.audit_button.setAutoDefault(False)
        self.audit_button.clicked.connect(lambda _checked=False: show_audit())
        line = QWidget()
        parts = row(wrapped(about, "muted"), self.audit_button)
        parts.setStretch(0, 1)
        line.setLayout(parts)
        self.column.addWidget(line)

    def show_hosts(self) -> None:
        """Show the hosts that are allowed now."""
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
            self._hosts.addWidget(wrapped(none, "muted"))

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
