"""The command `models`: lists, installs, downloads, packs, verifies and removes models."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.errors import SightlineError, printable
from app.headless.common import can_ask, is_agreed, open_program, print_json
from app.tools.models.cards import ModelCard, cards_table
from app.tools.models.downloads import host_of
from app.tools.models.install_plan import Consent, InstallPlan
from app.tools.models.store import ModelStatus
from app.wiring import Program


@dataclass(frozen=True, slots=True)
class ModelsCommand:
    """The arguments of the command `models`.

    Attributes:
        action: "list", "show", "verify", "install", "get", "pack", "accept" or "remove".
        names: Names of the models, as on their model cards.
        path: The file or folder to install, or the archive that "pack" writes.
        accept_terms: Whether the user accepts the models' terms of use.
        allow_code: Whether the user allows programs that come with the weights to run.
        unpublished: Whether to install files even if they differ from the published ones.
        markdown: Whether `list` prints the Markdown table of the documentation.
    """

    action: str = "list"
    names: Sequence[str] = ()
    path: Path | None = None
    accept_terms: bool = False
    allow_code: bool = False
    unpublished: bool = False
    markdown: bool = False
    as_json: bool = False


def models(command: ModelsCommand) -> int:
    """Run the command; return the exit code, 1 if "verify" finds a model missing or wrong.

    Raises:
        SightlineError: The command failed, or the user has not given a consent that is needed.
    """
    if command.markdown:
        print(cards_table())
        return 0
    with open_program() as program:
        statuses = _run(program, command)
    if command.as_json:
        print_json([status.as_dict() for status in statuses])
    elif command.action == "show":
        for status in statuses:
            _show(status)
    elif command.action != "pack":
        for status in statuses:
            _print(status)
    bad = ("broken", "partly", *(("not installed",) if command.names else ()))
    wrong = [s for s in statuses if s.state in bad or s.self_check.startswith("failed")]
    return 1 if command.action == "verify" and wrong else 0


def _run(program: Program, command: ModelsCommand) -> Sequence[ModelStatus]:
    store = program.model_store
    match command.action:
        case "install":
            return _install(program, command)
        case "get":
            return [_get(program, command, name) for name in command.names]
        case "pack":
            assert command.path is not None
            store.pack(command.names, command.path, progress=_print_progress)
            _end_line()
            print(f"Written: {command.path}", file=sys.stderr)
            return [store.status(store.card(name)) for name in command.names]
        case "accept":
            return [_accept(program, command, name) for name in command.names]
        case "remove":
            return [_remove(program, name) for name in command.names]
        case "verify":
            wanted = command.names or ("",)
            found = [
                store.verify(name, host=program.host, progress=_print_progress) for name in wanted
            ]
            _end_line()
            return [status for several in found for status in several]
        case _:
            named = [store.status(store.card(name)) for name in command.names]
            return named or store.overview()


def _install(program: Program, command: ModelsCommand) -> Sequence[ModelStatus]:
    store = program.model_store
    assert command.path is not None
    name = command.names[0] if command.names else None
    plan = store.plan_install(command.path, name)
    _print_plan(plan)
    accepted = _terms_agreed(((m.card, m.terms) for m in plan.models if m.terms), command)
    code = _code_agreed(plan.code, command)
    consent = Consent(accepted, code, command.unpublished)
    statuses = store.install(plan, consent, host=program.host, progress=_print_progress)
    _end_line()
    for model in plan.models:
        facts = {"model": model.card.name, "revision": model.revision, "terms": bool(model.terms)}
        program.audit.note("model_installed", {**facts, "code": code and bool(model.code)})
    return statuses


def _get(program: Program, command: ModelsCommand, name: str) -> ModelStatus:
    store = program.model_store
    wanted = store.card(name)
    status = store.status(wanted)
    terms = wanted.terms if not status.accepted else ""
    accepted = _terms_agreed([(wanted, terms)] if terms else (), command)
    programs = tuple(file.name for file in wanted.files if file.code) or ("*.py",)
    brings = [(wanted.title, programs)] if wanted.trust_remote_code else []
    code = _code_agreed(brings, command)  # asked each time: the code may be another
    facts = {"weights": wanted.name, "host": host_of(wanted)}
    program.audit.note("weights_asked", facts)
    consent = Consent(accepted, code)
    status = store.get(name, consent, host=program.host, progress=_print_progress)
    _end_line()
    facts = {"model": wanted.name, "revision": status.revision, "terms": bool(terms)}
    program.audit.note("model_installed", {**facts, "code": status.code == "allowed"})
    return status


def _accept(program: Program, command: ModelsCommand, name: str) -> ModelStatus:
    store = program.model_store
    wanted = store.card(name)
    if wanted.terms and not store.status(wanted).accepted:
        _terms_agreed([(wanted, wanted.terms)], command)
    code = _code_agreed([(wanted.title, ("*.py",))], command) if wanted.trust_remote_code else False
    status = store.accept(name, code=code)
    program.audit.note("model_accepted", {"model": wanted.name, "code": code})
    return status


def _remove(program: Program, name: str) -> ModelStatus:
    status = program.model_store.remove(name)
    program.audit.note("model_removed", {"model": status.card.name})
    return status


def _print_plan(plan: InstallPlan) -> None:
    for model in plan.models:
        size = f"{model.bytes / 1e6:,.1f} MB in {len(model.files)} files"
        print(f"{model.card.title}: {size}", file=sys.stderr)
        if model.left_out:
            print(f"    left out: {printable(', '.join(model.left_out[:20]))}", file=sys.stderr)


def _terms_agreed(wanted: Iterable[tuple[ModelCard, str]], command: ModelsCommand) -> bool:
    """Return whether terms are accepted, by option or answer; raise SightlineError if not."""
    for card, text in wanted:
        print(f"\n{card.title}: terms\n\n{printable(text, lines=True)}\n", file=sys.stderr)
        if command.accept_terms:
            continue
        if not is_agreed("Do you accept these terms?"):
            raise SightlineError(
                f"the terms of {card.title} are not accepted",
                subject=card.name,
                remedy="Read them above; if you accept them, add --accept-terms.",
            )
    return True


def _code_agreed(wanted: Iterable[tuple[str, tuple[str, ...]]], command: ModelsCommand) -> bool:
    """Return True if the user allows code that comes with weights to run."""
    if command.allow_code:
        return True
    wanted = list(wanted)
    if not wanted or not can_ask():
        return False
    for title, names in wanted:
        print(f"\n{title} brings code: {printable(', '.join(names))}", file=sys.stderr)
        print("It would run on this computer with all your rights.", file=sys.stderr)
        if not is_agreed("Do you trust its publisher and allow it to run?"):
            return False
    return True


def _print(status: ModelStatus) -> None:
    tools = ", ".join(status.card.tools)
    print(f"{status.card.name}: {status.state}  ({tools})")
    print(f"    {status.path}")
    if status.note:
        print(f"    {status.note}")
    if status.self_check:
        print(f"    self-check {status.self_check}")
    if not status.accepted and status.usable:
        print("    its terms are not accepted: `models accept`")
    if status.code in ("not allowed", "changed") and status.usable:
        print(f"    its code: {status.code}")


def _show(status: ModelStatus) -> None:
    card = status.card
    _print(status)
    rows = (
        ("title", card.title),
        ("licence", card.licence),
        ("repository", card.repository or card.url),
        ("revision", status.revision),
        ("size", f"{status.bytes / 1e6:,.1f} MB" if status.bytes else ""),
        ("sha256", status.sha256),
        ("intended use", card.intended_use),
        ("tried", card.tried),
        ("how to get it", "" if status.usable else status.how_to_get),
    )
    for name, text in rows:
        if text:
            print(f"    {name}: {text}")
    for fact, text in card.sources.items():
        print(f"    {fact} read: {text}")
    for limit in card.limits:
        print(f"    limit: {limit}")
    if card.terms:
        print(f"\n{card.terms.strip()}\n")


def _print_progress(fraction: float, text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r  {fraction:4.0%} {text:<60}", end="", file=sys.stderr, flush=True)


def _end_line() -> None:
    if sys.stderr.isatty():
        print(file=sys.stderr)
