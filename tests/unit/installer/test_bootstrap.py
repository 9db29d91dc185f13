"""The bootstrap brings a copy from nothing to a started app, and trusts nothing half-made."""

from __future__ import annotations

import ast
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import cli
from installer import bootstrap, environment, pip_runner, system
from installer.console import Console, SetupError
from tests.unit.installer.tiny import REPO, TinyCopy, write_pip_wheel, write_wheel

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the fakes here are POSIX scripts")

SETS = ("viewer", "ai", "test")
SHOT = ("run", "--", "--screenshot", "shot.png")


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wheels")


@pytest.fixture(scope="session")
def entries(wheels: Path) -> dict[str, str]:
    """Lock entries of the tiny packages, by a short name."""
    pip = write_pip_wheel(wheels)
    viewer = write_wheel(wheels, "tinyviewer", "1.0", {"tinyviewer.py": b"V = 1\n"})
    newer = write_wheel(wheels, "tinyviewer", "2.0", {"tinyviewer.py": b"V = 2\n"})
    ai = write_wheel(wheels, "tinyai", "1.0", {"tinyai.py": b""})
    says = b"import os, sys; print(%r, sys.argv[1:], os.environ.get('QT_QPA_PLATFORM'))\n"
    tools = {
        "ruff.py": says % "ruff" + b"sys.exit(1)\n",
        "pyright.py": says % "pyright",
        "importlinter/cli.py": b"def lint_imports_command():\n    print('contracts')\n",
        "pytest.py": says % "pytest"
        + b"print('compiled once:', not sys.dont_write_bytecode)\n"
        + b"print('=== 7 passed in 0.01s ===')\n"
        + b"sys.exit('-n' in sys.argv and int(os.environ.get('TINY_PYTEST', '0')))\n",
    }
    test = write_wheel(wheels, "tinytest", "1.0", tools)
    return {"pip": pip, "viewer": viewer, "newer": newer, "ai": ai, "test": test}


@pytest.fixture(scope="session")
def template(
    tmp_path_factory: pytest.TempPathFactory, wheels: Path, entries: dict[str, str]
) -> Path:
    """An environment that holds the locked pip and nothing else, made by the bootstrap's code."""
    copy = TinyCopy(tmp_path_factory.mktemp("template") / "copy", wheels)
    copy.lock(pip=entries["pip"])
    with pytest.MonkeyPatch.context() as patch:
        for name, value in copy.environment().items():
            patch.setenv(name, value)
        assert environment.Environment(copy.folder, Console()).ensure([])
    return copy.venv


@pytest.fixture
def copy(tmp_path: Path, wheels: Path, entries: dict[str, str], template: Path) -> TinyCopy:
    """A miniature working copy whose environment has pip, so that tests need not wait for it."""
    made = TinyCopy(tmp_path / "copy", wheels)
    made.lock(**{name: entries[name] for name in ("pip", "viewer", "ai", "test")})
    made.lock(package="")
    shutil.copytree(template, made.venv, symlinks=True, copy_function=_copied)
    made.stamp.unlink()
    return made


def _copied(source: str, place: str) -> None:
    """A file of the template; pip's own, thousands that nothing writes to, are only linked."""
    (os.link if "site-packages" in Path(source).parts else shutil.copy2)(source, place)


@pytest.mark.slow
def test_an_empty_clone_becomes_an_environment_and_starts_the_demo(
    copy: TinyCopy, tmp_path: Path
) -> None:
    shutil.rmtree(copy.venv)
    started = copy.start(*SHOT, cwd=tmp_path)
    assert started.app["argv"] == ["--demo", "--screenshot", "shot.png"]
    assert Path(started.app["prefix"]) == copy.venv
    assert started.app["cwd"] == str(tmp_path), "paths in ARGS are the person's, not ours"
    assert copy.installed().items() >= {"tinyviewer": "1.0", "tinyai": "1.0"}.items()
    assert "[" in started.err, "progress is shown"


@pytest.mark.skipif(sys.platform == "win32", reason="there the command is sightline.cmd")
def test_the_command_sightline_starts_the_app_from_anywhere_and_through_a_link(
    copy: TinyCopy, tmp_path: Path
) -> None:
    copy.start(*SHOT)
    link = tmp_path / "sightline"
    link.symlink_to(copy.venv / "bin" / "sightline")
    done = subprocess.run(
        [link, "--screenshot", "a b.png"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    started = json.loads(done.stdout)
    assert started["argv"] == ["--screenshot", "a b.png"]
    assert Path(started["prefix"]) == copy.venv


def test_without_a_display_the_picture_is_made_offscreen(copy: TinyCopy) -> None:
    assert copy.start(*SHOT).app["QT_QPA_PLATFORM"] == "offscreen"


def test_a_second_start_runs_no_pip_and_changes_nothing(copy: TinyCopy) -> None:
    copy.start(*SHOT)
    before = copy.pip_log.read_bytes()
    stamp = copy.stamp.stat().st_mtime_ns
    second = copy.start(*SHOT)
    assert second.code == 0
    assert second.err == ""
    assert copy.pip_log.read_bytes() == before
    assert copy.stamp.stat().st_mtime_ns == stamp


def test_viewer_only_leaves_the_ai_packages_out_until_they_are_wanted(copy: TinyCopy) -> None:
    copy.start("run", "--viewer-only", "--", "--screenshot", "shot.png")
    assert copy.pip_installs() == ["tinyviewer-1.0"]
    copy.start(*SHOT)
    assert copy.pip_installs() == ["tinyviewer-1.0", "tinyai-1.0"]
    assert copy.start("run", "--viewer-only", "tools").err == "", "the larger set serves as well"


@pytest.mark.slow
def test_a_changed_lock_replaces_what_changed_and_only_that(
    copy: TinyCopy, entries: dict[str, str]
) -> None:
    copy.start(*SHOT)
    copy.lock(viewer=entries["newer"])
    assert copy.start(*SHOT).code == 0
    assert copy.pip_installs()[-1] == "tinyviewer-2.0"
    assert len(copy.pip_installs()) == 3
    assert copy.installed()["tinyviewer"] == "2.0"
    assert copy.installed()["tinyai"] == "1.0"


def test_what_is_no_longer_locked_is_removed_and_nothing_else(
    copy: TinyCopy, entries: dict[str, str]
) -> None:
    copy.start(*SHOT)
    copy.lock(ai="")
    started = copy.start("run", "--viewer-only", "--", *SHOT[2:])
    assert "tinyai" in copy.installed(), "nothing had to be done for the viewer"
    started = copy.start(*SHOT)
    assert started.code == 0, started.err
    assert "removing tinyai" in started.err
    assert "tinyai" not in copy.installed()
    assert copy.installed()["tinyviewer"] == "1.0"
    assert len(copy.pip_installs()) == 2
    copy.lock(ai=entries["ai"])
    assert copy.start(*SHOT).code == 0
    assert copy.installed()["tinyai"] == "1.0"


def test_a_package_that_is_not_the_locked_one_is_refused_and_the_rest_is_kept(
    copy: TinyCopy, entries: dict[str, str]
) -> None:
    copy.lock(test=entries["test"], ai=entries["ai"].replace("sha256:", "sha256:0")[:-2] + "\n")
    failed = copy.start(*SHOT)
    assert failed.code == 1
    assert "error: a downloaded package is not the locked one" in failed.err
    assert "what to do:" in failed.err
    assert "bootstrap.log" in failed.err
    assert "Traceback" not in failed.err
    assert not copy.stamp.exists()
    assert "tinyai" not in copy.installed()


@pytest.mark.slow
def test_a_half_unpacked_package_is_installed_again(copy: TinyCopy) -> None:
    copy.start(*SHOT)
    # As a kill during unpacking leaves it: metadata without RECORD, not listed, no stamp.
    copy.stamp.unlink()
    ledger = copy.venv / "sightline-packages.json"
    content = json.loads(ledger.read_text())
    del content["packages"]["tinyviewer"]
    ledger.write_text(json.dumps(content))
    (packages,) = copy.venv.glob("lib/python*/site-packages")
    (packages / "tinyviewer-1.0.dist-info" / "RECORD").unlink()
    (packages / "tinyviewer.py").unlink()
    assert copy.start(*SHOT).code == 0
    assert (packages / "tinyviewer.py").exists()
    assert copy.pip_installs().count("tinyai-1.0") == 1


@pytest.mark.parametrize(
    "damage",
    [
        "{",
        *(pytest.param(text, marks=pytest.mark.slow) for text in ("", "[]", '{"python": "2.7"}')),
    ],
)
def test_a_damaged_stamp_is_not_trusted(copy: TinyCopy, damage: str) -> None:
    copy.stamp.write_text(damage)
    assert copy.start(*SHOT).code == 0
    assert copy.installed().items() >= {"tinyviewer": "1.0", "tinyai": "1.0"}.items()


@pytest.mark.slow
def test_an_environment_whose_interpreter_is_gone_is_made_anew(copy: TinyCopy) -> None:
    copy.start(*SHOT)
    (copy.venv / "bin" / "python").unlink()
    (copy.venv / "bin" / "python").symlink_to("/nonexistent/python")
    started = copy.start(*SHOT)
    assert started.code == 0, started.err
    assert "making it anew" in started.err


@pytest.mark.slow
def test_an_environment_that_somebody_else_made_is_moved_aside_not_destroyed(
    copy: TinyCopy,
) -> None:
    shutil.rmtree(copy.venv)
    copy.venv.mkdir()
    (copy.venv / "theirs").write_text("precious")
    started = copy.start(*SHOT)
    assert started.code == 0, started.err
    assert (copy.folder / ".venv.replaced-1" / "theirs").read_text() == "precious"


def test_two_starts_at_once_install_everything_once(copy: TinyCopy) -> None:
    with copy.popen(*SHOT) as one, copy.popen(*SHOT) as two:
        outcomes = [one.communicate(), two.communicate()]
    assert [one.returncode, two.returncode] == [0, 0], outcomes
    assert sorted(copy.pip_installs()) == ["tinyai-1.0", "tinyviewer-1.0"]


class Index(http.server.ThreadingHTTPServer):
    """A loopback index of the wheels that breaks its first downloads off halfway.

    Args:
        wheels: What it serves.
        breaks: How many downloads of a wheel break off.
    """

    def __init__(self, wheels: Path, breaks: int) -> None:
        self.wheels = wheels
        self.breaks = breaks
        self.halfway = threading.Event()
        self.go_on = threading.Event()
        super().__init__(("127.0.0.1", 0), IndexHandler)

    @property
    def variables(self) -> dict[str, str]:
        """pip's settings: this index, and no further tries by pip itself."""
        address = f"http://127.0.0.1:{self.server_address[1]}/"
        return {
            "PIP_NO_INDEX": "0",
            "PIP_FIND_LINKS": "",
            "PIP_INDEX_URL": address,
            "PIP_RETRIES": "0",
            "PIP_RESUME_RETRIES": "0",
            "NO_PROXY": "127.0.0.1",
        }


class IndexHandler(http.server.BaseHTTPRequestHandler):
    server: Index

    def do_GET(self) -> None:
        name = self.path.strip("/")
        wheel = self.server.wheels / name
        if wheel.suffix != ".whl":
            found = sorted(self.server.wheels.glob(f"{name}-*.whl"))
            self._send(b"".join(f'<a href="/{f.name}">{f.name}</a>'.encode() for f in found))
        elif self.server.breaks:
            self.server.breaks -= 1
            self._send(wheel.read_bytes(), half=True)
        else:
            self._send(wheel.read_bytes())

    def _send(self, content: bytes, half: bool = False) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if half else content)
        self.wfile.flush()
        if half:
            self.server.halfway.set()
            self.server.go_on.wait(30)
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def broken_index(wheels: Path) -> Iterator[Index]:
    with Index(wheels, breaks=1) as index:
        thread = threading.Thread(target=index.serve_forever)
        thread.start()
        yield index
        index.go_on.set()
        index.shutdown()
        thread.join()


@pytest.mark.slow
def test_a_download_that_breaks_off_is_tried_again(
    copy: TinyCopy, broken_index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pip_runner, "BACK_OFF", (0,))
    for name, value in copy.environment(**broken_index.variables).items():
        monkeypatch.setenv(name, value)
    broken_index.go_on.set()
    environment.Environment(copy.folder, Console()).ensure(["viewer"])
    assert broken_index.breaks == 0
    assert copy.installed()["tinyviewer"] == "1.0"
    assert copy.stamp.exists()


def test_after_a_kill_in_mid_download_the_next_start_goes_on(
    copy: TinyCopy, broken_index: Index
) -> None:
    with copy.popen(*SHOT, variables=broken_index.variables) as process:
        assert broken_index.halfway.wait(60)
        process.kill()
        process.wait()
        assert not copy.stamp.exists()
        broken_index.go_on.set()
    started = copy.start(*SHOT, variables=broken_index.variables)
    assert started.code == 0, started.err
    assert copy.installed().items() >= {"tinyviewer": "1.0", "tinyai": "1.0"}.items()


def test_test_runs_every_step_and_fails_if_one_did(copy: TinyCopy) -> None:
    variables = {"PYTHONDONTWRITEBYTECODE": "1"}
    done = copy.start("test", "-k", "something", variables=variables)
    assert done.code == 1
    steps = [line for line in done.out.splitlines() if line]
    assert steps[:4] == [
        "ruff ['check', '.'] None",
        "ruff ['format', '--check', '.'] None",
        f"pyright ['--pythonpath', '{copy.venv}/bin/python'] None",
        "contracts",
    ]
    assert steps[4].startswith("pytest ['-k', 'something'] ")
    assert steps[4].endswith(" xcb") == (not system.missing([system.SCREENLESS_X]))
    assert steps[5:7] == ["compiled once: True", "=== 7 passed in 0.01s ==="]
    assert "ruff check FAILED, ruff format FAILED, pyright ok" in done.err


@pytest.mark.skipif(bool(system.missing([system.SCREENLESS_X])), reason="Xvfb is not installed")
def test_in_a_whole_run_nothing_is_beside_the_timed_tests(copy: TinyCopy) -> None:
    done = copy.start("test", bootstrap.ALL)
    begun = [line.removeprefix("sightline: ---- ") for line in done.err.splitlines()]
    steps = ["ruff check", "ruff format", "windows, timed", "pytest"]
    beside = ["pyright", "import contracts", "windows offscreen"]
    assert [line for line in begun if line in {*steps, *beside}] == [*steps, *beside]
    sessions = [line for line in done.out.splitlines() if line.startswith("pytest ")]
    timed, rest = bootstrap.sessions_of((os.cpu_count() or 1) + 1, slow=True)
    starts = [f"pytest {timed} ", f"pytest {rest} ", "pytest ['-q'] "]
    assert all(line.startswith(start) for line, start in zip(sessions, starts, strict=True))
    assert sessions[-1].endswith(" offscreen")


@pytest.mark.skipif(bool(system.missing([system.SCREENLESS_X])), reason="Xvfb is not installed")
def test_tests_that_failed_run_again_to_tell_why_and_have_failed_all_the_same(
    copy: TinyCopy,
) -> None:
    done = copy.start("test", variables={"TINY_PYTEST": str(bootstrap.TESTS_FAILED)})
    assert done.code == 1
    assert "pytest ['--last-failed'] " in done.out
    assert "pytest FAILED, pytest, what failed ok" in done.err


def test_a_whole_run_leaves_no_test_out_and_runs_none_twice() -> None:
    timed, rest = bootstrap.sessions_of(3, slow=False)
    assert timed == ["-m", bootstrap.TIMED, "tests/gui"]
    assert rest[:4] == ["-n", "3", "--dist", "loadfile"]
    assert rest[-2:] == ["-m", f"not {bootstrap.TIMED}"]
    assert bootstrap.PLAIN in rest
    for fewer, more in zip((timed, rest), bootstrap.sessions_of(3, slow=True), strict=True):
        assert more == [bootstrap.ALL, *fewer], "slow tests run in both"
    marker = f"pytest.mark.{bootstrap.TIMED}"
    marked = [path for path in (REPO / "tests").rglob("*.py") if marker in path.read_text("utf-8")]
    assert marked
    assert all(path.parent == REPO / "tests" / "gui" for path in marked)


@pytest.mark.skipif(bool(system.missing([system.SCREENLESS_X])), reason="Xvfb is not installed")
def test_each_process_of_tests_has_a_display_of_its_own() -> None:
    with bootstrap.real_window([], 2, Console()) as variables:
        displays = variables[bootstrap.DISPLAYS].split()
        assert len(set(displays)) == 2
        assert variables["DISPLAY"] == displays[0]
        where = "import os, tests.conftest; print(os.environ['DISPLAY'])"
        for worker, display in zip(("gw0", "gw1"), displays, strict=True):
            environment = {**os.environ, **variables, "PYTEST_XDIST_WORKER": worker}
            done = subprocess.run(
                [sys.executable, "-c", where], cwd=REPO, env=environment, check=True,
                capture_output=True, text=True,
            )  # fmt: skip
            assert done.stdout.strip() == display


@pytest.mark.parametrize("pattern", bootstrap.OFFSCREEN)
def test_what_is_tried_without_a_screen_is_there(pattern: str) -> None:
    assert list((REPO / "tests" / "gui").glob(pattern))


def test_without_a_display_it_says_so_and_offers_the_picture(copy: TinyCopy) -> None:
    shutil.rmtree(copy.venv)
    started = copy.start("run", "--", "scan.dcm", "--ask", "Where is the heart?")
    assert started.code == 1
    assert "no display" in started.err
    assert "run -- scan.dcm --ask 'Where is the heart?' --screenshot sightline.png" in started.err
    assert "Traceback" not in started.err
    assert not copy.venv.exists(), "nothing is downloaded for a window that cannot open"


def test_a_display_that_does_not_answer_is_none() -> None:
    assert not system.has_display({})
    assert not system.has_display({"DISPLAY": ":9871"})
    assert not system.has_display({"DISPLAY": ":9871", "QT_QPA_PLATFORM": "xcb"})
    assert system.has_display({"QT_QPA_PLATFORM": "offscreen"})
    assert system.has_display({"WAYLAND_DISPLAY": "wayland-0"})


@pytest.mark.parametrize(
    ("given", "viewer_only", "handed_on"),
    [
        ([], False, []),
        (["--viewer-only"], True, []),
        (["a.dcm", "--viewer-only", "b.dcm"], True, ["a.dcm", "b.dcm"]),
        (["--", "--viewer-only"], False, ["--viewer-only"]),
        (["--viewer-only", "--", "--ask", "--", "x"], True, ["--ask", "--", "x"]),
        (["--demo", "--screenshot", "s.png"], False, ["--demo", "--screenshot", "s.png"]),
    ],
)
def test_what_follows_two_dashes_is_the_apps(
    given: list[str], viewer_only: bool, handed_on: list[str]
) -> None:
    assert bootstrap.split_arguments(given) == (viewer_only, handed_on)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ([], False),
        (["--ask", "Where?", "--screenshot", "s.png"], False),
        (["--ask=Where?"], False),
        (["--demo"], True),
        (["--ask", "Where?", "scan.dcm"], True),
    ],
)
def test_the_demo_is_opened_where_nothing_is_named(arguments: list[str], names: bool) -> None:
    assert bootstrap.names_something(arguments) == names


def test_commands_that_open_no_window_need_no_display() -> None:
    assert set(cli._COMMANDS) == bootstrap.COMMANDS
    assert not bootstrap.opens_window(["ask", "Where?"])
    assert bootstrap.opens_window(["scan.dcm"])
    assert bootstrap.opens_window([])


ABSENT = system.Need("libabsent.so.9", "libabsent9", "absent-libs")


@pytest.mark.parametrize(
    ("manager", "root", "command"),
    [
        ("apt-get", True, "apt-get install -y libabsent9"),
        ("apt-get", False, "sudo apt-get install -y libabsent9"),
        ("dnf", False, "sudo dnf install -y absent-libs"),
        ("none", False, "your package manager, for: libabsent.so.9 (Debian calls the packages"),
    ],
)
def test_the_exact_command_for_what_the_system_lacks(
    manager: str, root: bool, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _script(tmp_path / manager, "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(system, "_is_root", lambda: root)
    assert system.install_command([ABSENT]).startswith(command)


@pytest.mark.skipif(not system.on_linux(), reason="system packages are a matter of Linux")
def test_root_on_debian_installs_and_fetches_the_lists_only_if_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    _script(tmp_path / "apt-get", f'echo "$@" >> {log}; exit 1')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(system, "_is_root", lambda: True)
    assert system.provide([ABSENT], Console()) == [ABSENT]
    calls = [line.split()[3] for line in log.read_text().splitlines()]
    assert calls == ["install", "update", "install"]
    assert "  apt-get install -y libabsent9" in capsys.readouterr().err


@pytest.mark.skipif(not system.on_linux(), reason="system packages are a matter of Linux")
def test_root_on_debian_gets_the_witness_of_the_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    _script(tmp_path / "apt-get", f'echo "$@" >> {log}; exit 1')
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(system, "_is_root", lambda: True)
    assert system.provide([system.WITNESS], Console()) == [system.WITNESS]
    assert log.read_text().split("\n")[0].endswith("install --no-install-recommends dcmtk")
    _script(tmp_path / "dcm2pnm", "")
    assert system.missing([system.WITNESS]) == []


def test_a_full_disk_is_told_before_anything_is_done(
    copy: TinyCopy, entries: dict[str, str]
) -> None:
    shutil.rmtree(copy.venv)
    copy.lock(viewer=f"# Takes 1000000000 GiB of disk while it is installed.\n{entries['viewer']}")
    with pytest.raises(SetupError, match="not enough space") as caught:
        environment.Environment(copy.folder, Console()).ensure(["viewer"])
    assert "--viewer-only" in caught.value.remedy
    assert copy.pip_installs() == []


def test_the_real_lock_files_say_how_much_space_they_take() -> None:
    folder = REPO / "installer" / "requirements"
    takes = {name: environment.SPACE.search((folder / f"{name}.txt").read_text()) for name in SETS}
    assert all(said is not None and float(said[1]) > 0.5 for said in takes.values()), takes


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("THESE PACKAGES DO NOT MATCH THE HASHES FROM", "not the locked one"),
        ("IncompleteRead(10 bytes read, 20 more expected)", "download broke off"),
        ("NameResolutionError(...)\nNo matching distribution found", "cannot be reached"),
        ("ERROR: No matching distribution found for torch==2.14.1", "does not have"),
    ],
)
def test_pips_failures_get_a_cause_and_a_remedy(output: str, cause: str) -> None:
    told, remedy, _ = pip_runner.diagnose(output)
    assert cause in told
    assert remedy


def test_an_old_python_is_told_which_to_use() -> None:
    code = "import runpy, sys; sys.version_info = (3, 9, 1); runpy.run_path(sys.argv[1])"
    command = [sys.executable, "-c", code, str(REPO / "installer" / "bootstrap.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "this is Python 3.9" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_bootstrap_imports_only_the_standard_library() -> None:
    """It runs before anything is installed: so do all modules of its own that it imports."""
    waiting, seen, imported = ["installer.bootstrap"], set[str](), set[str]()
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        path = REPO.joinpath(*module.split(".")).with_suffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                imported |= names if node.module == "installer" else {node.module or ""}
        waiting += [name for name in imported if name.startswith("installer.")]
    assert "installer.environment" in seen
    assert {name.split(".")[0] for name in imported} <= {*sys.stdlib_module_names, "installer"}


@pytest.mark.parametrize("name", ["viewer", "ai", "test", "package", "pip"])
def test_the_lock_files_hold_pins_with_hashes_and_no_address(name: str) -> None:
    path = REPO / "installer" / "requirements" / f"{name}.txt"
    text = path.read_text(encoding="utf-8")
    assert "://" not in text
    assert "/opt" not in text
    for package, entry in environment.read_locks([path]).items():
        assert entry.startswith(f"{package}=="), entry
        assert "--hash=sha256:" in entry, entry


def test_torch_and_its_kin_are_in_the_ai_set_only() -> None:
    locks = REPO / "installer" / "requirements"
    viewer = environment.read_locks([locks / "viewer.txt"])
    ai = environment.read_locks([locks / "ai.txt"])
    kin = {"torch", "torchvision", "torchxrayvision", "transformers", "diffusers"}
    assert kin <= ai.keys()
    assert not kin & viewer.keys()
    assert not [name for name in viewer if name.startswith(("nvidia", "cuda", "triton"))]


def _script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
