"""How models and what they do are put into words. Plain text."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.tools.hosting.estimates import in_words
from app.tools.hosting.states import ModelState, State
from app.tools.models.cards import ModelCard
from app.tools.models.status import ModelStatus
from app.views import wording
from app.views.chat.textview import BULLET

_STATES = {
    "embedded": ("Comes with Sightline", "ok", "circle-check"),
    "not installed": ("Not installed", "faint", "circle-x"),
    "partly": ("Partly there", "warning", "triangle-alert"),
    "installed": ("Installed", "ok", "circle-check"),
    "intact": ("Installed, intact", "ok", "circle-check"),
    "other": ("Not the published files", "warning", "triangle-alert"),
    "broken": ("Damaged", "error", "circle-alert"),
}
_DTYPES = {"float32": "32 bit", "bfloat16": "bfloat16", "float16": "16 bit"}


@dataclass(frozen=True, slots=True)
class Told:
    """A state in words.

    Attributes:
        text: Short, for the list.
        tone: "ok", "busy", "faint", "warning" or "error".
        icon: What stands for it.
        more: What else is to be known, sentences; "" for nothing.
    """

    text: str
    tone: str
    icon: str
    more: str = ""


def told(status: ModelStatus, live: ModelState | None = None) -> Told:
    """What a model is doing now; where it does nothing, whether it is there."""
    if live is not None and status.there:
        doing = _doing(live)
        if doing is not None:
            return _beside(doing, status)
    text, tone, icon = _STATES.get(status.state, (status.state, "warning", "triangle-alert"))
    more = wording.sentence(status.note)
    if status.there and not status.accepted:
        return Told("Terms not accepted", "warning", "triangle-alert", more)
    if status.there and status.code == "changed":
        return Told("Its code was changed", "error", "circle-alert", more)
    return Told(text, tone, icon, more)


def _beside(doing: Told, status: ModelStatus) -> Told:
    """What it does, and that its files are not the published ones, which holds all the same."""
    if status.state != "other":
        return doing
    what, tone, icon = _STATES["other"]
    more = ". ".join(part for part in (doing.more, wording.sentence(status.note) or what) if part)
    if doing.tone != "ok":
        return replace(doing, more=more)
    return Told(f"{doing.text}, not as published", tone, icon, more)


def _doing(live: ModelState) -> Told | None:
    waiting = f" · {live.waiting} waiting" if live.waiting else ""
    if live.state is State.LOADING:
        return Told(f"Loading{_left(live)}{waiting}", "busy", "loader-circle", live.doing)
    if live.state is State.BUSY:
        share = f" {live.fraction:.0%}" if live.fraction > 0 else ""
        return Told(f"Busy{share}{_left(live)}{waiting}", "busy", "loader-circle", live.doing)
    if live.state is State.READY:
        return Told(f"Ready{waiting}", "ok", "circle-check", _where(live))
    if live.state is State.FAILED:
        return Told(f"Failed{waiting}", "error", "circle-alert", wording.sentence(live.why))
    return Told(f"Waiting{waiting}", "busy", "clock") if live.waiting else None


def _left(live: ModelState) -> str:
    return f", {in_words(live.left_s)}" if live.left_s is not None else ""


def _where(live: ModelState) -> str:
    parts = [
        f"Loaded on {device(live.device)}" if live.device else "",
        _DTYPES.get(live.dtype, live.dtype),
        size(live.memory) if live.memory else "",
    ]
    return ", ".join(part for part in parts if part)


def device(name: str) -> str:
    """A device for people."""
    return {"cpu": "the processor", "cuda": "the graphics card", "mps": "the graphics unit"}.get(
        name, name
    )


def size(count: int) -> str:
    """Bytes for people; "not known" for 0."""
    if count <= 0:
        return "not known"
    for unit, least in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= least:
            value = count / least
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"
    return f"{count} bytes"


def memory(card: ModelCard) -> str:
    """What it takes in memory, by precision."""
    parts = [f"{size(count)} ({_DTYPES.get(dtype, dtype)})" for dtype, count in card.memory.items()]
    return ", ".join(parts) or "not known"


def files(status: ModelStatus) -> str:
    """The files on its card, a line each: name, size, digest as far as they are known."""
    lines: list[str] = []
    for file in status.card.files:
        facts = [
            size(file.size) if file.size else "",
            f"sha256 {file.sha256[:12]}…" if file.sha256 else "",
            "program code" if file.code or file.name.endswith(".py") else "",
            "not needed" if file.optional else "",
        ]
        about = ", ".join(fact for fact in facts if fact)
        lines.append(f"{BULLET}{file.name}" + (f"  ({about})" if about else ""))
    return "\n".join(lines)
