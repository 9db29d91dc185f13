"""What is known of an installed model: its state, what makes it doubtful, what may run of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from app.tools.models.cards import ModelCard
from app.tools.models.places import Place
from app.tools.models.records import Record
from app.tools.needs import command


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model that can be loaded.

    Attributes:
        card: Its card.
        path: Its folder; of a model of one file, that file.
        sha256: Of its one file, or of the list of its files' digests: what findings name.
        warnings: What makes its results doubtful, e.g. that its files are not the published ones.
        programs: Digests of the programs with its weights, by name, where the user has said yes to
            running them and they are the same still; else none.
        accepted: The terms on its card are accepted, or it has none.
        files: Size and time (nanoseconds) of each file, by name, when its digest was told: what
            is loaded must be these.
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
        """Whether the programs may run."""
        return self.card.trust_remote_code and bool(self.programs)

    def payload(self, device: str) -> dict[str, Any]:
        """What an entry in the model process is given of it; see `model_process.serving`."""
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
        """The card's figures, but no more than these files can become: a smaller model may be."""
        files = [self.path] if self.path.is_file() else self.path.rglob("*")
        weights = (".safetensors", ".bin", ".pt", ".pth", ".ckpt")
        most = 4 * sum(file.stat().st_size for file in files if file.suffix in weights)
        return {name: min(size, most or size) for name, size in self.card.memory.items()}


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """Whether a model is there.

    Attributes:
        card: Its card.
        state: "embedded", "not installed", "partly", "installed" (it is there; not read), or after
            `verify` "intact", "other" (files that can be used and are not the published ones) or
            "broken" (changed since they were installed, or not to be loaded).
        path: Its folder or file, where it is or belongs.
        bytes: Of what is there, or of what is published where nothing is; 0 where not known.
        accepted: The terms on its card are accepted, or it has none.
        code: Whether the code with its weights may run: "" (it has none), "not allowed",
            "allowed", or "changed" since it was allowed.
        note: More about the state.
        sha256: See `InstalledModel`; of the published file, or "", where nothing was read.
        revision: Commit of what is installed, else of what is meant; "" where it is not known.
        missing: Files that are needed and not there.
        how_to_get: What to do to have it.
        installed: When, ISO 8601; "" where that was not written down.
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

    @property
    def there(self) -> bool:
        """Whether a tool can try to use it."""
        return self.state in ("embedded", "installed", "intact", "other")

    def as_dict(self) -> dict[str, Any]:
        """JSON-able."""
        about = self.card
        own = {key: value for key, value in asdict(self).items() if key not in ("card", "bytes")}
        return own | {
            "name": about.name,
            "title": about.title,
            "used_by": list(about.tools),
            "path": str(self.path),
            "size": self.bytes,
            "missing": list(self.missing),
            "licence": about.licence,
            "terms": about.terms,
            "gated": about.gated,
            "repository": about.repository,
            "url": about.url or about.files[0].url,
            "memory": dict(about.memory),
            "intended_use": about.intended_use,
            "limits": list(about.limits),
            "tried": about.tried,
        }


def accepted(wanted: ModelCard, record: Record | None) -> bool:
    """Whether the terms as they stand on the card now are accepted, or there are none."""
    return not wanted.terms or (record is not None and record.terms_sha256 == wanted.terms_sha256)


def code_of(wanted: ModelCard) -> str:
    """`ModelStatus.code` of a model that is not there."""
    return "not allowed" if wanted.trust_remote_code else ""


def _changed(place: Place, record: Record | None, digests: Mapping[str, str]) -> list[str]:
    """Files that are others than were installed, or gone, or new."""
    if record is None:
        return []
    other = [file.name for file in record.files if digests.get(file.name) != file.sha256]
    return other + list(place.strange(record))


def _other(place: Place, digests: Mapping[str, str]) -> list[str]:
    """Files that are not the published ones as far as the card knows those."""
    # The one file of a card that knows its digest may also be a conversion, which no card knows.
    sure = place.card.embedded or (not place.card.folder and place.card.pinned)
    known = {name: place.expected(name) for name in digests}
    return [name for name in digests if known[name] != digests[name] and (known[name] or sure)]


def warnings(place: Place, record: Record | None, digests: Mapping[str, str]) -> tuple[str, ...]:
    """What results of these files have to say."""
    folder = place.card.folder
    what = f"the files of {place.card.name}" if folder else f"the weights {place.path.name}"
    if place.card.embedded:
        return (f"{what} are damaged: reinstall Sightline",) if _other(place, digests) else ()
    if _changed(place, record, digests):
        return (f"{what} were changed since they were installed: results are as good as they are",)
    if _other(place, digests):
        differ = "differ from the published file" + ("s" if folder else "")
        return (f"{what} {differ}: results are as good as they are",)
    if place.card.pinned:
        return ()
    when = f"those installed on {record.installed[:10]}" if record else "those found in its folder"
    return (f"{what} are {when}: no digests of the published ones are known to compare with",)


def quick_state(
    place: Place, record: Record | None, names: tuple[str, ...], missing: tuple[str, ...]
) -> tuple[str, str]:
    """State and note by which files are there and how large they are."""
    if place.card.embedded:
        return ("broken", "it is missing: reinstall Sightline") if missing else ("embedded", "")
    if missing:
        whole = not names and (not place.card.folder or not any(place.base.glob("*")))
        return ("not installed", "") if whole else ("partly", f"missing: {', '.join(missing)}")
    if strange := place.strange(record):
        return "broken", f"{', '.join(strange[:5])} came after it was installed"
    for name in names:
        size, known = place.file(name).stat().st_size, place.card.file_of(name)
        was = record.file(name) if record else None
        if was and was.size != size:
            return "broken", f"{name} was changed since it was installed"
        if not record and known and known.size and known.size != size:
            return "other", "differs from the published file"
    noted = {file.name: file.sha256 for file in record.files} if record else {}
    if other := _other(place, noted):  # it was said to be so when it was installed
        listed = f": {', '.join(other)}" if place.card.folder else ""
        return "other", f"differs from the published file{listed}"
    return "installed", ""


def state(place: Place, record: Record | None, digests: Mapping[str, str]) -> tuple[str, str]:
    """Of files that were read."""
    changed, other = _changed(place, record, digests), _other(place, digests)
    if changed:
        return "broken", f"changed since it was installed: {', '.join(changed)}"
    if place.card.embedded:
        return ("broken", "differs from the shipped file") if other else ("intact", "")
    if other:
        listed = f": {', '.join(other)}" if place.card.folder else ""
        return "other", f"differs from the published file{listed}"
    if place.card.pinned:
        return "intact", ""
    if record is None:
        return "installed", "nothing is known to compare it with: not installed by Sightline"
    return "intact", f"as it was installed on {record.installed[:10]}; its card has no digests"


def how_to_get(place: Place) -> str:
    """Which files, where they go and how to get them."""
    wanted = place.card
    if wanted.embedded:
        return "It comes with Sightline: reinstall Sightline."
    run, size = command(), f" ({wanted.size / 1e6:.0f} MB)" if wanted.size else ""
    source = wanted.files[0].url or wanted.url
    if wanted.repository:
        source = f"https://huggingface.co/{wanted.repository}"
    login = (
        " Its publisher gives it only to those who have accepted the terms there: set HF_TOKEN "
        "to your access token first."
        if wanted.gated
        else ""
    )
    return (
        f"Run `{run} models get {wanted.name}`{size}.{login} Where this computer has no "
        f"network: download {source} elsewhere, then `{run} models install PATH`. "
        f"It belongs in {place.base}."
    )
