"""What goes into packages, and how they are installed and removed: no package is built here."""

from __future__ import annotations

import json
import os
import plistlib
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from app import paths
from app.imaging.demo import demo_paths
from installer import contents, linux_packages, macos_packages, package, windows_packages
from installer.console import Console, SetupError

FACTS = {
    "version": "1.2.3",
    "flavour": "viewer",
    "commit": "0123456789abcdef",
    "time": 1_700_000_000,
    "python": "3.11.7",
    "system": "linux-x86_64",
}


@pytest.fixture
def frozen(tmp_path: Path) -> Path:
    """A folder in the shape of a frozen program; its starter tells where it lies."""
    folder = tmp_path / "made" / "sightline-1.2.3-linux-x86_64"
    (folder / "lib" / "resources").mkdir(parents=True)
    starter = folder / "sightline"
    starter.write_text('#!/bin/sh\necho "started from $(readlink -f "$0")"\n')
    starter.chmod(0o755)
    (folder / "lib" / "module.so").write_bytes(b"\x7fELF")
    (folder / "lib" / "link.so").symlink_to("module.so")
    return folder


def test_the_viewer_leaves_out_torch_and_its_kin_and_the_tests() -> None:
    out = set(contents.excluded(contents.FLAVOURS["viewer"]))
    assert {"torch", "torchvision", "transformers", "pandas", "pytest", "hypothesis"} <= out
    assert not {"numpy", "PySide6", "pydicom", "scipy", "app"} & out
    assert "torch" not in contents.excluded(contents.FLAVOURS["full"])


def test_facts_of_the_build_are_told_by_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "resources_dir", lambda: tmp_path)
    assert paths.build_facts() == {}
    (tmp_path / "build.json").write_text(json.dumps(FACTS))
    told = paths.build_facts()
    assert told == {"flavour": "viewer", "commit": "0123456789ab", "date": "2023-11-14"}


def test_the_list_of_contents_is_valid_cyclonedx_and_names_what_is_inside() -> None:
    pytest.importorskip("cyclonedx", reason="of the set-up for packages only")
    packages = {"libxcb1": "1.15-1"}
    text = contents.list_of_contents(["numpy", "PySide6"], packages, FACTS)
    made = json.loads(text)
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    addresses = {part.get("purl", "") for part in made["components"]}
    assert "pkg:deb/debian/libxcb1@1.15-1" in addresses
    assert any(address.startswith("pkg:pypi/numpy@") for address in addresses)
    assert made["metadata"]["component"]["version"] == "1.2.3"
    assert text == contents.list_of_contents(["numpy", "PySide6"], packages, FACTS)


def test_each_library_of_the_system_leads_to_its_package() -> None:
    if not shutil.which("dpkg"):
        pytest.skip("no dpkg here: libraries of the system are told by Debian's")
    shell = os.path.realpath("/bin/sh")
    assert list(contents.system_packages([shell])) == ["dash"]
    with pytest.raises(LookupError, match="belongs to no package"):
        contents.system_packages(["/nowhere/libmine.so"])


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_installing_starting_and_removing_in_a_home_of_its_own(
    frozen: Path, tmp_path: Path
) -> None:
    linux_packages.make(frozen, tmp_path, 1_700_000_000)
    unpacked = tmp_path / "unpacked"
    with tarfile.open(tmp_path / f"{frozen.name}.tar.gz") as archive:
        assert {entry.mtime for entry in archive} == {1_700_000_000}
        archive.extractall(unpacked, filter="tar")
    home = tmp_path / "a home"
    settings = home / ".config" / "sightline" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text("{}")

    def script(folder: Path, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [str(folder / "install.sh"), *arguments, "--prefix", str(home / ".local")],
            env={"HOME": str(home), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    from_archive = unpacked / frozen.name
    script(from_archive)
    shutil.rmtree(unpacked)  # what was unpacked is not needed any more
    started = subprocess.run([home / ".local/bin/sightline"], capture_output=True, text=True)
    version = (frozen / "VERSION").read_text().strip()
    installed = home / ".local" / "lib" / "sightline" / version
    assert started.stdout.strip() == f"started from {installed / 'sightline'}"
    entry = (home / ".local/share/applications/sightline.desktop").read_text()
    assert "MimeType=application/dicom" in entry
    assert f'Exec="{home}/.local/bin/sightline" %F' in entry
    script(installed, "--delete-data", code=2)  # without --uninstall: a mistake
    assert "are kept" in script(installed, "--uninstall")
    assert not installed.exists()
    assert not (home / ".local/bin/sightline").is_symlink()
    assert settings.exists()
    script(frozen)
    assert "are deleted" in script(installed, "--uninstall", "--delete-data")
    assert not settings.parent.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_two_versions_lie_beside_each_other(frozen: Path, tmp_path: Path) -> None:
    linux_packages.make(frozen, tmp_path, 1)
    prefix = tmp_path / "prefix"

    def script(*arguments: str) -> None:
        command = [str(frozen / "install.sh"), *arguments, "--prefix", str(prefix)]
        subprocess.run(command, check=True, capture_output=True)

    for version in ("1.0", "2.0"):
        (frozen / "VERSION").write_text(version)
        script()
    link = prefix / "bin" / "sightline"
    assert link.readlink() == prefix / "lib" / "sightline" / "2.0" / "sightline"
    (frozen / "VERSION").write_text("1.0")
    script("--uninstall")  # the older one: the newer keeps its command and its place in the menu
    assert link.exists()
    assert (prefix / "share/applications/sightline.desktop").exists()
    assert not (prefix / "lib/sightline/1.0").exists()


def test_the_debian_package_has_the_program_and_its_place_in_the_menu(
    frozen: Path, tmp_path: Path
) -> None:
    if not shutil.which("dpkg-deb"):
        pytest.skip("no dpkg-deb here")
    made = linux_packages.make(frozen, tmp_path, 1_700_000_000)
    assert [path.suffix for path in made] == [".gz", ".deb"]
    listed = subprocess.run(
        ["dpkg-deb", "-c", made[1]], capture_output=True, text=True, check=True
    ).stdout
    assert "./usr/bin/sightline -> /opt/sightline/sightline" in listed
    assert "./usr/share/applications/sightline.desktop" in listed
    assert "install.sh" not in listed
    assert all("root/root" in line for line in listed.splitlines())


def test_the_stick_has_packages_models_demo_and_docs_with_their_sums(
    frozen: Path, tmp_path: Path
) -> None:
    out, stick = tmp_path / "dist", tmp_path / "stick"
    out.mkdir()
    made = linux_packages.make(frozen, out, 1)
    package.write_sums(out, made)
    pack = tmp_path / "pack.zip"
    pack.write_bytes(b"model")
    package.bundle(out, [pack], stick)
    for path in [stick / "models/pack.zip", *(stick / "demo" / p.name for p in demo_paths())]:
        assert path.is_file()
    assert (stick / "docs" / "install.md").is_file()
    if shutil.which("sha256sum"):
        subprocess.run(
            ["sha256sum", "-c", "--quiet", "--strict", "SHA256SUMS"], cwd=stick, check=True
        )
    made[0].write_bytes(b"damaged")
    with pytest.raises(SetupError, match="not as it was made"):
        package.bundle(out, [], stick)


def test_windows_script_takes_its_values_and_says_what_is_missing(
    frozen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = windows_packages.SCRIPT.read_text()
    for name in windows_packages.definitions(frozen, tmp_path):
        assert "{#" + name in script
    sections = {line for line in script.splitlines() if line.startswith("[")}
    assert {"[Setup]", "[Files]", "[Icons]", "[Registry]", "[Run]"} <= sections
    monkeypatch.setattr(windows_packages.shutil, "which", lambda _: None)
    with pytest.raises(SetupError, match="Inno Setup"):
        windows_packages.make(frozen, tmp_path, "", Console())


def test_macos_is_told_that_dicom_files_are_opened() -> None:
    told = plistlib.loads(plistlib.dumps(macos_packages.info_plist()))
    (kind,) = told["CFBundleDocumentTypes"]
    assert kind["LSItemContentTypes"] == ["org.nema.dicom"]
    assert plistlib.loads(macos_packages.ENTITLEMENTS.read_bytes())


def test_the_workflow_names_programs_that_are_there(repo: Path) -> None:
    text = (repo / ".github" / "workflows" / "package.yml").read_text()
    for name in ("installer/bootstrap.py", "installer/smoke.py", "installer/linux/bare_root.sh"):
        assert name in text
        assert (repo / name).is_file()
