"""Issue 18, "Must hold 3": what generated code gets at in each sandbox, as root and as a user.

Each attack is made in a plain process as well, where it succeeds: so a refusal is the sandbox's.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import pytest

from app.tools.sandbox.backends import Bubblewrap, Landlock
from tests.unit.tools.sandbox import support

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes of Linux")

NO_PROOF = {
    "replace_itself",
    "read_parent_by_call",
    "mount_something",
    "bpf",
    "performance_events",
    "calls_of_32_bits",
    "terminal_input",
}
"""Attacks that a plain process may not make either, or that show nothing there."""
ROOTS = {"read_as_root", "raise_limits", "user_fault", "change_root", "new_user_namespace"}
"""Attacks that an ordinary user can make on some systems only."""
KINDS = {"bubblewrap": Bubblewrap, "landlock": Landlock}
USER = """
import json, os
from pathlib import Path
from tests.unit.tools.sandbox import support
from app.tools.sandbox.backends import Bubblewrap, Landlock

home = Path(os.environ["HOME"])
found = {"plain": support.all_attacks(home / "plain", None), "user": os.getuid()}
for name, kind in {"bubblewrap": Bubblewrap, "landlock": Landlock}.items():
    sandbox = support.backend(kind)
    if sandbox is not None:
        found[name] = support.all_attacks(home / name, sandbox)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return support.all_attacks(tmp_path_factory.mktemp("plain") / "own", None)


@pytest.fixture(scope="module")
def users() -> dict[str, dict[str, str]]:
    """What an ordinary user's code gets, by sandbox."""
    if os.geteuid():
        pytest.skip("the other tests are an ordinary user's already")
    # Not in pytest's own folder, which that user may not enter.
    with tempfile.TemporaryDirectory(prefix="s-user-", dir="/tmp") as folder:
        try:
            printed = support.as_ordinary_user(USER, Path(folder))
        except support.NoOtherUser as error:
            pytest.skip(f"no other user here: {error}")
    return json.loads(printed.splitlines()[-1])


def succeeded(found: dict[str, str]) -> list[str]:
    return [f"{name}: {what}" for name, what in found.items() if not what.startswith("refused: ")]


def test_a_plain_process_gets_all_of_it(plain: dict[str, str]):
    owned = NO_PROOF | (ROOTS if os.geteuid() else set())
    failed = {name: what for name, what in plain.items() if what.startswith("refused")}
    assert not failed.keys() - owned


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_it_is_to_be_had_in_the_sandbox(kind: str, tmp_path: Path):
    sandbox = support.backend(KINDS[kind])
    if sandbox is None:
        pytest.skip(f"no {kind} here")
    found = support.all_attacks(tmp_path / "own", sandbox)
    assert len(found) > 55
    assert succeeded(found) == []
    assert (tmp_path / "own" / "home" / "outside").read_text("utf-8") == support.SECRET
    assert [one.name for one in (tmp_path / "own" / "home").iterdir()] == ["outside"]


def test_an_ordinary_user_s_code_gets_no_more(users: dict[str, dict[str, str]]):
    assert users.pop("user") == support.ORDINARY_USER
    plain = users.pop("plain")
    failed = {name for name, what in plain.items() if what.startswith("refused")}
    assert failed <= NO_PROOF | ROOTS
    assert users, "no sandbox for this user"
    assert [name for name, found in users.items() if succeeded(found)] == []
