"""Runs pip inside the virtual environment: with hashes, with progress, patient with the network."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from installer.console import Console, SetupError

# Seconds to wait before each further try.
BACK_OFF = (2, 8, 30)
# Settings of the person's that would send packages elsewhere or add requirements.
UNWANTED = (
    "PIP_CONSTRAINT",
    "PIP_NO_BINARY",
    "PIP_PREFIX",
    "PIP_PYTHON",
    "PIP_REQUIREMENT",
    "PIP_ROOT",
    "PIP_TARGET",
    "PIP_USER",
)
# What pip's output says of the cause -> (the cause, the remedy, whether another try may help).
CAUSES = (
    (
        r"No space left on device|Errno 28|not enough space",
        "the disk is full",
        "free some space, then start again: it goes on from here",
        False,
    ),
    (
        r"DO NOT MATCH THE HASHES",
        "a downloaded package is not the locked one",
        "check the package index that pip is set to (pip config list); do not install it otherwise",
        False,
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|SSLError",
        "the package index's certificate is not trusted",
        "behind a proxy, set PIP_CERT to its certificate file, then start again",
        False,
    ),
    (
        r"Permission denied|Errno 13",
        "a file cannot be written",
        "see that the working copy is yours, then start again",
        False,
    ),
    (
        r"NewConnectionError|NameResolutionError|Failed to establish|ProxyError|unreachable",
        "the package index cannot be reached",
        "check the network (proxy: HTTPS_PROXY; own index: PIP_INDEX_URL), then start again",
        True,
    ),
    (
        r"No matching distribution found|Could not find a version",
        "the package index does not have a locked package",
        "check the package index that pip is set to (pip config list), then start again",
        True,
    ),
)
NETWORK = (
    "the download broke off",
    "check the network (proxy: HTTPS_PROXY), then start again: it goes on from here",
    True,
)


def inherited(handle: int) -> tuple[int, ...]:
    """File handles for `pass_fds`, which Windows does not have."""
    return () if sys.platform == "win32" else (handle,)


class Pip:
    """The pip of one virtual environment.

    Args:
        python: The environment's interpreter.
        scratch: A folder for downloads and temporary files, emptied now and when pip is done.
        console: Where progress is told.
        handle: The set-up lock, which pip holds along with us.
    """

    def __init__(self, python: Path, folder: Path, console: Console, handle: int) -> None:
        self._python = python
        self._scratch = folder / "tmp"
        self._console = console
        self._handle = handle
        self._raw_progress = False

    def install(self, requirements: str, label: str) -> None:
        """Installs locked requirements, as they are: no dependency is looked for.

        Args:
            requirements: Lines of a lock file, hashes included.
            label: What the person is told is being installed.

        Raises:
            SetupError: It failed for good.
        """
        for wait in (*BACK_OFF, None):
            output = self._run(requirements, label)
            if output is None:
                self._console.step(label)
                return
            cause, remedy, again = diagnose(output)
            if wait is None or not again:
                raise SetupError(cause, remedy)
            self._console.say(f"{cause}; trying again in {wait} s")
            time.sleep(wait)

    def _run(self, requirements: str, label: str) -> str | None:
        """Runs pip once; None if it went well, else its output."""
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir()
        with tempfile.TemporaryDirectory(dir=self._scratch) as scratch:
            wanted = Path(scratch) / "requirements.txt"
            wanted.write_text(requirements + "\n", encoding="utf-8")
            command = [str(self._python), "-I", "-m", "pip", "install", "--no-input"]
            command += ["--require-hashes", "--no-deps", "--only-binary=:all:", "--force-reinstall"]
            command += [
                "--no-cache-dir",
                "--disable-pip-version-check",
                "--no-warn-script-location",
            ]
            command += ["--progress-bar", self._progress_style(), "-r", str(wanted)]
            self._console.detail(f"$ {' '.join(command)}")
            with subprocess.Popen(
                command,
                env=self._environment(scratch),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                pass_fds=inherited(self._handle),
            ) as process:
                output = self._follow(process, label)
        shutil.rmtree(self._scratch, ignore_errors=True)
        return None if process.returncode == 0 else output

    def _follow(self, process: subprocess.Popen[str], label: str) -> str:
        """Condenses pip's output to one passing line; all of it but the counts goes to the log."""
        lines: list[str] = []
        what = ""
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if count := re.match(r"Progress (\d+) of (\d+)", line):
                    got, whole = (int(n) / 1e6 for n in count.groups())
                    self._console.progress(f"{label}: {what} {got:.0f} of {whole:.0f} MB")
                    continue
                lines.append(line)
                self._console.detail(line)
                if begun := re.match(r"\s*(?:Downloading|Using cached) (\S+)", line):
                    what = begun.group(1).rsplit("/", 1)[-1]
                elif line.startswith("Installing collected packages"):
                    self._console.progress(f"{label}: unpacking")
        except BaseException:
            process.terminate()
            raise
        return "".join(lines)

    def _environment(self, scratch: str) -> dict[str, str]:
        """Our environment (proxy, certificates, index), with temporary files in the project."""
        kept = {name: v for name, v in os.environ.items() if name not in UNWANTED}
        return {**kept, "TMPDIR": scratch, "TEMP": scratch, "TMP": scratch}

    def _progress_style(self) -> str:
        """Counts for machines, if this pip has them: the one a new environment brings may not."""
        if not self._raw_progress:
            version = ask(self._python, "import pip; print(pip.__version__)")
            major, minor = version.split(".")[:2]
            self._raw_progress = (int(major), int(minor)) >= (24, 1)
        return "raw" if self._raw_progress else "off"


def uninstall(python: Path, names: Sequence[str]) -> None:
    """Removes packages; one that is not there is no error.

    Raises:
        subprocess.CalledProcessError: pip could not.
    """
    command = [python, "-I", "-m", "pip", "uninstall", "--yes", *names]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)


def ask(python: Path, code: str, *arguments: str, given: str = "") -> str:
    """What a few lines of code print under the environment's interpreter.

    Raises:
        subprocess.CalledProcessError: They failed.
    """
    command = [python, "-I", "-c", code, *arguments]
    done = subprocess.run(command, input=given, encoding="utf-8", capture_output=True, check=True)
    return done.stdout.strip()


def diagnose(output: str) -> tuple[str, str, bool]:
    """The cause in pip's output, its remedy, and whether another try may help."""
    for pattern, cause, remedy, again in CAUSES:
        if re.search(pattern, output):
            return cause, remedy, again
    return NETWORK


def works(python: Path) -> bool:
    """Whether the environment has a whole pip: its own upgrade may have been broken off."""
    try:
        ask(python, "import runpy, sys; sys.argv = ['pip', 'list']; runpy.run_module('pip')")
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def applicable(python: Path, entries: Mapping[str, str]) -> dict[str, str]:
    """The lock entries whose markers hold for this interpreter on this system.

    Evaluated by the copy of `packaging` inside pip, whose version is locked.
    """
    code = (
        "import json, sys\n"
        "from pip._vendor.packaging.markers import Marker\n"
        "markers = json.load(sys.stdin)\n"
        "holds = {m: Marker(m).evaluate() for m in set(markers.values()) if m}\n"
        "print(json.dumps([name for name, m in markers.items() if holds.get(m, True)]))\n"
    )
    # A package with several entries is kept whole: pip itself picks the one that holds.
    markers = {name: "" if "\n" in _heads(e) else _marker(e) for name, e in entries.items()}
    return {
        name: entries[name] for name in json.loads(ask(python, code, given=json.dumps(markers)))
    }


def _heads(entry: str) -> str:
    return "\n".join(line for line in entry.splitlines() if "==" in line)


def _marker(entry: str) -> str:
    return entry.splitlines()[0].partition(";")[2].strip(" \\")


def forget_half_installed(python: Path, names: Sequence[str]) -> None:
    """Removes the metadata of packages whose unpacking broke off.

    pip writes a package's RECORD last and refuses to replace one that has none.
    """
    packages = Path(ask(python, "import sysconfig; print(sysconfig.get_path('purelib'))"))
    wanted = {re.sub(r"[-_.]+", "_", name).lower() for name in names}
    for folder in packages.glob("*.dist-info"):
        name = re.sub(r"[-_.]+", "_", folder.name.rsplit("-", 2)[0]).lower()
        if name in wanted and not (folder / "RECORD").exists():
            shutil.rmtree(folder)
