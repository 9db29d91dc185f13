"""Plain texts on models for the models window: states, sizes, memory, files."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.paths import shipped_table
from app.tools.hosting.states import ModelState, State, in_words
from app.tools.models.cards import ModelCard
from app.tools.models.status import ModelStatus
from app.views import wording
from app.views.text_view import BULLET
from app.views.translation import tr, tr_n

_STATES: dict[str, list[str]] = shipped_table("window", "model_states")
_DTYPES = {"float32": "32 bit", "bfloat16": "bfloat16", "float16": "16 bit"}


@dataclass(frozen=True, slots=True)
class StateText:
    """A model's state in short and long words; `tone` ok, busy, faint, warning or error."""

    text: str
    tone: str
    icon: str
    more: str = ""


def state_text(status: ModelStatus, live: ModelState | None = None) -> StateText:
    """Return the text for what a model does (loading, running), else for its installation."""
    if live is not None and status.usable:
        doing = _activity_text(live)
        if doing is not None:
            return _with_difference(doing, status)
    text, tone, icon = _STATES.get(status.state, (status.state, "warning", "triangle-alert"))
    more = wording.sentence(status.note)
    if status.usable and not status.accepted:
        return StateText(tr("Terms not accepted"), "warning", "triangle-alert", more)
    if status.usable and status.code == "changed":
        return StateText(tr("Code changed"), "error", "circle-alert", more)
    return StateText(tr(text), tone, icon, more)


def _with_difference(doing: StateText, status: ModelStatus) -> StateText:
    if status.state != "other":
        return doing
    what, tone, icon = _STATES["other"]
    what = tr(what)
    more = ". ".join(part for part in (doing.more, wording.sentence(status.note) or what) if part)
    if doing.tone != "ok":
        return replace(doing, more=more)
    return StateText(tr("{text}, not as published").format(text=doing.text), tone, icon, more)


def _activity_text(live: ModelState) -> StateText | None:
    waiting = " · " + tr("{count} waiting").format(count=live.waiting) if live.waiting else ""
    if live.state is State.LOADING:
        return StateText(
            f"{tr('Loading')}{_time_left(live)}{waiting}", "busy", "loader-circle", live.doing
        )
    if live.state is State.BUSY:
        share = f" {live.fraction:.0%}" if live.fraction > 0 else ""
        return StateText(
            f"{tr('Busy')}{share}{_time_left(live)}{waiting}", "busy", "loader-circle", live.doing
        )
    if live.state is State.READY:
        return StateText(f"{tr('Ready')}{waiting}", "ok", "circle-check", _where(live))
    if live.state is State.FAILED:
        return StateText(
            f"{tr('Failed')}{waiting}", "error", "circle-alert", wording.sentence(live.why)
        )
    return StateText(f"{tr('Waiting')}{waiting}", "busy", "clock") if live.waiting else None


def _time_left(live: ModelState) -> str:
    return f", {in_words(live.left_s)}" if live.left_s is not None else ""


def _where(live: ModelState) -> str:
    parts = [
        tr("Loaded on {device}").format(device=device(live.device)) if live.device else "",
        _DTYPES.get(live.dtype, live.dtype),
        size(live.memory) if live.memory else "",
    ]
    return ", ".join(part for part in parts if part)


def device(name: str) -> str:
    """Return a device's name for users, e.g. "the graphics card" for "cuda"."""
    return {
        "cpu": tr("the processor"),
        "cuda": tr("the graphics card"),
        "mps": tr("the graphics unit"),
    }.get(name, name)


def size(count: int) -> str:
    """Return a number of bytes as text, e.g. "1.5 GB"; "not known" for 0."""
    if count <= 0:
        return tr("not known")
    for unit, least in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= least:
            value = count / least
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"
    return tr_n("%n byte", "%n bytes", count)


def memory(card: ModelCard) -> str:
    """Return how much memory a model needs in each precision, as text; "not known" if unknown."""
    parts = [f"{size(count)} ({_DTYPES.get(dtype, dtype)})" for dtype, count in card.memory.items()]
    return ", ".join(parts) or tr("not known")


def sources(card: ModelCard) -> str:
    """Return where the card's licence, revision and size were read, one per line."""
    return "\n".join(f"{BULLET}{fact.capitalize()}: {text}" for fact, text in card.sources.items())


def files(status: ModelStatus) -> str:
    """Return the files of a model as text, one per line: name, size and digest, if known."""
    lines: list[str] = []
    for file in status.card.files:
        facts = [
            size(file.size) if file.size else "",
            f"sha256 {file.sha256[:12]}…" if file.sha256 else "",
            tr("program code") if file.code or file.name.endswith(".py") else "",
            tr("not needed") if file.optional else "",
        ]
        about = ", ".join(fact for fact in facts if fact)
        lines.append(f"{BULLET}{file.name}" + (f"  ({about})" if about else ""))
    return "\n".join(lines)
