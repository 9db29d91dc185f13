"""What is in a file, folder or pack, and what installing it would mean; nothing is written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from app.errors import SightlineError, UsageError
from app.tools.models.cards import ModelCard
from app.tools.models.digests import sha256_of
from app.tools.models.names import is_revision, refused
from app.tools.models.packs import LONGEST_MANIFEST, MANIFEST, PackModel, read_manifest
from app.tools.models.places import Place, is_program, wanted_files
from app.tools.models.plans import InstallPlan, PlannedFile, PlannedModel
from app.tools.models.sources import FileSource, FolderSource, Source, open_source
from app.tools.models.states import accepted


def plan(
    places: Mapping[str, Place], path: Path, name: str | None, *, cards: Mapping[str, ModelCard]
) -> InstallPlan:
    """Look at what is to be installed.

    Args:
        places: Where each model belongs.
        path: A file, folder, archive or model pack.
        name: Which model it is; None to tell by what is there.
        cards: The cards, by name.

    Raises:
        UsageError: There is nothing, or what it is cannot be told.
        Hostile: It holds what no pack may hold.
        SightlineError: It cannot be read.
    """
    repositories = _hub_folders(path)
    if repositories:
        return _of_hub_cache(places, path, repositories, name, cards)
    source = open_source(path)
    if MANIFEST in source.sizes:
        manifest = read_manifest(_small(source, MANIFEST))
        if len({entry.card for entry in manifest.models}) != len(manifest.models):
            raise refused("its manifest lists a model twice")
        models = [_of_pack(source, entry, cards, places) for entry in manifest.models]
        _check_listed(source, models)
        if name is not None:
            models = [model for model in models if model.card.name == name]
        if not models:
            raise UsageError("there is no model of that name in this pack", subject=str(path))
        return InstallPlan(path, tuple(models), source)
    wanted = cards[name] if name is not None else _identified(source, path, cards)
    return InstallPlan(path, (planned(source, wanted, places[wanted.name]),), source)


def planned(source: Source, wanted: ModelCard, place: Place) -> PlannedModel:
    """A model that lies in a source without a manifest."""
    if wanted.embedded:
        raise UsageError(f"{wanted.name} comes with Sightline", remedy="Nothing has to be done.")
    if not wanted.folder:
        return _single(source, wanted, place)
    taken, left = wanted_files(wanted, source.sizes)
    files = tuple(
        PlannedFile(name, name, source.sizes[name], "", is_program(name)) for name in taken
    )
    return checked(wanted, files, place, revision=source.revision, left_out=left)


def checked(
    wanted: ModelCard,
    files: tuple[PlannedFile, ...],
    place: Place,
    *,
    revision: str = "",
    left_out: Iterable[str] = (),
) -> PlannedModel:
    """A model with what speaks against it."""
    names = {file.name for file in files}
    missing = [
        needed.name
        for needed in wanted.files
        if not needed.optional and not any(needed.covers(name) for name in names)
    ]
    if not wanted.folder and files:
        missing = []  # a conversion has another name
    revision = revision if is_revision(revision) else ""  # a folder's name may be anything
    other = _other(wanted, files, revision)
    record = place.record()
    return PlannedModel(
        card=wanted,
        files=files,
        revision=revision,
        left_out=tuple(left_out),
        problems=(f"files are missing: {', '.join(missing)}",) if missing else (),
        other=other,
        terms="" if accepted(wanted, record) else wanted.terms.strip(),
        replaces=not place.missing(),
    )


def _other(wanted: ModelCard, files: tuple[PlannedFile, ...], revision: str) -> str:
    for file in files:
        known = wanted.file_of(file.name)
        if known is None or known.is_pattern:
            if not wanted.folder and wanted.pinned:
                return f"{file.name} is a conversion, which its card does not know"
            continue
        if known.size and known.size != file.size:
            return f"{file.name} has {file.size:,} bytes, the published file {known.size:,}"
        if known.sha256 and file.sha256 and known.sha256 != file.sha256:
            return f"{file.name} has another sha256 than the published file"
    if revision and wanted.revision and revision != wanted.revision:
        return f"it is revision {revision[:12]}, its card means {wanted.revision[:12]}"
    return ""


def _single(source: Source, wanted: ModelCard, place: Place) -> PlannedModel:
    published = wanted.files[0].name
    converted = f"{wanted.name}.safetensors"
    names = [n for n in source.sizes if PurePosixPath(n).name in (published, converted)]
    if not names and len(source.sizes) == 1:
        names = list(source.sizes)
    files: tuple[PlannedFile, ...] = ()
    if names:
        inside = names[0]
        same = PurePosixPath(inside).suffix == PurePosixPath(published).suffix
        target = published if same else converted
        if not same and not inside.endswith(".safetensors"):
            raise refused(f"{inside} is no file of weights that is taken")
        files = (PlannedFile(inside, target, source.sizes[inside]),)
    left = [name for name in source.sizes if name not in names[:1]]
    return checked(wanted, files, place, revision=source.revision, left_out=left)


def _of_pack(
    source: Source, entry: PackModel, cards: Mapping[str, ModelCard], places: Mapping[str, Place]
) -> PlannedModel:
    """A model that a manifest lists.

    Raises:
        SightlineError: It is none that this Sightline knows, or has files that are not taken.
    """
    wanted = cards.get(entry.card)
    if wanted is None or wanted.embedded:
        raise SightlineError(
            f"this pack holds a model that this Sightline does not know: {entry.card}",
            remedy="Install it with the Sightline that made it, or a later one.",
        )
    names = [file.name for file in entry.files]
    if wanted.folder:
        _taken, refused_names = wanted_files(wanted, names)
    else:
        place = places[wanted.name]
        refused_names = [name for name in names if name not in place.file_names]
        if len(names) != 1:  # else which of them is loaded is nobody's choice
            raise refused(f"its manifest lists {len(names)} files of {wanted.name}, which has one")
    if refused_names:
        raise refused(f"it holds files that {wanted.name} has not: {', '.join(refused_names[:5])}")
    files: list[PlannedFile] = []
    for file in entry.files:
        inside = entry.inside(file.name)
        if source.sizes.get(inside) != file.size:
            there = "missing" if inside not in source.sizes else "of another size"
            raise SightlineError(
                f"this pack is not whole: {inside} is {there}",
                remedy="Copy or download it again.",
            )
        files.append(PlannedFile(inside, file.name, file.size, file.sha256, is_program(file.name)))
    return checked(wanted, tuple(files), places[wanted.name], revision=entry.revision)


def _check_listed(source: Source, models: Iterable[PlannedModel]) -> None:
    listed = [file.inside for model in models for file in model.files]
    if len(set(listed)) != len(listed):
        raise refused("its manifest lists a file twice")
    extra = [name for name in source.sizes if name not in {*listed, MANIFEST}]
    if extra:
        raise refused(f"it holds files that its manifest does not list: {', '.join(extra[:5])}")


def _small(source: Source, name: str) -> bytes:
    """A short file's bytes."""
    if source.sizes[name] > LONGEST_MANIFEST:
        raise refused(f"its {name} is too long")
    for _name, stream in source.streams(frozenset({name})):
        return stream.read(LONGEST_MANIFEST)
    return b""


def _identified(source: Source, path: Path, cards: Mapping[str, ModelCard]) -> ModelCard:
    """Which model a bare file or folder is: by its names, its repository, or its content.

    Raises:
        UsageError: That cannot be told.
    """
    found = [known for known in cards.values() if _is_named(known, source, path)]
    if not found and isinstance(source, FileSource):
        digest = sha256_of(path)
        found = [c for c in cards.values() if digest in {f.sha256 for f in c.files if f.sha256}]
    if not found:
        repository = source.repository or _configured(source)
        found = [c for c in cards.values() if c.repository and c.repository == repository]
    if not found:
        files = "; ".join(c.files[0].name for c in cards.values() if not (c.folder or c.embedded))
        folders = ", ".join(known.name for known in cards.values() if known.folder)
        raise UsageError(
            "this is none of the models that Sightline knows",
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


def _is_named(known: ModelCard, source: Source, path: Path) -> bool:
    if known.embedded:
        return False
    if not known.folder:
        names = (known.files[0].name, f"{known.name}.safetensors")
        return any(PurePosixPath(name).name in names for name in source.sizes)
    if source.repository:
        return source.repository == known.repository
    called = {source.label.casefold(), path.name.casefold()}
    last = known.repository.rpartition("/")[2].casefold()
    return not isinstance(source, FileSource) and bool(called & {known.name, last} - {""})


def _configured(source: Source) -> str:
    """The repository that a folder's own settings name."""
    if "config.json" not in source.sizes:
        return ""
    try:
        data: Any = json.loads(_small(source, "config.json"))
        return str(data.get("_name_or_path", "")) if isinstance(data, dict) else ""
    except (ValueError, RecursionError):
        return ""


def _hub_folders(path: Path) -> list[Path]:
    """Folders of a Hugging Face cache at a path: itself one, one of its snapshots, or several."""
    if not path.is_dir():
        return []
    if (path / "snapshots").is_dir() and path.name.startswith("models--"):
        return [path]
    if path.parent.name == "snapshots" and path.parents[1].name.startswith("models--"):
        return [path]
    return sorted(p for p in path.glob("models--*") if (p / "snapshots").is_dir())


def _of_hub_cache(
    places: Mapping[str, Place],
    path: Path,
    folders: list[Path],
    name: str | None,
    cards: Mapping[str, ModelCard],
) -> InstallPlan:
    """The one model of a Hugging Face cache that Sightline knows."""
    known = {c.repository.casefold(): c for c in cards.values() if c.repository}
    if name is not None:
        known = {key: c for key, c in known.items() if c.name == name}
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
            else "this is none of the models that Sightline knows",
            subject=str(path),
            remedy="Say which it is with --name, or install one folder models--* at a time.",
        )
    snapshot, card = found[0]
    source = FolderSource(snapshot, snapshot.parents[1], card.name, snapshot.name, card.repository)
    return InstallPlan(path, (planned(source, card, places[card.name]),), source)


def _snapshot(top: Path, card: ModelCard) -> Path:
    """The snapshot that the card means, else that of the main branch, else the only one.

    Raises:
        UsageError: There are several, and none of them is meant.
    """
    snapshots = {p.name: p for p in (top / "snapshots").iterdir() if p.is_dir()}
    main = top / "refs" / "main"
    commit = main.read_text(encoding="utf-8", errors="replace").strip() if main.is_file() else ""
    for wanted in (card.revision, commit):
        if wanted in snapshots:
            return snapshots[wanted]
    if len(snapshots) == 1:
        return next(iter(snapshots.values()))
    raise UsageError(
        "it holds several snapshots, or none", subject=str(top), remedy="Name one of its folders."
    )
