"""What is seen of a model where it lies: its status, or the model that can be loaded."""

from __future__ import annotations

from app.tools.models import states
from app.tools.models.digests import key_of, list_sha256
from app.tools.models.places import Place
from app.tools.models.programs import allowed_programs, code
from app.tools.models.states import InstalledModel, ModelStatus


def found(place: Place) -> InstalledModel | None:
    """The installed model, or None where a file of its card that is not optional is missing.

    Raises:
        OSError: A file cannot be read.
    """
    if place.missing():
        return None
    record = place.record()
    names = place.names(record)
    files = {name: key_of(place.file(name))[1:] for name in names}
    digests = {name: place.digest(name, record) for name in names}
    folder = place.card.folder
    return InstalledModel(
        place.card,
        place.path,
        list_sha256(digests.items()) if folder else next(iter(digests.values())),
        states.warnings(place, record, digests),
        allowed_programs(record) if code(place, record) == "allowed" else {},
        states.accepted(place.card, record),
        files,
    )


def quick_status(place: Place) -> ModelStatus:
    """A model's status, quickly: no file of weights is read.

    Raises:
        OSError: A file vanished.
    """
    card, record = place.card, place.record()
    names, missing = place.names(record), place.missing()
    state, note = states.quick_state(place, record, names, missing)
    there = sum(place.file(name).stat().st_size for name in names)
    return ModelStatus(
        card=card,
        state=state,
        path=place.path,
        bytes=there or card.size,
        accepted=states.accepted(card, record),
        code=code(place, record) if state != "not installed" else states.code_of(card),
        note=note,
        sha256=place.expected(place.path.name) if not card.folder else "",
        revision=(record.revision if record else "") or card.revision,
        missing=missing,
        how_to_get=states.how_to_get(place),
        installed=record.installed if record else "",
    )


def being_replaced(place: Place, note: str) -> ModelStatus:
    """The status of a model that another program hangs in the middle of replacing."""
    card = place.card
    return ModelStatus(
        card=card,
        state="not installed",
        path=place.path,
        bytes=card.size,
        accepted=states.accepted(card, None),
        code=states.code_of(card),
        note=note,
        missing=tuple(file.name for file in card.files if not file.optional),
        how_to_get=states.how_to_get(place),
    )
