"""The audit log: any edit is found, several programs write it at once, and a kill loses nothing."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from io import FileIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.audit import AuditFailed, AuditLog
from app.audit import log as audit_log
from app.audit.entries import (
    GENESIS,
    HEAD_BYTES,
    HEAD_NAME,
    MAX_LINE_BYTES,
    Head,
    Keys,
    decode_head,
    encode,
    encode_head,
    mac_of,
    read_entries,
    segment_path,
    segments,
    signed,
)
from app.audit.verification import verify
from app.errors import SightlineError

SECRET = b"a secret of thirty-two bytes....."
OTHER = b"another secret of as many bytes.."


def written(folder: Path, count: int = 6, *, segment_bytes: int = 8_000_000) -> Path:
    """A log with a few actions."""
    log = AuditLog(folder, SECRET, segment_bytes=segment_bytes)
    for number in range(count):
        log.record("tool_started", {"tool": "x_ray", "number": number})
    return folder


def lines_of(folder: Path, segment: int = 1) -> list[bytes]:
    return segment_path(folder, segment).read_bytes().splitlines(keepends=True)


def put_lines(folder: Path, lines: list[bytes], segment: int = 1) -> None:
    segment_path(folder, segment).write_bytes(b"".join(lines))


def actions(folder: Path) -> list[str]:
    return [entry.action for entry in read_entries(folder)]


def test_what_was_recorded_is_there_in_order_and_verifies(tmp_path: Path):
    folder = written(tmp_path / "audit", 3)
    found = list(read_entries(folder))
    assert [entry.number for entry in found] == [1, 2, 3, 4]
    assert [entry.action for entry in found] == ["segment", *["tool_started"] * 3]
    assert found[2].facts == {"tool": "x_ray", "number": 1}
    report = verify(folder, SECRET)
    assert report.ok, report.problems
    assert report.lines == 4
    assert report.first <= report.last != ""


def test_no_log_at_all_is_in_order(tmp_path: Path):
    assert verify(tmp_path / "none", SECRET).ok


@pytest.mark.slow
def test_a_flip_of_any_single_byte_of_any_file_is_found(tmp_path: Path):
    folder = written(tmp_path / "audit", 4, segment_bytes=700)
    assert len(segments(folder)) >= 2
    unseen: list[tuple[str, int]] = []
    for path in sorted(folder.iterdir()):
        if path.name == "lock":
            continue
        whole = path.read_bytes()
        with path.open("r+b", buffering=0) as file:
            for place, byte in enumerate(whole):
                file.seek(place)
                file.write(bytes([byte ^ 1 << (place % 8)]))
                if verify(folder, SECRET).ok:
                    unseen.append((path.name, place))
                file.seek(place)
                file.write(bytes([byte]))
    assert not unseen
    assert verify(folder, SECRET).ok


@pytest.mark.parametrize(
    ("edit", "line"),
    [
        (lambda lines: lines.pop(2), 3),
        (lambda lines: lines.pop(0), 1),
        (lambda lines: lines.insert(3, lines[2]), 4),
        (lambda lines: lines.insert(2, lines[5]), 3),
        (lambda lines: lines.__setitem__(slice(2, 4), [lines[3], lines[2]]), 3),
        (lambda lines: lines.__setitem__(4, lines[4].replace(b'"number":3', b'"number":4')), 5),
        (lambda lines: lines.__setitem__(4, lines[4].replace(b",", b", ", 1)), 5),
        (lambda lines: lines.insert(4, b"\n"), 5),
        (lambda lines: lines.insert(1, b'{"n":2,"t":"","a":"x","f":{}}\n'), 2),
    ],
    ids=[
        "delete",
        "first-deleted",
        "duplicate",
        "copy",
        "swap",
        "change",
        "space",
        "blank",
        "insert",
    ],
)
def test_an_edit_of_lines_is_found_at_its_line(tmp_path: Path, edit, line: int):  # noqa: ANN001
    folder = written(tmp_path / "audit")
    lines = lines_of(folder)
    edit(lines)
    put_lines(folder, lines)
    report = verify(folder, SECRET)
    assert not report.ok
    assert min(problem.line for problem in report.problems if problem.segment == 1) == line


@pytest.mark.parametrize("left", range(7))
def test_lines_cut_off_the_end_are_found(tmp_path: Path, left: int):
    folder = written(tmp_path / "audit")
    put_lines(folder, lines_of(folder)[:left])
    report = verify(folder, SECRET)
    assert not report.ok
    assert f"lines are missing after it: {left + 1} to 7" in str(report.problems)


def test_a_number_that_is_left_out_is_found_also_behind_a_genuine_line(tmp_path: Path):
    folder = written(tmp_path / "audit")
    lines, keys = lines_of(folder), Keys(SECRET)
    text = encode(8, "", "tool_started", {})
    lines[-1] = signed(text, keys.line_mac(mac_of(lines[-2][:-1]), text))
    put_lines(folder, lines)
    assert "line 7 is missing before it" in str(verify(folder, SECRET).problems)


def test_a_cut_in_the_middle_of_the_last_line_is_found(tmp_path: Path):
    folder = written(tmp_path / "audit")
    path = segment_path(folder, 1)
    whole = path.read_bytes()
    last = whole.rfind(b"\n", 0, -1) + 1
    for size in range(last, len(whole)):
        path.write_bytes(whole[:size])
        assert not verify(folder, SECRET).ok, size


def test_a_missing_head_is_found_and_stays_found_when_the_log_goes_on(tmp_path: Path):
    folder = written(tmp_path / "audit")
    put_lines(folder, lines_of(folder)[:4])
    (folder / HEAD_NAME).unlink()
    assert "head is missing" in verify(folder, SECRET).problems[0].text
    AuditLog(folder, SECRET).record("later")
    report = verify(folder, SECRET)
    assert [problem.segment for problem in report.problems] == [2]
    assert "head was gone" in report.problems[0].why


def test_a_log_that_was_cut_is_not_mended_over_but_told_of_for_good(tmp_path: Path):
    folder = written(tmp_path / "audit")
    put_lines(folder, lines_of(folder)[:4])
    log = AuditLog(folder, SECRET)
    log.record("later")
    log.record("later still")
    report = verify(folder, SECRET)
    assert any("did not end as it was left" in problem.why for problem in report.problems)
    assert actions(folder)[-2:] == ["later", "later still"]
    assert list(read_entries(folder))[-1].number == 10


@pytest.mark.parametrize("gone", [1, 2, 3])
def test_a_missing_file_in_the_middle_is_found(tmp_path: Path, gone: int):
    folder = written(tmp_path / "audit", 12, segment_bytes=700)
    assert len(segments(folder)) > 3
    segment_path(folder, gone).unlink()
    assert any(problem.segment == gone for problem in verify(folder, SECRET).problems)


def test_a_file_put_behind_the_last_is_found(tmp_path: Path):
    folder = written(tmp_path / "audit")
    shutil.copy(segment_path(folder, 1), segment_path(folder, 2))
    assert "not part of the log" in verify(folder, SECRET).problems[0].why


def test_a_chain_made_anew_without_the_key_is_found(tmp_path: Path):
    folder = written(tmp_path / "audit")
    keys, last, lines = Keys(OTHER), GENESIS, list[bytes]()
    for line in lines_of(folder):
        text = line[: line.rindex(b',"mac":')].replace(b"x_ray", b"other")
        lines.append(signed(text, keys.line_mac(last, text)))
        last = mac_of(lines[-1][:-1])
    put_lines(folder, lines)
    size = segment_path(folder, 1).stat().st_size
    head = encode_head(keys, Head(len(lines), 1, size, last))
    (folder / HEAD_NAME).write_bytes(head)
    assert verify(folder, OTHER).ok  # it is a log in order, by the forger's key
    report = verify(folder, SECRET)
    assert "another key" in report.problems[0].text
    assert report.problems[1].line == 1


def test_an_older_copy_of_everything_is_found_by_an_end_that_was_noted(tmp_path: Path):
    folder = written(tmp_path / "audit")
    shutil.copytree(folder, tmp_path / "copy")
    AuditLog(folder, SECRET).record("data_sent", {"host": "example"})
    anchor = verify(folder, SECRET).anchor
    assert verify(folder, SECRET, anchor=anchor).ok
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "copy", folder)
    # Without the noted end nothing tells: docs/privacy.md says so.
    assert verify(folder, SECRET).ok
    assert "older copy" in verify(folder, SECRET, anchor=anchor).problems[0].why
    with pytest.raises(ValueError, match="anchor"):
        verify(folder, SECRET, anchor="yesterday")


def test_an_older_copy_put_in_place_while_a_program_runs_is_found(tmp_path: Path):
    folder = tmp_path / "audit"
    log = AuditLog(folder, SECRET)
    log.record("one")
    shutil.copytree(folder, tmp_path / "copy")
    log.record("data_sent", {"host": "example"})
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "copy", folder)
    log.record("three")
    assert any("older copy" in problem.why for problem in verify(folder, SECRET).problems)


def test_a_folder_taken_away_while_a_program_runs_is_found(tmp_path: Path):
    folder = tmp_path / "audit"
    log = AuditLog(folder, SECRET)
    log.record("one")
    shutil.rmtree(folder)
    log.record("two")
    assert not verify(folder, SECRET).ok


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["cut", "insert", "replace", "swap", "truncate"]),
        st.integers(0, 10_000),
        st.integers(1, 400),
        st.binary(min_size=1, max_size=20),
    ),
    min_size=1,
    max_size=3,
)


def edited(data: bytes, edit: tuple[str, int, int, bytes]) -> bytes:
    how, start, count, text = edit
    start %= len(data) or 1
    end = min(start + count, len(data))
    match how:
        case "cut":
            return data[:start] + data[end:]
        case "insert":
            return data[:start] + text + data[start:]
        case "replace":
            return data[:start] + text + data[start + len(text) :]
        case "swap":
            return data[:start] + data[end:] + data[start:end]
        case _:
            return data[:start]


@settings(max_examples=150, deadline=None)
@given(edits=EDITS, name=st.sampled_from(["audit-000001.jsonl", "audit-000002.jsonl", "head"]))
def test_any_edit_of_any_file_is_found(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, int, int, bytes]], name: str
):
    folder = tmp_path_factory.getbasetemp() / "property"
    if not folder.exists():
        written(folder, 8, segment_bytes=1_200)
    path = folder / name
    before = path.read_bytes()
    after = before
    for edit in edits:
        after = edited(after, edit)
    try:
        path.write_bytes(after)
        assert verify(folder, SECRET).ok == (after == before)
    finally:
        path.write_bytes(before)


@settings(max_examples=60, deadline=None)
@given(edits=EDITS, name=st.sampled_from(["audit-000001.jsonl", "audit-000002.jsonl", "head"]))
def test_an_edit_stays_found_when_programs_go_on_writing(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, int, int, bytes]], name: str
):
    base = tmp_path_factory.getbasetemp()
    if not (base / "original").exists():
        written(base / "original", 8, segment_bytes=1_200)
    folder = base / "goes-on"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base / "original", folder)
    path = folder / name
    before = after = path.read_bytes()
    for edit in edits:
        after = edited(after, edit)
    path.write_bytes(after)
    for number in range(3):
        AuditLog(folder, SECRET, segment_bytes=1_200).record("later", {"number": number})
    assert verify(folder, SECRET).ok == (after == before)
    later = [entry.facts["number"] for entry in read_entries(folder) if entry.action == "later"]
    assert later == [0, 1, 2]
    begun = [entry.facts.get("why") for entry in read_entries(folder)]
    assert sum(why in ("changed", "head lost") for why in begun) <= 1, "told once, not each time"


def test_a_line_that_a_kill_cut_off_is_finished_and_that_is_recorded(tmp_path: Path):
    """Whatever part of it was there: the line stands in the head's file first."""
    whole = written(tmp_path / "whole", 2)
    line = lines_of(whole)[-1]
    for count in range(len(line) + 1):
        folder = tmp_path / f"cut-{count}"
        before_last(whole, folder, count)
        report = verify(folder, SECRET)
        assert report.ok, (count, report.problems)
        assert bool(report.notes) == (count > 0)
        AuditLog(folder, SECRET).record("after")
        assert actions(folder) == ["segment", "tool_started", "tool_started", "mended", "after"]
        mended = list(read_entries(folder))[3]
        assert mended.facts == {"line": 3, "missing": len(line) - count}
        assert verify(folder, SECRET).ok
        shutil.rmtree(folder)


def before_last(whole: Path, folder: Path, count: int) -> None:
    """The log as a kill leaves it: the head says one line less, `count` bytes of the last there."""
    shutil.copytree(whole, folder)
    lines = lines_of(folder)
    *before, line = lines
    put_lines(folder, [*before, line[:count]])
    keys = Keys(SECRET)
    size = len(b"".join(before))
    head = Head(len(before), 1, size, mac_of(before[-1][:-1]), line)
    (folder / HEAD_NAME).write_bytes(encode_head(keys, head))


def test_a_kill_while_a_new_file_is_begun_is_mended(tmp_path: Path):
    folder = written(tmp_path / "audit", 1, segment_bytes=10)
    assert segments(folder) == [1, 2]
    header, _ = lines_of(folder, 2)
    first = lines_of(folder)
    put_lines(folder, [header[:30]], 2)
    size = len(b"".join(first))
    head = Head(len(first), 1, size, mac_of(first[-1][:-1]), header)
    (folder / HEAD_NAME).write_bytes(encode_head(Keys(SECRET), head))
    assert verify(folder, SECRET).ok
    AuditLog(folder, SECRET).record("after")
    assert verify(folder, SECRET).ok
    assert actions(folder)[-3:] == ["segment", "mended", "after"]


class Killed(BaseException):
    """The program ends here: nothing of it runs any more."""


@pytest.mark.parametrize("segment_bytes", [8_000_000, 200])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("call", range(9))
def test_a_kill_at_any_write_leaves_a_log_in_order_and_no_action_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int, share: float, segment_bytes: int
):
    """The first line of a log, a line of its first file, and one that begins the next file."""
    folder = tmp_path / "audit"
    left, whole = [call], audit_log._write_all

    def write(file: FileIO, data: bytes) -> None:
        left[0] -= 1
        if left[0] < 0:
            # A kill tears no write of a page, which is what the head's file is.
            torn = round(share) if len(data) == HEAD_BYTES else share
            file.write(data[: int(len(data) * torn)])
            raise Killed
        whole(file, data)

    monkeypatch.setattr(audit_log, "_write_all", write)
    with contextlib.suppress(Killed):
        log = AuditLog(folder, SECRET, segment_bytes=segment_bytes)
        for number in range(3):
            log.record("tool_started", {"number": number})
    monkeypatch.setattr(audit_log, "_write_all", whole)
    assert verify(folder, SECRET).ok, verify(folder, SECRET).problems
    AuditLog(folder, SECRET, segment_bytes=segment_bytes).record("after")
    assert verify(folder, SECRET).ok, verify(folder, SECRET).problems
    numbers = [entry.facts["number"] for entry in read_entries(folder) if "number" in entry.facts]
    assert numbers == list(range(len(numbers)))
    assert actions(folder)[-1] == "after"


def test_other_remains_than_those_of_a_kill_are_an_edit(tmp_path: Path):
    whole = written(tmp_path / "whole", 2)
    before_last(whole, tmp_path / "cut", 40)
    path = segment_path(tmp_path / "cut", 1)
    path.write_bytes(path.read_bytes()[:-1] + b"~")
    assert not verify(tmp_path / "cut", SECRET).ok
    AuditLog(tmp_path / "cut", SECRET).record("after")
    assert not verify(tmp_path / "cut", SECRET).ok


WRITER = """
import sys
from pathlib import Path
from app.audit import AuditLog

if __name__ == "__main__":
    log = AuditLog(Path(sys.argv[1]), {secret!r}, segment_bytes=20_000)
    for number in range(int(sys.argv[2])):
        log.record("tool_started", {{"writer": sys.argv[3], "number": number, "pad": "x" * 300}})
        if number == 20:
            print("going", flush=True)
"""


def start_writer(tmp_path: Path, folder: Path, count: int, name: str) -> subprocess.Popen[str]:
    script = tmp_path / "writer.py"
    if not script.exists():
        script.write_text(WRITER.format(secret=SECRET))
    command = [sys.executable, str(script), str(folder), str(count), name]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_several_programs_and_threads_write_one_chain_and_a_kill_breaks_none(tmp_path: Path):
    folder = tmp_path / "audit"
    killed = start_writer(tmp_path, folder, 10**9, "killed")
    others = [start_writer(tmp_path, folder, 200, name) for name in ("a", "b")]
    mine = AuditLog(folder, SECRET)

    def work(name: str) -> None:
        for number in range(50):
            mine.record("tool_started", {"writer": name, "number": number})

    threads = [threading.Thread(target=work, args=(f"thread {number}",)) for number in range(3)]
    for thread in threads:
        thread.start()
    assert killed.stdout is not None
    assert killed.stdout.readline() == "going\n"
    killed.send_signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
    for process in (killed, *others):
        process.communicate()
    for thread in threads:
        thread.join()
    mine.record("last")
    report = verify(folder, SECRET)
    assert report.ok, report.problems[:3]
    by_writer: dict[str, list[int]] = {}
    for entry in read_entries(folder):
        if entry.action == "tool_started":
            by_writer.setdefault(entry.facts["writer"], []).append(entry.facts["number"])
    assert len(by_writer.pop("killed")) >= 20
    expected = {"a": 200, "b": 200, "thread 0": 50, "thread 1": 50, "thread 2": 50}
    assert by_writer == {name: list(range(count)) for name, count in expected.items()}
    assert len(segments(folder)) > 3


def test_a_log_that_cannot_be_written_says_so_and_loses_nothing(tmp_path: Path):
    folder = tmp_path / "audit"
    folder.write_text("a file where the folder should be")
    log = AuditLog(folder, SECRET)
    with pytest.raises(AuditFailed, match="cannot be written") as caught:
        log.record("one")
    assert caught.value.remedy
    assert log.problem
    folder.unlink()
    log.record("two")
    assert not log.problem
    assert actions(folder) == ["segment", "one", "two"]


@pytest.mark.parametrize("segment_bytes", [8_000_000, 200])
@pytest.mark.parametrize("call", range(6))
def test_a_full_disk_leaves_no_half_line_and_no_line_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int, segment_bytes: int
):
    """Whichever of its writes fails in the middle: the journal's, the line's, the head's."""
    folder = tmp_path / "audit"
    log = AuditLog(folder, SECRET, segment_bytes=segment_bytes)
    log.record("before")
    calls: list[int] = []
    whole = audit_log._write_all

    def full(file: FileIO, data: bytes) -> None:
        calls.append(1)
        if len(calls) == call + 1:
            file.write(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        whole(file, data)

    monkeypatch.setattr(audit_log, "_write_all", full)
    failed = False
    try:
        log.record("data_sent")
    except AuditFailed:
        failed = True
    assert failed == (len(calls) > call)
    monkeypatch.setattr(audit_log, "_write_all", whole)
    assert verify(folder, SECRET).ok
    log.record("after")
    assert verify(folder, SECRET).ok
    told = [action for action in actions(folder) if action != "segment"]
    assert told == ["before", "data_sent", "after"]


def test_a_key_that_cannot_be_had_keeps_the_log_from_being_written(tmp_path: Path):
    def no_key() -> bytes:
        raise SightlineError("the keyring is locked", remedy="Unlock it.")

    with pytest.raises(AuditFailed, match="keyring is locked"):
        AuditLog(tmp_path / "audit", no_key).record("one")


def test_another_key_begins_another_file_and_is_told(tmp_path: Path):
    folder = written(tmp_path / "audit", 2)
    AuditLog(folder, OTHER).record("later")
    for secret in (SECRET, OTHER):
        assert not verify(folder, secret).ok
    assert actions(folder)[-1] == "later"


def test_lines_are_safe_from_a_power_cut_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(handle))
    log = AuditLog(tmp_path / "audit", SECRET)
    log.record("tool_started")
    assert not synced
    log.record("data_sent", sync=True)
    assert len(synced) >= 2


@pytest.mark.parametrize(
    "facts",
    [
        {"text": "x" * 10_000},
        {"many": list(range(5_000))},
        {str(number): "y" * 300 for number in range(50)},
        {"odd": "\ud800 \x00 \u2028 äöü", "path": Path("x")},
        {"k" * 5_000: "\U0001f600" * 500},
    ],
)
def test_facts_of_any_size_and_kind_are_one_line_of_at_most_a_page(
    tmp_path: Path, facts: dict[str, object]
):
    log = AuditLog(tmp_path / "audit", SECRET)
    log.record("odd", facts)
    (_, line) = lines_of(tmp_path / "audit")
    assert len(line) <= MAX_LINE_BYTES
    assert json.loads(line)["a"] == "odd"
    assert verify(tmp_path / "audit", SECRET).ok


def test_the_head_holds_no_more_than_its_room():
    head = Head(10**14, 10**8, 10**14, "f" * 64, b"x" * (MAX_LINE_BYTES - 1) + b"\n")
    data = encode_head(Keys(SECRET), head)
    assert len(data) == HEAD_BYTES
    assert decode_head(Keys(SECRET), data) == (head, Keys(SECRET).id)
    assert decode_head(Keys(OTHER), data) == (None, Keys(SECRET).id)


def test_a_log_of_the_first_format_is_verified_and_goes_on(tmp_path: Path):
    """Its head was 512 signed bytes, and behind them the last line, unsigned."""
    folder = written(tmp_path / "audit")
    lines, keys = lines_of(folder), Keys(SECRET)
    size = segment_path(folder, 1).stat().st_size
    signed_head = encode_head(keys, Head(7, 1, size, mac_of(lines[-1][:-1])))[:511].rstrip()
    first_format = signed_head.ljust(511) + b"\n" + lines[-1].ljust(HEAD_BYTES - 512)
    (folder / HEAD_NAME).write_bytes(first_format)
    assert verify(folder, SECRET).ok
    AuditLog(folder, SECRET).record("later")
    assert verify(folder, SECRET).ok, verify(folder, SECRET).problems
    assert actions(folder)[-2:] == ["tool_started", "later"]
    put_lines(folder, lines_of(folder)[:4])
    assert not verify(folder, SECRET).ok


def test_files_are_the_users_own(tmp_path: Path):
    if sys.platform == "win32":
        pytest.skip("Windows keeps a profile's files to its user")
    folder = written(tmp_path / "audit", 1)
    modes = {path.name: path.stat().st_mode & 0o077 for path in (folder, *folder.iterdir())}
    assert set(modes.values()) == {0}


def test_names_of_images_need_the_key():
    uid = "1.2.840.113619.2.5.1"
    name = Keys(SECRET).name("image", uid)
    assert name == Keys(SECRET).name("image", uid)
    assert name not in (Keys(OTHER).name("image", uid), Keys(SECRET).name("file", uid))
    assert uid not in name
    assert len(name) == 24


def test_a_lock_that_is_not_let_go_of_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(audit_log, "_LOCK_WAIT_S", 0.01)
    folder = written(tmp_path / "audit", 1)
    log = AuditLog(folder, SECRET)
    problems: list[str] = []

    def record() -> None:
        for _ in range(2):
            with pytest.raises(AuditFailed, match="another program") as caught:
                log.record("two")
            problems.append(caught.value.text)

    with audit_log.folder_lock(folder):
        thread = threading.Thread(target=record)
        thread.start()
        thread.join()
    assert len(problems) == 2
    log.record("three")
    assert actions(folder)[-3:] == ["two", "two", "three"]
    assert verify(folder, SECRET).ok


def test_what_had_to_be_on_the_disk_still_has_to_be_when_it_is_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(handle))
    folder = tmp_path / "audit"
    folder.write_text("in the way")
    log = AuditLog(folder, SECRET)
    with pytest.raises(AuditFailed):
        log.record("data_sent", sync=True)
    folder.unlink()
    log.record("tool_started")
    assert synced


def test_an_encoded_line_is_ascii_and_in_a_fixed_form():
    text = encode(7, "2026-01-01T00:00:00.000+00:00", "x", {"ä": 1})
    assert text == b'{"n":7,"t":"2026-01-01T00:00:00.000+00:00","a":"x","f":{"\\u00e4":1}'
