"""A job for the sandbox: its folder, its limits, and what comes of it."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from app.paths import resources_dir

MODULES = (
    "app/imaging/processes/linux_rights.py",
    "app/tools/sandbox/guest.py",
    "app/tools/sandbox/guest_linux.py",
)
"""Files of the app that the sandboxed process needs; none imports anything else of the app."""

PACKAGES = ("numpy", "pandas", "dateutil", "pytz", "tzdata", "six")
"""Packages that generated code may import: numpy, pandas and what they import."""

_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from app.tools.sandbox.guest import main; main(sys.argv[1])"
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a job may use.

    Attributes:
        seconds: Time on the clock.
        cpu_s: Computing time.
        memory_bytes: Address space of the process.
        file_bytes: Size of one file.
        scratch_bytes: Size of all files together.
        scratch_files: Number of files and folders.
        open_files: Number of files open at once.
        result_bytes: Length of the result as JSON text.
        printed_bytes: Length of what is printed.
    """

    seconds: float = 60.0
    cpu_s: int = 60
    memory_bytes: int = 2 * 1024**3
    file_bytes: int = 64 * 1024**2
    scratch_bytes: int = 256 * 1024**2
    scratch_files: int = 1_000
    open_files: int = 64
    result_bytes: int = 2 * 1024**2
    printed_bytes: int = 256 * 1024


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job. All but `kind` and `reason` was written by the generated code.

    Attributes:
        kind: "returned" (`value` is what it says that `analyze()` returned), "raised" (`error` is
            what it says went wrong) or "stopped" (`reason` is the app's own: it used too much, or
            died without an answer).
        value: The dict, of JSON values.
        error: A traceback.
        reason: Why it was stopped, for people.
        printed: What it printed, up to the limit.
    """

    kind: Literal["returned", "raised", "stopped"]
    value: Mapping[str, Any] = field(default_factory=dict[str, Any])
    error: str = ""
    reason: str = ""
    printed: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """The folder of a job, and the files that its process may use.

    Attributes:
        folder: Its own folder: program, code and data in `input`, `scratch` for files.
        files: Paths and rights ("list", "read", "write") of all that the process may reach.
        python: The interpreter.
    """

    folder: Path
    files: tuple[tuple[str, str], ...]
    python: str

    @property
    def input(self) -> Path:
        """The folder that the process reads."""
        return self.folder / "input"

    @property
    def scratch(self) -> Path:
        """The folder that the process writes; its current one."""
        return self.folder / "scratch"

    @property
    def command(self) -> list[str]:
        """The command line: isolated, without site packages, nothing compiled to disk."""
        return [self.python, "-I", "-S", "-B", "-X", "utf8", "-c", _START, str(self.input)]

    def write(self, channel: int, limits: Limits, *, landlock: bool = False) -> None:
        """Write job.json, which tells the process what it is and where its result goes."""
        job = json.loads((self.input / "job.json").read_text("utf-8"))
        job |= {"channel": channel, "limits": asdict(limits), "landlock": landlock}
        (self.input / "job.json").write_text(json.dumps(job), "utf-8")

    def scratch_excess(self, limits: Limits) -> str:
        """Return why the files in `scratch` are too many or too large, or ""."""
        size = count = 0
        folders = [self.scratch]
        try:
            while folders:
                with os.scandir(folders.pop()) as entries:
                    for entry in entries:
                        count += 1
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(Path(entry.path))
                        else:
                            size += entry.stat(follow_symlinks=False).st_size
        except FileNotFoundError:
            pass  # removed just now, where that is possible; the next look sees what is left
        except OSError:  # closed, or deeper than a path can name: much could hide there
            return "it made folders that cannot be looked into"
        if count > limits.scratch_files:
            return f"it made more than {limits.scratch_files:,} files"
        if size > limits.scratch_bytes:
            return f"it wrote more than {limits.scratch_bytes // 1024**2:,} MB"
        return ""


def make_job(folder: Path, code: str, *, primitives: str = "") -> Job:
    """Lay out a job in an existing folder, readable by the user alone.

    Args:
        folder: The folder; `input/data` in it may hold the data already.
        code: The generated code.
        primitives: The module that gives the code its functions (`app.tools.record.primitives`);
            its file imports nothing of the app either. Its function `names(data)`, with the path of
            `input/data`, returns them by name, and its `pictures` maps base64 texts to names.
    """
    folder = folder.resolve()
    source, scratch = folder / "input", folder / "scratch"
    for one in (source, source / "data", scratch):
        one.mkdir(mode=0o700, exist_ok=True)
    root = Path(__file__).parents[3]
    own = [f"{primitives.replace('.', '/')}.py"] if primitives else []
    for module in (*MODULES, *own):
        target = source / module
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / module, target)
        for package in target.relative_to(source).parents[:-1]:
            (source / package / "__init__.py").touch()
    (source / "code.py").write_text(code, "utf-8")
    calls = json.loads((resources_dir() / "privacy" / "sandbox_calls.json").read_text("utf-8"))
    files = (*runtime_files(), (str(source), "read"), (str(scratch), "write"))
    job = {
        "primitives": primitives,
        "data": str(source / "data"),
        "packages": package_folders(),
        "files": files,
        "calls": calls,
    }
    (source / "job.json").write_text(json.dumps(job), "utf-8")
    return Job(folder, files, interpreter())


def remove_job(folder: Path) -> None:
    """Delete a job's folder; links in it are not followed.

    Folders may be closed, or nested deeper than a path can name. So each folder in a folder is
    moved to the top, from where it can be named, before its own turn comes.
    """
    moved = 0
    while children := _children(folder):
        for child in children:
            for inner in _children(child):
                moved += 1
                if inner.is_dir() and not inner.is_symlink():
                    inner.chmod(stat.S_IRWXU)  # to move a folder, its own entry ".." is written
                    inner.rename(folder / f"{_MOVED}{moved}")
                else:
                    inner.unlink()
            if child.is_dir() and not child.is_symlink():
                child.rmdir()
            else:
                child.unlink()
    folder.rmdir()


_MOVED = "moved-"


def _children(folder: Path) -> list[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return []
    folder.chmod(stat.S_IRWXU)
    return list(folder.iterdir())


def interpreter() -> str:
    """Return the path of the Python interpreter itself, not of a virtual environment's link.

    Raises:
        OSError: This build of the app has none.
    """
    base = getattr(sys, "_base_executable", "") or sys.executable
    if getattr(sys, "frozen", False) or not base:
        raise OSError("this build of Sightline has no Python interpreter of its own")
    return os.path.realpath(base)


@cache
def runtime_files() -> tuple[tuple[str, str], ...]:
    """Return the paths, with rights, of Python's own files, the packages and system libraries."""
    paths = sysconfig.get_paths()
    read = [interpreter(), paths["stdlib"], paths["platstdlib"], *map(str, _package_files())]
    base = Path(sys.base_prefix)
    if sys.platform == "win32":
        read += [str(base), str(base / "DLLs")]
    elif sys.platform == "darwin":
        read += [str(base / "lib"), "/usr/lib", "/System/Library", "/private/var/db/dyld"]
        read += [str(base / "Python"), str(base / "Resources")]
    else:
        read += [str(base / "lib"), str(base / "lib64")]
        read += ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"]
    found = [(path, "read") for path in dict.fromkeys(read) if os.path.lexists(path)]
    return (*found, *((folder, "list") for folder in package_folders()))


def _package_files() -> Sequence[Path]:
    """Return the folders and files of the packages, with their shared libraries."""
    found: list[Path] = []
    for name in PACKAGES:
        spec = find_spec(name)
        if spec is None or not spec.origin:
            continue
        folder = Path(spec.origin)
        if spec.submodule_search_locations:
            folder = folder.parent
            libraries = folder.with_name(f"{name}.libs")
            found += [libraries] if libraries.is_dir() else []
        found.append(folder)
    return found


@cache
def package_folders() -> tuple[str, ...]:
    """Return the folders in which Python finds the packages."""
    return tuple(dict.fromkeys(str(one.parent) for one in _package_files()))
