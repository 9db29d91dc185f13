"""Runs each Linux command of docs/install.md as it is written there, in a copy of a bare Debian.

    .venv/bin/python installer/try_docs.py --root DIR

Needs root, bubblewrap, Xvfb and xdotool; DIR is made by `installer/linux/bare_root.sh`, and `dist/`
has both flavours and the CUDA pack. The page's blocks say in their first line who types them: `sh
user` and `sh root` are run in the copy, without a network, beside the downloaded files; `sh source`
in this folder. They run in the page's order and share what they leave behind. A window that one of
them opens is waited for, and closed. Prints a line for each; the exit code is 1 if any failed.

One word is added to what is written, and said: model files are made here, with random weights, so
`models install` needs `--other`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO))

from installer.smoke import MODEL, make_model, x_server

PAGE = REPO / "docs" / "install.md"
BLOCK = re.compile(r"^```sh (user|root|source)\n(.*?)^```", re.MULTILINE | re.DOTALL)
HOME = "home/person"
DATA = f"{HOME}/.local/share/sightline"


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine that the commands are typed on.

    Attributes:
        root: The copy of the bare Debian.
        stick: What it has as /media/stick.
        display: An X server's, such as ":1".
    """

    root: Path
    stick: Path
    display: str

    def command(self, who: str, text: str) -> list[str]:
        """Return the command line that runs a block."""
        shell = ["/bin/bash", "-euo", "pipefail", "-c", text]
        box = ["bwrap", "--die-with-parent"]
        if who == "source":
            box += ["--dev-bind", "/", "/", "--tmpfs", "/media"]
            return [*box, "--bind", str(self.stick), "/media/stick", "--chdir", str(REPO), *shell]
        box += ["--bind", str(self.root), "/", "--proc", "/proc", "--dev", "/dev"]
        box += ["--tmpfs", "/tmp", "--bind", "/tmp/.X11-unix", "/tmp/.X11-unix"]
        box += ["--bind", str(self.stick), "/media/stick"]
        box += ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--cap-add", "ALL"]
        home = "/root" if who == "root" else f"/{HOME}"
        box += ["--chdir", f"{home}/Downloads"]
        if who == "root":
            return [*box, *shell]
        return [*box, "setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", *shell]

    def variables(self, who: str) -> dict[str, str]:
        """Return the environment variables of a person's shell."""
        if who == "source":
            return {**os.environ}
        return {
            "HOME": "/root" if who == "root" else f"/{HOME}",
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
            "DISPLAY": self.display,
            "DEBIAN_FRONTEND": "noninteractive",
        }

    def has(self, path: str) -> bool:
        """Return whether a path is there, or a link of that name."""
        return os.path.lexists(self.root / path)


def results(text: str, machine: Machine) -> dict[str, bool]:
    """Return what must hold after a block, beside that it ended with 0."""
    installed = machine.has("usr/bin/sightline") or machine.has("usr/local/bin/sightline")
    own = machine.has(f"{HOME}/.local/bin/sightline")
    data = machine.has(DATA)
    expected: dict[str, Callable[[], dict[str, bool]]] = {
        "--delete-data": lambda: {"the program is gone": not own, "the data are gone": not data},
        "/.local/lib/sightline.*--uninstall": lambda: {"the program is gone": not own},
        "--uninstall --prefix": lambda: {"the program is gone": not installed},
        "apt-get remove": lambda: {"the program is gone": not machine.has("opt/sightline")},
        "apt-get install": lambda: {"the program is there": installed},
        "install.sh --prefix": lambda: {"the program is there": installed},
        "install.sh$": lambda: {"the program is there": own},
        "/srv/sightline/cuda": lambda: {"the pack is there": any_in(machine, "srv/sightline/cuda")},
        "--bundle": lambda: {"there are sums": (machine.stick / "SHA256SUMS").is_file()},
    }
    found = next((one for p, one in expected.items() if re.search(p, text, re.MULTILINE)), dict)
    kept = {"the user's data are kept": data} if re.search("--uninstall$", text) else {}
    return found() | kept


def any_in(machine: Machine, folder: str) -> bool:
    """Return whether something lies in a folder."""
    return any((machine.root / folder).iterdir())


def run(who: str, text: str, machine: Machine) -> str:
    """Run a block; return what went wrong, "" if nothing did."""
    window = re.search(r"sightline (--demo|demo/)$", text, re.MULTILINE)
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            machine.command(who, text),
            env=machine.variables(who),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        if window and not close_window(machine.display, process):
            process.kill()
        code = process.wait(timeout=900)
        output.seek(0)
        told = output.read().strip()[-500:]
    if code != 0:
        return f"it ended with {code}: {told}"
    return ", ".join(f"not so: {what}" for what, so in results(text, machine).items() if not so)


def close_window(display: str, process: subprocess.Popen[bytes]) -> bool:
    """Wait for the program's window and close it as a user does; return whether it came."""
    variables = {**os.environ, "DISPLAY": display}
    search = ["xdotool", "search", "--onlyvisible", "--name", "Sightline"]
    for _ in range(600):
        if process.poll() is not None:
            return True  # its exit code tells
        found = subprocess.run(search, env=variables, capture_output=True, text=True, check=False)
        if found.stdout.strip():
            time.sleep(3)
            focus = ["xdotool", "windowfocus", "--sync", found.stdout.split()[0]]
            for command in (focus, ["xdotool", "key", "ctrl+q"]):
                subprocess.run(command, env=variables, capture_output=True, check=False)
            return True
        time.sleep(0.5)
    return False


def prepare(machine: Machine, bare: Path, work: Path) -> None:
    """Copy the bare Debian, and lay the downloads and a model pack beside the commands."""
    subprocess.run(["cp", "-a", f"{bare}/.", machine.root], check=True)
    (machine.root / "media" / "stick").mkdir(parents=True)
    with (machine.root / "etc" / "passwd").open("a") as accounts:
        accounts.write(f"person:x:1000:1000::/{HOME}:/bin/bash\n")
    pack = model_pack(work)
    for folder in (machine.root / HOME / "Downloads", machine.root / "root" / "Downloads"):
        folder.mkdir(parents=True)
        for path in (REPO / "dist").iterdir():
            if path.is_file():
                os.link(path, folder / path.name)
        shutil.copy(pack, folder)
    for path in (machine.root / HOME, machine.root / HOME / "Downloads"):
        os.chown(path, 1000, 1000)
    shutil.copy(pack, REPO / pack.name)


def model_pack(work: Path) -> Path:
    """Make a model pack, `densenet.zip`, of a small model with random weights."""
    sightline = [sys.executable, "-P", "-m", "app", "models"]
    variables = {**os.environ, "SIGHTLINE_HOME": str(work / "maker"), "PYTHONPATH": str(REPO)}
    install = ["install", str(make_model(work)), "--name", MODEL, "--other", "--accept-terms"]
    target = work / "densenet.zip"
    for arguments in (install, ["pack", MODEL, "--out", str(target)]):
        command = [*sightline, *arguments]
        subprocess.run(command, env=variables, check=True, capture_output=True)
    return target


def main() -> int:
    """Run all blocks and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, required=True, help="a bare root folder to copy")
    options = parser.parse_args()
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    # Beside dist: there files can be linked, which are gigabytes.
    with (
        tempfile.TemporaryDirectory(prefix="try-docs-", dir=REPO / "dist") as folder,
        x_server() as display,
    ):
        machine = Machine(Path(folder, "root"), Path(folder, "stick"), display)
        for made in (Path(folder), machine.root, machine.stick):
            made.mkdir(exist_ok=True)
            made.chmod(0o755)
        try:
            prepare(machine, options.root.resolve(), Path(folder))
            failed = sum(not is_right(who, text, machine) for who, text in blocks)
        finally:
            (REPO / "densenet.zip").unlink(missing_ok=True)
    print(f"{'FAILED' if failed else 'passed'}: {len(blocks)} blocks, {failed} failed")
    return 1 if failed or not blocks else 0


def is_right(who: str, text: str, machine: Machine) -> bool:
    """Run a block, print its lines, and return whether all went well."""
    added = text.replace("--accept-terms", "--accept-terms --other")
    start = time.monotonic()
    problem = run(who, added, machine)
    head = f"{'FAILED' if problem else 'ok':7} {time.monotonic() - start:5.1f} s  {who:6} "
    note = "   (with --other)" if added != text else ""
    for line in text.strip().splitlines():
        print(f"{head}{line}{note if '--accept-terms' in line else ''}")
        head = " " * len(head)
    if problem:
        print(f"{head}{problem}")
    sys.stdout.flush()
    return not problem


if __name__ == "__main__":
    sys.exit(main())
