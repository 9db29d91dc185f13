"""The virtual environment in .venv, which is filled from the lock files.

Three files in it record its state:
- `sightline-packages.json` lists the lock entries that are installed; written after each batch, so
  that a broken-off set-up goes on with the batch it was in;
- `sightline-stamp.json` says that sets are complete; removed before anything is changed, written
  last. A start that finds it fitting the lock files and the interpreter installs nothing;
- `bootstrap.log` holds the details.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from installer import cpu_torch, pip_runner
from installer.console import Console, SetupError

# Packages installed one at a time: each is large, so a break costs no more than one of them.
LARGE = re.compile(
    r"nvidia-|torch|triton|pyside6|simpleitk|scipy|imagecodecs|nodejs|transformers|xllamacpp|llm-"
)
BATCH = 12
# What compiled packages depend on: a new patch release of Python is no reason to start over.
INTERPRETER = (
    "import sys; print(sys.implementation.cache_tag, getattr(sys, 'abiflags', ''), sys.platform)"
)
# What a lock file says of the space that its set takes, and torch's CUDA libraries beside it.
SPACE = re.compile(r"^# Takes ([\d.]+) GiB(?:.*, and ([\d.]+) GiB for CUDA)?", re.MULTILINE)


class Environment:
    """The virtual environment of one working copy.

    Args:
        repo: The working copy.
        console: Output of progress.
    """

    def __init__(self, repo: Path, console: Console) -> None:
        self.repo = repo
        self.folder = repo / ".venv"
        self._locks = repo / "installer" / "requirements"
        self._console = console
        self._stamp = self.folder / "sightline-stamp.json"
        self._ledger = self.folder / "sightline-packages.json"
        self._log = self.folder / "bootstrap.log"

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        if sys.platform == "win32":
            return self.folder / "Scripts" / "python.exe"
        return self.folder / "bin" / "python"

    def ready(self, sets: Sequence[str]) -> bool:
        """Return whether the stamp lists these sets as they are locked, with this interpreter."""
        stamp = _read_json(self._stamp)
        complete = stamp.get("complete")
        if not isinstance(complete, dict):
            return False
        told = cpu_torch.cuda_wanted()
        fitting = [
            {name: self._digest(name, cuda=cuda) for name in sets}
            for cuda in ((False, True) if told is None else (told,))
        ]
        if not any(wanted.items() <= complete.items() for wanted in fitting):
            return False
        kind = self._interpreter()
        return kind is not None and kind == stamp.get("python")

    def ensure(self, sets: Sequence[str]) -> bool:
        """Install these sets unless they are installed.

        Returns:
            Whether anything had to be done.

        Raises:
            SetupError: The installation failed; a next call goes on from there.
        """
        if self.ready(sets):
            return False
        with self._only_one(sets) as handle:
            if self.ready(sets):  # Another bootstrap was faster.
                return False
            self._stamp.unlink(missing_ok=True)
            self._make(handle)
            cuda = self._fill(sets, handle)
            self._add_repo_to_path()
            self._add_command()
            complete = {name: self._digest(name, cuda=cuda) for name in sets}
            stamp = {"python": self._interpreter(), "complete": complete}
            _write_json(self._stamp, stamp)
        return True

    def _digest(self, name: str, *, cuda: bool) -> str:
        """Return what the stamp says of a set, installed with torch's CUDA libraries or not."""
        path = self._locks / f"{name}.txt"
        content = path.read_bytes()
        if not cuda and any(map(cpu_torch.PACKAGES.match, read_locks([path]))):
            content += b"# without CUDA\n"
        return hashlib.sha256(content).hexdigest()

    def _space(self, name: str, *, cuda: bool = False) -> float:
        """Return the GiB that a set takes according to its lock file, or 0 if it says nothing.

        Args:
            name: The set.
            cuda: Whether torch's CUDA libraries are meant, and not all others.
        """
        path = self._locks / f"{name}.txt"
        said = SPACE.search(path.read_text(encoding="utf-8")) if path.is_file() else None
        return float(said[1 + cuda] or 0) if said else 0.0

    def _interpreter(self) -> str | None:
        """Return the kind of the environment's interpreter, or None if it does not run."""
        try:
            done = subprocess.run(
                [self.python, "-I", "-S", "-c", INTERPRETER],
                capture_output=True,
                check=True,
                timeout=60,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.decode().strip()

    def _make(self, handle: int) -> None:
        """Create the environment, unless a working one of this bootstrap is there."""
        kind = self._interpreter()
        made_for = _read_json(self._ledger).get("python")
        if kind is not None and kind == made_for and pip_runner.works(self.python):
            self._console.log_to(self._log)
            return
        if self.folder.exists():
            self._clear_away()
        self.folder.mkdir()
        self._console.log_to(self._log)
        self._check_space(self._space("viewer"))
        self._console.say(f"making {self.folder} with Python {sys.version.split()[0]}")
        command = [sys.executable, "-m", "venv", str(self.folder)]
        done = subprocess.run(
            command, capture_output=True, check=False, pass_fds=pip_runner.inherited(handle)
        )
        self._console.detail((done.stdout + done.stderr).decode(errors="replace"))
        if done.returncode != 0 or self._interpreter() is None:
            raise SetupError(
                "Python could not make a virtual environment",
                f"try it by hand: {' '.join(command)}",
            )
        self._write_installed({})

    def _clear_away(self) -> None:
        """Remove a broken environment of this bootstrap; rename one that it did not create."""
        if self._log.exists() or not any(self.folder.iterdir()):
            self._console.say(f"{self.folder} is broken or of another Python: making it anew")
            shutil.rmtree(self.folder)
            return
        number = 1
        while (aside := self.repo / f".venv.replaced-{number}").exists():
            number += 1
        self._console.say(f"{self.folder} was not made by this bootstrap: moved to {aside.name}")
        self.folder.rename(aside)

    def _fill(self, sets: Sequence[str], handle: int) -> bool:
        """Install, in batches, every locked package that the ledger does not list.

        Returns:
            Whether torch has its CUDA libraries (for sets without torch: would get them).
        """
        locks = [self._locks / f"{name}.txt" for name in ("pip", *sets)]
        wanted = pip_runner.applicable(self.python, read_locks(locks))
        installed = self._installed()
        locked = read_locks(sorted(self._locks.glob("*.txt")))
        self._remove(installed, installed.keys() - locked.keys(), "not locked any more")
        cuda = cpu_torch.cuda_wanted()
        if cuda is None:  # Nothing asks for them, but those that are there stay.
            cuda = any(map(cpu_torch.PACKAGES.match, installed))
        if "torch" in wanted:
            self._tell_of_cuda(sets, installed, wanted, cuda=cuda)
            if not cuda:
                left_out = set(filter(cpu_torch.PACKAGES.match, wanted))
                self._remove(installed, installed.keys() & left_out, f"{cpu_torch.VARIABLE}=cpu")
                wanted = {name: wanted[name] for name in wanted if name not in left_out}
        self._install(sets, wanted, installed, handle)
        if "torch" in wanted:
            cpu_torch.remove_stand_ins(self._packages())
            if not cuda:
                cpu_torch.stand_ins(self._packages())
        return cuda

    def _tell_of_cuda(
        self, sets: Sequence[str], installed: dict[str, str], wanted: dict[str, str], *, cuda: bool
    ) -> None:
        """Say what becomes of torch's CUDA libraries, if that changes anything."""
        space = sum(self._space(name, cuda=True) for name in sets)
        concerned = set(filter(cpu_torch.PACKAGES.match, wanted))
        what = f"NVIDIA's CUDA libraries and triton ({space:.1f} GiB)"
        if not cuda and concerned and ("torch" not in installed or concerned & installed.keys()):
            told = os.environ.get(cpu_torch.VARIABLE)
            why = f"{cpu_torch.VARIABLE}={told}" if told else "this machine has no NVIDIA driver"
            self._console.say(f"{why}: leaving out {what}; torch will use the CPU")
        elif cuda and "torch" in installed and concerned - installed.keys():
            self._console.say(f"adding {what} for torch; {cpu_torch.VARIABLE}=cpu does without")

    def _install(
        self, sets: Sequence[str], wanted: dict[str, str], installed: dict[str, str], handle: int
    ) -> None:
        """Install what is wanted and not installed as locked; keep the ledger."""
        missing = [n for n, entry in wanted.items() if installed.get(n) != _digest_of(entry)]
        if not missing:
            return
        self._check_space(self._needed_space(sets, wanted, missing))
        pip = pip_runner.Pip(self.python, self.folder, self._console, handle)
        done = len(wanted) - len(missing)
        self._console.say(f"installing {len(missing)} of {len(wanted)} locked packages")
        for batch in batches(missing):
            pip_runner.forget_half_installed(self.python, batch)
            label = f"[{done + len(batch)}/{len(wanted)}] {', '.join(batch)}"
            pip.install("\n".join(wanted[name] for name in batch), label)
            done += len(batch)
            installed.update({name: _digest_of(wanted[name]) for name in batch})
            self._write_installed(installed)
        self._console.progress("compiling")
        pip_runner.compile_packages(self.python)

    def _needed_space(
        self, sets: Sequence[str], wanted: Iterable[str], missing: Iterable[str]
    ) -> float:
        """Return the GiB for what is missing, by the sets' sizes and its share of them."""
        needed = 0.0
        # CUDA's few packages apart: they take half of the space.
        for cuda in (False, True):
            of, lack = (
                sum(bool(cpu_torch.PACKAGES.match(name)) is cuda for name in names)
                for names in (wanted, missing)
            )
            needed += sum(self._space(name, cuda=cuda) for name in sets) * lack / (of or 1)
        return needed

    def _remove(self, installed: dict[str, str], names: Iterable[str], why: str) -> None:
        """Uninstall packages that this bootstrap installed."""
        gone = sorted(names)
        if not gone:
            return
        self._console.say(f"removing {', '.join(gone)}: {why}")
        pip_runner.uninstall(self.python, gone)
        for name in gone:
            del installed[name]
        self._write_installed(installed)

    def _installed(self) -> dict[str, str]:
        """Return the ledger: package name -> digest of the installed lock entry."""
        packages = _read_json(self._ledger).get("packages")
        return cast(dict[str, str], packages) if isinstance(packages, dict) else {}

    def _write_installed(self, packages: dict[str, str]) -> None:
        content = {"python": self._interpreter(), "packages": packages}
        _write_json(self._ledger, content)

    def _packages(self) -> Path:
        """Return the folder of the installed packages."""
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        return Path(pip_runner.ask(self.python, code))

    def _add_repo_to_path(self) -> None:
        """Make `app` importable from any folder, by a relative path: the copy can be moved."""
        packages = self._packages()
        line = os.path.relpath(self.repo, packages) + "\n"
        (packages / "sightline.pth").write_text(line, encoding="utf-8")

    def _add_command(self) -> None:
        """Add the command `sightline` beside the interpreter, which it finds by itself."""
        folder = self.python.parent
        if sys.platform == "win32":
            script = '@"%~dp0python.exe" -P -m app %*\r\n'
            (folder / "sightline.cmd").write_text(script, encoding="utf-8", newline="")
            return
        command = folder / "sightline"
        # Through links too: people put one into a folder of their PATH.
        script = '#!/bin/sh\nexec "$(dirname "$(readlink -f "$0")")/python" -P -m app "$@"\n'
        command.write_text(script, encoding="utf-8")
        command.chmod(0o755)

    def _check_space(self, gibibytes: float) -> None:
        free = shutil.disk_usage(self.repo).free / 2**30
        if free < gibibytes:
            raise SetupError(
                f"not enough space in {self.repo}: {free:.1f} GiB free, {gibibytes:.1f} needed",
                "free some space, or use --viewer-only (1.8 GiB), then start again",
            )

    @contextlib.contextmanager
    def _only_one(self, sets: Sequence[str]) -> Generator[int]:
        """Hold the set-up lock of this working copy; the system frees it if the process is killed.

        pip inherits the lock, so a pip that outlives a killed bootstrap still holds it.
        """
        path = self.repo / ".venv.lock"
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise SetupError(
                f"cannot write in {self.repo}: {error.strerror}",
                "put the working copy into a folder of your own",
            ) from error
        try:
            if not _try_lock(handle):
                self._console.say(f"another set-up ({', '.join(sets)} wanted) runs here: waiting")
                _wait_lock(handle)
            yield handle
        finally:
            os.close(handle)


def read_locks(paths: Sequence[Path]) -> dict[str, str]:
    """Return package name -> lock entries; a package may have one for each Python version."""
    found: dict[str, str] = {}
    for path in paths:
        text = re.sub(r"^#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for entry in re.split(r"\n(?=[A-Za-z0-9])", text.strip()):
            name = entry.split("==")[0].strip().lower()
            if name:
                found[name] = f"{found[name]}\n{entry}" if name in found else entry
    return found


def batches(names: Sequence[str]) -> Iterator[list[str]]:
    """Yield groups of packages in order: pip and large packages alone, the rest by dozens."""
    small: list[str] = []
    for name in names:
        if name == "pip" or LARGE.match(name):
            yield [name]
            continue
        small.append(name)
        if len(small) == BATCH:
            yield small
            small = []
    if small:
        yield small


def _digest_of(entry: str) -> str:
    return hashlib.sha256(entry.encode()).hexdigest()


def _read_json(path: Path) -> dict[str, Any]:
    """Return the file's JSON object, or {} if the file is missing or damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast(dict[str, Any], found) if isinstance(found, dict) else {}


def _write_json(path: Path, content: object) -> None:
    """Replace a JSON file so that not even a power cut leaves half of it."""
    partial = path.with_suffix(".partial")
    with partial.open("w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def _try_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _wait_lock(handle: int) -> None:
    if sys.platform == "win32":
        while not _try_lock(handle):
            # No locking call of Windows waits longer than ten seconds.
            import time

            time.sleep(1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)
