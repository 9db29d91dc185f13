"""With its settings as they come, nothing of Sightline speaks to any other machine.

Seen from outside, by the kernel's own record of every process: each address that is connected to,
sent to or listened on is one of this machine's.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from app.imaging.demo import demo_paths
from installer.console import Console
from installer.system import virtual_display
from tests.support.socket_calls import Traced, traced, why_not

pytestmark = pytest.mark.e2e
QUESTION = "Where are the lungs, and is the heart enlarged?"
APP = [sys.executable, "-m", "app"]
OUTSIDE = "192.0.2.1"
"""TEST-NET-1 (RFC 5737): belongs to nobody, and nothing answers."""


@pytest.fixture(scope="module", autouse=True)
def tracing() -> None:
    reason = why_not()
    if reason:
        pytest.skip(reason)


def run(tmp_path: Path, command: list[str], **env: str) -> Traced:
    home = {"SIGHTLINE_HOME": str(tmp_path / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
    return traced(command, tmp_path, {"QT_QPA_PLATFORM": "offscreen", **home, **env})


CONTROLS = {
    "connect": "s.connect(a)",
    "send": "s.sendto(b'x', a)",
    "message": "s.sendmsg([b'x'], [], 0, a)",
    "listen": "s.bind(('0.0.0.0', 0))",
    "name server": "socket.getaddrinfo('sightline.invalid', 80)",
    "in a child": "import os; os.fork() or (s.connect(a), os._exit(0)); os.wait()",
    "IPv6": "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).connect(('2001:db8::1', 9))",
    "mapped": "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).connect(('::ffff:192.0.2.1', 9))",
}


@pytest.mark.parametrize("what", CONTROLS)
def test_what_does_reach_for_another_machine_is_found(tmp_path: Path, what: str):
    """The check can fail: for each way to another machine there is a program that takes it."""
    head = f"import contextlib, socket\na = ('{OUTSIDE}', 9)\n"
    head += "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    code = f"{head}with contextlib.suppress(OSError):\n    {CONTROLS[what]}\n"
    assert run(tmp_path, [sys.executable, "-c", code]).outside()


def test_this_machines_own_addresses_are_no_finding(tmp_path: Path):
    code = """if True:
        import socket
        for family, own in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            s = socket.socket(family, socket.SOCK_DGRAM)
            s.bind((own, 0))
            s.connect(s.getsockname())"""
    done = run(tmp_path, [sys.executable, "-c", code])
    assert done.returncode == 0, done.output
    assert len(done.names("connect")) == 2
    assert done.outside() == []


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed (viewer only)")
def test_a_question_on_the_command_line_reaches_no_other_machine(tmp_path: Path):
    image = str(demo_paths()[0])
    done = run(tmp_path, [*APP, "ask", QUESTION, "--image", image, "--out", str(tmp_path / "out")])
    assert done.returncode == 0, done.output
    assert "ratio" in done.output.lower(), "the tools ran"
    assert done.outside() == []


@pytest.fixture
def display() -> Iterator[dict[str, str]]:
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    with virtual_display(Console()) as variables:
        yield variables


def test_the_window_with_a_question_reaches_no_other_machine(
    tmp_path: Path, display: dict[str, str]
):
    picture = tmp_path / "x.png"
    asked = ["--ask", "Convert the image to PNG with dicom_processor"]
    done = run(tmp_path, [*APP, "--demo", *asked, "--screenshot", str(picture)], **display)
    assert done.returncode == 0, done.output
    assert picture.exists()
    assert any("AF_UNIX" in line for line in done.names("connect")), "it spoke to the X server"
    assert done.outside() == []
