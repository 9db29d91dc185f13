"""What goes into packages, and how they are installed and removed: no package is built here."""

from __future__ import annotations

import json
import os
import platform
import plistlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from app import __version__, paths
from app.imaging.demo import demo_paths
from installer import (
    contents,
    cuda_pack,
    linux_packages,
    macos_packages,
    package,
    third_party,
    try_docs,
    windows_packages,
)
from installer.console import Console, SetupError
from installer.third_party import SystemPart

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
    full = contents.excluded(contents.FLAVOURS["full"])
    assert "torch" not in full
    assert "SimpleITK" in out, "only what needs torch uses it"
    assert "SimpleITK" not in full


def test_facts_of_the_build_are_told_by_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "resources_dir", lambda: tmp_path)
    assert paths.build_facts() == {}
    (tmp_path / "build.json").write_text(json.dumps(FACTS))
    told = paths.build_facts()
    assert told == {"flavour": "viewer", "commit": "0123456789ab", "date": "2023-11-14"}


XCB = SystemPart("libxcb1", "1.15-1", "deb", "debian", "MIT")


def test_the_list_of_contents_is_valid_cyclonedx_and_names_what_is_inside() -> None:
    pytest.importorskip("cyclonedx", reason="of the set-up for packages only")
    names = ["numpy", "PySide6", "pyqtgraph"]
    text = third_party.list_of_contents(names, [XCB], FACTS)  # checks it against the schema
    made = json.loads(text)
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    parts = {part.get("purl", "").partition("@")[0]: part for part in made["components"]}
    assert parts["pkg:deb/debian/libxcb1"]["version"] == "1.15-1"
    assert parts["pkg:deb/debian/libxcb1"]["licenses"][0]["license"]["name"] == "MIT"
    (source,) = parts["pkg:pypi/numpy"]["externalReferences"]
    lock = (contents.REPO / "installer" / "requirements" / "viewer.txt").read_text()
    assert all(f"sha256:{one['content']}" in lock for one in source["hashes"])
    needs = {one["ref"]: one.get("dependsOn", []) for one in made["dependencies"]}
    plots = f"pkg:pypi/pyqtgraph@{parts['pkg:pypi/pyqtgraph']['version']}"
    assert [one.partition("@")[0] for one in needs[plots]] == ["pkg:pypi/numpy"]
    assert plots in needs["sightline"]
    assert not any("numpy" in one for one in needs["sightline"]), "pyqtgraph brings it"
    assert made["metadata"]["component"]["version"] == "1.2.3"
    assert text == third_party.list_of_contents(names, [XCB], FACTS)


def test_each_library_of_the_system_leads_to_its_package() -> None:
    if not shutil.which("dpkg"):
        pytest.skip("no dpkg here: libraries of the system are told by Debian's")
    shell = os.path.realpath("/bin/sh")
    (part,) = third_party.system_parts([shell])
    assert part.name == "dash"
    assert part.vendor == platform.freedesktop_os_release()["ID"]
    assert part.texts[0].is_file()
    with pytest.raises(LookupError, match="belongs to no package"):
        third_party.system_parts(["/nowhere/libmine.so"])


@pytest.mark.parametrize(("system", "vendor"), [("win32", "windows"), ("darwin", "macos")])
def test_elsewhere_libraries_of_the_system_are_told_by_their_names(
    system: str, vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(third_party.sys, "platform", system)
    monkeypatch.setattr(third_party.subprocess, "run", None)  # there is no dpkg to ask
    assert third_party.system_parts(["/x/b.dll", "/y/a.dll"]) == [
        SystemPart(name, "", "", vendor) for name in ("a.dll", "b.dll")
    ]


def test_a_package_without_a_licence_text_stops_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["array-api-compat", "numpy", "PySide6_Essentials", "pypdfium2", "tokenizers"]
    third_party.write_licences(tmp_path / "texts", names, [])
    folders = {path.name.partition("-")[0]: path for path in (tmp_path / "texts").iterdir()}
    assert {path.name for path in folders["PySide6_Essentials"].iterdir()} == {
        "LGPL-3.0.txt",
        "GPL-3.0.txt",
    }
    assert len(list(folders["pypdfium2"].iterdir())) > 20, "with those of PDFium's parts"
    monkeypatch.delitem(third_party._TEXTS, "tokenizers")
    with pytest.raises(LookupError, match="no licence text for tokenizers"):
        third_party.write_licences(tmp_path / "again", names, [])


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
    assert set(home.rglob("*")) == {home / ".config", home / ".local"}


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_two_versions_lie_beside_each_other(frozen: Path, tmp_path: Path) -> None:
    linux_packages.make(frozen, tmp_path, 1)
    prefix = tmp_path / "prefix"

    def script(*arguments: str) -> None:
        command = [str(frozen / "install.sh"), *arguments, "--prefix", str(prefix)]
        subprocess.run(command, check=True, capture_output=True)

    for version in ("1.0", "2.0-viewer", "2.0"):
        (frozen / "VERSION").write_text(version)
        script()
    link = prefix / "bin" / "sightline"
    assert link.readlink() == prefix / "lib" / "sightline" / "2.0" / "sightline"
    assert (prefix / "lib/sightline/2.0-viewer/sightline").is_file()
    (frozen / "VERSION").write_text("1.0")
    script("--uninstall")  # the older one: the newer keeps its command and its place in the menu
    assert link.exists()
    assert (prefix / "share/applications/sightline.desktop").exists()
    assert not (prefix / "lib/sightline/1.0").exists()
    for version in ("2.0-viewer", "2.0"):
        (frozen / "VERSION").write_text(version)
        script("--uninstall")
    assert list(prefix.rglob("*")) == []


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
    viewer = frozen.with_name(f"{frozen.name}-viewer")
    shutil.copytree(frozen, viewer, symlinks=True)
    shutil.rmtree(viewer / "share")
    told = {
        path: subprocess.run(
            ["dpkg-deb", "-f", path, "Package", "Conflicts", "Replaces"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for path in (made[1], linux_packages.make(viewer, tmp_path, 1)[1])
    }
    names = ("sightline", "sightline-viewer")
    for (name, other), stated in zip((names, names[::-1]), told.values(), strict=True):
        assert stated == ["Package:", name, "Conflicts:", other, "Replaces:", other]
    assert (viewer / "VERSION").read_text().strip().endswith("-viewer")


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


def test_windows_script_names_what_is_there(
    frozen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repo: Path
) -> None:
    script = windows_packages.SCRIPT.read_text()
    given = set(windows_packages.definitions(frozen, tmp_path))
    assert set(re.findall(r"\{#(\w+)\}", script)) == given
    sections = {line for line in script.splitlines() if re.fullmatch(r"\[\w+\]", line)}
    assert {"[Setup]", "[Files]", "[Icons]", "[Registry]", "[Run]", "[Code]"} <= sections
    # Constants and messages of Inno Setup 6 itself, as its help lists them.
    constants = {"app", "autopf", "autoprograms", "autodesktop", "localappdata", "olddata"}
    plain = re.sub(r"AppId=.*|StringChange.*", "", script)
    assert set(re.findall(r"\{(\w+)\}", plain)) == constants
    messages = {"AssocFileExtension", "CreateDesktopIcon", "LaunchProgram"}
    assert set(re.findall(r"\{cm:(\w+)", script)) == messages
    tasks = set(re.findall(r'^Name: "(\w+)"; Description', script, re.MULTILINE))
    assert set(re.findall(r"Tasks: (\w+)", script)) == tasks
    spec = (repo / "installer" / "sightline.spec").read_text()
    starters = re.findall(r'starter\("(\w+)"', spec)
    assert len({name.lower() for name in starters}) == 2, "Windows does not tell case apart"
    assert set(re.findall(r"\\(\w+)\.exe", script)) == {"sightlinew"}
    assert "sightlinew" in starters
    monkeypatch.setattr(windows_packages.shutil, "which", lambda _: None)
    with pytest.raises(SetupError, match="Inno Setup"):
        windows_packages.make(frozen, tmp_path, "", Console())
    with pytest.raises(SetupError, match="signtool is missing"):
        windows_packages._signtool()


def test_windows_gets_a_signed_installer_and_a_folder_to_unpack(
    frozen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[list[str]] = []
    monkeypatch.setattr(windows_packages.shutil, "which", lambda name: f"C:/tools/{name}.exe")
    monkeypatch.setattr(windows_packages, "_run", called.append)
    (frozen / "sightline.exe").touch()
    made = windows_packages.make(frozen, tmp_path, "AB12", Console())
    assert [path.name for path in made] == [f"{frozen.name}.exe", f"{frozen.name}.zip"]
    with zipfile.ZipFile(made[1]) as archive:
        assert f"{frozen.name}/sightline.exe" in archive.namelist()
    signing, compiling = called
    assert signing[:4] == ["C:/tools/signtool.exe", "sign", "/sha1", "AB12"]
    assert signing[-1].endswith("sightline.exe")
    assert any(one.startswith("/Ssightline=$qC:/tools/signtool.exe$q sign") for one in compiling)
    assert compiling[-1] == str(windows_packages.SCRIPT)


def test_the_page_on_installing_names_this_version_in_commands_that_are_tried() -> None:
    blocks = try_docs.BLOCK.findall(try_docs.PAGE.read_text(encoding="utf-8"))
    assert {who for who, _ in blocks} == {"user", "root", "source"}
    text = "\n".join(written for _, written in blocks)
    assert set(re.findall(r"sightline[-/](\d[\d.]*\d)", text)) == {__version__}
    assert set(re.findall(r"-torch(.+?)-", text)) == {cuda_pack.torch_version()}
    for word in ("apt-get install", "install.sh --prefix", "--delete-data", "sha256sum -c"):
        assert word in text


def test_macos_is_told_that_dicom_files_are_opened() -> None:
    told = plistlib.loads(plistlib.dumps(macos_packages.info_plist()))
    (kind,) = told["CFBundleDocumentTypes"]
    assert kind["LSItemContentTypes"] == ["org.nema.dicom"]
    assert plistlib.loads(macos_packages.ENTITLEMENTS.read_bytes())


def test_the_workflow_runs_programs_that_are_there_with_options_that_they_have(repo: Path) -> None:
    yaml: Any = pytest.importorskip("yaml")
    text = (repo / ".github" / "workflows" / "package.yml").read_text()
    (job,) = yaml.safe_load(text)["jobs"].values()
    scripts = [step["run"] for step in job["steps"] if "run" in step]
    everything = "\n".join(scripts)
    for name in ("installer/bootstrap.py", "installer/smoke.py", "installer/linux/bare_root.sh"):
        assert name in everything
        assert (repo / name).is_file()
    assert "${{" not in everything, "values reach a shell as variables, which it can quote"
    told = subprocess.run(
        [sys.executable, str(repo / "installer" / "package.py"), "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    options = set(re.findall(r"--(?:viewer-only|sign)\b", everything))
    assert options == {"--viewer-only", "--sign"}
    assert all(option in told for option in options)
    # Who signs is told by a variable, which a step for each system sets.
    setting = [script for script in scripts if "SIGHTLINE_SIGN=$" in script]
    assert [("Import-PfxCertificate" in s, "security import" in s) for s in setting] == [
        (True, False),
        (False, True),
    ]
    (notary,) = [script for script in scripts if "store-credentials" in script]
    assert f"{macos_packages.PROFILE}=" in notary
    if shutil.which("bash"):
        for step in job["steps"]:
            if "run" in step and step.get("shell") != "pwsh":
                subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True)
