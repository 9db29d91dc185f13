"""Check models by reading every file, and by loading files whose digests are not known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from safetensors import SafetensorError, safe_open

from app.errors import SightlineError
from app.tools.api import CancelToken, ModelHost, Progress
from app.tools.models.cards import ModelCard
from app.tools.models.digests import combined_sha256, file_key, read_sha256, remember
from app.tools.models.places import Place
from app.tools.models.status import InstalledModel, ModelStatus, quick_status, verified_state
from app.tools.needs import is_installed

_LOAD_TIMEOUT_S = 300.0


@dataclass(slots=True)
class Verification:
    """Reads the files of one or more models, whatever digests are remembered.

    Attributes:
        total: Bytes to read, as far as known, for the progress.
        progress: Called with a fraction 0..1 and a text.
        cancel: Stops it.
        host: Loads files that are not the published ones, to find out whether that works.
    """

    total: int
    progress: Progress | None = None
    cancel: CancelToken | None = None
    host: ModelHost | None = None
    _read: int = 0

    def verify(self, place: Place) -> ModelStatus:
        """Return a model's status by the content of its files.

        Raises:
            Cancelled: `cancel` was set.
            OSError: A file cannot be read.
        """
        status = quick_status(place)
        if status.missing:
            return status
        record = place.record()
        digests: dict[str, str] = {}
        for name in place.present_files(record):
            key = file_key(place.file(name))
            digests[name] = read_sha256(place.file(name), self._count, self.cancel)
            remember(key, digests[name])
        state, note = verified_state(place, record, digests)
        can_load = bool(place.card.check) and self.host is not None and is_installed("torch")
        if state == "other" and can_load:
            try:
                check_loads(place.card, place.path, self.host)
                note += ", but the model can load it"
            except SightlineError as error:
                state, note = "broken", error.reason
        folder = place.card.folder
        sha256 = combined_sha256(digests.items()) if folder else next(iter(digests.values()))
        return replace(status, state=state, note=note, sha256=sha256)

    def _count(self, count: int) -> None:
        self._read += count
        if self.progress is not None:
            text = f"{self._read / 1e6:.0f} MB read"
            self.progress(min(1.0, self._read / max(1, self.total)), text)


def check_loads(card: ModelCard, path: Path, host: ModelHost | None) -> None:
    """Load files in the model process as the tool would, if the card names a function for it.

    Raises:
        SightlineError: They cannot be loaded, or that cannot be checked here.
    """
    if not card.check:
        return
    if host is None or not is_installed("torch"):
        raise SightlineError(
            "whether the model can load this file cannot be checked here",
            subject=str(path),
            remedy="The check needs the AI packages: see `python3 installer/bootstrap.py run`.",
        )
    payload = {**InstalledModel(card, path, "").payload("cpu"), "weights": str(path)}
    host.call(card.check, payload, cancel=CancelToken(), timeout_s=_LOAD_TIMEOUT_S)


def check_tensors(path: Path) -> None:
    """Check a safetensors file's header and length without reading its tensors.

    Raises:
        SightlineError: It is cut off, damaged, or no safetensors file.
    """
    try:
        with safe_open(path, framework="numpy"):
            pass
    except (SafetensorError, ValueError, OSError) as error:
        raise SightlineError(
            "this is no safetensors file, or it is cut off or damaged",
            subject=path.name,
            remedy="Copy or download it again.",
            detail=f"{type(error).__name__}: {error}",
        ) from error
