"""The disk image for macOS; signed and notarised where an identity is given."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from app import __version__
from installer.console import Console, SetupError

ENTITLEMENTS = Path(__file__).resolve().parent / "macos" / "entitlements.plist"
PROFILE = "SIGHTLINE_NOTARY_PROFILE"
"""Variable with the name of a `notarytool store-credentials` profile; without it not notarised."""


def info_plist() -> dict[str, Any]:
    """Return what Sightline.app tells macOS of itself: version, and that it opens DICOM files."""
    return {
        "CFBundleShortVersionString": __version__,
        "CFBundleVersion": __version__,
        "LSMinimumSystemVersion": "14.0",  # the oldest that torch is built for
        "NSHighResolutionCapable": True,
        "CFBundleDocumentTypes": [
            {
                "CFBundleTypeName": "DICOM image",
                "CFBundleTypeRole": "Viewer",
                "LSHandlerRank": "Alternate",
                "LSItemContentTypes": ["org.nema.dicom"],
                "CFBundleTypeExtensions": ["dcm", "dicom"],
            }
        ],
        "UTImportedTypeDeclarations": [
            {
                "UTTypeIdentifier": "org.nema.dicom",
                "UTTypeDescription": "DICOM image",
                "UTTypeConformsTo": ["public.image"],
                "UTTypeTagSpecification": {
                    "public.filename-extension": ["dcm", "dicom"],
                    "public.mime-type": "application/dicom",
                },
            }
        ],
    }


def make(app: Path, folder: Path, out: Path, key: str, console: Console) -> list[Path]:
    """Write the disk image with Sightline.app and a link to /Applications.

    Args:
        app: The frozen Sightline.app.
        folder: The frozen program as a folder, with licences and list of contents.
        out: Where to write.
        key: Name of a "Developer ID Application" identity; "" for an ad-hoc signature.
        console: Output of progress.

    Raises:
        SetupError: codesign, hdiutil or notarytool failed.
    """
    resources = app / "Contents" / "Resources"
    for name in ("THIRD-PARTY", "LICENSE", "sbom.cdx.json"):
        source = folder / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, resources / name)
    shutil.copy(folder / "lib" / "resources" / "build.json", resources / "resources")
    sign = ["codesign", "--force", "--deep", "--options", "runtime", "--timestamp"]
    if key:
        _run([*sign, "--entitlements", str(ENTITLEMENTS), "--sign", key, str(app)])
    else:
        console.say("signed for this Mac only: give a Developer ID identity with --sign")
        _run(["codesign", "--force", "--deep", "--sign", "-", str(app)])
    root = out / f"{folder.name}.dmg-root"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    shutil.copytree(app, root / app.name, symlinks=True)
    (root / "Applications").symlink_to("/Applications")
    image = out / f"{folder.name}.dmg"
    create = ["hdiutil", "create", "-ov", "-format", "UDZO", "-volname", "Sightline"]
    _run([*create, "-srcfolder", str(root), str(image)])
    shutil.rmtree(root)
    profile = os.environ.get(PROFILE, "")
    if key and profile:
        _run(["xcrun", "notarytool", "submit", str(image), "--keychain-profile", profile, "--wait"])
        _run(["xcrun", "stapler", "staple", str(image)])
    elif key:
        console.say(f"not notarised: set {PROFILE} to a notarytool keychain profile")
    return [image]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        told = (done.stdout + done.stderr).strip()[-500:]
        raise SetupError(f"{command[0]} failed: {told}", "see the message above")
