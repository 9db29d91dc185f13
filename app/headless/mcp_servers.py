"""The command `mcp-servers`: which MCP servers there are, what they offer, what is allowed."""

from __future__ import annotations

import sys

from app.errors import CancelToken, SightlineError, UsageError, printable
from app.headless.common import is_agreed, open_program, print_json
from app.settings import McpServer
from app.tools.mcp.offers import Listing, place_of
from app.wiring import Program


def list_servers(*, as_json: bool) -> int:
    """Print the servers and how many of their tools are allowed; return 0."""
    with open_program() as program:
        consents = program.mcp.consents()
        rows = [
            {
                "name": one.name,
                "kind": one.kind,
                "where": place_of(one),
                "tools": [tool.name for tool in consents[one.name].tools]
                if one.name in consents
                else None,
            }
            for one in program.mcp.all()
        ]
    if as_json:
        print_json(rows)
        return 0
    for row in rows:
        allowed = "not allowed yet" if row["tools"] is None else f"allowed: {row['tools']}"
        print(printable(f"{row['name']}  [{row['kind']}]  {row['where']}  {allowed}"))
    if not rows:
        print("No MCP server is set up.", file=sys.stderr)
    return 0


def look(name: str, *, as_json: bool) -> int:
    """Ask a server for its tools, and print them; return 0."""
    with open_program() as program:
        server = _server(program, name)
        listing = program.mcp.listing(server, CancelToken())
        if as_json:
            print_json([tool.to_json() for tool in listing.tools])
        else:
            _print(server, listing)
    return 0


def allow(name: str, digest: str = "") -> int:
    """Show what a server offers, and let the assistant use it after a yes; return the exit code.

    `digest` stands for the yes where nobody can be asked: that of the offer, as `look` prints it.
    """
    with open_program() as program:
        server = _server(program, name)
        listing = program.mcp.listing(server, CancelToken())
        _print(server, listing)
        if digest and digest != listing.digest:
            raise SightlineError(
                f"{name} offers something else than what was looked at",
                remedy="Look at it again.",
            )
        if not digest and not is_agreed(f"May the assistant use these tools of {name}?"):
            raise SightlineError(
                "nothing is allowed: nobody said yes",
                remedy=f"Answer at the terminal, or give --digest {listing.digest}.",
            )
        program.mcp.allow(server, listing)
        print(f"sightline: the tools of {name} are allowed.", file=sys.stderr)
    return 0


def withdraw(name: str) -> int:
    """Forget that a server's tools were allowed; return 0."""
    with open_program() as program:
        program.mcp.forget(_server(program, name).name)
    return 0


def _server(program: Program, name: str) -> McpServer:
    servers = {one.name: one for one in program.mcp.all()}
    if name not in servers:
        raise UsageError(
            f"there is no MCP server {name!r}",
            remedy=f"There are: {', '.join(servers) or 'none'}.",
        )
    return servers[name]


def _print(server: McpServer, listing: Listing) -> None:
    print(printable(f"{server.name}: {place_of(server)}"))
    print("What follows is the server's own text.")
    for tool in listing.tools:
        print(printable(f"\n{tool.name}\n{tool.description}\n{tool.shown_schema}", lines=True))
    for reason in listing.left_out:
        print(printable(f"Not used: {reason}"))
    print(f"\nDigest: {listing.digest}")
