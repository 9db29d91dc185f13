"""Plans an installation: finds out which models a file, folder or pack holds; writes nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from app.errors import SightlineError, UsageError
from app.tools.models.cards import ModelCard
from app.tools.models.durable_files import is_revision, unsafe
from app.tools.models.places import ModelPaths, is_program, split_files
from app.tools.models.records import sha256_of
from app.tools.models.sources import (
    LONGEST_MANIFEST,
    MANIFEST,
    PackModel,
    Source,
    folder_source,
    open_source,
    read_manifest,
)
from app.tools.models.status import terms_accepted
from app.tools.needs import command

_SPACE_MARGIN = 1 << 26


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file that would be installed; digests are "" if none is known.

    Attributes:
        inside: The file's name in the source.
        name: The file's name in the model.
        sha256: Digest given in the model pack's manifest or in the hub's list of files.
        git_sha1: Git's digest of the file, which the hub gives for small files.
    """

    inside: str
    name: str
    size: int
    sha256: str = ""
    git_sha1: str = ""

    @property
    def code(self) -> bool:
        """True if the file is a program."""
        return is_program(self.name)


@dataclass(frozen=True, slots=True)
class PlannedModel:
    """A model that would be installed.

    Attributes:
        revision: Commit in the model's repository; "" if not known.
        left_out: Names of files in the source that are not installed.
        problems: Reasons why the model cannot be installed; empty if there are none.
        unpublished: Difference of the files from the published ones (name, size, digest or commit);
            they are then installed only if the user allows it. "" if no difference is known.
        terms: Terms that the user must still accept; "" if there are none.
        replaces: True if the model is already installed and would be replaced.
    """

    card: ModelCard
    files: tuple[PlannedFile, ...]
    revision: str = ""
    left_out: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    unpublished: str = ""
    terms: str = ""
    replaces: bool = False

    @property
    def bytes(self) -> int:
        """Total size in bytes of the files to install."""
        return sum(file.size for file in self.files)

    @property
    def code(self) -> tuple[PlannedFile, ...]:
        """The programs among the files; they run only with the user's permission."""
        return tuple(file for file in self.files if file.code)


@dataclass(frozen=True, slots=True)
class InstallPlan:
    """The models found in a file, folder or pack, and the `source` from which to install them."""

    path: Path
    models: tuple[PlannedModel, ...]
    source: Source = field(repr=False)

    @property
    def bytes(self) -> int:
        """Total bytes of all models to be copied."""
        return sum(model.bytes for model in self.models)

    @property
    def problems(self) -> tuple[str, ...]:
        """Reasons why the models cannot be installed; empty if they can."""
        return tuple(f"{m.card.title}: {text}" for m in self.models for text in m.problems)

    @property
    def terms(self) -> tuple[tuple[str, str], ...]:
        """Pairs (title, terms) of the models whose terms the user must still accept."""
        return tuple((model.card.title, model.terms) for model in self.models if model.terms)

    @property
    def code(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Pairs (title, names of its Python programs) of the models that come with programs."""
        named = ((m.card.title, tuple(file.name for file in m.code)) for m in self.models)
        return tuple((title, names) for title, names in named if names)

    @property
    def unpublished(self) -> tuple[str, ...]:
        """Reasons why some of the models are not the published ones; empty if none are known."""
        return tuple(f"{m.card.title}: {m.unpublished}" for m in self.models if m.unpublished)


@dataclass(frozen=True, slots=True)
class Consent:
    """The user's consent to an installation.

    Attributes:
        terms: Whether the user accepts the terms of every model.
        code: Whether the programs that come with the models may run.
        unpublished: Whether files that are not the published ones may be installed.
    """

    terms: bool = False
    code: bool = False
    unpublished: bool = False


NO_CONSENT = Consent()


def check_consent(model: PlannedModel, consent: Consent) -> PlannedModel:
    """Return the model with the files that may be installed: its programs only if they are allowed.

    Raises:
        SightlineError: The terms are not accepted, or the model cannot work without its programs.
    """
    run = f"{command()} models"
    if model.terms and not consent.terms:
        raise SightlineError(
            f"the terms of {model.card.title} are not accepted",
            remedy=f"Read them (`{run} show {model.card.name}`), then add --accept-terms.",
        )
    if not model.code or consent.code:
        return model
    if needs_code(model.card):
        raise SightlineError(
            f"{model.card.title} comes with code that is run with it, which is not allowed yet: "
            f"{', '.join(file.name for file in model.code)}",
            remedy="Look at these files, or trust their publisher; then add --allow-code.",
        )
    return replace(model, files=tuple(file for file in model.files if not file.code))


def needs_code(card: ModelCard) -> bool:
    """Return True if a model cannot be used without the programs that come with its weights."""
    return any(is_program(file.name) and not file.optional for file in card.files)


def check_space(folder: Path, needed: int) -> None:
    """Check that a folder's disk has room for `needed` bytes.

    Raises:
        SightlineError: There is not enough room.
    """
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return  # writing there will report what is wrong
    if free < needed + _SPACE_MARGIN:
        raise SightlineError(
            f"there is not enough space: {needed / 1e9:.1f} GB are needed, "
            f"{free / 1e9:.1f} GB are free",
            subject=str(folder),
            remedy="Make space there, or set SIGHTLINE_MODELS to a folder with space.",
        )


def plan_install(places: Mapping[str, ModelPaths], path: Path, name: str | None) -> InstallPlan:
    """Identify the models at a path and list the files that would be installed; nothing is written.

    `places` are the places of all known models by card name. `name` is the model's card name; if it
    is None, models are identified by file names, a file's digest or the repository.

    Raises:
        UsageError: There is nothing at the path, or the model cannot be identified.
        UnsafeFileError: The path contains files that are refused; see `durable_files`.
        SightlineError: The path cannot be read.
    """
    repositories = _hub_folders(path)
    if repositories:
        return _plan_hub_cache(places, path, repositories, name)
    source = open_source(path)
    if MANIFEST in source.sizes:
        manifest = read_manifest(_read_small(source, MANIFEST))
        if len({entry.card for entry in manifest.models}) != len(manifest.models):
            raise unsafe("its manifest lists a model twice")
        models = [_plan_pack_model(source, entry, places) for entry in manifest.models]
        _check_listed(source, models)
        if name is not None:
            models = [model for model in models if model.card.name == name]
        if not models:
            raise UsageError("there is no model of that name in this pack", subject=str(path))
        return InstallPlan(path, tuple(models), source)
    cards = [place.card for place in places.values()]
    place = places[name or _identify(source, path, cards).name]
    return InstallPlan(path, (_plan_model(source, place),), source)


def _plan_model(source: Source, place: ModelPaths) -> PlannedModel:
    wanted = place.card
    if wanted.embedded:
        raise UsageError(f"{wanted.name} comes with Sightline", remedy="There is nothing to do.")
    if not wanted.folder:
        return _plan_single_file(source, place)
    taken, left = split_files(wanted, source.sizes)
    files = tuple(PlannedFile(name, name, source.sizes[name]) for name in taken)
    return checked_model(place, files, source.revision, left)


def checked_model(
    place: ModelPaths,
    files: tuple[PlannedFile, ...] = (),
    revision: str = "",
    left_out: Iterable[str] = (),
) -> PlannedModel:
    """Return the plan to install `files` as the model at `place`: its problems and terms to accept.

    `revision` is the source's commit (a text that is no commit id counts as ""); `left_out` are
    names of files in the source that are not installed.
    """
    wanted = place.card
    names = {file.name for file in files}
    missing = [
        needed.name
        for needed in wanted.files
        if not needed.optional and not any(needed.covers(name) for name in names)
    ]
    if not wanted.folder and files:
        missing = []  # a conversion has another name
    revision = revision if is_revision(revision) else ""  # a folder's name may be anything
    return PlannedModel(
        card=wanted,
        files=files,
        revision=revision,
        left_out=tuple(left_out),
        problems=(f"files are missing: {', '.join(missing)}",) if missing else (),
        unpublished=_difference(wanted, files, revision),
        terms="" if terms_accepted(wanted, place.record()) else wanted.terms.strip(),
        replaces=not place.missing(),
    )


def _difference(wanted: ModelCard, files: tuple[PlannedFile, ...], revision: str) -> str:
    """Return why files are not the published ones, by sizes and digests; "" if they may be."""
    for file in files:
        known = wanted.file_of(file.name)
        if known is None or known.is_pattern:
            if not wanted.folder and wanted.pinned:
                return f"{file.name} is a conversion that its card does not list"
            continue
        if known.size and known.size != file.size:
            return f"{file.name} has {file.size:,} bytes, the published file {known.size:,}"
        if known.sha256 and file.sha256 and known.sha256 != file.sha256:
            return f"{file.name} has another sha256 than the published file"
    if revision and wanted.revision and revision != wanted.revision:
        return f"it is revision {revision[:12]}, its card means {wanted.revision[:12]}"
    return ""


def _plan_single_file(source: Source, place: ModelPaths) -> PlannedModel:
    published, converted = place.file_names
    names = [n for n in source.sizes if PurePosixPath(n).name in (published, converted)]
    if not names and len(source.sizes) == 1:
        names = list(source.sizes)
    files: tuple[PlannedFile, ...] = ()
    if names:
        inside = names[0]
        same = PurePosixPath(inside).suffix == PurePosixPath(published).suffix
        target = published if same else converted
        if not same and not inside.endswith(".safetensors"):
            raise unsafe(f"{inside} is not an accepted weights file")
        files = (PlannedFile(inside, target, source.sizes[inside]),)
    left = [name for name in source.sizes if name not in names[:1]]
    return checked_model(place, files, source.revision, left)


def _plan_pack_model(
    source: Source, entry: PackModel, places: Mapping[str, ModelPaths]
) -> PlannedModel:
    """Plan a model that a manifest lists."""
    place = places.get(entry.card)
    if place is None or place.card.embedded:
        raise SightlineError(
            f"this pack holds a model that this Sightline does not know: {entry.card}",
            remedy="Install it with the Sightline that made it, or a later one.",
        )
    wanted, names = place.card, [file.name for file in entry.files]
    if wanted.folder:
        _taken, unknown_names = split_files(wanted, names)
    else:
        unknown_names = [name for name in names if name not in place.file_names]
        if len(names) != 1:  # the card does not say which of them to load
            raise unsafe(f"its manifest lists {len(names)} files of {wanted.name}, which has one")
    if unknown_names:
        raise unsafe(
            f"it contains files that {wanted.name} has not: {', '.join(unknown_names[:5])}"
        )
    files: list[PlannedFile] = []
    for file in entry.files:
        inside = entry.inside(file.name)
        if source.sizes.get(inside) != file.size:
            there = "missing" if inside not in source.sizes else "of another size"
            raise SightlineError(
                f"this pack is incomplete: {inside} is {there}", remedy="Copy or download it again."
            )
        files.append(PlannedFile(inside, file.name, file.size, file.sha256))
    return checked_model(place, tuple(files), entry.revision)


def _check_listed(source: Source, models: Iterable[PlannedModel]) -> None:
    listed = [file.inside for model in models for file in model.files]
    if len(set(listed)) != len(listed):
        raise unsafe("its manifest lists a file twice")
    extra = [name for name in source.sizes if name not in {*listed, MANIFEST}]
    if extra:
        raise unsafe(f"it contains files that its manifest does not list: {', '.join(extra[:5])}")


def _read_small(source: Source, name: str) -> bytes:
    if source.sizes[name] > LONGEST_MANIFEST:
        raise unsafe(f"its {name} is too long")
    for _name, stream in source.streams(frozenset({name})):
        return stream.read(LONGEST_MANIFEST)
    return b""


def _identify(source: Source, path: Path, cards: list[ModelCard]) -> ModelCard:
    """Identify the model of a file or folder by its names, its repository or its digest."""
    found = [known for known in cards if _has_name_of(known, source, path)]
    if not found and source.is_file:
        digest = sha256_of(path)
        found = [c for c in cards if digest in {f.sha256 for f in c.files if f.sha256}]
    if not found:
        repository = source.repository or _configured_repository(source)
        found = [c for c in cards if c.repository and c.repository == repository]
    if not found:
        files = "; ".join(c.files[0].name for c in cards if not (c.folder or c.embedded))
        folders = ", ".join(known.name for known in cards if known.folder)
        raise UsageError(
            "this is not a model that Sightline knows",
            subject=str(path),
            remedy=f"Say which it is with --name. Known files: {files}. Known folders: {folders}.",
        )
    if len(found) > 1:
        names = ", ".join(known.name for known in found)
        raise UsageError(
            f"this could be one of several models: {names}",
            subject=str(path),
            remedy="Say which it is with --name.",
        )
    return found[0]


def _has_name_of(known: ModelCard, source: Source, path: Path) -> bool:
    if known.embedded:
        return False
    if not known.folder:
        names = (known.files[0].name, f"{known.name}.safetensors")
        return any(PurePosixPath(name).name in names for name in source.sizes)
    if source.repository:
        return source.repository == known.repository
    called = {source.label.casefold(), path.name.casefold()}
    last = known.repository.rpartition("/")[2].casefold()
    return not source.is_file and bool(called & {known.name, last} - {""})


def _configured_repository(source: Source) -> str:
    """Return the repository that the folder's config.json names, or ""."""
    if "config.json" not in source.sizes:
        return ""
    try:
        data: Any = json.loads(_read_small(source, "config.json"))
        return str(data.get("_name_or_path", "")) if isinstance(data, dict) else ""
    except (ValueError, RecursionError):
        return ""


def _hub_folders(path: Path) -> list[Path]:
    """Return the repository folders of a Hugging Face cache at a path, or one of its snapshots."""
    if not path.is_dir():
        return []
    if (path / "snapshots").is_dir() and path.name.startswith("models--"):
        return [path]
    if path.parent.name == "snapshots" and path.parents[1].name.startswith("models--"):
        return [path]
    return sorted(p for p in path.glob("models--*") if (p / "snapshots").is_dir())


def _plan_hub_cache(
    places: Mapping[str, ModelPaths], path: Path, folders: list[Path], name: str | None
) -> InstallPlan:
    """Plan the one model in a Hugging Face cache that has a card."""
    cards = [place.card for place in places.values() if name in (None, place.card.name)]
    known = {card.repository.casefold(): card for card in cards if card.repository}
    found: list[tuple[Path, ModelCard]] = []
    for folder in folders:
        snapshot = folder if folder.parent.name == "snapshots" else None
        top = folder.parents[1] if snapshot else folder
        repository = top.name.removeprefix("models--").replace("--", "/", 1)
        card = known.get(repository.casefold())
        if card is not None:
            found.append((snapshot or _snapshot(top, card), card))
    if len(found) != 1:
        names = ", ".join(card.name for _folder, card in found)
        raise UsageError(
            f"this could be one of several models: {names}"
            if found
            else "this is not a model that Sightline knows",
            subject=str(path),
            remedy="Say which it is with --name, or install one folder models--* at a time.",
        )
    snapshot, card = found[0]
    source = folder_source(
        snapshot,
        card.name,
        root=snapshot.parents[1],
        revision=snapshot.name,
        repository=card.repository,
    )
    return InstallPlan(path, (_plan_model(source, places[card.name]),), source)


def _snapshot(top: Path, card: ModelCard) -> Path:
    """Return the snapshot of the card's revision, else of the main branch, else the only one."""
    snapshots = {p.name: p for p in (top / "snapshots").iterdir() if p.is_dir()}
    main = top / "refs" / "main"
    commit = main.read_text(encoding="utf-8", errors="replace").strip() if main.is_file() else ""
    for wanted in (card.revision, commit):
        if wanted in snapshots:
            return snapshots[wanted]
    if len(snapshots) == 1:
        return next(iter(snapshots.values()))
    raise UsageError(
        "it contains several snapshots, or none",
        subject=str(top),
        remedy="Name one of its folders.",
    )
