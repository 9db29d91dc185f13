"""Puts real values in place of what a step takes from the open image or from earlier steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.agent.messages import Message
from app.agent.planning.steps import (
    Absent,
    Earlier,
    OpenImage,
    Output,
    Scene,
    Source,
    Step,
    path_of,
)


@dataclass(frozen=True, slots=True)
class Ready:
    """A step with all its arguments, and what to tell the user about them."""

    arguments: dict[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why a step cannot be run."""

    reason: str


class _Missing(Exception):
    pass


def resolve(
    step: Step, steps: Sequence[Step], results: Mapping[int, Message], scene: Scene
) -> Ready | Blocked:
    """The step's arguments, from the results of earlier steps by number."""
    if step.skip:
        return Blocked(step.skip)
    notes: list[str] = []

    def value_of(value: Any) -> Any:
        if isinstance(value, list):
            return [value_of(item) for item in value]
        if isinstance(value, (OpenImage, Output, Earlier, Absent)):
            return _lookup(value, steps, results, scene, notes)
        return value

    try:
        arguments = {name: value_of(value) for name, value in step.arguments.items()}
    except _Missing as missing:
        return Blocked(str(missing))
    return Ready(arguments, tuple(notes))


def _lookup(
    source: Source,
    steps: Sequence[Step],
    results: Mapping[int, Message],
    scene: Scene,
    notes: list[str],
) -> Any:
    match source:
        case OpenImage():
            note = scene.note(source)
            if note is None:
                raise _Missing(f"{source.id} is not open" if source.id else "no image is open")
            return path_of(note)
        case Earlier(path):
            return path
        case Absent(what):
            raise _Missing(f"there is no {what}: no step before makes one")
        case Output(number, key, fallback):
            tool = steps[number - 1].tool
            message = results.get(number)
            if message is not None and message.ok:
                value = message.data.get("output", {}).get(key)
                if value:
                    return value
                state = f"returned no {key}"
            else:
                state = "failed" if message is not None else "was not run"
            note = scene.note()
            if fallback and note is not None:
                if message is not None:
                    notes.append(
                        f"{tool} {state}, so the open image was used in place of its {key}"
                    )
                return path_of(note)
            raise _Missing(f"it needs {key} from {tool}, which {state}")
