"""The pane in which the shown study's report is written, checked and signed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QActionGroup, QImage, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QLineEdit,
    QMenu,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from app.errors import SightlineError
from app.imaging.decode import Decoder
from app.imaging.reports.checks import SINCE, Fault
from app.imaging.reports.report_draft import ReportDraft, Section, Sentence, is_struck
from app.views import theme
from app.views.background import Background, DaemonTasks
from app.views.chat.thumbnails import SIDE, PictureButton
from app.views.diagnosis.lists import RowList
from app.views.layouts import Flow, column, row
from app.views.plain_text import breakable
from app.views.report.report_pictures import ReportPicture, drawn, pictures_of
from app.views.report.report_texts import (
    check_rows,
    faults_in,
    own_sentences,
    signature_text,
    status_text,
)
from app.views.report.section_editor import SectionEditor
from app.views.theme import SPACE
from app.views.translation import language, tr, tr_n, tr_report
from app.views.widgets import (
    ElidedLabel,
    EmptyState,
    confirm,
    label,
    plain_tip,
    push_button,
    tool_button,
)
from app.views.wording import date, error_text, one_line, person_name
from app.workspace.report import OpenReport
from app.workspace.review import login
from app.workspace.workspace import Workspace


def _heading(title: str) -> QLabel:
    """Return the title of a section, nearer to what it names than to what is above."""
    made = label(title, "section")
    made.setContentsMargins(0, SPACE.s, 0, 0)
    return made


Worder = Callable[[list[str], str], list[str]]
"""`worder(sentences, language)` returns them in a model's words; slow, on a thread."""

_MIN_WIDTH = 320
_CHECKS_HEIGHT = 150  # px, at most
_KEPT_PICTURES = 64
_OWN_SHOWN = 12
"""Sentences that rest on no finding, at most, in the question before signing."""


class ReportPanel(QWidget):
    """Shows the report of the shown study; made when it is shown first.

    A click on a sentence asks for the findings that it rests on (`finding_wanted`); the sentences
    of the finding that is selected on the image are pointed out.
    """

    finding_wanted = Signal(str)
    export_wanted = Signal()

    def __init__(
        self, report: OpenReport, workspace: Workspace, background: Background, decoder: Decoder
    ) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", "panel")
        self.setMinimumWidth(_MIN_WIDTH)
        self.report = report
        self._workspace, self._background, self._decoder = workspace, background, decoder
        report.submit = background.submit
        report.watched = self.isVisible
        report.language = language()
        self._worder: Worder | None = None
        self._tasks = DaemonTasks(self)
        self._wording = False
        self._told = ""  # why the last thing that was asked for was not done
        self.editors: dict[str, SectionEditor] = {}
        self._headings: dict[str, QLabel] = {}
        self.pictures: list[PictureButton] = []
        self._built = False
        self._shown: tuple[object, ...] = ()  # what the editors were made for
        self._pictured: tuple[object, ...] = ()
        self._images: dict[object, QImage] = {}
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self._refresh)
        report.changed.connect(self.refresh)
        workspace.key_marks.changed.connect(self.refresh)
        theme.changes().changed.connect(self.refresh)
        workspace.annotations.selection_changed.connect(self._point_out)

    # Parts

    def _build(self) -> None:
        self._built = True
        self.title = ElidedLabel("", "title")
        self.templates = QToolButton()
        self.templates.setText(tr("Template"))
        self.templates.setAccessibleName(tr("Template"))
        self.templates.setToolTip(plain_tip(tr("Draft it by another template")))
        self.templates.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.template_menu = QMenu(self.templates)
        self.template_menu.aboutToShow.connect(self._list_templates)
        self.templates.setMenu(self.template_menu)
        self.again = tool_button(
            "rotate-ccw", tr("Draft it again from the findings"), lambda: self._draft_again("")
        )
        self.word = tool_button("sparkles", tr("Let the language model word it"), self._word)
        self.export = tool_button("download", tr("Export the report…"), self.export_wanted.emit)
        head = row((self.title, 1), self.templates, self.word, self.again, self.export, spacing=0)
        self.subject = label("", "caption", wrap=True)
        self.status = label("", "caption", wrap=True)
        self.since = label(tr("Findings have changed since it was signed"), "warning", wrap=True)
        self.problem = label("", "warning", wrap=True)
        self.empty = EmptyState(
            "file-text",
            tr("No report"),
            tr("Open a study: its report is drafted from what you accept and measure."),
        )
        self.body = QWidget()
        self._sections = QVBoxLayout(self.body)
        self._sections.setContentsMargins(0, 0, SPACE.xs, 0)
        self._sections.setSpacing(SPACE.xs)
        self.scrolled = QScrollArea()
        self.scrolled.setWidgetResizable(True)
        self.scrolled.setFrameShape(QFrame.Shape.NoFrame)
        self.scrolled.setWidget(self.body)
        self.checks_title = label("", "section")
        self.add_missing = push_button(tr("Add the missing"), self.report.add_missing)
        self.remove_struck = push_button(tr("Remove the struck"), self.report.remove_struck)
        self.checks = RowList(tr("Checks of the report"))
        self.checks.chosen.connect(self._follow_check)
        self.checks.clicked.connect(lambda _index: self._follow_check(self.checks.current()))
        self.name = QLineEdit()
        self.name.setPlaceholderText(tr("Your name, in words"))
        self.name.setAccessibleName(tr("Your name, in words"))
        self.name.setMaxLength(64)  # of a DICOM name
        self.name.returnPressed.connect(self._sign)
        self.sign = push_button(tr("Sign"), self._sign, primary=True)
        self.addendum = push_button(tr("Addendum"), self.report.begin_addendum)
        self.unsign = push_button(tr("Take back the signature"), self._unsign)
        mending = row((self.add_missing, 1), (self.remove_struck, 1))
        signing, signed = row((self.name, 1), self.sign), row((self.addendum, 1), (self.unsign, 1))
        margins = (SPACE.s, SPACE.xs, SPACE.s, SPACE.s)
        parts = (
            head,
            self.subject,
            self.status,
            self.since,
            self.problem,
            (self.empty, 1),
            (self.scrolled, 1),
        )
        parts = (*parts, self.checks_title, self.checks, mending, signing, signed)
        column(*parts, spacing=SPACE.xs, margins=margins, parent=self)

    @property
    def busy(self) -> bool:
        return self._soon.isActive() or self.report.loading

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._built:
            self._build()
        self.report.use()
        self._refresh()

    def refresh(self) -> None:
        """Show the report as it is now, once the changes of this turn of the event loop are in."""
        if self.isVisible():
            self._soon.start()

    def _refresh(self) -> None:
        self._soon.stop()
        report = self.report
        draft = report.draft if not report.loading else None
        there = draft is not None and bool(draft.sections)
        self.empty.setVisible(not there)
        parts = (
            self.scrolled,
            self.templates,
            self.word,
            self.again,
            self.export,
            self.name,
            self.sign,
        )
        for part in (*parts, self.addendum, self.unsign, self.checks, self.subject, self.status):
            part.setVisible(there)
        changed = there and report.signed and any(one.fault in SINCE for one in report.checks)
        self.since.setVisible(changed)
        problems = (error_text(report.problem) if report.problem else "", self._told)
        problem = "\n".join(filter(None, problems))
        self.problem.setText(breakable(problem))
        self.problem.setVisible(bool(problem))
        if draft is None or not there:
            self.title.setText("")
            self._show_checks(None)
            return
        self.title.setText(draft.title)
        self.subject.setText(self._whose())
        self.status.setText(status_text(draft))
        shape = (report.key, draft.template, tuple(one.title for one in draft.sections))
        shape = (*shape, tuple(one.signature for one in draft.addenda))
        if shape != self._shown:
            if shape[0] != (self._shown[0] if self._shown else None):
                self._tell("")
                name = self._workspace.annotations.reviewer
                self.name.setText(name if name != login() else "")
            self._shown = shape
            self._make_sections(draft)
            self._soon.start()  # they take 25 ms to make: they are filled in a turn of their own
            return
        for section in draft.sections:
            self._show_section(section)
        self._show_addendum(draft)
        self._show_checks(draft)
        self._show_signing(draft)
        self._show_pictures()
        self._point_out(self._workspace.annotations.selected)

    def _whose(self) -> str:
        """Return patient, study and date of the report."""
        study = self.report.study
        if study is None:
            return ""
        parts = (person_name(study.patient), one_line(study.title), date(study.date))
        return breakable("  ·  ".join(filter(None, parts)))

    # Sections

    def _make_sections(self, draft: ReportDraft) -> None:
        while self._sections.count():
            item = self._sections.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.editors = {}
        self.pictures, self._pictured = [], ()
        for section in draft.sections:
            editor = SectionEditor(section.title)
            editor.setPlaceholderText(section.title)
            editor.tip_of = self._tip_of
            editor.edited.connect(partial(self._edit, section.key))
            editor.finding_wanted.connect(self.finding_wanted)
            self.editors[section.key] = editor
            self._headings[section.key] = _heading(section.title)
            self._sections.addWidget(self._headings[section.key])
            self._sections.addWidget(editor)
        self.strip = QWidget()
        self._flow = Flow(SPACE.xs)
        self.strip.setLayout(self._flow)
        self._sections.addWidget(self.strip)
        self.addendum_editor: SectionEditor | None = None
        for one in draft.addenda:
            self._sections.addWidget(_heading(tr("Addendum")))
            if one.signature is None:
                self.addendum_editor = SectionEditor(tr("Addendum"))
                self.addendum_editor.edited.connect(self._edit_addendum)
                self._sections.addWidget(self.addendum_editor)
            else:
                told = f"{one.text}\n{signature_text(one.signature, draft.language)}"
                self._sections.addWidget(label(breakable(told), wrap=True))
        self._sections.addStretch(1)

    def _show_section(self, section: Section) -> None:
        editor, report = self.editors[section.key], self.report
        struck = [
            place for place, one in enumerate(section.sentences) if is_struck(one, report.accepted)
        ]
        editor.show_sentences(section.sentences, faults_in(report.checks, section.key), struck)
        editor.setReadOnly(report.signed)
        self._headings[section.key].setVisible(
            bool(section.sentences)
        )  # an empty field names itself

    def _show_addendum(self, draft: ReportDraft) -> None:
        if self.addendum_editor is not None and draft.addenda:
            lines = [Sentence(one) for one in draft.addenda[-1].text.splitlines() if one.strip()]
            self.addendum_editor.show_sentences(lines, {}, ())

    def _tip_of(self, ids: Sequence[str]) -> str:
        found = (self._workspace.annotations.get(key) for key in ids)
        names = dict.fromkeys(tr(one.finding.label) for one in found if one is not None)
        if not names:
            return ""
        told = tr("Rests on: {names}. Click to show it on the image.")
        return told.format(names=", ".join(names))

    def _edit(self, key: str, place: int) -> None:
        if self._shown[0] == self.report.key:  # else it was typed into another study's report
            self.report.edit(key, self.editors[key].sentences(), place)

    def _edit_addendum(self, _place: int) -> None:
        if self.addendum_editor is not None and self._shown[0] == self.report.key:
            lines = (one.text for one in self.addendum_editor.sentences())
            self.report.edit_addendum("\n".join(lines))

    def _point_out(self, finding_id: str) -> None:
        for editor in self.editors.values():
            if isValid(editor):
                editor.select_finding(finding_id)

    # Pictures

    def _show_pictures(self) -> None:
        annotations, studies = self._workspace.annotations, self._workspace.studies
        found = self.report.cited()
        colors = {item.finding.id: item for item in annotations.all()}
        wanted = pictures_of(found, studies.with_uid, self.report.key_images(), colors)
        if tuple(wanted) == self._pictured:
            return
        self._pictured = tuple(wanted)
        for button in self.pictures:
            self._flow.removeWidget(button)
            button.hide()
            button.deleteLater()
        self.pictures = [self._picture(one) for one in wanted]
        self.strip.setVisible(bool(wanted))

    def _picture(self, picture: ReportPicture) -> PictureButton:
        button = PictureButton(SIDE)
        title = picture.title(self.report.draft.language if self.report.draft else "en")
        button.setAccessibleName(tr("Show {title} on its image").format(title=title))
        button.setToolTip(plain_tip(title))
        button.clicked.connect(lambda _checked=False: self._show_picture(picture))
        self._flow.addWidget(button)
        button.show()
        marks = ((one.finding.geometry, one.color, one.tint) for one in picture.annotations)
        name = picture.ref, tuple(marks)
        known = self._images.get(name)
        if known is not None:
            button.set_image(known)
            return button

        def show(image: QImage) -> None:
            self._images[name] = image
            while len(self._images) > _KEPT_PICTURES:
                del self._images[next(iter(self._images))]
            if isValid(button):
                button.set_image(image)

        def fail(_error: SightlineError) -> None:
            if isValid(button):
                button.fail()

        def work() -> QImage:
            side = SIDE * 3
            mode = Qt.TransformationMode.SmoothTransformation
            keep = Qt.AspectRatioMode.KeepAspectRatio
            return drawn(picture, self._decoder).scaled(side, side, keep, mode)

        self._background.submit(work, show, fail)
        return button

    def _show_picture(self, picture: ReportPicture) -> None:
        if picture.findings:
            self.finding_wanted.emit(picture.findings[0])
        else:
            self._workspace.show_image(picture.ref)

    # Checks

    def _show_checks(self, draft: ReportDraft | None) -> None:
        checks = self.report.checks if draft is not None else ()
        rows = check_rows(draft, checks) if draft is not None else []
        self.checks.show_rows(rows)
        height = sum(self.checks.rowHeight(place) for place in range(len(rows))) + 4
        self.checks.setFixedHeight(min(height, _CHECKS_HEIGHT))
        self.checks.setVisible(bool(rows))
        none = ""
        if draft is not None:
            said = self.report.accepted or any(True for _ in draft.told())
            agrees = tr("The text agrees with the findings")
            none = agrees if said else tr("Nothing is accepted or measured yet")
        count = tr_n("%n thing to look at", "%n things to look at", len(rows)) if rows else none
        self.checks_title.setText(count)
        faults = {one.fault for one in checks}
        missing = bool(faults & {Fault.MISSING, Fault.UNCOMPARED})
        self.add_missing.setVisible(missing and not self.report.signed)
        self.remove_struck.setVisible(Fault.STRUCK in faults and not self.report.signed)

    def _follow_check(self, key: str) -> None:
        """Show the finding that a check is about, and put the cursor into its sentence."""
        if not key or int(key) >= len(self.report.checks):
            return
        check = self.report.checks[int(key)]
        editor = self.editors.get(check.section)
        if editor is not None:
            editor.go_to(check.place)
            self.scrolled.ensureWidgetVisible(editor)
        if check.finding and self._workspace.annotations.get(check.finding) is not None:
            self.finding_wanted.emit(check.finding)

    # Signing

    def _show_signing(self, draft: ReportDraft) -> None:
        signed = draft.signature is not None
        open_addendum = bool(draft.addenda) and draft.addenda[-1].signature is None
        for part in (self.name, self.sign):
            part.setVisible(not signed or open_addendum)
        self.addendum.setVisible(signed and not open_addendum)
        self.unsign.setVisible(signed)
        blocked = not signed and bool(self.report.against_signing)
        self.sign.setEnabled(not blocked)
        reason = tr("First mend what contradicts a finding: see the checks.") if blocked else ""
        self.sign.setToolTip(plain_tip(reason))
        self.word.setVisible(self._worder is not None)
        self.word.setEnabled(not signed and not self._wording and bool(self.report.to_word()))
        self.templates.setEnabled(not signed)
        self.again.setEnabled(not signed)

    def _sign(self) -> None:
        if not self.sign.isVisible() or not self.sign.isEnabled():
            return
        left = 0 if self.report.signed else len(self.report.checks)
        if left:
            title = tr_n("Sign with %n thing unchecked?", "Sign with %n things unchecked?", left)
            told = tr(
                "The list names accepted findings that the text leaves out, numbers that no "
                "finding has, and the like."
            )
            asked, draft = self.report.checks, self.report.draft
            if draft is not None and (own := own_sentences(draft, asked)):
                more = ["…"] if len(own) > _OWN_SHOWN else []
                head = tr("These sentences rest on no finding:")
                lines = [head, *(f"• {one}" for one in own[:_OWN_SHOWN]), *more]
                others = len(own) < len(asked)
                told = breakable("\n".join([told, "", *lines] if others else lines))

            def then() -> None:
                self._sign_now() if self.report.checks == asked else self._sign()

            confirm(self, tr("Sign"), title, told, tr("Sign"), self._for_this_report(then))
        else:
            self._sign_now()

    def _for_this_report(self, does: Callable[[], object]) -> Callable[[], None]:
        """Return what a question's yes does: `does`, unless another report is shown by then."""
        key = self.report.key

        def then() -> None:
            if self.report.key == key:
                does()
            else:
                self._tell(tr("Another report is shown now. Nothing was changed."))

        return then

    def _sign_now(self) -> None:
        try:
            self.report.sign(self.name.text(), datetime.now().astimezone())
        except SightlineError as error:
            self._tell(error_text(error))
        else:
            self._tell("")

    def _unsign(self) -> None:
        draft = self.report.draft
        if draft is None or draft.signature is None:
            return
        told = tr(
            "The report becomes a draft again; its addenda are removed. Files that were exported "
            "stay as they are."
        )
        confirm(
            self,
            tr("Take back the signature"),
            tr("Take back the signature of {name}?").format(name=draft.signature.name),
            told,
            tr("Take back the signature"),
            self._for_this_report(self.report.unsign),
        )

    # Wording by a language model

    def set_worder(self, worder: Worder | None) -> None:
        """Offer that a language model on this computer words the report; None: there is none."""
        self._worder = worder
        self.refresh()

    def _word(self) -> None:
        """Ask the model to word the sentences that rest on findings; what comes is checked."""
        sentences, draft, worder = self.report.to_word(), self.report.draft, self._worder
        if not sentences or draft is None or worder is None or self._wording:
            return
        self._wording = True
        self._tell(tr("The language model words the report…"))
        self._show_signing(draft)

        def done(texts: list[str]) -> None:
            self._wording = False
            try:
                left = self.report.take_wording(sentences, texts)
            except SightlineError as error:
                self._tell(error_text(error))
            else:
                form = tr("Refused: “{said}” ({reason})")
                lines = [form.format(said=said, reason=tr_report(why)) for _, said, why in left]
                self._tell("\n".join(lines))
            self.refresh()

        def failed(reason: str) -> None:
            self._wording = False
            self._tell(reason)
            self.refresh()

        asked = [one.text for one in sentences]
        self._tasks.run(lambda _token: worder(asked, draft.language), done, failed)

    def _tell(self, text: str) -> None:
        self._told = text
        self.problem.setText(breakable(text))
        self.problem.setVisible(bool(text))

    # Templates and files

    def _list_templates(self) -> None:
        self.template_menu.clear()
        group = QActionGroup(self.template_menu)
        draft = self.report.draft
        for one in self.report.known_templates:
            chosen = QAction(one.title(language()), self.template_menu)
            chosen.setCheckable(True)
            chosen.setChecked(draft is not None and one.name == draft.template)
            chosen.triggered.connect(lambda _checked=False, name=one.name: self._draft_again(name))
            group.addAction(chosen)
            self.template_menu.addAction(chosen)

    def _draft_again(self, template: str) -> None:
        draft = self.report.draft
        if draft is None or not draft.edited:
            self.report.draft_again(template)
            return
        confirm(
            self,
            tr("Draft it again"),
            tr("Draft the report again from the findings?"),
            tr("What you wrote is replaced; undo brings it back."),
            tr("Draft it again"),
            self._for_this_report(lambda: self.report.draft_again(template)),
        )

    def close_models(self) -> None:
        """End what may still be waiting; call before the window is destroyed."""
        self._soon.stop()
        self._tasks.close()
        self.report.flush()
