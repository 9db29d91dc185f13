"""The settings page of MCP servers, and the dialog that asks whether their tools may be used."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QPlainTextEdit,
    QTreeWidgetItem,
    QWidget,
)
from shiboken6 import isValid

from app.errors import CancelToken
from app.secrets import Secrets
from app.settings import McpServer
from app.tools.mcp.offers import Listing, OfferedTool, escaped, place_of
from app.tools.mcp.servers import (
    FROM_ENVIRONMENT,
    URL_VARIABLE,
    McpServers,
    host_of,
    is_remote,
    key_of,
)
from app.views.background import DaemonTasks
from app.views.layouts import column, row
from app.views.plain_text import one_line
from app.views.settings.fields import Choice, Form, KeyField, RowTree, SettingsPage, wrapped_label
from app.views.text_view import TextView
from app.views.theme import SPACE
from app.views.translation import tr, tr_n, translatable
from app.views.widgets import push_button

_KINDS = (
    ("stdio", translatable("A program of this computer")),
    ("http", translatable("An address (streamable HTTP)")),
    ("rpc", translatable("An address (JSON-RPC at /mcp, /rpc or /analyze)")),
)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,23}")
_ROWS_HEIGHT = 150
_WIDTH, _HEIGHT = 620, 620


class McpPage(SettingsPage):
    """The MCP servers and the chosen one; saved with the settings, consents at once."""

    def __init__(
        self,
        chosen: Sequence[McpServer],
        servers: McpServers,
        keys: Secrets,
        tasks: DaemonTasks,
        edited: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__()
        self._entries = list(chosen)
        self._fixed = [one for one in servers.all() if one.name == FROM_ENVIRONMENT]
        self._servers = servers
        self._tasks = tasks
        self._edited = edited
        self._typed: dict[str, str] = {}  # keys that are not saved yet, by their names
        self._asking: CancelToken | None = None
        self._showing = False
        self.add_heading(
            tr("Which servers may lend the assistant tools?"),
            tr(
                "MCP servers are programs or addresses that offer tools. You see and allow what "
                "one offers before it is used, and again whenever that has changed."
            ),
        )
        self._build_list()
        self._build_form(keys)
        self.column.addStretch(1)
        self._fill(0)

    def servers(self) -> list[McpServer]:
        return list(self._entries)

    def typed_keys(self) -> dict[str, str]:
        """Return the typed keys by their names."""
        return {name: value for name, value in self._typed.items() if name and value}

    def problem(self) -> str:
        """Return why the entries cannot be saved; "" if they can."""
        names = [one.name for one in self._entries]
        for one in self._entries:
            if not _NAME.fullmatch(one.name):
                return tr("A server's name begins with a letter, and has small letters only.")
            if names.count(one.name) > 1 or one.name == FROM_ENVIRONMENT:
                return tr("Two servers have the name {name}.").format(name=one.name)
            if one.kind == "stdio" and not one.command:
                return tr("{name} has no command.").format(name=one.name)
            if one.kind != "stdio" and not host_of(one):
                return tr("{name} has no address such as https://name/mcp.").format(name=one.name)
        if self._showing_server() is not None and self._unreadable_command():
            return tr("A quotation mark in the command is not closed.")
        return self.key.problem()

    def closeEvent(self, event: object) -> None:
        self._stop_asking()

    # -- the list -----------------------------------------------------------------------------

    def _build_list(self) -> None:
        heads = (tr("Name"), 110), (tr("Where it is"), 250), (tr("State"), 0)
        self.list = RowTree("mcpServers", tr("MCP servers"), *heads)
        self.list.setFixedHeight(_ROWS_HEIGHT)
        self.list.currentItemChanged.connect(lambda _now, _before: self._show())
        self.column.addWidget(self.list)
        self.add_button = push_button(tr("Add"), self.add)
        self.remove_button = push_button(tr("Remove"), self.remove)
        self.look_button = push_button(tr("Look at its tools…"), self.look)
        self.withdraw_button = push_button(tr("Withdraw"), self.withdraw)
        self.withdraw_button.setToolTip(tr("Its tools are off until you allow them again"))
        buttons = (self.add_button, self.remove_button, self.look_button, self.withdraw_button)
        for button in buttons:
            button.setAutoDefault(False)
        self.column.addLayout(row(*buttons, 1))
        self.outcome = TextView()
        self.outcome.setAccessibleName(tr("What came of it"))
        self.outcome.hide()
        self.column.addWidget(self.outcome)

    def _fill(self, current: int) -> None:
        self.list.blockSignals(True)
        self.list.clear()
        consents = self._servers.consents()
        for one in self._all():
            listing = consents.get(one.name)
            if listing is not None:
                state = tr_n("%n tool allowed", "%n tools allowed", len(listing.tools))
            elif self._servers.earlier(one.name) is not None:
                state = tr("has changed: look at its tools")
            else:
                state = tr("not allowed yet")
            item = QTreeWidgetItem([one.name, place_of(one), state])
            item.setToolTip(1, one_line(place_of(one), 200))
            self.list.addTopLevelItem(item)
        self.list.blockSignals(False)
        last = self.list.topLevelItemCount() - 1
        item = self.list.topLevelItem(max(0, min(current, last)))
        if item is not None:
            self.list.setCurrentItem(item)
        self._show()

    def _all(self) -> list[McpServer]:
        return [*self._entries, *self._fixed]

    def _number(self) -> int:
        item = self.list.currentItem()
        return self.list.indexOfTopLevelItem(item) if item is not None else -1

    def _showing_server(self) -> McpServer | None:
        number = self._number()
        return self._all()[number] if 0 <= number < len(self._all()) else None

    def add(self) -> None:
        used = {one.name for one in self._all()}
        name = next(f"server{n}" for n in range(1, 99) if f"server{n}" not in used)
        self._entries.append(McpServer(name=name))
        self._fill(len(self._entries) - 1)
        self.name.setFocus()
        self.name.selectAll()
        self._edited()

    def remove(self) -> None:
        """Remove the selected entry; what the user allowed of it is forgotten at once."""
        number = self._number()
        if not 0 <= number < len(self._entries):
            return
        gone = self._entries.pop(number)
        self._forget(gone.name)
        self._fill(number)
        self._edited()

    def withdraw(self) -> None:
        """Forget what the user allowed of the selected server."""
        server = self._showing_server()
        if server is not None:
            self._forget(server.name)

    def _forget(self, name: str) -> None:
        """Forget a consent, on a thread: the file may be locked by another program."""
        self._tasks.run(
            lambda _cancel: self._servers.forget(name),
            lambda _none: self._fill(self._number()),
            self._say,
        )

    # -- the selected server ------------------------------------------------------------------

    def _build_form(self, keys: Secrets) -> None:
        form = self._form = Form()
        self.name = QLineEdit()
        self.name.setMaxLength(24)
        note = tr("Its tools are called mcp_NAME_TOOL.")
        form.add_row(tr("Name"), self.name, note=note)
        self.kind = Choice(_KINDS)
        form.add_row(tr("What it is"), self.kind)
        self.command = QLineEdit()
        self.command.setMaxLength(4_000)
        note = tr("A program with its arguments; it runs with your rights. Quote what has spaces.")
        form.add_row(tr("Command"), self.command, note=note)
        self.variables = QLineEdit()
        self.variables.setMaxLength(2_000)
        note = tr("Names of environment variables that it gets from Sightline's own.")
        form.add_row(tr("Variables"), self.variables, note=note)
        self.url = QLineEdit()
        self.url.setMaxLength(2_000)
        form.add_row(tr("Address"), self.url)
        self.where = form.add_note("")
        self.key = KeyField(keys, self._tasks)
        form.add_row(tr("Key"), self.key.edit, self.key)
        self.column.addSpacing(SPACE.s)
        self.column.addLayout(form)
        for field in (self.name, self.command, self.variables, self.url):
            field.textEdited.connect(lambda _text: self._take())
        self.kind.currentIndexChanged.connect(lambda _index: self._take())
        self.key.edited.connect(self._take_key)

    def _show(self) -> None:
        server = self._showing_server()
        self._stop_asking()
        self.outcome.hide()
        own = 0 <= self._number() < len(self._entries)
        self._showing = True  # what the fields show now is not typed by the user
        shown = server or McpServer()
        self.name.setText(shown.name)
        self.kind.choose(shown.kind)
        self.command.setText(shlex.join([shown.command, *shown.args]) if shown.command else "")
        self.variables.setText(" ".join(shown.env))
        self.url.setText(shown.url)
        self._showing = False
        for field in (self.name, self.kind, self.command, self.variables, self.url):
            field.setEnabled(own)
        self.remove_button.setEnabled(own)
        self.look_button.setEnabled(server is not None)
        self.withdraw_button.setEnabled(
            server is not None and self._servers.earlier(server.name) is not None
        )
        self._show_kind(shown, server is not None)

    def _show_kind(self, server: McpServer, there: bool) -> None:
        started = server.kind == "stdio"
        for field in (self.command, self.variables):
            field.setEnabled(field.isEnabled() and started)
        self.url.setEnabled(self.url.isEnabled() and not started)
        self.key.setEnabled(there and not started)
        self.key.set_endpoint(key_of(server), host_of(server))
        self.where.setText(_where(server) if there else "")

    def _unreadable_command(self) -> bool:
        try:
            _words(self.command.text())
        except ValueError:
            return True
        return False

    def _take(self) -> None:
        number = self._number()
        if self._showing or not 0 <= number < len(self._entries):
            return
        words: list[str] = []
        if not self._unreadable_command():
            words = _words(self.command.text())
        name = self.name.text().strip().lower()
        before = self._entries[number]
        self._entries[number] = entry = McpServer.model_validate(
            {
                "name": name if _NAME.fullmatch(name) else "",
                "kind": self.kind.value,
                "command": words[0] if words else "",
                "args": words[1:51],
                "env": self.variables.text().split()[:50],
                "url": self.url.text().strip(),
            }
        )
        item = self.list.currentItem()
        if item is not None:
            item.setText(0, entry.name)
            item.setText(1, place_of(entry))
        if entry.kind != before.kind:
            for field in (self.command, self.variables, self.url):
                field.setEnabled(True)
        self._show_kind(entry, True)
        self._edited()

    def _take_key(self) -> None:
        server = self._showing_server()
        if server is not None:
            self._typed[key_of(server)] = self.key.typed
        self._edited()

    # -- looking at a server ------------------------------------------------------------------

    def look(self) -> None:
        """Ask the selected server what it offers, and show that in a dialog."""
        server = self._showing_server()
        if server is None or self.problem():
            self._say(self.problem())
            return
        self._stop_asking()
        self._say(tr("Asking {name} for its tools…").format(name=server.name))
        self.look_button.setEnabled(False)
        key = self._typed.get(key_of(server)) or None
        self._asking = self._tasks.run(
            lambda cancel: self._servers.listing(server, cancel, key),
            lambda listing: self._ask(server, listing),
            self._show_failed,
        )

    def _stop_asking(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    def _show_failed(self, reason: str) -> None:
        self._asking = None
        self.look_button.setEnabled(True)
        self._say(reason)

    def _ask(self, server: McpServer, listing: Listing) -> None:
        self._asking = None
        self.look_button.setEnabled(True)
        self.outcome.hide()
        earlier = self._servers.earlier(server.name)
        dialog = McpConsentDialog(server, listing, earlier, self)
        dialog.accepted.connect(lambda: self._allow(server, listing))
        dialog.open()

    def _allow(self, server: McpServer, listing: Listing) -> None:
        self._tasks.run(
            lambda _cancel: self._servers.allow(server, listing),
            lambda _none: self._show_allowed(server),
            self._say,
        )

    def _show_allowed(self, server: McpServer) -> None:
        self._fill(self._number())
        if server not in self._servers.all():
            self._say(tr("Its tools can be used once the settings are saved."))

    def _say(self, text: str) -> None:
        if isValid(self):
            self.outcome.set_plain(text)
            self.outcome.setVisible(bool(text))


def _words(command: str) -> list[str]:
    """Return a command line in words; raises ValueError where a quotation mark is missing."""
    if os.name == "nt":  # a backslash divides folders there
        return [word.strip('"') for word in shlex.split(command, posix=False)]
    return shlex.split(command)


def _where(server: McpServer) -> str:
    """Return what it means to use a server, in a sentence."""
    if server.name == FROM_ENVIRONMENT:
        return tr("Set by the environment variable {variable}.").format(variable=URL_VARIABLE)
    if server.kind == "stdio":
        return ""
    if not host_of(server):
        return tr("Write the whole address, such as https://name/mcp.")
    if not is_remote(server):
        return tr("It is on this computer.")
    encrypted = "" if server.url.startswith("https:") else tr(" The connection is not encrypted.")
    return (
        tr("What is sent to it leaves this computer for {host}.").format(host=host_of(server))
        + encrypted
    )


class McpConsentDialog(QDialog):
    """Shows what a server offers, in its own words, and asks whether its tools may be used.

    Args:
        server: The server.
        listing: What it offers now.
        earlier: What the user once allowed; None for the first time.
        parent: The page.
    """

    def __init__(
        self, server: McpServer, listing: Listing, earlier: Listing | None, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("mcpConsent")
        self.setWindowTitle(tr("Tools of an MCP server"))
        title = tr("May the assistant use the tools of {name}?").format(name=server.name)
        if earlier is not None and earlier.digest != listing.digest:
            title = tr("{name} has changed. May the assistant use its tools?").format(
                name=server.name
            )
        facts = [_reach(server), _ASKED, _FOREIGN]
        self.place = QLineEdit(place_of(server))
        self.place.setReadOnly(True)
        self.place.setAccessibleName(tr("Command or address"))
        self.offer = QPlainTextEdit(offer_text(listing, earlier))
        self.offer.setReadOnly(True)
        self.offer.setTabChangesFocus(True)
        self.offer.setAccessibleName(tr("What the server says of its tools"))
        self.no_button = push_button(tr("Don't allow"), self.reject)
        self.allow_button = push_button(tr("Allow these tools"), self.accept, primary=True)
        self.allow_button.setAutoDefault(False)
        self.allow_button.setEnabled(bool(listing.tools))
        self.no_button.setDefault(True)
        column(
            wrapped_label(title, "title"),
            self.place,
            *(wrapped_label(tr(fact), "muted") for fact in facts),
            (self.offer, 1),
            row(1, self.no_button, self.allow_button),
            margins=(SPACE.xl, SPACE.xl, SPACE.xl, SPACE.l),
            parent=self,
        )
        self.no_button.setFocus()
        self.resize(_WIDTH, _HEIGHT)


_ASKED = translatable("You are asked before each call, and see what is sent.")
_FOREIGN = translatable(
    "The texts below are the server's own. Allow them only if you trust whoever runs it."
)
_PROGRAM = translatable(
    "It is a program that runs on this computer, with all your rights. It gets what is sent as it "
    "is, with names and dates, and may hand that on."
)
_HERE = translatable(
    "It is at an address of this computer. It gets what is sent as it is, with names and dates, "
    "and may hand that on."
)
_REMOTE = translatable(
    "It is on another computer: names, ids and dates of the open studies and records are removed "
    "from what is sent to it."
)


def _reach(server: McpServer) -> str:
    if server.kind == "stdio":
        return _PROGRAM
    return _REMOTE if is_remote(server) else _HERE


def offer_text(listing: Listing, earlier: Listing | None) -> str:
    """Return all that a server says of its tools, marked where it differs from before."""
    before = {tool.name: tool for tool in earlier.tools} if earlier is not None else {}
    parts: list[str] = []
    for tool in listing.tools:
        mark = ""
        if earlier is not None and tool != before.get(tool.name):
            mark = tr("  (changed)") if tool.name in before else tr("  (new)")
        parts.append(f"{tool.name}{mark}\n{_described(tool)}")
    gone = sorted(before.keys() - {tool.name for tool in listing.tools})
    parts += [tr("{name}  (gone)").format(name=escaped(name)) for name in gone]
    if listing.left_out:
        parts.append(tr("Not used: {tools}").format(tools="; ".join(listing.left_out)))
    return "\n\n".join(parts) or tr("It offers no tools.")


def _described(tool: OfferedTool) -> str:
    described = escaped(tool.description).strip() or tr("(no description)")
    return f"{described}\n{tool.shown_schema}"
