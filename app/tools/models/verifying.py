"""Reading every file of a model, and loading files that nobody knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from app.errors import SightlineError
from app.tools.api import CancelToken, ModelHost
from app.tools.models import states
from app.tools.models.cards import ModelCard
from app.tools.models.digests import key_of, list_sha256, read_sha256, remember
from app.tools.models.places import Place
from app.tools.models.seeing import quick_status
from app.tools.models.states import InstalledModel, ModelStatus
from app.tools.needs import is_installed

_CHECK_TIMEOUT_S = 300.0


@dataclass(slots=True)
class Verifying:
    """One look at models for which every file is read, whatever is remembered of it.

    Args:
        total: Bytes to read, as far as that is known.
        progress: Called with a fraction 0..1 and a text.
        cancel: Stops it.
        host: Used for files that are not the published ones: can they be loaded?
    """

    total: int
    progress: Callable[[float, str], None] | None = None
    cancel: CancelToken | None = None
    host: ModelHost | None = None
    _read: int = 0

    def verified(self, place: Place) -> ModelStatus:
        """What a quick look says, corrected by what is in the files.

        Raises:
            Cancelled: `cancel` was set.
            OSError: A file cannot be read.
        """
        status = quick_status(place)
        if status.missing:
            return status
        record = place.record()
        digests: dict[str, str] = {}
        for name in place.names(record):
            key = key_of(place.file(name))
            digests[name] = read_sha256(place.file(name), self._tell, self.cancel)
            remember(key, digests[name])
        folder = place.card.folder
        total = list_sha256(digests.items()) if folder else next(iter(digests.values()))
        state, note = states.state(place, record, digests)
        if state == "other" and self._can_try(place.card):
            try:
                check_loads(place.card, place.path, self.host)
                note += ", but the model can load it"
            except SightlineError as error:
                state, note = "broken", error.reason
        return replace(status, state=state, note=note, sha256=total)

    def _can_try(self, card: ModelCard) -> bool:
        return bool(card.check) and self.host is not None and is_installed("torch")

    def _tell(self, count: int) -> None:
        self._read += count
        if self.progress is not None:
            text = f"{self._read / 1e6:.0f} MB read"
            self.progress(min(1.0, self._read / max(1, self.total)), text)


def check_loads(wanted: ModelCard, path: Path, host: ModelHost | None) -> None:
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
