"""What is asked before something is done with a model, and what can be done."""

from __future__ import annotations

import os

from app.tools.hosting.states import ModelState, State
from app.tools.models.cards import ModelCard
from app.tools.models.downloads import host_of
from app.tools.models.install_plan import InstallPlan
from app.tools.models.places import is_program
from app.tools.models.status import ModelStatus
from app.views.content_names import counted
from app.views.models import words
from app.views.models.agree import Asked

FILTERS = (
    "Models and model packs (*.zip *.tar *.tar.gz *.tgz *.safetensors *.pt *.pth *.bin)",
    "All files (*)",
)


def loaded(live: ModelState | None) -> bool:
    """Whether there is something to take out of memory."""
    return live is not None and live.state in (State.READY, State.BUSY, State.LOADING)


def to_agree(status: ModelStatus) -> bool:
    """Whether a model that is there waits for a yes to its terms or its code."""
    return status.there and not status.card.embedded and (not status.accepted or _code_asks(status))


def can_download(status: ModelStatus) -> bool:
    """Whether its card says from where."""
    card = status.card
    return not card.embedded and bool(card.repository or all(file.url for file in card.files))


def _code_asks(status: ModelStatus) -> bool:
    return status.code in ("not allowed", "changed")


def _needs_code(status: ModelStatus) -> bool:
    return any(is_program(file.name) and not file.optional for file in status.card.files)


def of_plan(plan: InstallPlan) -> Asked:
    """Before an installation."""
    facts = [
        f"{model.card.title}: {counted(len(model.files), 'file')}, {words.size(model.bytes)}"
        + (", replaces what is installed" if model.replaces else "")
        for model in plan.models
    ]
    left = sum(len(model.left_out) for model in plan.models)
    if left:
        facts.append(f"{counted(left, 'other file')} in it are not needed and left out.")
    needed = any(
        any(is_program(file.name) and not file.optional for file in model.card.files)
        for model in plan.models
        if model.code
    )
    titles = " and ".join(model.card.title for model in plan.models)
    return Asked(
        f"Install {titles}?",
        facts,
        "Install",
        terms=plan.terms,
        code=plan.code,
        code_needed=needed,
        other=plan.other,
    )


def of_unknown(status: ModelStatus, reason: str) -> Asked:
    """Before something whose name says nothing is taken for the chosen model."""
    title = status.card.title
    return Asked(f"Is it {title}?", [reason], f"Look whether it is {title}")


def _guess(card: ModelCard) -> str:
    """How large a model is whose card does not say it."""
    if not card.memory:
        return "How large it is is not known before the host is asked."
    least = words.size(min(card.memory.values()))
    return f"By the memory that it takes about {least}; exactly it is known once the host is asked."


def of_download(status: ModelStatus) -> Asked:
    """Before anything is fetched: from where, and how much."""
    card, host = status.card, host_of(status.card)
    amount = words.size(card.size)
    facts = [
        f"From {host}: {amount}." if card.size else f"From {host}. {_guess(card)}",
        "The host learns this computer's network address and what is fetched; nothing of any "
        "image or patient is sent.",
    ]
    if card.gated:
        token = bool(os.environ.get("HF_TOKEN"))
        facts.append(
            "Its publisher gives it only to those who have accepted its terms there."
            + ("" if token else " Set HF_TOKEN to your access token before you start Sightline.")
        )
    programs = tuple(file.name for file in card.files if file.code or is_program(file.name))
    return Asked(
        f"Download {card.title}?",
        facts,
        "Download",
        terms=((card.title, card.terms),) if card.terms and not status.accepted else (),
        code=((card.title, programs),) if card.trust_remote_code else (),
        code_needed=_needs_code(status),
    )


def of_agreement(status: ModelStatus) -> Asked:
    """Before a model that is there is used: its terms, and its code."""
    card = status.card
    programs = tuple(file.name for file in card.files if file.code or is_program(file.name))
    facts = ["Its files are taken down as they are now; any later change is found."]
    if status.code == "changed":
        facts.append("Its program code was changed since you allowed it.")
    return Asked(
        f"Use {card.title}?",
        facts,
        "Accept",
        terms=((card.title, card.terms),) if card.terms and not status.accepted else (),
        code=((card.title, programs),) if _code_asks(status) else (),
        code_needed=_needs_code(status) or status.accepted,
    )


def of_removal(status: ModelStatus) -> Asked:
    """Before files are deleted."""
    tools = ", ".join(status.card.tools)
    return Asked(
        f"Remove {status.card.title}?",
        [
            f"{words.size(status.bytes)} are deleted in {status.path}.",
            f"Without it cannot be used, or only in part: {tools}.",
        ],
        "Remove",
        danger=True,
    )
