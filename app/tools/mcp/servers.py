"""The MCP servers that the user has set up, and which of their tools the user has allowed.

A server is contacted only when the user tests it or a tool is called. What it offers was shown to
the user; the answer is kept with the offer in a file, and holds as long as program or address, and
names, descriptions and schemas of all its tools, stay the same.
"""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from app import paths
from app.errors import Cancelled, SightlineError, WorkerDied
from app.imaging.processes.workers import Worker
from app.secrets import key_name
from app.settings import McpServer
from app.tools.api import CancelToken, ToolFailed
from app.tools.mcp.offers import Listing, OfferedTool, identity, is_loopback
from app.user_files import UserFile, open_regular

URL_VARIABLE, DEBUG_VARIABLE = "MCP_SERVER_URL", "MCP_DEBUG"
FROM_ENVIRONMENT = "environment"
"""Name of the server at `MCP_SERVER_URL`; no other has it."""
LIST_S, CALL_S = 30.0, 300.0
_MARGIN_S = 10.0  # for the end of a server's program
_GRACE_S = 6.0
_HTTP_MEMORY = 2**30  # bytes; a started program would inherit a limit, and some need a lot
WHERE = "Settings > MCP servers"

_ENTRY = "app.tools.mcp.session:run"


@dataclass(frozen=True, slots=True)
class Consent:
    """The user's yes to a server's tools.

    Attributes:
        server: The program or address, as `offers.identity` writes it.
        listing: The tools as the user saw them.
        at: When, in ISO 8601.
        holds: False once the server has changed what it offers; the listing is kept to show what.
    """

    server: str
    listing: Listing
    at: str
    holds: bool = True

    def to_json(self) -> dict[str, Any]:
        """Return the form in the file."""
        listing = self.listing
        return {
            "server": self.server,
            "tools": [tool.to_json() for tool in listing.tools],
            "left_out": list(listing.left_out),
            "digest": listing.digest,
            "at": self.at,
            "holds": self.holds,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Consent:
        """Return what `to_json` wrote."""
        listing = Listing(
            tuple(OfferedTool.from_json(one) for one in data["tools"]),
            tuple(map(str, data["left_out"])),
            str(data["digest"]),
        )
        return cls(str(data["server"]), listing, str(data["at"]), data.get("holds") is not False)


def _parse(data: Any) -> dict[str, Consent]:
    return {str(name): Consent.from_json(one) for name, one in dict(data["servers"]).items()}


def _dump(consents: dict[str, Consent]) -> dict[str, Any]:
    return {"servers": {name: one.to_json() for name, one in consents.items()}}


class McpServers:
    """The servers and the user's consents. Thread-safe; what contacts a server blocks.

    Args:
        configured: Returns the servers of the settings.
        key: Returns the key of that name, as `app.secrets.Secrets.get` does.
        file: Where consents are kept; None for memory only.
        changed: Called with the name of a server whose consent was given or has ended, and whether
            it was given.
    """

    def __init__(
        self,
        configured: Callable[[], Sequence[McpServer]],
        key: Callable[[str], str],
        file: Path | None = None,
        changed: Callable[[str, bool], object] = lambda _name, _given: None,
    ) -> None:
        self._configured = configured
        self._key = key
        self._changed = changed
        what = "Your answers about MCP servers"
        self._file = UserFile[dict[str, Consent]](file, what, {}, _parse, _dump)

    def all(self) -> tuple[McpServer, ...]:
        """Return the servers of the settings, then the one that `MCP_SERVER_URL` names."""
        found = {one.name: one for one in self._configured() if one.name}
        url = os.environ.get(URL_VARIABLE, "").strip()
        if url:
            found[FROM_ENVIRONMENT] = McpServer(name=FROM_ENVIRONMENT, kind="rpc", url=url)
        return tuple(found.values())

    def consents(self) -> dict[str, Listing]:
        """Return what the user has allowed, by the names of servers."""
        servers = {server.name: identity(server) for server in self.all()}
        return {
            name: one.listing
            for name, one in self._file.read().items()
            if one.holds and one.server == servers.get(name)
        }

    def earlier(self, name: str) -> Listing | None:
        """Return what the user once allowed of a server, even if that holds no more; or None."""
        kept = self._file.read().get(name)
        return kept.listing if kept is not None else None

    def allow(self, server: McpServer, listing: Listing) -> None:
        """Keep the user's yes to what a server offers.

        Raises:
            OSError: It cannot be written.
        """
        now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        given = Consent(identity(server), listing, now)
        self._file.change(lambda kept: {**kept, server.name: given})
        self._changed(server.name, True)

    def forget(self, name: str) -> None:
        """Withdraw a consent; nothing happens if there is none.

        Raises:
            OSError: It cannot be written.
        """
        if name in self._file.read():
            self._file.change(lambda kept: {key: one for key, one in kept.items() if key != name})
            self._changed(name, False)

    def _void(self, name: str) -> None:
        def change(kept: dict[str, Consent]) -> dict[str, Consent]:
            return {**kept, name: replace(kept[name], holds=False)} if name in kept else kept

        self._file.change(change)
        self._changed(name, False)

    def listing(self, server: McpServer, cancel: CancelToken, key: str | None = None) -> Listing:
        """Ask a server for its tools; `key` None for the one that is kept.

        Raises:
            ToolFailed: It cannot be reached or understood.
            Cancelled: `cancel` was set.
        """
        return _listing(self._ask(server, {}, cancel, LIST_S, key))

    def call(
        self,
        server: McpServer,
        tool: str,
        arguments: Mapping[str, Any],
        cancel: CancelToken,
        out_dir: Path,
    ) -> dict[str, Any]:
        """Call a tool of a server; see `session.run` for what is returned.

        Raises:
            ToolFailed: The server is not allowed or has changed what it offers, which ends the
                consent; or it cannot be reached, or reports an error.
            Cancelled: `cancel` was set.
        """
        allowed = self.consents().get(server.name)
        current = {one.name: one for one in self.all()}.get(server.name)
        if allowed is None or current is None or identity(current) != identity(server):
            raise ToolFailed(
                f"the tools of {server.name} are not allowed any more; nothing was sent",
                remedy=f"Look at them under {WHERE}.",
            )
        wanted = {
            "tool": tool,
            "arguments": dict(arguments),
            "digest": allowed.digest,
            "out_dir": str(out_dir),
        }
        answer = self._ask(server, wanted, cancel, CALL_S)
        if answer["digest"] != allowed.digest:
            with suppress(OSError):
                self._void(server.name)
            raise ToolFailed(
                f"{server.name} has changed its tools since you allowed them; nothing was sent",
                remedy=f"They are off. Look at them anew under {WHERE}.",
            )
        return answer

    def _ask(
        self,
        server: McpServer,
        wanted: Mapping[str, Any],
        cancel: CancelToken,
        limit_s: float,
        key: str | None = None,
    ) -> dict[str, Any]:
        _check(server)
        if key is None:
            key = self._key(key_of(server)) if key_of(server) else ""
        variables = {name: os.environ[name] for name in server.env if name in os.environ}
        payload = {
            "server": {**server.model_dump(mode="json"), "variables": variables},
            "key": key,
            "limit_s": limit_s,
            **wanted,
        }
        started, outcome = time.monotonic(), "ok"
        worker = Worker(
            "MCP",
            memory_limit_bytes=None if server.kind == "stdio" else _HTTP_MEMORY,
            env={"OMP_NUM_THREADS": str(os.cpu_count() or 1)},  # a started program's limit of CPU
            nice=0,
            quiet=True,
        )
        try:
            return worker.call(
                _ENTRY, payload, timeout_s=limit_s + _MARGIN_S, cancel=cancel, grace_s=_GRACE_S
            )
        except WorkerDied as error:
            outcome = "died"
            raise ToolFailed(
                f"{server.name} could not be followed: {error.reason}",
                remedy="Ask whoever runs the server.",
            ) from error
        except Cancelled:
            outcome = "cancelled"
            raise
        except ToolFailed as error:
            outcome = error.reason
            raise
        except SightlineError as error:
            outcome = type(error).__name__
            raise ToolFailed(error.reason, remedy=error.remedy, detail=error.detail) from error
        finally:
            worker.close()
            what = "tools/call" if "tool" in wanted else "tools/list"
            _debug(server, what, outcome, time.monotonic() - started)


def _check(server: McpServer) -> None:
    """Raise ToolFailed where a server's settings cannot be used."""
    if server.kind == "stdio":
        wrong = "" if server.command.strip() else "its command is missing"
    else:
        wrong = "" if host_of(server) else "its address is not one (https://name/path)"
    if wrong:
        raise ToolFailed(f"{server.name}: {wrong}", remedy=f"Mend it under {WHERE}.")


def _listing(answer: Mapping[str, Any]) -> Listing:
    tools = tuple(OfferedTool.from_json(one) for one in answer["tools"])
    return Listing(tools, tuple(map(str, answer["left_out"])), str(answer["digest"]))


def key_of(server: McpServer) -> str:
    """Return the name of a server's key in `app.secrets`; "" for a program of this computer."""
    return "" if server.kind == "stdio" else key_name("mcp", server.url)


def host_of(server: McpServer) -> str:
    """Return the host of a server's address, with a port that is written; "" for a program."""
    if server.kind == "stdio":
        return ""
    try:
        parts = urlsplit(server.url.strip())
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    plain = parts.scheme in ("http", "https") and parts.hostname and parts.username is None
    return f"{parts.hostname}{port}" if plain else ""


def is_remote(server: McpServer) -> bool:
    """Return whether what a server is sent leaves this computer by an address."""
    if server.kind == "stdio":
        return False
    return not is_loopback(urlsplit(server.url.strip()).hostname or "")


def _debug(server: McpServer, what: str, outcome: str, seconds: float) -> None:
    """Write a line to mcp_debug.log if `MCP_DEBUG` is set; nothing of what was sent is in it."""
    if os.environ.get(DEBUG_VARIABLE, "").strip().lower() not in ("1", "true", "yes", "on"):
        return
    now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
    place = host_of(server) or "program"
    # An error may quote the server, which may quote what it was sent.
    told = outcome.partition('"')[0].strip(" :")
    line = f"{now} {server.name} {server.kind} {place} {what} {seconds:.2f} s: {told}\n"
    with suppress(OSError), open_regular(paths.log_dir() / "mcp_debug.log", append=True) as file:
        file.write(line.encode("utf-8"))
