"""The packages for Windows: an installer by Inno Setup 6, and a ZIP file to unpack anywhere.

Signed where a certificate is given.
"""

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
_KITS = "C:/Program Files (x86)/Windows Kits/10/bin"
_STAMP = "http://timestamp.digicert.com"


def make(folder: Path, out: Path, key: str, console: Console) -> list[Path]:
    """Write the installer of a frozen program, and a ZIP file of it.

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
        program = _signtool()
        sign = ["sign", "/sha1", key, "/fd", "sha256", "/tr", _STAMP, "/td", "sha256"]
        _run([program, *sign, *map(str, folder.glob("*.exe"))])
        # $q is a quote and $f the file, as Inno Setup reads it.
        command += ["/DSignTool", f"/Ssightline=$q{program}$q {' '.join(sign)} $f"]
    else:
        console.say("not signed: give a certificate's thumbprint with --sign")
    _run([*command, str(SCRIPT)])
    archive = shutil.make_archive(str(out / folder.name), "zip", folder.parent, folder.name)
    return [out / f"{folder.name}.exe", Path(archive)]


def _signtool() -> str:
    """Return the path of signtool: of the newest Windows SDK, unless it is on the PATH."""
    kits = sorted(Path(_KITS).glob("10.*/x64/signtool.exe"))
    found = shutil.which("signtool") or (str(kits[-1]) if kits else "")
    if not found:
        raise SetupError("signtool is missing", "install the Windows SDK, or leave out --sign")
    return found


def definitions(folder: Path, out: Path) -> dict[str, str]:
    """Return the values that the script takes from outside."""
    return {"Version": __version__, "Source": str(folder), "Out": str(out), "Title": folder.name}


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        told = (done.stdout + done.stderr).strip()[-500:]
        raise SetupError(f"{Path(command[0]).name} failed: {told}", "see the message above")
