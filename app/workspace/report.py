"""The report of the shown study: drafted from what a person accepted, edited, checked, signed."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from app.errors import FileProblem, SightlineError
from app.imaging.findings import Finding, State
from app.imaging.processes.records import pack, unpack
from app.imaging.reports.checks import (
    BLOCKING,
    CONTRADICTS,
    Check,
    Fault,
    check_report,
    rewording_fault,
    uncompared,
)
from app.imaging.reports.report_draft import (
    COMPARISON,
    FINDINGS,
    Addendum,
    ReportDraft,
    ReportSubject,
    Sentence,
    Signature,
    is_struck,
    standing,
)
from app.imaging.reports.report_subject import subject_of
from app.imaging.reports.sentences import LANGUAGES, draft_report, is_measure, text
from app.imaging.reports.templates import Template, template_for, templates
from app.imaging.reports.written_report import WrittenReport, written_report
from app.imaging.types import ImageRef, Study
from app.log import get_logger
from app.user_files import read_regular, set_aside, write_atomic
from app.workspace import drawing
from app.workspace.annotations import Command
from app.workspace.signals import Signal
from app.workspace.studies import key_of
from app.workspace.workspace import Workspace

_VERSION = 1
_LARGEST = 8 * 1024**2
_log = get_logger(__name__)

Submit = Callable[[Callable[[], Any], Callable[[Any], object]], object]
"""`submit(work, done)` calls `done(work())`, maybe later, on the thread of the caller."""


def _at_once(work: Callable[[], Any], done: Callable[[Any], object]) -> None:
    done(work())


def reportable(finding: Finding) -> bool:
    """Return whether a report may rest on a finding: accepted by a person, or their measurement.

    Of the user's own marks those count that measure something or have a text or name of their own;
    a box that only guides a tool does not.
    """
    if finding.state not in (State.ACCEPTED, State.EDITED):
        return False
    if not drawing.by_hand(finding):
        return True
    named = not is_measure(finding.label)
    return named or (drawing.is_measurement(finding) and finding.value is not None)


class NewerReport(FileProblem):
    """Raised for a report that a newer version of the program has kept."""


class ReportStore:
    """Keeps one file a study in a folder; its name says nothing of patient or study."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, study: str) -> Path:
        """Return the file of a study, by its key."""
        return self.folder / f"{hashlib.sha256(study.encode()).hexdigest()[:32]}.json"

    def load(self, study: str) -> ReportDraft | None:
        """Return the kept report of a study, or None.

        Raises:
            FileProblem: It cannot be read; a damaged file was set aside.
        """
        file = self.file(study)
        try:
            values = json.loads(read_regular(file, _LARGEST))
            if values["version"] > _VERSION:
                raise NewerReport(
                    "the kept report was written by a newer version of Sightline",
                    remedy="Use that version; nothing is written over it.",
                )
            return unpack(ReportDraft, values["report"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            _log.warning("a kept report cannot be read: %s", type(error).__name__)
            raise FileProblem(
                f"the kept report cannot be read. {set_aside(file, 'The report')}",
                remedy="It is drafted anew from the findings.",
            ) from error

    def save(self, study: str, draft: ReportDraft | None) -> None:
        """Keep a study's report, or remove what is kept; raises OSError."""
        file = self.file(study)
        if draft is None:
            for one in (file, *file.parent.glob(f".{file.name}.*")):  # and what a crash has left
                with suppress(FileNotFoundError):
                    one.unlink()
            return
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        packed = json.dumps({"version": _VERSION, "report": pack(draft)}, ensure_ascii=False)
        write_atomic(file, packed.encode())


class OpenReport:
    """The report of the shown study; each open study keeps its own.

    Until a person edits it, it follows the findings that are accepted; then only its checks do.
    Edits are steps of the workspace's undo stack, and are kept in `store`.

    Attributes:
        changed: Emitted when another report is shown, or anything of it has changed.
        submit: Runs what reads and writes files; by default at once.
        watched: Returns whether anyone looks at it; else it is computed at the next `use`.
        language: Language of new drafts, "en" or "de".
        study: The shown study, or None.
        subject: What is known of it.
        accepted: The findings that the report may rest on, by id.
        checks: What is to be looked at.
        known_templates: The templates; empty until they are read.
        problem: Why a file could not be read or written, or None.
    """

    def __init__(self, workspace: Workspace, store: ReportStore) -> None:
        self.changed: Signal[()] = Signal()
        self.submit: Submit = _at_once
        self.watched: Callable[[], bool] = lambda: True
        self.language = "en"
        self.study: Study | None = None
        self.subject = ReportSubject("")
        self.accepted: Mapping[str, Finding] = {}
        self.checks: tuple[Check, ...] = ()
        self.known_templates: list[Template] = []
        self.problem: SightlineError | None = None
        self._workspace, self._store = workspace, store
        self._drafts: dict[str, ReportDraft] = {}
        self._loading: set[str] = set()
        self._rejected: tuple[Finding, ...] = ()
        self._unsaved: dict[str, ReportDraft | None] = {}
        self._foreign: set[str] = set()  # studies whose file a newer version wrote
        self._saving = False
        self._writing = threading.Lock()
        self._used = False
        studies = workspace.studies.changed
        for signal in (workspace.annotations.changed, workspace.image_changed, studies):
            signal.connect(self._follow_watched)
        workspace.closed.connect(self._forget)

    # What is shown

    def use(self) -> None:
        """Draft the shown study's report by what is accepted now; before, nothing is read."""
        self._used = True
        if not self.known_templates:
            self.submit(templates, self._take_templates)
        self.follow()

    @property
    def loading(self) -> bool:
        """Whether templates or the kept report are still being read."""
        return self._used and (not self.known_templates or self.key in self._loading)

    def _take_templates(self, found: tuple[list[Template], list[FileProblem]]) -> None:
        self.known_templates, problems = found
        self.problem = problems[0] if problems else self.problem
        self.follow()

    @property
    def key(self) -> str:
        """The shown study's key; "" without one."""
        return key_of(self.study) if self.study is not None else ""

    def key_images(self) -> list[ImageRef]:
        """Return the key images that the user marked in the shown study."""
        of_study, own = self._workspace.study_key_at, self.key
        marked = self._workspace.key_marks.own
        return [one for one in marked if own and of_study(one.sop_instance_uid) == own]

    def cited(self) -> list[Finding]:
        """Return the accepted findings that sentences rest on which are not struck."""
        if self.draft is None:
            return []
        kept = standing(self.draft, self.accepted).cited()
        return [self.accepted[key] for key in kept if key in self.accepted]

    @property
    def draft(self) -> ReportDraft | None:
        """The report of the shown study; None without a study, or while it is being read."""
        return self._drafts.get(self.key)

    def _follow_watched(self) -> None:
        if self.watched():
            self.follow()

    def follow(self) -> None:
        """Take what is shown and accepted now."""
        if not self._used:
            return
        shown = self._workspace.acquired
        self.study = self._workspace.studies.study_of(shown) if shown is not None else None
        key = self.key
        if key and self.known_templates and key not in self._drafts and key not in self._loading:
            self._loading.add(key)
            self.submit(partial(self._read, key), partial(self._take, key))
        self._read_findings()
        self._update()

    def _read(self, key: str) -> tuple[ReportDraft | None, FileProblem | None]:
        try:
            return self._store.load(key), None
        except FileProblem as problem:
            return None, problem

    def _take(self, key: str, found: tuple[ReportDraft | None, FileProblem | None]) -> None:
        self._loading.discard(key)
        draft, problem = found
        if isinstance(problem, NewerReport):
            self._foreign.add(key)
        self.problem = problem or self.problem
        if self._open(key):
            self._drafts[key] = draft or ReportDraft("", "", self.language)
            self.follow()

    def _open(self, key: str) -> bool:
        return any(key_of(one) == key for one in self._workspace.studies.all)

    def _read_findings(self) -> None:
        workspace, study = self._workspace, self.study
        if study is None:
            self.subject, self.accepted, self._rejected = ReportSubject(""), {}, ()
            return
        key, studies = self.key, workspace.studies
        accepted, rejected = dict[str, Finding](), list[Finding]()
        for item in workspace.annotations.all():
            one = item.finding
            if not (reportable(one) or one.state is State.REJECTED):
                continue
            other_pixels = one.plane is None and workspace.scales.is_of(one.image) is False
            if other_pixels or workspace.study_key_at(one.image.sop_instance_uid) != key:
                continue
            if one.state is State.REJECTED:
                rejected.append(one)
            else:
                accepted[one.id] = one

        self.accepted, self._rejected = accepted, tuple(rejected)
        images = studies.instances_with(one.image.sop_instance_uid for one in accepted.values())
        self.subject = subject_of(study, images, studies.place_of, workspace.priors(study))

    def _update(self) -> None:
        draft = self.draft
        if draft is not None and not draft.edited:
            draft = self._drafted(self.template)
            self._drafts[self.key] = draft
        self.checks = self._checked(draft) if draft is not None else ()
        self.changed.emit()

    def _checked(self, draft: ReportDraft) -> tuple[Check, ...]:
        return check_report(draft, self.subject, self.accepted, self._rejected)

    @property
    def template(self) -> Template:
        """The template of the report: that of its draft, else the one that fits the study."""
        name = self.draft.template if self.draft is not None else ""
        own = next((one for one in self.known_templates if one.name == name), None)
        return own or template_for(self.subject, self.known_templates)

    def _drafted(
        self, template: Template, findings: Sequence[Finding] | None = None
    ) -> ReportDraft:
        """Return a draft of all that is accepted; or of `findings`, in the report's language."""
        language = self.draft.language if self.draft and findings is not None else self.language
        told = tuple(self.accepted.values()) if findings is None else findings
        return draft_report(self.subject, told, template, language)

    # What a person does

    def _change(self, label: str, after: ReportDraft, joint: str = "") -> None:
        key, before = self.key, self.draft
        if before is None or after == before:
            return

        def put(draft: ReportDraft) -> None:
            if self._open(key):
                self._drafts[key] = draft
            kept = draft.edited or draft.signature is not None
            if key not in self._foreign:
                self._unsaved[key] = draft if kept else None
                self._save()
            self._update()

        joint = f"report {key} {joint}" if joint else ""
        command = Command(label, partial(put, after), partial(put, before))
        self._workspace.commands.push(command, joint)

    @property
    def signed(self) -> bool:
        """Whether the shown report is signed: it is then read-only."""
        return self.draft is not None and self.draft.signature is not None

    def edit(self, section: str, sentences: Sequence[Sentence], place: int = -1) -> None:
        """Change a section; edits in a row at one `place` (a line) are undone at once."""
        if self.draft is not None and not self.signed:
            joint = f"{section} {place}" if place >= 0 else ""
            self._change("Edit the report", self.draft.with_sentences(section, sentences), joint)

    def draft_again(self, template: str = "") -> None:
        """Draft it anew from what is accepted now, by another template if one is named."""
        if self.draft is not None and not self.signed:
            chosen = next((one for one in self.known_templates if one.name == template), None)
            self._change("Draft the report again", self._drafted(chosen or self.template))

    def add_missing(self) -> None:
        """Add sentences for the accepted findings that none rests on, and for earlier studies."""
        draft = self.draft
        if draft is None or self.signed:
            return
        cited = set(standing(draft, self.accepted).cited())
        missing = [one for key, one in self.accepted.items() if key not in cited]
        more = self._drafted(self.template, missing)
        rest = next((one for one in draft.sections if one.kind == FINDINGS), None)
        for section in more.sections:
            added = [one for one in section.sentences if one.findings]
            own = draft.section(section.key) or rest
            if own is not None and section.kind == COMPARISON:
                lines = uncompared(draft, self.subject)
                nothing = {text("no_prior", one) for one in LANGUAGES} if lines else set[str]()
                kept = (one for one in own.sentences if one.text not in nothing)
                added = [*kept, *(Sentence(one) for one in lines), *added]
                draft = draft.with_sentences(own.key, added)
            elif own is not None and added:
                draft = draft.with_sentences(own.key, (*own.sentences, *added))
        self._change("Add findings to the report", draft)

    def remove_struck(self) -> None:
        """Remove the sentences whose findings are no longer accepted.

        One that rests on others as well is drafted anew from those.
        """
        draft = self.draft
        if draft is None or self.signed:
            return
        for section in draft.sections:
            kept: list[Sentence] = []
            for one in section.sentences:
                left = [self.accepted[key] for key in one.findings if key in self.accepted]
                if not is_struck(one, self.accepted):
                    kept.append(one)
                elif left:
                    again = self._drafted(self.template, left).section(section.key)
                    kept += [new for new in again.sentences if new.findings] if again else []
            if kept != list(section.sentences):
                draft = draft.with_sentences(section.key, kept)
        self._change("Remove struck sentences", draft)

    def to_word(self) -> list[Sentence]:
        """Return the sentences that a language model may word: those that rest on findings."""
        draft = self.draft
        if draft is None or self.signed:
            return []
        told = (one for _, _, one in draft.told())
        return [one for one in told if one.findings and not is_struck(one, self.accepted)]

    def take_wording(
        self, before: Sequence[Sentence], after: Sequence[str]
    ) -> list[tuple[str, str, str]]:
        """Take the sentences `after` in place of `before`, as one step that can be undone.

        Returns:
            Those that were left as they were, as (sentence, its wording, why that was refused).

        Raises:
            SightlineError: The report has changed meanwhile; nothing is changed then.
        """
        draft = self.draft
        if draft is None or list(before) != self.to_word() or len(before) != len(after):
            raise SightlineError(
                "the report has changed since, or not each sentence came back",
                remedy="Ask for the wording again.",
            )
        texts, left = iter(after), list[tuple[str, str, str]]()
        worded, known = draft, len(self.checks)
        for section in draft.sections:
            lines = list(section.sentences)
            for place, one in enumerate(section.sentences):
                if not one.findings or is_struck(one, self.accepted):
                    continue
                words = " ".join(next(texts).split())
                fault = rewording_fault(one.text, words, draft.language)
                lines[place] = replace(one, text=words)
                tried = worded.with_sentences(section.key, lines)
                if not fault and len(self._checked(tried)) > known:
                    fault = CONTRADICTS
                if fault:
                    left.append((one.text, words, fault))
                    lines[place] = one
                else:
                    worded = tried
        self._change("Word the report", worded)
        return left

    @property
    def against_signing(self) -> list[Check]:
        """What keeps it from being signed: contradictions, and struck sentences."""
        return [one for one in self.checks if one.fault in BLOCKING or one.fault is Fault.NAMED]

    def sign(self, name: str, moment: datetime) -> None:
        """Sign the report, or its open addendum, by a name in words.

        Raises:
            SightlineError: There is no name, nothing to sign, or something contradicts a finding.
        """
        draft, name = self.draft, " ".join(name.split())
        if draft is None or not name:
            raise SightlineError("there is no name to sign with", remedy="Write your name.")
        signature = Signature(name, moment.astimezone().isoformat(timespec="seconds"))
        if draft.signature is None:
            if self.against_signing:
                raise SightlineError(
                    "something in the report contradicts its findings",
                    remedy="Mend what the checks list, then sign.",
                )
            if not any(section.sentences for section in draft.sections if section.tells_findings):
                raise SightlineError(
                    "the report tells nothing yet", remedy="Write the findings or the impression."
                )
            self._change("Sign the report", draft.signed(signature, self.accepted))
        elif draft.addenda and draft.addenda[-1].signature is None:
            last = draft.addenda[-1]
            if not last.text.strip():
                raise SightlineError("the addendum is empty", remedy="Write it, then sign.")
            addenda = (*draft.addenda[:-1], replace(last, signature=signature))
            self._change("Sign the addendum", replace(draft, addenda=addenda))

    def unsign(self) -> None:
        """Take the signature back, with addenda: the report can be edited again."""
        if self.draft is not None:
            unsigned = replace(self.draft, signature=None, addenda=(), signed_findings=())
            self._change("Take the signature back", unsigned)

    def begin_addendum(self) -> None:
        """Add an empty addendum to a signed report, unless one is open."""
        draft = self.draft
        if draft is not None and draft.signature and all(one.signature for one in draft.addenda):
            self._change("Add an addendum", replace(draft, addenda=(*draft.addenda, Addendum(""))))

    def edit_addendum(self, words: str) -> None:
        """Change the text of the open addendum."""
        draft = self.draft
        if draft is not None and draft.addenda and draft.addenda[-1].signature is None:
            addenda = (*draft.addenda[:-1], Addendum(words))
            self._change("Edit the addendum", replace(draft, addenda=addenda), "addendum")

    def written(self) -> WrittenReport | None:
        """Return what files hold of the shown report, or None.

        Raises:
            SightlineError: A finding of the signed report is no longer accepted.
        """
        draft = self.draft
        return written_report(draft, self.subject, self.accepted) if draft is not None else None

    # Keeping

    def _save(self) -> None:
        if self._saving or not self._unsaved:
            return
        self._saving = True
        unsaved, self._unsaved = self._unsaved, {}
        self.submit(partial(self._write, unsaved), self._saved)

    def _write(
        self, unsaved: Mapping[str, ReportDraft | None]
    ) -> tuple[Mapping[str, ReportDraft | None], FileProblem | None]:
        """Write files; return those that could not be written, and why."""
        left = dict(unsaved)
        with self._writing:  # what is written last must be the latest
            for key, draft in unsaved.items():
                try:
                    self._store.save(key, draft)
                except OSError as error:
                    return left, FileProblem(
                        f"the report cannot be kept ({error.strerror or type(error).__name__})",
                        remedy="Make room on the disk or allow writing; the next edit tries again.",
                    )
                del left[key]
        return left, None

    def _saved(self, found: tuple[Mapping[str, ReportDraft | None], FileProblem | None]) -> None:
        left, problem = found
        self._saving = False
        self._unsaved = {**left, **self._unsaved}
        if problem is not None:
            self.problem = problem
            self.changed.emit()
        else:
            self._save()

    def flush(self) -> None:
        """Write what is not kept yet, before the program ends."""
        self._unsaved = dict(self._write(self._unsaved)[0])

    def _forget(self, closed: Collection[Study]) -> None:
        for study in closed:
            self._drafts.pop(key_of(study), None)
        self.follow()
