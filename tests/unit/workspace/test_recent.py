"""The recent openings: order, broken files, two programs at once."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from app.workspace.display_settings import DisplaySettings
from app.workspace.recent import MOST, RecentOpenings, Session
from app.workspace.window_presets import WindowPresets


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    made = [tmp_path / f"study {number}" for number in range(20)]
    for folder in made:
        folder.mkdir()
    return made


def kept(folder: Path) -> RecentOpenings:
    """Openings that the user wants to be kept."""
    recent = RecentOpenings(folder / "recent.json")
    recent.keep(True)
    return recent


def test_the_latest_comes_first_and_is_listed_once(tmp_path: Path, folders: list[Path]):
    recent = kept(tmp_path)
    for number in (0, 1, 0):
        recent.add([folders[number]])
    assert recent.all() == [(folders[0],), (folders[1],)]
    assert RecentOpenings(tmp_path / "recent.json").all() == recent.all()


def test_no_more_than_the_last_are_kept(tmp_path: Path, folders: list[Path]):
    recent = kept(tmp_path)
    for folder in folders:
        recent.add([folder])
    assert recent.all() == [(folder,) for folder in folders[::-1][:MOST]]


def test_the_list_is_this_user_s_alone(tmp_path: Path, folders: list[Path]):
    recent = kept(tmp_path)
    recent.add(folders[:1])
    assert (tmp_path / "recent.json").stat().st_mode & 0o077 == 0


def test_nothing_is_kept_unless_it_is_asked_for_and_all_is_forgotten_when_it_ends(
    tmp_path: Path, folders: list[Path]
):
    recent = RecentOpenings(tmp_path / "recent.json")
    recent.add(folders[:1])
    assert not recent.kept
    assert list(tmp_path.glob("recent*")) == []
    recent.keep(True)
    recent.add(folders[:1])
    assert recent.all() == [(folders[0],)]
    recent.keep(False)
    assert recent.all() == []
    assert not (tmp_path / "recent.json").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"openings": 3}', b'{"openings": [3]}', b"\xff\xfe", b"[" * 5000],
)
def test_a_broken_list_is_set_aside_and_begun_anew(
    tmp_path: Path, folders: list[Path], content: bytes
):
    file = tmp_path / "recent.json"
    file.write_bytes(content)
    recent = RecentOpenings(file)
    assert recent.all() == []
    assert (tmp_path / "recent.json.broken").read_bytes() == content
    assert recent.kept
    recent.add(folders[:1])
    assert recent.all() == [(folders[0],)]


def test_two_programs_at_once_lose_nothing_of_each_other(tmp_path: Path, folders: list[Path]):
    kept(tmp_path)

    def opened(folder: Path) -> None:
        RecentOpenings(tmp_path / "recent.json").add([folder])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(opened, folders[:10]))
    found = json.loads((tmp_path / "recent.json").read_text("utf-8"))["openings"]
    assert sorted(found) == sorted([[str(folder)] for folder in folders[:10]])


def test_numbers_beyond_every_float_are_set_aside_in_every_file_of_the_user(tmp_path: Path):
    big = "1" + "0" * 400
    files = {name: tmp_path / f"{name}.json" for name in ("recent", "presets", "display")}
    slot = f'{{"paths": ["/a"], "slots": [[{big}, 0, 1, 1]], "shown": [""]}}'
    files["recent"].write_text(f'{{"openings": [], "session": {slot}}}')
    row = f'{{"name": "a", "center": {big}, "width": 2}}'
    files["presets"].write_text(f'{{"presets": {{"CT": [{row}]}}}}')
    files["display"].write_text(f'{{"screens": {{"one": {big}}}}}')
    recent = RecentOpenings(files["recent"])
    assert recent.session is None
    stores = (recent, WindowPresets(files["presets"]), DisplaySettings(files["display"]))
    assert all(store.problem for store in stores)
    assert all(file.with_name(f"{file.name}.broken").exists() for file in files.values())


def test_a_session_that_is_too_large_does_not_leave_an_older_one_as_the_last(tmp_path: Path):
    recent = kept(tmp_path)
    one = Session((tmp_path / "a",), ((0.0, 0.0, 1.0, 1.0),), ("1.1",))
    recent.keep_session(one)
    assert recent.session == one
    with_record = replace(one, records=(tmp_path / "records",))
    for session in (with_record, Session(records=with_record.records), one):
        recent.keep_session(session)
        assert RecentOpenings(tmp_path / "recent.json").session == session
    recent.keep_session(Session())  # nothing was open
    assert recent.session == one
    files = tuple(tmp_path / f"{number}.dcm" for number in range(100))
    recent.keep_session(Session(files, one.slots, one.shown))
    assert recent.session is None
