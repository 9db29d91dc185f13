"""The state of an installed model: if it can be used, its warnings, and its permissions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.tools.api import CancelToken
from app.tools.models.cards import ModelCard
from app.tools.models.places import ModelPaths, allowed_programs, code_permission, is_program
from app.tools.models.records import (
    Record,
    RecordedFile,
    combined_sha256,
    file_key,
    read_sha256,
    recorded_file,
    sha256_of,
)
from app.tools.needs import command


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model whose files are complete, so that it can be loaded.

    Attributes:
        path: Its folder; for a model of a single file, that file.
        sha256: Digest of the single file, or one digest over the digests of all files; stored with
            findings.
        warnings: Reasons to doubt its results, e.g. that its files are not the published ones.
        programs: Digests by name of the programs that the user allowed and that have not changed.
        accepted: Whether the user has accepted the terms on its card; True if there are none.
        files: Size and modification time (ns) of each file when its digest was determined; the
            model process refuses to load files that have changed since.
    """

    card: ModelCard
    path: Path
    sha256: str
    warnings: tuple[str, ...] = ()
    programs: Mapping[str, str] = field(default_factory=dict[str, str])
    accepted: bool = True
    files: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    @property
    def code_allowed(self) -> bool:
        """True if the programs that come with the model's weights may run."""
        return self.card.trust_remote_code and bool(self.programs)

    def payload(self, device: str) -> dict[str, Any]:
        """Return the "model" and "device" entries of a payload for `model_process.serving`."""
        return {
            "model": {
                "name": self.card.name,
                "path": str(self.path),
                "sha256": self.sha256,
                "memory": self._memory(),
                "trust_remote_code": self.code_allowed,
                "programs": dict(self.programs),
                "files": {name: list(found) for name, found in self.files.items()},
            },
            "device": device,
        }

    def _memory(self) -> dict[str, int]:
        """Return the card's bytes by dtype, limited to what files of this size can take."""
        files = [self.path] if self.path.is_file() else self.path.rglob("*")
        weights = (".safetensors", ".bin", ".pt", ".pth", ".ckpt")
        # Files that hold 8 bits a weight take four times their size in float32.
        most = 4 * sum(file.stat().st_size for file in files if file.suffix in weights)
        return {name: min(size, most or size) for name, size in self.card.memory.items()}


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """The state of a model, installed or not.

    Attributes:
        state: "embedded", "not installed", "partly", or "installed" (the files exist but were not
            read); after `verify`, "intact", "other" (usable, but not the published files) or
            "broken" (changed since the installation, or not loadable).
        path: The model's folder or file, whether or not it exists.
        bytes: Total size of the existing files; else of the published ones; 0 if not known.
        accepted: Whether the user has accepted the terms on its card; True if there are none.
        code: Permission to run the programs that come with its weights: "" (there are none), "not
            allowed", "allowed", or "changed" (they have changed since they were allowed).
        note: Further text about the state, for the user.
        sha256: As in `InstalledModel`; if no file was read, that of the published file, if known.
        revision: Commit of the installed files, else the commit on the card; "" if not known.
        missing: Names of required files that do not exist.
        installed: Time of the installation, ISO 8601; "" if not recorded.
        self_check: The outcome of its self-check; see `installation.self_check`.
    """

    card: ModelCard
    state: str
    path: Path
    bytes: int
    accepted: bool
    code: str
    note: str = ""
    sha256: str = ""
    revision: str = ""
    missing: tuple[str, ...] = ()
    how_to_get: str = ""
    installed: str = ""
    self_check: str = ""

    @property
    def usable(self) -> bool:
        """True if `state` is embedded, installed, intact or other, so that a tool can try it."""
        return self.state in ("embedded", "installed", "intact", "other")

    def as_dict(self) -> dict[str, Any]:
        """Return the status and the facts on the card in JSON's types, for `models list --json`."""
        card = self.card
        own = {key: value for key, value in asdict(self).items() if key not in ("card", "bytes")}
        return own | {
            "name": card.name,
            "title": card.title,
            "used_by": list(card.tools),
            "path": str(self.path),
            "size": self.bytes,
            "missing": list(self.missing),
            "licence": card.licence,
            "sources": dict(card.sources),
            "terms": card.terms,
            "gated": card.gated,
            "repository": card.repository,
            "url": card.url or card.files[0].url,
            "memory": dict(card.memory),
            "intended_use": card.intended_use,
            "limits": list(card.limits),
            "tried": card.tried,
        }


def installed_model(place: ModelPaths) -> InstalledModel | None:
    """Return the model at a place, or None if a required file is missing.

    Files that have changed since they were last read are read again, which takes long for large
    ones.

    Raises:
        OSError: A file cannot be read.
    """
    if place.missing():
        return None
    record = place.record()
    names = place.present_files(record)
    # Sizes and times come first: if files are replaced meanwhile, the model process notices it.
    files = {name: file_key(place.file(name))[1:] for name in names}
    digests = {name: place.digest(name, record) for name in names}
    folder = place.card.folder
    return InstalledModel(
        place.card,
        place.path,
        combined_sha256(digests.items()) if folder else next(iter(digests.values())),
        warnings(place, record, digests),
        allowed_programs(record) if code_permission(place, record) == "allowed" else {},
        terms_accepted(place.card, record),
        files,
    )


def quick_status(place: ModelPaths) -> ModelStatus:
    """Return a model's status from the names and sizes of its files, without reading its weights.

    Raises:
        OSError: A file was deleted while the status was determined.
    """
    card, record = place.card, place.record()
    names, missing = place.present_files(record), place.missing()
    state, note = _quick_state(place, record, names, missing)
    code = "not allowed" if card.trust_remote_code else ""
    present = sum(place.file(name).stat().st_size for name in names)
    return ModelStatus(
        card=card,
        state=state,
        path=place.path,
        bytes=present or card.size,
        accepted=terms_accepted(card, record),
        code=code_permission(place, record) if state != "not installed" else code,
        note=note,
        sha256=place.published_sha256(place.path.name) if not card.folder else "",
        revision=(record.revision if record else "") or card.revision,
        missing=missing,
        how_to_get=how_to_get(place),
        installed=record.installed if record else "",
        self_check=(record.self_check if record else "") or _not_self_checked(card),
    )


def _not_self_checked(card: ModelCard) -> str:
    return "not run: it runs when the model is installed or verified" if card.self_check else ""


def terms_accepted(card: ModelCard, record: Record | None) -> bool:
    """Return True if the user accepted the terms that the card has now, or if it has none."""
    return not card.terms or (record is not None and record.terms_sha256 == card.terms_sha256)


def _changed_files(
    place: ModelPaths, record: Record | None, digests: Mapping[str, str]
) -> list[str]:
    """Return the files that differ from the record, are gone, or were added."""
    if record is None:
        return []
    changed = [file.name for file in record.files if digests.get(file.name) != file.sha256]
    return changed + list(place.unrecorded_files(record))


def _unpublished_files(place: ModelPaths, digests: Mapping[str, str]) -> list[str]:
    """Return the files that are not the published ones, as far as the card knows those."""
    # The one file of a card that knows its digest may also be a conversion, which no card knows.
    sure = place.card.embedded or (not place.card.folder and place.card.pinned)
    known = {name: place.published_sha256(name) for name in digests}
    return [name for name in digests if known[name] != digests[name] and (known[name] or sure)]


def warnings(
    place: ModelPaths, record: Record | None, digests: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the warnings that every result from a model with these files must carry, if any.

    `record` is that of its installation; `digests` are the SHA-256 of each existing file, by name.
    """
    folder = place.card.folder
    files = f"the files of {place.card.name}" if folder else f"the weights {place.path.name}"
    unpublished = _unpublished_files(place, digests)
    if place.card.embedded:
        return (f"{files} are damaged: reinstall Sightline",) if unpublished else ()
    if _changed_files(place, record, digests):
        return (
            f"{files} were changed after installation: results are only as good as these files",
        )
    if record and record.self_check.startswith("failed"):
        return (f"the self-check of {place.card.name} {record.self_check}",)
    if unpublished:
        differ = "differ from the published file" + ("s" if folder else "")
        return (f"{files} {differ}: results are only as good as these files",)
    if place.card.pinned:
        return ()
    when = f"those installed on {record.installed[:10]}" if record else "those found in its folder"
    return (f"{files} are {when}: no digests of the published ones are known to compare with",)


def _quick_state(
    place: ModelPaths, record: Record | None, names: tuple[str, ...], missing: tuple[str, ...]
) -> tuple[str, str]:
    """Return state and note by the names and sizes of the files that are there."""
    if place.card.embedded:
        return ("broken", "it is missing: reinstall Sightline") if missing else ("embedded", "")
    if missing:
        nothing = not names and (not place.card.folder or not any(place.base.glob("*")))
        return ("not installed", "") if nothing else ("partly", f"missing: {', '.join(missing)}")
    if added := place.unrecorded_files(record):
        return "broken", f"{', '.join(added[:5])} were added after it was installed"
    for name in names:
        size, known = place.file(name).stat().st_size, place.card.file_of(name)
        noted = record.file(name) if record else None
        if noted and noted.size != size:
            return "broken", f"{name} was changed since it was installed"
        if not record and known and known.size and known.size != size:
            return "other", "differs from the published file"
    # By the record: the installation noted each file's digest.
    recorded = {file.name: file.sha256 for file in record.files} if record else {}
    return _unpublished_state(place, recorded) or ("installed", "")


def _unpublished_state(place: ModelPaths, digests: Mapping[str, str]) -> tuple[str, str] | None:
    names = _unpublished_files(place, digests)
    listed = f": {', '.join(names)}" if place.card.folder else ""
    return ("other", f"differs from the published file{listed}") if names else None


def verified_state(
    place: ModelPaths, record: Record | None, digests: Mapping[str, str]
) -> tuple[str, str]:
    """Return the `state` and `note` of a model whose files were all read; see `ModelStatus`.

    `record` is that of its installation; `digests` are the SHA-256 of each existing file, by name.
    """
    changed, unpublished = (
        _changed_files(place, record, digests),
        _unpublished_state(place, digests),
    )
    if changed:
        return "broken", f"changed since it was installed: {', '.join(changed)}"
    if place.card.embedded:
        return ("broken", "differs from the shipped file") if unpublished else ("intact", "")
    if unpublished:
        return unpublished
    if place.card.pinned:
        return "intact", ""
    if record is None:
        return "installed", "there is nothing to compare it with: not installed by Sightline"
    return "intact", f"as it was installed on {record.installed[:10]}; its card has no digests"


def how_to_get(place: ModelPaths) -> str:
    """Return instructions for the user to get a model: the command, the files and their folder."""
    card = place.card
    if card.embedded:
        return "It comes with Sightline: reinstall Sightline."
    run, size = command(), f" ({card.size / 1e6:.0f} MB)" if card.size else ""
    source = card.files[0].url or card.url
    if card.repository:
        source = f"https://huggingface.co/{card.repository}"
    login = (
        " Its publisher provides it only to those who have accepted the terms there: set HF_TOKEN "
        "to your access token first."
        if card.gated
        else ""
    )
    return (
        f"Run `{run} models get {card.name}`{size}.{login} Where this computer has no "
        f"network: download {source} elsewhere, then `{run} models install PATH`. "
        f"It belongs in {place.base}."
    )


def accepted_record(place: ModelPaths, *, code: bool, cancel: CancelToken | None) -> Record:
    """Return the record to write after the user accepted a model's terms and existing files.

    `code` says whether the user also allows the programs among them to run.

    Raises:
        Cancelled: `cancel` was set while a file whose digest is not known was read.
        OSError: A file cannot be read.
    """
    card, record, now = place.card, place.record(), utc_now()
    names = {
        *place.present_files(record),
        *place.unrecorded_files(record),
        *(place.programs() if code else ()),
    }
    files = tuple(
        recorded_file(place.file(name), name, _sha256_now(place, name, cancel))
        for name in sorted(names)
    )
    if not code:  # an earlier permission stays one for the programs that it was given for
        files = tuple(_as_allowed(record, file) for file in files)
    return Record(
        name=card.name,
        revision=record.revision if record else "",
        source=record.source if record else "the models folder",
        installed=record.installed if record else now,
        files=files,
        terms_sha256=card.terms_sha256,
        terms_accepted=now if card.terms else "",
        code_allowed=now if code else record.code_allowed if record else "",
    )


def utc_now() -> str:
    """Return the current time in the form used in records: ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _as_allowed(record: Record | None, file: RecordedFile) -> RecordedFile:
    noted = record.file(file.name) if record and record.code_allowed else None
    return noted if noted is not None and is_program(file.name) else file


def _sha256_now(place: ModelPaths, name: str, cancel: CancelToken | None) -> str:
    """Return a file's digest; programs are read even if their digests are remembered."""
    if is_program(name):
        return read_sha256(place.file(name), cancel=cancel)
    return sha256_of(place.file(name), cancel=cancel)
