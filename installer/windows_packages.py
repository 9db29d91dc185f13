"""The installer for Windows, by Inno Setup 6; signed where a certificate is given."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from app import __version__
from installer.console import Console, SetupError

SCRIPT = Path(__file__).resolve().parent / "windows" / "sightline.iss"
_PLACES = (
    r"C:\Program Files (x86)\Inno Setup 6\ISCC.exe",
    r"C:\Program Files\Inno Setup 6\ISCC.exe",
)
_STAMP = "http://timestamp.digicert.com"


def make(folder: Path, out: Path, key: str, console: Console) -> list[Path]:
    """Write the installer of a frozen program.

    Args:
        folder: The frozen program.
        out: Where to write.
        key: SHA-1 thumbprint of a certificate in the user's store; "" for unsigned.
        console: Output of progress.

    Raises:
        SetupError: Inno Setup is missing, or it or signtool failed.
    """
    compiler = shutil.which("ISCC") or next((p for p in _PLACES if Path(p).is_file()), None)
    if compiler is None:
        raise SetupError(
            "Inno Setup 6 is missing", "install it: winget install JRSoftware.InnoSetup"
        )
    command = [compiler, "/Q", *(f"/D{k}={v}" for k, v in definitions(folder, out).items())]
    if key:
        sign = ["signtool", "sign", "/sha1", key, "/fd", "sha256", "/tr", _STAMP, "/td", "sha256"]
        _run([*sign, *map(str, folder.glob("*.exe"))])
        command += ["/DSignTool", f"/Ssightline={' '.join(sign)} $f"]
    else:
        console.say("not signed: give a certificate's thumbprint with --sign")
    _run([*command, str(SCRIPT)])
    return [out / f"{folder.name}.exe"]


def definitions(folder: Path, out: Path) -> dict[str, str]:
    """Return the values that the script takes from outside."""
    return {"Version": __version__, "Source": str(folder), "Out": str(out), "Title": folder.name}


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        told = (done.stdout + done.stderr).strip()[-500:]
        raise SetupError(f"{Path(command[0]).name} failed: {told}", "see the message above")
