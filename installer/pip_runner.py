"""pip in the virtual environment: with hashes, progress, and retries after network errors."""

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
    """Return the handle for `pass_fds`, or nothing on Windows, which does not have that."""
    return () if sys.platform == "win32" else (handle,)


class Pip:
    """The pip of one virtual environment.

    Args:
        python: The environment's interpreter.
        folder: The environment's folder; downloads and temporary files are in `tmp` below it.
        console: Output of progress.
        handle: The set-up lock, which pip inherits.
    """

    def __init__(self, python: Path, folder: Path, console: Console, handle: int) -> None:
        self._python = python
        self._scratch = folder / "tmp"
        self._console = console
        self._handle = handle
        self._raw_progress = False

    def install(self, requirements: str, label: str) -> None:
        """Install locked requirements without looking for dependencies.

        Args:
            requirements: Lines of a lock file, with hashes.
            label: Text of the progress line.

        Raises:
            SetupError: It failed, after all retries.
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
        """Run pip once, and return its output if it failed, else None."""
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir()
        with tempfile.TemporaryDirectory(dir=self._scratch) as scratch:
            wanted = Path(scratch) / "requirements.txt"
            wanted.write_text(requirements + "\n", encoding="utf-8")
            command = [str(self._python), "-I", "-m", "pip", "install", "--no-input"]
            command += ["--require-hashes", "--no-deps", "--only-binary=:all:", "--force-reinstall"]
            command += [
                "--no-cache-dir",
                "--no-compile",  # `compile_packages` does it, with all cores
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
        """Show pip's output as one progress line, log it without the counts, and return it."""
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
        """Return the environment variables, with temporary files in the project's folder."""
        kept = {name: v for name, v in os.environ.items() if name not in UNWANTED}
        return {**kept, "TMPDIR": scratch, "TEMP": scratch, "TMP": scratch}

    def _progress_style(self) -> str:
        """Return pip's progress bar style: "raw" counts if this version of pip has them."""
        if not self._raw_progress:
            version = ask(self._python, "import pip; print(pip.__version__)")
            major, minor = version.split(".")[:2]
            self._raw_progress = (int(major), int(minor)) >= (24, 1)
        return "raw" if self._raw_progress else "off"


SELDOM = (
    "anthropic|diffusers|fhir|networkx|openai|pip|PyInstaller|_pyinstaller_hooks_contrib"
    "|setuptools|sympy|torch|transformers"
)
"""Large packages of which little is imported, and only by processes that keep what they compile."""


def compile_packages(python: Path) -> None:
    """Compile what is installed, but for packages of which Python compiles what it imports.

    All of the 26,000 files take one core a minute and a half.
    """
    folder = ask(python, "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    command = [python, "-I", "-m", "compileall", "-qq", "-j", "0"]
    command += ["-x", rf"site-packages[/\\](?:{SELDOM})[/\\]", folder]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def uninstall(python: Path, names: Sequence[str]) -> None:
    """Uninstall packages; a package that is not installed is no error.

    Raises:
        subprocess.CalledProcessError: pip could not.
    """
    command = [python, "-I", "-m", "pip", "uninstall", "--yes", *names]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)


def ask(python: Path, code: str, *arguments: str, given: str = "") -> str:
    """Run code under the environment's interpreter, and return what it prints.

    Raises:
        subprocess.CalledProcessError: The code failed.
    """
    command = [python, "-I", "-c", code, *arguments]
    done = subprocess.run(command, input=given, encoding="utf-8", capture_output=True, check=True)
    return done.stdout.strip()


def diagnose(output: str) -> tuple[str, str, bool]:
    """Return the cause in pip's output, its remedy, and whether another try may help."""
    for pattern, cause, remedy, again in CAUSES:
        if re.search(pattern, output):
            return cause, remedy, again
    return NETWORK


def works(python: Path) -> bool:
    """Return whether the environment has a working pip; its upgrade may have been interrupted."""
    try:
        ask(python, "import runpy, sys; sys.argv = ['pip', 'list']; runpy.run_module('pip')")
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def applicable(python: Path, entries: Mapping[str, str]) -> dict[str, str]:
    """Return the lock entries whose markers hold for this interpreter on this system.

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
    """Remove the metadata of packages whose unpacking was interrupted.

    pip writes a package's RECORD last and refuses to replace one that has none.
    """
    packages = Path(ask(python, "import sysconfig; print(sysconfig.get_path('purelib'))"))
    wanted = {re.sub(r"[-_.]+", "_", name).lower() for name in names}
    for folder in packages.glob("*.dist-info"):
        name = re.sub(r"[-_.]+", "_", folder.name.rsplit("-", 2)[0]).lower()
        if name in wanted and not (folder / "RECORD").exists():
            shutil.rmtree(folder)
