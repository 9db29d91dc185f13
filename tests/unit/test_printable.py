"""Nothing that stands in a file steers a terminal, or gets into the log."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.cli import main
from app.errors import FileProblem, SightlineError, printable
from app.imaging.processes.futures import outcome_of
from tests.unit.imaging.files import make_dicom

pytestmark = pytest.mark.usefixtures("forked")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb\r\t\0", "a\\nb\\r\\t\\x00"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("Müller 山田 ~", "Müller 山田 ~"),
        ("\udcff", "\udcff"),
    ],
)
def test_control_characters_are_shown_and_not_sent(text: str, shown: str):
    assert printable(text) == shown


def test_lines_are_kept_where_they_are_meant():
    assert printable("a\nb\x1b", lines=True) == "a\nb\\x1b"


def test_info_does_not_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    evil = "\x1b]0;title\x07"
    make_dicom(tmp_path / "\x1b[31mred.dcm", np.zeros((4, 4), np.uint16), SeriesDescription=evil)
    (tmp_path / "junk\x1b[2J\n").write_bytes(b"junk")
    assert main(["info", str(tmp_path)]) == 0
    out = capsys.readouterr()
    assert "title" in out.out
    assert "no image" in out.out or "not an image" in out.out
    assert "\x1b" not in out.out + out.err
    assert "\x07" not in out.out + out.err


def test_a_traceback_keeps_the_lines_of_code_and_loses_what_stood_in_the_file():
    reply: Future[dict[str, Any]] = Future()
    detail = (
        'Traceback (most recent call last):\n  File "/x/app/a.py", line 1, in f\n    int(value)\n'
        "ValueError: invalid literal for int() with base 10: 'Doe^Jane'\n"
    )
    reply.set_exception(SightlineError("an unexpected error (ValueError)", detail=detail))
    error = outcome_of(reply, Path("/a.dcm"), lambda message: message)
    assert isinstance(error, FileProblem)
    assert "Jane" not in error.detail
    assert "a.py" in error.detail
    assert error.detail.endswith("ValueError")
