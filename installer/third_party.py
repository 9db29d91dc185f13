"""What a package holds of others: licence texts, and the software bill of materials (SBOM)."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from installer.environment import read_locks

REPO = Path(__file__).resolve().parents[1]
LICENCE = re.compile(
    r"(^|/)(licen[cs]e|copying|notice|copyright|authors)[^/]*$|\.dist-info/(licenses|sboms)/.",
    re.IGNORECASE,
)
"""Path of a licence text in a Python package, or of its own list of what is compiled into it."""

_TEXTS = {
    **dict.fromkeys(
        ("pyside6", "pyside6-essentials", "pyside6-addons", "shiboken6"),
        ("LGPL-3.0.txt", "GPL-3.0.txt"),
    ),
    "array-api-compat": ("array-api-compat.txt",),
    "fhir-core": ("fhir.txt",),
    "fhir-resources": ("fhir.txt",),
    "graspologic-native": ("graspologic-native.txt",),
    "pyjpegls": ("pyjpegls.txt",),
    "sentencepiece": ("Apache-2.0.txt", "sentencepiece.txt"),
    "tokenizers": ("Apache-2.0.txt",),
}
"""Package whose wheel has no licence text -> files in `installer/licences`."""


@dataclass(frozen=True, slots=True)
class SystemPart:
    """A package of the operating system, libraries of which are in ours.

    Attributes:
        name: Its name; of Windows and macOS, that of the library's file.
        version: Its version; "" on Windows and macOS.
        kind: "deb" or "rpm"; "" on Windows and macOS.
        vendor: The system, such as "debian", "ubuntu" or "macos".
        terms: What it says of its licence, in a line.
        texts: Files with its licence.
    """

    name: str
    version: str
    kind: str
    vendor: str
    terms: str = ""
    texts: tuple[Path, ...] = ()

    @property
    def folder(self) -> str:
        """The folder of its licence in THIRD-PARTY."""
        return f"{self.vendor}-{self.name}"


def normal(name: str) -> str:
    """Return a Python package's name as indices write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def system_parts(libraries: Iterable[str]) -> list[SystemPart]:
    """Return the packages of this system that libraries belong to.

    Raises:
        LookupError: On Linux, a library belongs to none, or neither dpkg nor rpm is there.
    """
    if not sys.platform.startswith("linux"):
        vendor = {"darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)
        return [SystemPart(name, "", "", vendor) for name in sorted({*map(_name, libraries)})]
    vendor = platform.freedesktop_os_release()["ID"]
    for kind, program, owner in (("deb", "dpkg", _deb_of), ("rpm", "rpm", _rpm_of)):
        if shutil.which(program):
            found: dict[str, SystemPart] = {}
            for library in libraries:
                name = owner(library)
                if not name:
                    raise LookupError(f"{library} belongs to no package of this system")
                if name not in found:
                    found[name] = (_deb if kind == "deb" else _rpm)(name, vendor)
            return [found[name] for name in sorted(found)]
    raise LookupError("neither dpkg nor rpm is here to tell whose a library is")


def _name(path: str) -> str:
    return Path(path).name


def _told(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def _deb_of(library: str) -> str:
    # dpkg knows a file as /lib/... or /usr/lib/..., though one of them is a link to the other.
    path = library.removeprefix("/usr") if Path("/lib").is_symlink() else library
    told = (_told("dpkg", "-S", one) for one in (path, library, f"/usr{path}"))
    return next((text.split(":")[0] for text in told if text), "")


def _deb(name: str, vendor: str) -> SystemPart:
    version = _told("dpkg-query", "-W", "-f=${Version}\n", name).splitlines()[0]
    text = Path("/usr/share/doc", name, "copyright")
    # As DEP 5 has it; older ones are prose.
    stated = text.read_text(encoding="utf-8", errors="replace")
    named = re.findall(r"^License: *(\S.*)$", stated, re.MULTILINE) if "Format:" in stated else []
    terms = ", ".join(sorted(set(named))) or f"see THIRD-PARTY/{vendor}-{name}"
    return SystemPart(name, version, "deb", vendor, terms, (text,))


def _rpm_of(library: str) -> str:
    return _told("rpm", "-qf", "--qf", "%{NAME}\n", library).partition("\n")[0]


def _rpm(name: str, vendor: str) -> SystemPart:
    form = "%{VERSION}-%{RELEASE}\t%{LICENSE}\n"
    version, _, terms = _told("rpm", "-q", "--qf", form, name).partition("\n")[0].partition("\t")
    texts = [Path(line) for line in _told("rpm", "-qL", name).splitlines()]
    return SystemPart(name, version, "rpm", vendor, terms, tuple(p for p in texts if p.is_file()))


def write_licences(target: Path, names: Iterable[str], parts: Sequence[SystemPart]) -> None:
    """Write each licence text, and a page that lists all parts with their licences.

    Raises:
        LookupError: A part has no licence text.
    """
    lines = ["Sightline contains these parts of others. Their licences lie in the folders.\n"]
    target.mkdir()
    places = (sysconfig.get_paths()["stdlib"], sys.base_prefix)
    python = [path for place in places if (path := Path(place, "LICENSE.txt")).is_file()]
    _copy_texts(target / "Python", python[:1])
    lines.append(f"Python {platform.python_version()}: PSF-2.0")
    for name in names:
        found = importlib.metadata.distribution(name)
        place = target / f"{found.name}-{found.version}"
        _copy_texts(place, _texts_of(found))
        lines.append(f"{found.name} {found.version}: {licence(found)}")
    for part in parts:
        if part.kind:
            _copy_texts(target / part.folder, part.texts)
            lines.append(f"{part.name} {part.version} ({part.vendor}): {part.terms}")
        else:
            lines.append(f"{part.name}: of {part.vendor} itself, under its terms")
    lines.append("\nQt, in PySide6, has parts of others too: https://doc.qt.io/qt-6/licenses.html")
    (target / "README.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _texts_of(found: importlib.metadata.Distribution) -> list[Path]:
    """Return the licence texts of a Python package: its own, or those kept here."""
    own = [Path(str(file.locate())) for file in found.files or () if LICENCE.search(str(file))]
    texts = [path for path in own if path.is_file() and ".py" not in path.suffix]
    kept = [REPO / "installer" / "licences" / one for one in _TEXTS.get(normal(found.name), ())]
    return texts + kept


def _copy_texts(place: Path, texts: Sequence[Path]) -> None:
    """Copy licence texts into a folder; those of one name keep the folders they were in apart."""
    if not any("sboms" not in path.parts for path in texts):
        raise LookupError(f"there is no licence text for {place.name}")
    place.mkdir()
    names = [path.name for path in texts]
    for path in texts:
        name = path.name if names.count(path.name) == 1 else "_".join(path.parts[-3:])
        shutil.copyfile(path, place / name)


def licence(found: importlib.metadata.Distribution) -> str:
    """Return what a distribution says of its licence, in a line."""
    stated = found.metadata
    named = ", ".join(stated.get_all("License-Expression") or [])
    classifiers = [
        c.split(" :: ")[-1] for c in stated.get_all("Classifier") or [] if "License" in c
    ]
    whole = "".join(stated.get_all("License") or []).strip().partition("\n")[0]
    return named or ", ".join(classifiers) or whole or "see its folder"


def list_of_contents(
    names: Sequence[str], parts: Sequence[SystemPart], facts: dict[str, Any]
) -> str:
    """Return the software bill of materials, as CycloneDX 1.6 in JSON.

    Raises:
        ValueError: It does not conform to CycloneDX's own schema.
    """
    bill: Any = import_module("cyclonedx.model.bom").Bom()
    component: Any = import_module("cyclonedx.model.component").Component
    kinds: Any = import_module("cyclonedx.model.component").ComponentType
    terms_of: Any = import_module("cyclonedx.model.license").DisjunctiveLicense
    address_of: Any = import_module("packageurl").PackageURL

    def licensed(name: str, version: str, address: Any, terms: str, **more: Any) -> Any:
        made = component(
            name=name,
            version=version or None,
            purl=address,
            bom_ref=str(address or f"{name}@{version}"),
            licenses=[terms_of(name=terms)] if terms else (),
            **more,
        )
        bill.components.add(made)
        return made

    bill.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(facts, sort_keys=True))
    bill.metadata.timestamp = datetime.fromtimestamp(int(facts["time"]), UTC)
    program = component(
        name="sightline",
        version=str(facts["version"]),
        type=kinds.APPLICATION,
        bom_ref="sightline",
        licenses=[terms_of(name="Apache-2.0")],
    )
    bill.metadata.component = program
    python = licensed("python", platform.python_version(), None, "PSF-2.0")
    sources = _sources()
    made: dict[str, Any] = {}
    for name in names:
        found = importlib.metadata.distribution(name)
        address = address_of("pypi", name=normal(name), version=found.version)
        source = sources.get(normal(name))
        more = {"external_references": [source]} if source else {}
        made[normal(name)] = licensed(found.name, found.version, address, licence(found), **more)
    system = [
        licensed(
            part.name,
            part.version,
            address_of(part.kind, part.vendor, part.name, part.version) if part.kind else None,
            part.terms,
        )
        for part in parts
    ]
    needs = {name: _needs(name) & made.keys() - {name} for name in made}
    for name, needed in needs.items():
        bill.register_dependency(made[name], [made[one] for one in sorted(needed)])
    top = made.keys() - set().union(*needs.values())
    bill.register_dependency(program, [python, *(made[one] for one in sorted(top)), *system])
    written: Any = import_module("cyclonedx.output.json").JsonV1Dot6(bill)
    text = str(written.output_as_string(indent=1)) + "\n"
    schema: Any = import_module("cyclonedx.schema").SchemaVersion.V1_6
    checker: Any = import_module("cyclonedx.validation.json").JsonStrictValidator(schema)
    if problem := checker.validate_str(text):
        raise ValueError(f"sbom.cdx.json is no CycloneDX: {str(problem)[:300]}")
    return text


def _needs(name: str) -> set[str]:
    """Return the names of the packages that a Python package needs on this system."""
    requirement: Any = import_module("packaging.requirements").Requirement
    wanted = map(requirement, importlib.metadata.distribution(name).requires or ())
    return {
        normal(one.name)
        for one in wanted
        if one.marker is None or one.marker.evaluate({"extra": ""})
    }


def _sources() -> dict[str, Any]:
    """Return for each locked package where it comes from, with the SHA-256 of all its files.

    The lock files do not say which of the files is for which system.
    """
    model: Any = import_module("cyclonedx.model")
    folder = REPO / "installer" / "requirements"
    found: dict[str, Any] = {}
    for name, entry in read_locks(sorted(folder.glob("*.txt"))).items():
        version = entry.split("==")[1].split()[0]
        digests = sorted(set(re.findall(r"--hash=sha256:(\w+)", entry)))
        found[normal(name)] = model.ExternalReference(
            type=model.ExternalReferenceType.DISTRIBUTION,
            url=model.XsUri(f"https://pypi.org/project/{name}/{version}/"),
            comment="one of the files with these hashes, as locked",
            hashes=[
                model.HashType(alg=model.HashAlgorithm.SHA_256, content=one) for one in digests
            ],
        )
    return found
