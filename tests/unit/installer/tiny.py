"""A working copy in miniature: the real bootstrap, tiny locked wheels, an app that tells its start.

Real processes throughout (Python, venv, pip), and no network: pip finds the wheels in a folder or
on a loopback server.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[3]

APP = """
import json, os, sys
names = ("QT_QPA_PLATFORM", "DISPLAY")
told = {"argv": sys.argv[1:], "prefix": sys.prefix, "cwd": os.getcwd()}
print(json.dumps(told | {name: os.environ.get(name) for name in names}))
"""


def write_wheel(folder: Path, name: str, version: str, files: dict[str, bytes]) -> str:
    """Writes a wheel; returns its lock entry."""
    info = f"{name}-{version}.dist-info"
    content = dict(files)
    content[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
    )
    content[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = "".join(f"{path},sha256={_record_hash(data)},\n" for path, data in content.items())
    content[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in content.items():
            archive.writestr(member, data)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"{name}=={version} \\\n    --hash=sha256:{digest}\n"


def _record_hash(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def write_pip_wheel(folder: Path) -> str:
    """Packs the pip that is installed here into a wheel again; returns its lock entry."""
    pip = importlib.metadata.distribution("pip")
    files = [f for f in pip.files or [] if f.parts[0] == "pip" and f.suffix != ".pyc"]
    content = {str(file): Path(str(file.locate())).read_bytes() for file in files}
    return write_wheel(folder, "pip", pip.version, content)


class TinyCopy:
    """One miniature working copy.

    Args:
        folder: Where it is made; must not exist.
        wheels: The folder that pip finds wheels in.
    """

    def __init__(self, folder: Path, wheels: Path) -> None:
        self.folder = folder
        self.wheels = wheels
        self.venv = folder / ".venv"
        self.stamp = self.venv / "sightline-stamp.json"
        self.pip_log = folder / "pip.log"
        modules = shutil.ignore_patterns("requirements", "__pycache__")
        shutil.copytree(REPO / "installer", folder / "installer", ignore=modules)
        (folder / "installer" / "requirements").mkdir()
        (folder / "app").mkdir()
        (folder / "app" / "__main__.py").write_text(APP)

    def lock(self, **sets: str) -> None:
        """Writes lock files, e.g. `lock(viewer=entry)`."""
        for name, entries in sets.items():
            path = self.folder / "installer" / "requirements" / f"{name}.txt"
            path.write_text(f"# The '{name}' set.\n{entries}")

    def environment(self, **variables: str) -> dict[str, str]:
        """Variables for the bootstrap: no display, no index but the wheels, nobody's settings."""
        kept = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "LANG")
        return {
            **{name: os.environ[name] for name in kept if name in os.environ},
            "HOME": str(self.folder),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.wheels),
            "PIP_LOG": str(self.pip_log),
            **variables,
        }

    def start(
        self, *arguments: str, cwd: Path | None = None, variables: dict[str, str] | None = None
    ) -> Started:
        """Runs the bootstrap to its end."""
        with self.popen(*arguments, cwd=cwd, variables=variables) as process:
            out, err = process.communicate()
        return Started(process.returncode, out, err)

    def popen(
        self, *arguments: str, cwd: Path | None = None, variables: dict[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Starts the bootstrap."""
        return subprocess.Popen(
            [sys.executable, str(self.folder / "installer" / "bootstrap.py"), *arguments],
            cwd=cwd or self.folder,
            env=self.environment(**(variables or {})),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def pip_installs(self) -> list[str]:
        """What pip was told to install so far, in order, as `name-version`."""
        if not self.pip_log.exists():
            return []
        marker = "Successfully installed "
        lines = self.pip_log.read_text().splitlines()
        return [p for line in lines if marker in line for p in line.partition(marker)[2].split()]

    def installed(self) -> dict[str, str]:
        """What importlib.metadata finds in the environment: versions by name."""
        code = (
            "import importlib.metadata as m, json;"
            "print(json.dumps({d.name: d.version for d in m.distributions()}))"
        )
        python = self.venv / "bin" / "python"
        return json.loads(subprocess.check_output([python, "-I", "-c", code]))


class Started:
    """How a start of the bootstrap ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def app(self) -> dict[str, Any]:
        """What the started app told of its start."""
        assert self.code == 0, self.err
        return json.loads(self.out)
