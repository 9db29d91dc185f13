"""Check models by reading every file, and by loading files whose digests are not known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from app.errors import SightlineError
from app.tools.api import CancelToken, ModelHost
from app.tools.models.cards import ModelCard
from app.tools.models.digests import ByteCounter, combined_sha256, file_key, read_sha256, remember
from app.tools.models.places import Place
from app.tools.models.status import InstalledModel, ModelStatus, quick_status, verified_state
from app.tools.needs import is_installed

_LOAD_TIMEOUT_S = 300.0


def verify(place: Place, counter: ByteCounter, host: ModelHost | None) -> ModelStatus:
    """Read all files of a model, even if their digests are remembered, and return its status.

    Files that are not the published ones are loaded in `host`, to check that this works.

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
    """Load files in the model process as the tool would, if the card names a function for it.

    Raises:
        SightlineError: The files cannot be loaded, or loading cannot be checked on this computer.
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
        SightlineError: The file is cut off or damaged, or is not a safetensors file.
    """
    from safetensors import SafetensorError, safe_open  # no model library is loaded at start-up

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
