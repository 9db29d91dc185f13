"""Installing models: what is wanted is copied aside, verified, and then put in place at once.

What was installed before stays untouched until everything new is there and is what it should be.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from app.errors import SightlineError
from app.tools.api import CancelToken, ModelHost
from app.tools.models.cards import ModelCard
from app.tools.models.digests import CHUNK, key_of, sha256_of
from app.tools.models.durable import is_in_use
from app.tools.models.places import Place, files_below
from app.tools.models.plans import Agreed, PlannedFile, PlannedModel, check_agreed, check_space
from app.tools.models.records import RECORD, Record, RecordedFile, write_record
from app.tools.models.sources import Source, reading
from app.tools.models.swap import STAGING, swap
from app.tools.models.tensors import check_tensors
from app.tools.needs import is_installed

Progress = Callable[[float, str], None]

_TRIED_BELOW = 2_000_000_000


class Loads(Protocol):
    """Finds out whether files can be loaded; see `verifying.check_loads`."""

    def __call__(self, wanted: ModelCard, path: Path, host: ModelHost | None) -> None:
        """Raises `SightlineError` where they cannot."""
        ...


@dataclass(slots=True)
class Installation:
    """One installation under way.

    Args:
        models: The models folder.
        places: Where each model belongs, by its card's name.
        loads: Finds out whether files that are not the published ones can be loaded.
        now: The time, as records have it.
        progress: Called with a fraction 0..1 and a text.
        cancel: Stops it.
        host: For `loads`.
    """

    models: Path
    places: Mapping[str, Place]
    loads: Loads
    now: str
    progress: Progress | None = None
    cancel: CancelToken | None = None
    host: ModelHost | None = None
    _done: int = 0
    _total: int = 1

    def run(self, source: Source, models: Iterable[PlannedModel], agreed: Agreed) -> None:
        """Copy, verify, and put all models in place; or none.

        Raises:
            Cancelled: `cancel` was set.
            SightlineError: A file is not what it should be, or cannot be copied.
        """
        chosen = [check_agreed(model, agreed) for model in models]
        self._total = max(1, sum(model.bytes for model in chosen))
        check_space(self.models, self._total)
        staging = self.models / f"{STAGING}{uuid.uuid4().hex[:12]}"
        try:
            staging.mkdir(parents=True)
            with reading(source.label):
                digests = self._copied(source, chosen, staging)
            for model in chosen:
                self._verified(model, digests[model.card.name], staging, agreed)
            for model in chosen:
                self._recorded(model, digests[model.card.name], staging, agreed, source.label)
            swap([(self.places[m.card.name], staging / m.card.name) for m in chosen])
        except OSError as error:
            raise _not_written(error, self.models) from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def finish(self, staging: Path, model: PlannedModel, label: str, agreed: Agreed) -> None:
        """Verify a model that lies in a staging folder already, and put it in place.

        Args:
            staging: The folder that holds it, in a folder called as its card.
            model: What it consists of; other files there are deleted.
            label: Where it came from.
            agreed: What the user has said yes to.

        Raises:
            Cancelled: `cancel` was set.
            SightlineError: A file is not what it should be, or cannot be put in place.
        """
        folder = staging / model.card.name
        names = {file.name for file in model.files}
        try:
            for name in files_below(folder):
                if name not in names:
                    (folder / name).unlink()
            digests = {n: sha256_of(folder / n, cancel=self.cancel) for n in sorted(names)}
            self._verified(model, digests, staging, agreed)
            self._recorded(model, digests, staging, agreed, label)
            swap([(self.places[model.card.name], folder)])
        except OSError as error:
            raise _not_written(error, self.models) from error

    def _copied(
        self, source: Source, chosen: list[PlannedModel], staging: Path
    ) -> dict[str, dict[str, str]]:
        """The files in the staging folder; their digests by model and name."""
        wanted = {file.inside: (model, file) for model in chosen for file in model.files}
        digests: dict[str, dict[str, str]] = {model.card.name: {} for model in chosen}
        for inside, stream in source.streams(frozenset(wanted)):
            model, file = wanted[inside]
            target = staging / model.card.name / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            digests[model.card.name][file.name] = self._copy(stream, target, file)
        for inside, (model, file) in wanted.items():
            if file.name not in digests[model.card.name]:
                raise SightlineError(f"it does not hold {inside} any more", subject=source.label)
        return digests

    def _copy(self, stream: IO[bytes], target: Path, file: PlannedFile) -> str:
        digest, count = hashlib.sha256(), 0
        with target.open("xb") as out:
            while block := stream.read(CHUNK):
                if self.cancel is not None:
                    self.cancel.check()
                count += len(block)
                if count > file.size:
                    break
                digest.update(block)
                out.write(block)
                self._tell(len(block))
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

    def _tell(self, count: int) -> None:
        self._done += count
        if self.progress is not None:
            text = f"{self._done / 1e6:.0f} of {self._total / 1e6:.0f} MB"
            self.progress(min(1.0, self._done / self._total), text)

    def _verified(
        self, model: PlannedModel, digests: Mapping[str, str], staging: Path, agreed: Agreed
    ) -> None:
        """Whether the files are the published ones, or may be others and can be loaded."""
        place = self.places[model.card.name]
        known = {name: place.expected(name) for name in digests}
        wrong = [name for name in digests if known[name] and known[name] != digests[name]]
        if not model.card.folder and model.card.pinned and not any(known.values()):
            wrong = list(digests)  # a conversion under another name
        for name in digests:
            if name.endswith(".safetensors") and not known[name]:
                check_tensors(staging / model.card.name / name)
        folder = staging / model.card.name
        path = folder if model.card.folder else folder / model.files[0].name
        if not wrong:
            if not all(known.values()) and self._can_try(model):
                self.loads(model.card, path, self.host)
            return
        if not agreed.other:
            name = wrong[0]
            raise SightlineError(
                f"this is not the published file of {model.card.name}: {name}, sha256 "
                f"{digests[name]}" + (f"; expected {known[name]}" if known[name] else ""),
                remedy="Download it again. Weights of your own that the model can load are taken "
                "with --other; results then carry a warning.",
            )
        self.loads(model.card, path, self.host)

    def _can_try(self, model: PlannedModel) -> bool:
        """Whether files that nobody knows are loaded once; large ones would take minutes."""
        able = all(is_installed(package) for package in ("torch", *model.card.packages))
        return self.host is not None and able and model.bytes < _TRIED_BELOW

    def _recorded(
        self,
        model: PlannedModel,
        digests: Mapping[str, str],
        staging: Path,
        agreed: Agreed,
        label: str,
    ) -> None:
        folder = staging / model.card.name
        files: list[RecordedFile] = []
        for name, sha256 in sorted(digests.items()):
            _, size, modified = key_of(folder / name)
            files.append(RecordedFile(name, size, sha256, modified))
        place = self.places[model.card.name]
        record = Record(
            name=model.card.name,
            revision=model.revision,
            source=label.encode("utf-8", "replace").decode(),
            installed=self.now,
            files=tuple(files),
            terms_sha256=model.card.terms_sha256,
            terms_accepted=_accepted_when(model, place, self.now),
            code_allowed=self.now if agreed.code and model.code else "",
        )
        write_record(folder / RECORD, record)


def _not_written(error: OSError, models: Path) -> SightlineError:
    return SightlineError(
        f"it cannot be written into the models folder ({error.strerror or error})",
        subject=str(models),
        remedy=_remedy(error),
    )


def _remedy(error: OSError) -> str:
    if is_in_use(error):
        return (
            "Close what uses it (another Sightline, or wait for the answer under way), then try "
            "again. Where nothing does, ask whoever looks after this computer for the right to "
            "write there."
        )
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "Make space there, or set SIGHTLINE_MODELS to a folder with space."
    return (
        "Set SIGHTLINE_MODELS to a folder that you may write to, or ask whoever looks after "
        "this computer."
    )


def _accepted_when(model: PlannedModel, place: Place, now: str) -> str:
    if not model.card.terms:
        return ""
    before = place.record()
    return now if model.terms or before is None else before.terms_accepted
