"""Installs models: copies and verifies their files, then moves all of them into place at once.

To verify a model, every file is read. If the digests of published files are not known, the model is
loaded, too. Installed models stay untouched until all new files are complete and verified.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from app.errors import Cancelled, SightlineError
from app.tools.api import CancelToken, ModelHost, Progress, ToolFailed
from app.tools.models.cards import ModelCard
from app.tools.models.durable_files import is_in_use
from app.tools.models.folder_changes import STAGING, swap
from app.tools.models.install_plan import (
    Consent,
    PlannedFile,
    PlannedModel,
    check_consent,
    check_space,
)
from app.tools.models.places import ModelPaths, files_below
from app.tools.models.records import (
    CHUNK,
    RECORD,
    ByteProgress,
    Record,
    combined_sha256,
    file_key,
    read_sha256,
    recorded_file,
    remember,
    sha256_of,
    write_record,
)
from app.tools.models.sources import Source, archive_errors
from app.tools.models.status import (
    InstalledModel,
    ModelStatus,
    installed_model,
    quick_status,
    utc_now,
    verified_state,
)
from app.tools.needs import how_to_add, is_installed

_LOAD_TIMEOUT_S = 300.0
_TRIED_BELOW = 2_000_000_000  # bytes; loading larger models to check them takes minutes


@dataclass(slots=True)
class Installation:
    """Installs models into the folder `models`; `places` are the models' places by card name."""

    models: Path
    places: Mapping[str, ModelPaths]
    progress: Progress | None = None
    cancel: CancelToken | None = None
    host: ModelHost | None = None

    def install(self, source: Source, models: Iterable[PlannedModel], consent: Consent) -> None:
        """Copy models from a source, verify them and put them in place: all of them or none.

        Raises:
            Cancelled: `cancel` was set.
            SightlineError: A file does not have the expected content, or cannot be copied.
        """
        chosen = [check_consent(model, consent) for model in models]
        total = sum(model.bytes for model in chosen)
        check_space(self.models, total)
        counter = ByteProgress(total, self.progress, self.cancel)
        staging = self.models / f"{STAGING}{uuid.uuid4().hex[:12]}"
        try:
            staging.mkdir(parents=True)
            with archive_errors(source.label):
                digests = self._copy_all(source, chosen, staging, counter)
            self._put_in_place(staging, chosen, digests, consent, source.label)
        except OSError as error:
            raise _write_error(error, self.models) from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def finish(self, staging: Path, model: PlannedModel, label: str, consent: Consent) -> None:
        """Verify a model whose files are complete in a staging folder, and put it in place.

        They are in a subfolder named like the card; files there that the model does not list are
        deleted. `label` is the model's origin, for the record of the installation.

        Raises:
            SightlineError: A file does not have the expected content, or cannot be put in place.
        """
        folder = staging / model.card.name
        names = {file.name for file in model.files}
        try:
            for name in files_below(folder):
                if name not in names:
                    (folder / name).unlink()
            digests = {n: sha256_of(folder / n, cancel=self.cancel) for n in sorted(names)}
            self._put_in_place(staging, [model], {model.card.name: digests}, consent, label)
        except OSError as error:
            raise _write_error(error, self.models) from error

    def _put_in_place(
        self,
        staging: Path,
        models: list[PlannedModel],
        digests: Mapping[str, Mapping[str, str]],
        consent: Consent,
        label: str,
    ) -> None:
        for model in models:
            self._verify(model, digests[model.card.name], staging, consent)
        for model in models:
            self._write_record(model, digests[model.card.name], staging, consent, label)
        swap([(self.places[model.card.name], staging / model.card.name) for model in models])

    def _copy_all(
        self, source: Source, chosen: list[PlannedModel], staging: Path, counter: ByteProgress
    ) -> dict[str, dict[str, str]]:
        """Copy the files into the staging folder; return their digests by model and name."""
        wanted = {file.inside: (model, file) for model in chosen for file in model.files}
        digests: dict[str, dict[str, str]] = {model.card.name: {} for model in chosen}
        for inside, stream in source.streams(frozenset(wanted)):
            model, file = wanted[inside]
            target = staging / model.card.name / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            digests[model.card.name][file.name] = _copy(stream, target, file, counter)
        for inside, (model, file) in wanted.items():
            if file.name not in digests[model.card.name]:
                raise SightlineError(f"it no longer contains {inside}", subject=source.label)
        return digests

    def _verify(
        self, model: PlannedModel, digests: Mapping[str, str], staging: Path, consent: Consent
    ) -> None:
        """Check that files are the published ones, or may be others and can be loaded."""
        card, place = model.card, self.places[model.card.name]
        folder = staging / card.name
        known = {name: place.published_sha256(name) for name in digests}
        wrong = [name for name in digests if known[name] and known[name] != digests[name]]
        # A pinned model of one file may come converted, under a name that the card does not have.
        if not card.folder and card.pinned and not any(known.values()):
            wrong = list(digests)
        for name in digests:
            if name.endswith(".safetensors") and not known[name]:
                check_tensors(folder / name)
        if wrong and not consent.unpublished:
            name = wrong[0]
            raise SightlineError(
                f"this is not the published file of {card.name}: {name}, sha256 "
                f"{digests[name]}" + (f"; expected {known[name]}" if known[name] else ""),
                remedy="Download it again. Weights of your own that the model can load are taken "
                "with --other; results then carry a warning.",
            )
        if wrong or (not all(known.values()) and self._can_load(model)):
            path = folder if card.folder else folder / model.files[0].name
            check_loads(card, path, self.host)

    def _can_load(self, model: PlannedModel) -> bool:
        """Return True if files without known digests are loaded once; large ones take too long."""
        able = all(is_installed(package) for package in ("torch", *model.card.packages))
        return self.host is not None and able and model.bytes < _TRIED_BELOW

    def _write_record(
        self,
        model: PlannedModel,
        digests: Mapping[str, str],
        staging: Path,
        consent: Consent,
        label: str,
    ) -> None:
        folder, now = staging / model.card.name, utc_now()
        files = tuple(
            recorded_file(folder / name, name, sha256) for name, sha256 in sorted(digests.items())
        )
        earlier = self.places[model.card.name].record()
        accepted = now if model.terms or earlier is None else earlier.terms_accepted
        record = Record(
            name=model.card.name,
            revision=model.revision,
            source=label.encode("utf-8", "replace").decode(),
            installed=now,
            files=files,
            terms_sha256=model.card.terms_sha256,
            terms_accepted=accepted if model.card.terms else "",
            code_allowed=now if consent.code and model.code else "",
        )
        write_record(folder / RECORD, record)


def _copy(stream: IO[bytes], target: Path, file: PlannedFile, counter: ByteProgress) -> str:
    digest, count = hashlib.sha256(), 0
    with target.open("xb") as out:
        while block := stream.read(CHUNK):
            count += len(block)
            if count > file.size:
                break
            digest.update(block)
            out.write(block)
            counter(len(block))
    if count != file.size:
        raise SightlineError(
            f"{file.name} is {'longer' if count > file.size else 'shorter'} than it should be: "
            f"{file.size:,} bytes",
            remedy="Copy or download it again.",
        )
    found = digest.hexdigest()
    if file.sha256 and found != file.sha256:
        raise SightlineError(
            f"{file.name} is damaged: sha256 {found}, its manifest says {file.sha256}",
            remedy="Copy or download it again.",
        )
    return found


def _write_error(error: OSError, models: Path) -> SightlineError:
    if is_in_use(error):
        remedy = (
            "Close what uses it (another Sightline, or wait for the answer under way), then try "
            "again. If nothing does, ask this computer's administrator for the right to "
            "write there."
        )
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy = "Make space there, or set SIGHTLINE_MODELS to a folder with space."
    else:
        remedy = (
            "Set SIGHTLINE_MODELS to a folder that you may write to, or ask this computer's "
            "administrator."
        )
    return SightlineError(
        f"it cannot be written into the models folder ({error.strerror or error})",
        subject=str(models),
        remedy=remedy,
    )


def verify(place: ModelPaths, counter: ByteProgress, host: ModelHost | None) -> ModelStatus:
    """Read all files of a model again, even if their digests are known, and return its status.

    `host` (if any) loads files that are not the published ones; if it fails, they are "broken".

    Raises:
        OSError: A file cannot be read.
    """
    status = quick_status(place)
    if status.missing:
        return status
    record = place.record()
    digests: dict[str, str] = {}
    for name in place.present_files(record):
        key = file_key(place.file(name))
        digests[name] = read_sha256(place.file(name), counter)
        remember(key, digests[name])
    state, note = verified_state(place, record, digests)
    if state == "other" and place.card.check and host is not None and is_installed("torch"):
        try:
            check_loads(place.card, place.path, host)
            note += ", but the model can load it"
        except SightlineError as error:
            state, note = "broken", error.reason
    folder = place.card.folder
    sha256 = combined_sha256(digests.items()) if folder else next(iter(digests.values()))
    return replace(status, state=state, note=note, sha256=sha256)


def check_loads(card: ModelCard, path: Path, host: ModelHost | None) -> None:
    """Check that the model at `path` can be loaded, if its card names a `check` function.

    Raises:
        SightlineError: Loading fails, or there is no `host` or no torch to try it.
    """
    if not card.check:
        return
    if host is None or not is_installed("torch"):
        raise SightlineError(
            "whether the model can load this file cannot be checked without the AI packages",
            subject=str(path),
            remedy=how_to_add(),
        )
    payload = {**InstalledModel(card, path, "").payload("cpu"), "weights": str(path)}
    host.call(card.check, payload, cancel=CancelToken(), timeout_s=_LOAD_TIMEOUT_S)


def self_check(place: ModelPaths, host: ModelHost | None, cancel: CancelToken | None = None) -> str:
    """Compare an installed model with the published figures or files that its card names.

    The card's function is called with `InstalledModel.payload` and "file", "expected" and
    "tolerance", and returns {"outcome": ...}.

    Returns:
        "passed: ...", "failed: ..." or "not run: ..." with the reason; "" without a self-check.
    """
    check, path = place.card.self_check, place.self_check_file
    if check is None or path is None:
        return ""
    if not path.is_file() or sha256_of(path) != check.file.sha256:
        wrong = "is not the published file" if path.is_file() else "is not there"
        return (
            f"not run: {path} {wrong}. Download {check.file.url} ({check.file.size / 1e6:.1f} MB), "
            "put it there, and verify the model"
        )
    model = installed_model(place)
    if host is None or model is None or not all(map(is_installed, place.card.packages)):
        return f"not run: it needs the AI packages. {how_to_add()}"
    about = {"file": str(path), "expected": dict(check.expected), "tolerance": check.tolerance}
    payload = {**model.payload("cpu"), **about}
    try:
        cancel = cancel or CancelToken()
        answer = host.call(check.entry, payload, cancel=cancel, timeout_s=_LOAD_TIMEOUT_S)
    except Cancelled:
        return "not run: it was stopped"
    except ToolFailed as error:
        return f"not run: {error.reason}"
    return str(answer["outcome"])


def check_tensors(path: Path) -> None:
    """Check a safetensors file's header and length without reading its tensors.

    Raises:
        SightlineError: The file is cut off or damaged, or is not a safetensors file.
    """
    from safetensors import SafetensorError, safe_open  # no model library is loaded at start-up

    try:
        with safe_open(path, framework="numpy"):
            pass
    except (SafetensorError, ValueError, OSError) as error:
        raise SightlineError(
            "this is not a safetensors file, or it is cut off or damaged",
            subject=path.name,
            remedy="Copy or download it again.",
            detail=f"{type(error).__name__}: {error}",
        ) from error
