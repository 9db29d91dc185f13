"""Sets Sightline up in this folder and starts, tests or packages it. Needs Python and nothing else.

    python3 installer/bootstrap.py run [--viewer-only] [--] [ARGS]
    python3 installer/bootstrap.py test [--all] [PYTEST ARGS]
    python3 installer/bootstrap.py package [--viewer-only | --cuda] [--out DIR] [--sign KEY]
    python3 installer/bootstrap.py package --bundle DIR [--models PACK.zip ...]

`run` makes .venv with the locked packages, then starts `python -m app ARGS`; where ARGS name
nothing to open, it opens the demo study. A second start installs nothing. `--viewer-only` leaves
out torch and its kin. On a machine without a display, ARGS with `--screenshot FILE` work.

On Linux without an NVIDIA driver, torch goes without its CUDA libraries (4.1 GiB), and gets them
once a driver is there. SIGHTLINE_TORCH=cuda or SIGHTLINE_TORCH=cpu in the environment decides it.

`test` adds the test tools, then runs ruff, the tests that measure how quickly a window answers, one
by one with nothing beside them, and all others on all cores, with pyright and import-linter beside
them. Slow tests (over about 5 s, or against rare faults) are left out: `--all` adds them, pyright
on the tests, and a second pass of what windows draw where there is no screen. Windows open on
displays of their own (Xvfb on Linux), one for each process. With PYTEST ARGS the checks run first,
then one pytest session with these arguments. Every step runs, whatever became of the one before it.

`package` makes what a workstation gets, for the system that it runs on; see installer/package.py.

Nothing outside this folder is changed, but for missing system packages where it may install them
(Debian and Ubuntu, as root); elsewhere it prints the command.
"""

import sys

# Before anything else: the lines below need it too.
if not (3, 11) <= sys.version_info[:2] <= (3, 14):
    sys.exit(
        "sightline: error: this is Python {}.{}; the packages are locked for 3.11 to 3.14\n"
        "sightline:   what to do: start me with one of them, e.g. python3.12 {}".format(
            sys.version_info[0], sys.version_info[1], " ".join(sys.argv)
        )
    )

import contextlib
import os
import shlex
import subprocess
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO))

from installer import system
from installer.console import Console, SetupError
from installer.environment import Environment

# `app`'s own commands, which open no window; and its options that take a value.
COMMANDS = {
    *("render", "info", "ask", "tools", "tool", "models", "cuda", "sessions"),
    *("audit", "export", "deidentify", "mcp", "mcp-servers", "eval"),
}
WINDOWLESS = COMMANDS | {"-h", "--help", "--version"}
WITH_VALUE = {"--ask", "--screenshot", "--llm", "--base-url"}
# Tests with this marker measure how quickly windows answer: with nothing else beside them.
TIMED = "timed"
# Pytest's exit code if tests failed, and its option to leave assertions as they are.
TESTS_FAILED, PLAIN = 1, "--assert=plain"
# The option for slow tests, here and of pytest.
ALL = "--all"
# Where there is no screen at all, what draws is tried again: there the pictures are made.
OFFSCREEN = (
    *("test_canvas*.py", "test_chat.py", "test_chat_override.py", "test_corner_text.py"),
    *("test_documents.py", "test_layers.py", "test_main_window.py"),
    *("test_models_window.py", "test_objects_headless.py", "test_file_opening.py"),
    *("test_settings_window.py", "test_study_list.py", "test_synthetic*.py"),
)
# The displays for the processes of a session, in their order; tests/conftest.py takes its own.
DISPLAYS = "SIGHTLINE_DISPLAYS"
# What pyright checks in a whole run without `--all`: the tests run, which tells of most errors.
TYPED = ["app", "installer", "training"]
LINT_IMPORTS = "from importlinter.cli import lint_imports_command as lint; lint()"


def main(arguments: Sequence[str]) -> int:
    """Run one of the commands and return the exit code."""
    command, rest = (arguments[0], list(arguments[1:])) if arguments else ("", [])
    console = Console()
    try:
        if command == "run":
            return run(rest, console)
        if command == "test":
            return test(rest, console)
        if command == "package":
            return package(rest, console)
    except SetupError as error:
        console.problem(error)
        return 1
    except (OSError, subprocess.SubprocessError) as error:
        console.problem(SetupError(str(error), f"see that {REPO} is whole and yours to write in"))
        return 1
    except KeyboardInterrupt:
        console.say("interrupted; the next start goes on from here")
        return 130
    print(__doc__)
    return 0 if command in ("-h", "--help") else 2


def run(arguments: list[str], console: Console) -> int:
    """Set up, then start the app in place of this process, and return its exit code."""
    viewer_only, app_arguments = split_arguments(arguments)
    window = opens_window(app_arguments)
    if window and not names_something(app_arguments):
        app_arguments.insert(0, "--demo")
    variables = dict(os.environ)
    if window and not system.has_display(variables):
        if not has_option(app_arguments, "--screenshot"):
            raise no_display(app_arguments)
        variables["QT_QPA_PLATFORM"] = "offscreen"
        window = False
    environment = Environment(REPO, console)
    sets = ["viewer"] if viewer_only else ["viewer", "ai"]
    if not environment.ready(sets):
        system.provide([system.venv_need()], console)
        system.provide([*system.DRAWING, system.FONT, *(system.WINDOW if window else ())], console)
        environment.ensure(sets)
        console.say("set-up is complete")
    elif window:
        system.provide(system.WINDOW, console)
    # -P: the folder it is started from holds the person's files, not modules to import.
    command = [str(environment.python), "-P", "-m", "app", *app_arguments]
    if sys.platform != "win32":
        sys.stderr.flush()
        os.execve(command[0], command, variables)
    # There, replacing the process would hand the prompt back while the window is still open.
    return subprocess.run(command, env=variables, check=False).returncode


def split_arguments(arguments: Sequence[str]) -> tuple[bool, list[str]]:
    """Return whether `--viewer-only` is given before `--`, and the arguments of the app."""
    mine = list(arguments)
    theirs: list[str] = []
    if "--" in mine:
        at = mine.index("--")
        mine, theirs = mine[:at], mine[at + 1 :]
    viewer_only = "--viewer-only" in mine
    return viewer_only, [a for a in mine if a != "--viewer-only"] + theirs


def opens_window(app_arguments: Sequence[str]) -> bool:
    """Return whether the app opens a window for these arguments."""
    return not app_arguments or app_arguments[0] not in WINDOWLESS


def names_something(app_arguments: Sequence[str]) -> bool:
    """Return whether the arguments name a path or the demo to open."""
    value_next = False
    for argument in app_arguments:
        if value_next:
            value_next = False
        elif argument in WITH_VALUE:
            value_next = True
        elif argument == "--demo" or not argument.startswith("-"):
            return True
    return False


def has_option(app_arguments: Sequence[str], name: str) -> bool:
    """Return whether an option is given, as `--name value` or `--name=value`."""
    return any(a == name or a.startswith(name + "=") for a in app_arguments)


def no_display(app_arguments: Sequence[str]) -> SetupError:
    """Return the error for a machine without a display, with a command that works there."""
    instead = shlex.join([*app_arguments, "--screenshot", "sightline.png"])
    return SetupError(
        "there is no display to open a window on (no DISPLAY or WAYLAND_DISPLAY that answers)",
        f"save a picture: python3 {shlex.quote(sys.argv[0])} run -- {instead}",
    )


def test(pytest_arguments: list[str], console: Console) -> int:
    """Set up with the test tools, run every check, and return 0 if all passed."""
    # The tests start some hundred processes: each would compile the whole app anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    environment = Environment(REPO, console)
    system.provide([system.venv_need()], console)
    needs = [*system.DRAWING, system.FONT, *system.WINDOW, system.SCREENLESS_X]
    lacking = system.provide(needs, console)
    witnesses = [system.WITNESS, system.VALIDATOR, system.TRACER, *system.TITLES]
    system.provide([*witnesses, system.BUBBLEWRAP], console)
    environment.ensure(["viewer", "ai", "test", "package"])
    python = str(environment.python)
    fast = {
        "ruff check": ["-m", "ruff", "check", "."],
        "ruff format": ["-m", "ruff", "format", "--check", "."],
    }
    long = {
        "pyright": ["-m", "pyright", "--pythonpath", python],
        "import contracts": ["-c", LINT_IMPORTS],
    }
    results: dict[str, int] = {}

    def step(name: str, command: list[str], variables: dict[str, str]) -> None:
        console.say(f"---- {name}")
        environment = {**os.environ, **variables}
        done = subprocess.run([python, *command], cwd=REPO, env=environment, check=False)
        results[name] = done.returncode

    everything = ALL in pytest_arguments
    whole = all(argument == ALL for argument in pytest_arguments)
    if whole and not everything:
        long["pyright"] += TYPED
    for name, command in (fast if whole else fast | long).items():
        step(name, command, {})
    # One more than cores: tests wait for processes and files for about a quarter of their time.
    processes = (os.cpu_count() or 1) + 1
    with real_window(lacking, processes, console) as variables, ThreadPoolExecutor(1) as pool:
        if whole:
            timed, untimed = sessions_of(processes, slow=everything)
            more = [ALL] if everything else []
            step("windows, timed", ["-m", "pytest", *timed], variables)
            # One after the other, beside the tests that promise no time.
            beside = {name: pool.submit(run_quietly, python, one) for name, one in long.items()}
            if everything and not lacking:
                beside["windows offscreen"] = pool.submit(test_offscreen, python)
            step("pytest", ["-m", "pytest", *untimed], variables)
            if results["pytest"] == TESTS_FAILED:
                step("pytest, what failed", ["-m", "pytest", *more, "--last-failed"], variables)
            for name, check in beside.items():
                console.say(f"---- {name}")
                results[name], output = check.result()
                print(output, flush=True)
        else:
            step("pytest", ["-m", "pytest", *pytest_arguments], variables)
    console.say(", ".join(f"{name} {'FAILED' if code else 'ok'}" for name, code in results.items()))
    return 1 if any(results.values()) else 0


def package(arguments: list[str], console: Console) -> int:
    """Set up with PyInstaller, make the package, and return the exit code."""
    environment = Environment(REPO, console)
    # Libraries of this system that Qt needs go into the package.
    needs = [*system.DRAWING, *system.WINDOW, system.OBJDUMP]
    system.provide([system.venv_need(), *needs], console)
    environment.ensure(["viewer", "ai", "package"])
    command = [str(environment.python), "-P", str(REPO / "installer" / "package.py"), *arguments]
    return subprocess.run(command, cwd=REPO, check=False).returncode


def sessions_of(processes: int, *, slow: bool) -> tuple[list[str], list[str]]:
    """Return the arguments of a whole run's pytest sessions: the timed one, and the one after it.

    Args:
        processes: Test processes of the second session.
        slow: Whether slow tests run too.
    """
    # A file's tests stay in one process: they share what takes long to make. In their order, which
    # ends with many short ones, so that all processes are done at about the same time. Rewriting
    # each assertion, which tells why it failed, takes each process twenty seconds: left for those
    # that did fail.
    spread = ["-n", str(processes), "--dist", "loadfile", "--no-loadscope-reorder", PLAIN]
    more = [ALL] if slow else []
    return [*more, "-m", TIMED, "tests/gui"], [*more, *spread, "-m", f"not {TIMED}"]


def test_offscreen(python: str) -> tuple[int, str]:
    """Run the tests of drawing without a screen, as it is done to make pictures.

    Slow tests are left out, and stalls are not measured, since other programs run at the same time.

    Returns:
        Exit code and output.
    """
    folder = REPO / "tests" / "gui"
    files = sorted(str(path) for pattern in OFFSCREEN for path in folder.glob(pattern))
    offscreen = {"QT_QPA_PLATFORM": "offscreen", "SIGHTLINE_UNTIMED": "1"}
    return run_quietly(python, ["-m", "pytest", "-q", *files], offscreen)


def run_quietly(
    python: str, command: list[str], variables: dict[str, str] | None = None
) -> tuple[int, str]:
    """Run Python with a command line and more variables; return exit code and output."""
    done = subprocess.run(
        [python, *command],
        cwd=REPO,
        env={**os.environ, **(variables or {})},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    return done.returncode, done.stdout


@contextlib.contextmanager
def real_window(
    lacking: Sequence[system.Need], processes: int, console: Console
) -> Generator[dict[str, str], None, None]:
    """Yield the environment variables for tests that open windows, with displays of their own.

    A display has one keyboard focus and one clipboard, so each test process gets its own.
    """
    if not system.on_linux():
        yield {}
    elif lacking:
        console.say("without those packages, windows are tested offscreen only")
        yield {"QT_QPA_PLATFORM": "offscreen"}
    else:
        with contextlib.ExitStack() as stack:
            displays = [
                stack.enter_context(system.virtual_display(console)) for _ in range(processes)
            ]
            yield {**displays[0], DISPLAYS: " ".join(one["DISPLAY"] for one in displays)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
