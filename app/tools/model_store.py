"""The models that are installed: looked up by their cards, checked, installed, removed.

Nothing here imports torch, and nothing is fetched unless `ModelStore.get` is called for it.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app import paths
from app.errors import SightlineError, UsageError
from app.tools.api import CancelToken, ModelHost, ToolFailed
from app.tools.model_cards import ModelCard, cards
from app.tools.model_digests import list_sha256, read_sha256
from app.tools.model_places import Place, is_program
from app.tools.model_records import Record, write_record
from app.tools.needs import command, is_installed

Progress = Callable[[float, str], None]

_CHECK_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model that can be loaded.

    Attributes:
        card: Its card.
        path: Its folder; of a model of one file, that file.
        sha256: Of its one file, or of the list of its files' digests: what findings name.
        warnings: What makes its results doubtful, e.g. that its files are not the published ones.
        code_allowed: The user has said yes to running the code that lies with its weights, and it
            is the same code still.
        accepted: The terms on its card are accepted, or it has none.
    """

    card: ModelCard
    path: Path
    sha256: str
    warnings: tuple[str, ...] = ()
    code_allowed: bool = False
    accepted: bool = True

    def payload(self, device: str) -> dict[str, Any]:
        """What an entry in the model process is given of it; see `model_process.serving`."""
        return {
            "model": {
                "name": self.card.name,
                "path": str(self.path),
                "sha256": self.sha256,
                "memory": dict(self.card.memory),
                "trust_remote_code": self.card.trust_remote_code and self.code_allowed,
            },
            "device": device,
        }


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


class ModelStore:
    """The user's models folder together with the shipped models. Thread-safe.

    Args:
        folder: By default `paths.models_dir()`.
        shipped: Where embedded models lie; by default `resources/models`.
        known: The cards; by default the shipped ones.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        shipped: Path | None = None,
        known: Mapping[str, ModelCard] | None = None,
    ) -> None:
        self.folder = folder if folder is not None else paths.models_dir()
        self._shipped = shipped if shipped is not None else paths.resources_dir() / "models"
        self.cards: Mapping[str, ModelCard] = known if known is not None else cards()
        self._changing = threading.Lock()

    def card(self, name: str) -> ModelCard:
        """The card of that name.

        Raises:
            UsageError: There is none; lists those that are.
        """
        for known in self.cards.values():
            single = () if known.folder else (known.files[0].name,)
            if name in (known.name, *single):
                return known
        raise UsageError(
            f"no model is called {name!r}", remedy=f"There are: {', '.join(self.cards)}."
        )

    def place(self, wanted: ModelCard) -> Place:
        """Where its files lie."""
        return Place(wanted, self.folder, self._shipped)

    def has(self, name: str) -> bool:
        """Whether the model of that name is there; quick, nothing is read."""
        known = self.cards.get(name)
        return known is not None and not self.place(known).missing()

    def find(self, wanted: ModelCard) -> InstalledModel | None:
        """The installed model, or None where a file of its card that is not optional is missing.

        Files that changed since they were last read are read, which takes long for large ones.
        """
        place = self.place(wanted)
        if place.missing():
            return None
        record = place.record()
        digests = {name: place.digest(name, record) for name in place.names(record)}
        total = list_sha256(digests.items()) if wanted.folder else next(iter(digests.values()))
        return InstalledModel(
            wanted,
            place.path,
            total,
            _warnings(place, record, digests),
            _code(place, record) == "allowed",
            _accepted(wanted, record),
        )

    def require(self, name: str, feature: str) -> InstalledModel:
        """The installed model of that name.

        Args:
            name: Its card's.
            feature: What needs it, for the message ("The report generator").

        Raises:
            ToolFailed: It is not installed, or its terms are not accepted; says what to do.
        """
        wanted = self.card(name)
        found = self.find(wanted)
        if found is None:
            raise ToolFailed(
                f"{feature} needs a model that is not installed: {_called(wanted)}",
                remedy=self.how_to_get(wanted),
            )
        if not found.accepted:
            raise ToolFailed(
                f"{feature} needs a model whose terms are not accepted: {wanted.title}",
                remedy=f"Read and accept them: `{command()} models accept {wanted.name}`.",
            )
        return found

    def how_to_get(self, wanted: ModelCard) -> str:
        """Which files, where they go and how to get them."""
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
            f"It belongs in {self.place(wanted).base}."
        )

    def overview(self) -> tuple[ModelStatus, ...]:
        """Of each model, quickly: no file of weights is read."""
        return tuple(self.status(known) for known in self.cards.values())

    def status(self, wanted: ModelCard) -> ModelStatus:
        """Of one model, quickly: no file of weights is read."""
        place = self.place(wanted)
        record = place.record()
        names, missing = place.names(record), place.missing()
        state, note = _quick_state(place, record, names, missing)
        there = sum(place.file(name).stat().st_size for name in names)
        return ModelStatus(
            card=wanted,
            state=state,
            path=place.path,
            bytes=there or wanted.size,
            accepted=_accepted(wanted, record),
            code=_code(place, record) if state != "not installed" else _code_of(wanted),
            note=note,
            sha256=place.expected(place.path.name) if not wanted.folder else "",
            revision=(record.revision if record else "") or wanted.revision,
            missing=missing,
            how_to_get=self.how_to_get(wanted),
            installed=record.installed if record else "",
        )

    def verify(
        self,
        name: str = "",
        *,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
        host: ModelHost | None = None,
    ) -> tuple[ModelStatus, ...]:
        """As `overview`, with every file read, whatever is remembered of it.

        Args:
            name: One model; "" for all.
            progress: Called with a fraction 0..1 and a text.
            cancel: Stops it.
            host: Used for files that are not the published ones: can they be loaded?

        Raises:
            UsageError: There is no model of that name.
            Cancelled: `cancel` was set.
        """
        wanted = [self.card(name)] if name else list(self.cards.values())
        total = sum(self.status(one).bytes for one in wanted if self.has(one.name))
        read = 0

        def told(count: int) -> None:
            nonlocal read
            read += count
            if progress is not None:
                progress(min(1.0, read / max(1, total)), f"{read / 1e6:.0f} MB read")

        return tuple(self._verified(one, told, cancel, host) for one in wanted)

    def accept(self, name: str, *, code: bool = False) -> ModelStatus:
        """Note that the user accepts the terms of a model that is there, and its files as they are.

        A folder that was copied into place by hand is written down by this too.

        Args:
            name: The model.
            code: The user also allows the code among its files to run.

        Raises:
            UsageError: No such model, it is not there, or nothing about it is to be accepted.
            SightlineError: It cannot be written down.
        """
        wanted = self.card(name)
        place = self.place(wanted)
        if wanted.embedded or place.missing():
            reason = "it comes with Sightline" if wanted.embedded else "it is not installed"
            raise UsageError(reason, subject=wanted.name, remedy=self.how_to_get(wanted))
        if code and not wanted.trust_remote_code:
            raise UsageError("its card does not provide for code", subject=wanted.name)
        record = place.record()
        names = place.names(None) if record is None else place.names(record)
        if code:
            names = tuple(sorted({*names, *place.programs()}))
        now = now_text()
        files = tuple(place.recorded(n, read_sha256(place.file(n))) for n in names)
        made = Record(
            name=wanted.name,
            revision=record.revision if record else "",
            source=record.source if record else "the models folder",
            installed=record.installed if record else now,
            files=files,
            terms_sha256=wanted.terms_sha256,
            terms_accepted=now if wanted.terms else "",
            code_allowed=now if code else record.code_allowed if record else "",
        )
        with self._changing:
            self._write(place, made)
        return self.status(wanted)

    def remove(self, name: str) -> ModelStatus:
        """Delete a model's files.

        Raises:
            UsageError: No such model, or it comes with Sightline.
            SightlineError: They cannot be deleted.
        """
        wanted = self.card(name)
        if wanted.embedded:
            raise UsageError(f"{wanted.name} comes with Sightline and stays")
        place = self.place(wanted)
        try:
            with self._changing:
                _delete(place)
        except OSError as error:
            raise SightlineError(
                f"it cannot be deleted ({error.strerror or error})",
                subject=str(place.path),
                remedy="Close what uses it, or ask whoever looks after this computer.",
            ) from error
        return self.status(wanted)

    def check_loads(self, wanted: ModelCard, path: Path, host: ModelHost | None) -> None:
        """Load files in the model process, as the tool will, where the card says how.

        Raises:
            SightlineError: They cannot be loaded, or that cannot be found out here.
        """
        if not wanted.check:
            return
        if host is None or not is_installed("torch"):
            raise SightlineError(
                "whether the model can load this file cannot be checked here",
                subject=str(path),
                remedy="The check needs the AI packages: see `python3 installer/bootstrap.py run`.",
            )
        model = InstalledModel(wanted, path, "")
        payload = {**model.payload("cpu"), "weights": str(path)}
        host.call(wanted.check, payload, cancel=CancelToken(), timeout_s=_CHECK_TIMEOUT_S)

    def _write(self, place: Place, record: Record) -> None:
        try:
            write_record(place.record_path, record)
        except OSError as error:
            raise SightlineError(
                f"it cannot be written down ({error.strerror or error})",
                subject=str(place.record_path),
                remedy="Set SIGHTLINE_MODELS to a folder that you may write to.",
            ) from error

    def _verified(
        self,
        wanted: ModelCard,
        told: Callable[[int], None],
        cancel: CancelToken | None,
        host: ModelHost | None,
    ) -> ModelStatus:
        status = self.status(wanted)
        place = self.place(wanted)
        if status.missing:
            return status
        record = place.record()
        digests = {
            name: read_sha256(place.file(name), told, cancel) for name in place.names(record)
        }
        total = list_sha256(digests.items()) if wanted.folder else next(iter(digests.values()))
        state, note = _state(place, record, digests)
        if state == "other" and wanted.check and host is not None and is_installed("torch"):
            try:
                self.check_loads(wanted, place.path, host)
                note += ", but the model can load it"
            except SightlineError as error:
                state, note = "broken", error.reason
        return replace(status, state=state, note=note, sha256=total)


def now_text() -> str:
    """The time, as records have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _called(wanted: ModelCard) -> str:
    """Its title, and of one file the name under which it is looked for."""
    return wanted.title if wanted.folder else f"{wanted.title} ({wanted.files[0].name})"


def _accepted(wanted: ModelCard, record: Record | None) -> bool:
    return not wanted.terms or (record is not None and record.terms_sha256 == wanted.terms_sha256)


def _code_of(wanted: ModelCard) -> str:
    return "not allowed" if wanted.trust_remote_code else ""


def _code(place: Place, record: Record | None) -> str:
    """See `ModelStatus.code`; each program is read anew, since what ran once is no promise."""
    if not place.card.trust_remote_code:
        return ""
    if record is None or not record.code_allowed:
        return "not allowed"
    allowed = {file.name: file.sha256 for file in record.files if is_program(file.name)}
    now = {name: read_sha256(place.file(name)) for name in place.programs()}
    return "allowed" if now == allowed else "changed"


def _changed(place: Place, record: Record | None, digests: Mapping[str, str]) -> list[str]:
    """Files that are others than were installed, or gone."""
    if record is None:
        return []
    return [file.name for file in record.files if digests.get(file.name) != file.sha256]


def _other(place: Place, digests: Mapping[str, str]) -> list[str]:
    """Files that are not the published ones as far as the card knows those."""
    one = not place.card.folder
    known = {name: place.expected(name) for name in digests}
    return [name for name in digests if known[name] != digests[name] and (known[name] or one)]


def _warnings(place: Place, record: Record | None, digests: Mapping[str, str]) -> tuple[str, ...]:
    """What results of these files have to say."""
    what = (
        f"the files of {place.card.name}"
        if place.card.folder
        else (f"the weights {place.path.name}")
    )
    if place.card.embedded:
        return (f"{what} are damaged: reinstall Sightline",) if _other(place, digests) else ()
    if _changed(place, record, digests):
        return (f"{what} were changed since they were installed: results are as good as they are",)
    if _other(place, digests):
        differ = "differ from the published file" + ("s" if place.card.folder else "")
        return (f"{what} {differ}: results are as good as they are",)
    if place.card.pinned:
        return ()
    when = f"those installed on {record.installed[:10]}" if record else "those found in its folder"
    return (f"{what} are {when}: no digests of the published ones are known to compare with",)


def _quick_state(
    place: Place, record: Record | None, names: tuple[str, ...], missing: tuple[str, ...]
) -> tuple[str, str]:
    if place.card.embedded:
        return ("broken", "it is missing: reinstall Sightline") if missing else ("embedded", "")
    if missing:
        whole = not names and (not place.card.folder or not any(place.base.glob("*")))
        return ("not installed", "") if whole else ("partly", f"missing: {', '.join(missing)}")
    for name in names:
        size, noted, known = place.file(name).stat().st_size, None, place.card.file_of(name)
        noted = record.file(name) if record else None
        if noted and noted.size != size:
            return "broken", f"{name} was changed since it was installed"
        if not record and known and known.size and known.size != size:
            return "other", "differs from the published file"
    return "installed", ""


def _state(place: Place, record: Record | None, digests: Mapping[str, str]) -> tuple[str, str]:
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


def _delete(place: Place) -> None:
    """Raises OSError where something stays."""
    if not place.card.folder:
        for name in place.file_names:
            file = place.base / name
            for path in (file, file.with_name(f"{name}.installed.toml"), Path(f"{file}.part")):
                path.unlink(missing_ok=True)
        return
    if place.base.is_symlink():
        place.base.unlink()
    elif place.base.exists():
        # Out of the way first: a folder that is half deleted must not look like a model.
        trash = place.models / f".removed-{place.card.name}"
        shutil.rmtree(trash, ignore_errors=True)
        place.base.rename(trash)
        shutil.rmtree(trash)
