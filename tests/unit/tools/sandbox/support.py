"""Targets for attacks, and generated code run in the sandbox and in a plain process."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from app.tools.api import CancelToken
from app.tools.sandbox.backends import Backend, Bubblewrap, Landlock, candidates
from app.tools.sandbox.jobs import Job, Limits, Outcome, make_job
from app.tools.sandbox.sandbox import run_job

SECRET = "a secret of the user"
REPO = Path(__file__).resolve().parents[4]
ATTACKS = (Path(__file__).parent / "attack_code.py").read_text("utf-8")


def backend(kind: type[Bubblewrap] | type[Landlock]) -> Backend | None:
    """This machine's sandbox of a kind, if it has one."""
    return next((one for one in candidates() if isinstance(one, kind)), None)


def run_code(
    sandbox: Backend,
    folder: Path,
    code: str,
    limits: Limits | None = None,
    cancel: CancelToken | None = None,
) -> Outcome:
    """Run code in a folder that is made for it."""
    folder.mkdir()
    return run_job(sandbox, make_job(folder, code), limits or Limits(seconds=20), cancel)


def run_plainly(folder: Path, code: str) -> dict[str, Any]:
    """Run the same code with all the user's rights, and return what `analyze()` returned."""
    program = f"{code}\nimport json\nprint('\\n' + json.dumps(analyze()))"
    done = subprocess.run(
        [sys.executable, "-B", "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def targets(folder: Path) -> Generator[str]:
    """Lay out what the attacks are after, and give the lines of code that name it."""
    with ExitStack() as stack:
        home = folder / "home"
        home.mkdir()
        (home / "outside").write_text(SECRET, "utf-8")
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        path = stack.enter_context(tempfile.TemporaryDirectory(prefix="s-")) + "/socket"
        abstract = "\0" + path
        for address in (path, abstract):
            unix = stack.enter_context(socket.socket(socket.AF_UNIX))
            unix.bind(address)
            unix.listen()
        os.environ["SIGHTLINE_PLANTED"] = SECRET
        stack.callback(os.environ.pop, "SIGHTLINE_PLANTED")
        names = {
            "OUTSIDE": str(home / "outside"),
            "SECRET": SECRET,
            "TCP": tcp.getsockname(),
            "UDP": udp.getsockname(),
            "UNIX": path,
            "ABSTRACT": abstract,
        }
        yield "".join(f"{name} = {value!r}\n" for name, value in names.items())


def attack_job(folder: Path, named: str) -> Job:
    """Lay out the job of all attacks, with a file to read and a planted link."""
    folder.mkdir()
    code = f"{named}{own_names(folder)}{ATTACKS}"
    job = make_job(folder, code)
    plant(folder, job.input / "data" / "given", job.scratch / "link")
    return job


def own_names(folder: Path) -> str:
    """The lines of code that name what lies in a job's own folder."""
    given, link = folder / "input" / "data" / "given", folder / "scratch" / "link"
    return f"INPUT = {str(given)!r}\nLINK = {str(link)!r}\n"


def plant(folder: Path, given: Path, link: Path) -> None:
    """Make a file that may be read, and a link to one that may not."""
    given.write_text("given", "utf-8")
    link.symlink_to(folder.parent / "home" / "outside")


def all_attacks(folder: Path, sandbox: Backend | None) -> dict[str, str]:
    """Return what came of each attack, in a sandbox or (None) in a plain process."""
    folder.mkdir()
    with targets(folder) as named:
        job = attack_job(folder / "job", named)
        if sandbox is None:
            code = (job.input / "code.py").read_text("utf-8")
            return run_plainly(job.scratch, code)["attacks"]
        done = run_job(sandbox, job, Limits(seconds=30))
    assert done.kind == "returned", done
    return dict(done.value["attacks"])


ORDINARY_USER = 65534
_NOT_HERE = 77


class NoOtherUser(Exception):
    """This machine does not let tests become an ordinary user."""


def as_ordinary_user(program: str, folder: Path) -> str:
    """Run a Python program as an ordinary user without any capability; return what it prints.

    Root's home and the project's folder may be closed to others. So the program gets a view of the
    file system in which the top folder above Python is open, and in which the project and its
    virtual environment are in `folder`, too; nothing else is changed.

    Raises:
        NoOtherUser: This machine does not let it, or that user cannot read the project.
        RuntimeError: The program failed.
    """
    if os.geteuid() != 0 or not all(shutil.which(one) for one in ("unshare", "setpriv")):
        raise NoOtherUser("only root can become another user, by unshare and setpriv")
    repo, prefix = folder / "repo", folder / "environment"
    python = prefix / "bin" / Path(sys.executable).name
    user = f"setpriv --reuid={ORDINARY_USER} --regid={ORDINARY_USER} --clear-groups --inh-caps=-all"
    lines = [
        "set -e",
        f"trap 'exit {_NOT_HERE}' EXIT",
        "mount --make-rprivate /",
        f"mkdir {folder}/held {repo} {prefix}",
        f"mount --rbind {REPO} {repo}",
        f"mount --rbind {sys.prefix} {prefix}",
    ]
    closed = {Path(os.path.realpath(one)).parts[1] for one in (sys.executable, sys.base_prefix)}
    for number, name in enumerate(sorted(closed - {"usr", "tmp", "opt"})):
        held = f"{folder}/held/{number}"
        lines += [
            f"mkdir {held}",
            f"mount --rbind /{name} {held}",
            f"mount -t tmpfs -o mode=755 none /{name}",
            f"for one in {held}/.* {held}/*; do case ${{one##*/}} in .|..) continue;; esac",
            f'  [ -d "$one" ] && ! [ -L "$one" ] || continue; mkdir /{name}/"${{one##*/}}"',
            f'  mount --rbind "$one" /{name}/"${{one##*/}}"; done',
            f"umount -l {held}",
        ]
    own = folder / "program.py"
    own.write_text(program, "utf-8")
    for one in (folder, own):  # whatever the process's umask
        os.chown(one, ORDINARY_USER, ORDINARY_USER)
    lines += [
        f"{user} sh -c 'test -r {repo}/pyproject.toml && {python} -c 0'",
        f"cd {repo}",
        f"exec {user} {python} -B {own}",
    ]
    shell = ["unshare", "--mount", "sh", "-c", "\n".join(lines)]
    variables = {**os.environ, "HOME": str(folder), "PYTHONPATH": str(repo)}
    variables |= {"TMPDIR": str(folder), "SIGHTLINE_HOME": str(folder / "profile")}
    done = subprocess.run(
        shell, capture_output=True, text=True, check=False, timeout=120, env=variables
    )
    if done.returncode == _NOT_HERE or "unshare failed" in done.stderr:
        raise NoOtherUser(done.stderr[-500:] or "the user cannot read the project")
    if done.returncode:
        raise RuntimeError(done.stderr[-2_000:])
    return done.stdout
