"""Writes the lock files in installer/requirements/ from pyproject.toml.

    python3 installer/lock.py [--upgrade] [--uv PATH]

Needs `uv` (from the package registry) and the network. One universal resolution covers Linux
x86-64, macOS arm64 and Windows x86-64 and every Python from 3.11 on; it is then split into sets:
`ai` holds what `viewer` does not, `test` and `package` each what those two do not. `test` also
holds the group `test-models`, without what it depends on. `pip` holds the pip that installs them.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
FOLDER = REPO / "installer" / "requirements"
COMPILE = (
    *("pip", "compile", "--universal", "--generate-hashes", "--python-version", "3.11"),
    *("--no-header", "--no-annotate", "--quiet"),
)
EXTRAS = ("--extra", "ai", "--extra", "anthropic")
SETS = {
    "viewer": ["pyproject.toml"],
    "ai": ["pyproject.toml", *EXTRAS],
    "test": ["pyproject.toml", *EXTRAS, "--group", "test"],
    "package": ["pyproject.toml", *EXTRAS, "--group", "package"],
}
TOOLS = ("test", "package")  # either may be installed without the other
# Added to a set as they are, whatever they depend on.
ALONE = {"test": ["--group", "test-models", "--no-deps"]}
# Every pair must find a wheel for every package. macOS 14 is the oldest that torch is built for.
PLATFORMS = ("x86_64-manylinux_2_34", "aarch64-apple-darwin", "x86_64-pc-windows-msvc")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# Space needed, in GiB, as measured on Linux x86-64: what is installed, and the largest download on
# top; and torch's CUDA libraries, which are left out on machines without an NVIDIA driver.
SPACE = {"viewer": 1.8, "ai": 2.8, "test": 0.7, "package": 0.1}
CUDA_SPACE = {"ai": 4.1}
# The exact versions that the bootstrap's own pip has been tried with need not follow the app's.
PIP_REQUIREMENT = "pip>=26"


def registry_only() -> dict[str, str]:
    """Return the environment variables without those that add an index or a folder of wheels."""
    unwanted = ("UV_INDEX", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS")
    return {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}


def compile_lock(uv: str, arguments: list[str], output: Path, constraint: Path | None) -> None:
    """Resolve one set, within the versions of the lock file `constraint`."""
    command = [uv, *COMPILE, *arguments, "-o", str(output)]
    if constraint is not None:
        command += ["-c", str(constraint)]
    subprocess.run(command, check=True, cwd=REPO, env=registry_only())


def entries(text: str) -> list[str]:
    """Return the lock's entries: each a pin with its marker, and the hashes of its files."""
    return [entry.strip() for entry in re.split(r"\n(?=[A-Za-z0-9])", text.strip()) if entry]


def write_set(name: str, lines: list[str]) -> None:
    """Replace one lock file; stop at an entry that is not a pin with hashes."""
    for entry in lines:
        if not re.match(r"[\w.-]+==[\w.]+[ \\]", entry) or "--hash=sha256:" not in entry:
            raise SystemExit(f"lock.py: not a pin with hashes: {entry[:100]}")
        if "://" in entry or "--index" in entry or "--find-links" in entry:
            raise SystemExit(f"lock.py: an address got into the lock: {entry[:100]}")
    header = f"# The '{name}' set. Written by installer/lock.py from pyproject.toml; do not edit.\n"
    if name in SPACE:
        more = f", and {CUDA_SPACE[name]} GiB for CUDA" if name in CUDA_SPACE else ""
        header += f"# Takes {SPACE[name]} GiB of disk while it is installed{more}.\n"
    target = FOLDER / f"{name}.txt"
    partial = target.with_suffix(".partial")
    partial.write_text(header + "\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    partial.replace(target)
    print(f"{target.relative_to(REPO)}: {len(lines)} packages")


def check_wheels(uv: str) -> None:
    """Stop if a platform lacks a wheel: the bootstrap builds nothing from source."""
    environment = {**registry_only(), "MACOSX_DEPLOYMENT_TARGET": "14.0"}
    with tempfile.TemporaryDirectory() as target:
        command = [uv, "pip", "install", "--dry-run", "--quiet", "--no-deps", "--require-hashes"]
        command += ["--only-binary", ":all:", "--target", target]
        for name in ("pip", *SETS):
            command += ["-r", str(FOLDER / f"{name}.txt")]
        for platform in PLATFORMS:
            for python in PYTHONS:
                pair = ["--python-platform", platform, "--python-version", python]
                subprocess.run([*command, *pair], check=True, cwd=REPO, env=environment)
    print(f"wheels for Python {', '.join(PYTHONS)} on {', '.join(PLATFORMS)}")


def main() -> int:
    """Resolve all sets together, so that they fit, then write one lock file a set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--upgrade", action="store_true", help="move to the newest versions")
    parser.add_argument("--uv", default="uv", help="the uv program (default: on PATH)")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "whole.txt"
        if not options.upgrade:
            old = [path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.txt"))]
            whole.write_text("\n".join(old), encoding="utf-8")
        compile_lock(options.uv, [*SETS["test"], "--group", "package"], whole, None)
        seen: set[str] = set()
        for name, arguments in SETS.items():
            part = Path(scratch) / f"{name}.txt"
            compile_lock(options.uv, arguments, part, whole)
            lines = entries(part.read_text(encoding="utf-8"))
            if name in ALONE:
                part = Path(scratch) / f"{name}-alone.txt"
                compile_lock(options.uv, ALONE[name], part, whole)
                lines += entries(part.read_text(encoding="utf-8"))
            write_set(name, [entry for entry in lines if entry not in seen])
            if name not in TOOLS:
                seen.update(lines)
        request = Path(scratch) / "pip.in"
        request.write_text(PIP_REQUIREMENT + "\n", encoding="utf-8")
        part = Path(scratch) / "pip.txt"
        if not options.upgrade and (FOLDER / "pip.txt").exists():
            part.write_text((FOLDER / "pip.txt").read_text(encoding="utf-8"), encoding="utf-8")
        compile_lock(options.uv, [str(request), "--unsafe-package", "none"], part, None)
        write_set("pip", entries(part.read_text(encoding="utf-8")))
    check_wheels(options.uv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
