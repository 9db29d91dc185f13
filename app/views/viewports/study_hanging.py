"""Arranges opened studies by hanging protocols, and keeps layouts of the user's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeySequence

from app.errors import FileProblem
from app.imaging.types import Content, Study
from app.views.background import Background
from app.views.notices import Notices
from app.views.translation import tr
from app.workspace.layout import Slot
from app.workspace.priors import is_same_person
from app.workspace.studies import key_of
from app.workspace.viewport import REFORMAT, Viewport
from app.workspace.workspace import Workspace

if TYPE_CHECKING:
    from app.workspace.hanging import Arrangement, Protocols


class StudyHanging(QObject):
    """Arranges studies by the hanging protocol that suits them best.

    Args:
        folder: Folder with the user's own protocols; None for none.
        may_arrange: Returns whether an opened study may be arranged: not if the user has begun to
            work with what is shown.
    """

    loaded = Signal()

    def __init__(
        self,
        workspace: Workspace,
        background: Background,
        notices: Notices,
        folder: Path | None,
        may_arrange: Callable[[], bool],
    ) -> None:
        super().__init__(notices)
        self._workspace = workspace
        self._background = background
        self._notices = notices
        self._may_arrange = may_arrange
        self.undo_key: Callable[[], str] = lambda: ""
        self._folder = folder
        self._read = False
        self._hung: tuple[Slot, ...] = ()  # of the last arrangement
        self._arranged: set[str] = set()  # keys of the studies that were arranged by themselves

    @cached_property
    def protocols(self) -> Protocols:
        """The hanging protocols; `loaded` is emitted when they are read."""
        from app.workspace.hanging import Protocols

        return Protocols(self._folder)

    def study_opened(self) -> None:
        """Arrange what was opened, unless the user has begun to work with it."""
        self._with_protocols(self._arrange_opened)

    def arrange(self) -> None:
        """Arrange the shown study by the protocol that suits it best, or tell that none does."""
        self._with_protocols(partial(self._arrange, asked=True))

    def _with_protocols(self, then: Callable[[], object]) -> None:
        if self._read:
            then()
            return

        def read(_none: None) -> None:
            self._read = True
            for problem in self.protocols.problems:
                self._notices.show_error(problem)
            self.loaded.emit()
            then()

        self._background.submit(self.protocols.load, read)

    def _arrange_opened(self) -> None:
        study = self._current()
        open_keys = {key_of(one) for one in self._workspace.studies.all}
        self._arranged &= open_keys
        screen = self._workspace.layout.screen
        own = len(screen.viewports) > 1 and screen.slots != self._hung  # the user's layout
        if own or study is None or not self._may_arrange() or key_of(study) in self._arranged:
            return
        self._arrange(asked=False)

    def _arrange(self, *, asked: bool) -> None:
        study = self._current()
        if study is None:
            return
        from app.workspace.hanging import choose

        found = choose(self.protocols.all, study, self._workspace.priors(study))
        if found is not None:
            self._arranged.add(key_of(study))
            self.hang(found)
        elif asked:
            tip = tr("Arrange the viewports, then choose “Keep this layout for studies like this”.")
            self._notices.show_notice("info", tr("No hanging protocol is for this study"), tip)

    def hang(self, arrangement: Arrangement) -> None:
        """Show an arrangement, and say which protocol it is of and why."""
        self._workspace.hang(arrangement)
        self._hung = self._workspace.layout.slots
        own = tr("Your own layout") if arrangement.protocol.own else tr("Hanging protocol")
        reasons = ", ".join(tr(one) for one in arrangement.why.split(", "))
        why = f" ({reasons})" if reasons else ""
        self._notices.show_notice(
            "info",
            tr(arrangement.protocol.title),
            tr("{own}{why}. {key} shows the study as before.").format(
                own=own, why=why, key=_shown_key(self.undo_key()) or tr("Undo")
            ),
            action=(tr("Undo"), partial(self._undo, self._workspace.commands.undo_label)),
        )

    def _undo(self, label: str) -> None:
        """Undo an arrangement, unless something else was done since."""
        if self._workspace.commands.undo_label == label:
            self._workspace.commands.undo()

    def choices(self) -> list[Arrangement]:
        study = self._current()
        if study is None:
            return []
        from app.workspace.hanging import Arrangement, hang

        priors = self._workspace.priors(study)
        found = ((one, hang(one, study, priors)) for one in self.protocols.all)
        return [Arrangement(one, hung, "") for one, hung in found if hung is not None]

    def _current(self) -> Study | None:
        shown = self._workspace.acquired
        study = self._workspace.studies.study_of(shown) if shown is not None else None
        if study is None:
            return None
        modality = _modality_of(study)
        own = (one for one in self._workspace.studies.all if is_same_person(study, one))
        alike = (one for one in own if _modality_of(one) == modality)
        return max((study, *alike), key=lambda one: one.date)

    # The user's own

    def keep(self) -> None:
        """Save the layout, and what its viewports show, for studies like the shown one."""
        study = self._current()
        if study is None:
            return
        modality = _modality_of(study)
        part = self._body_part()
        title = " ".join(one for one in (modality, part.lower()) if one) or tr("Studies")
        rules = self._rules(study)
        match: dict[str, Any] = {"modality": [modality] if modality else []}
        match["words"] = [part.lower()] if part else []
        match["prior"] = any(rule.get("prior") for rule in rules)
        from app.workspace.hanging import write_protocol

        text = write_protocol(title, self._workspace.layout.slots, match, rules)
        name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "own"
        try:
            file = self.protocols.save(f"own-{name}", text)
        except (OSError, ValueError) as error:
            self._notices.show_error(
                FileProblem(
                    tr("the layout cannot be kept: {error}").format(error=error),
                    subject=str(self.protocols.folder or ""),
                    remedy="Make room on the disk, or ask for the right to write there",
                )
            )
            return
        self._notices.show_notice(
            "info",
            tr("{title}: studies like this open in this layout from now on").format(title=title),
            str(file),
        )

    def _body_part(self) -> str:
        shown = self._workspace.acquired
        words = re.findall(r"[A-Za-z]{3,}", shown.get("BodyPartExamined")) if shown else []
        return words[0] if words else ""

    def _rules(self, study: Study) -> list[dict[str, Any]]:
        """Return what each viewport shows, in the words of a protocol."""
        rules: list[dict[str, Any]] = []
        seen: list[object] = []
        for viewport in self._workspace.layout.screen.viewports:
            rule, series = self._rule(study, viewport)
            if series is not None and series in seen:
                rule = {"as": seen.index(series) + 1} | {
                    key: value for key, value in rule.items() if key == "window"
                }
            seen.append(series)
            rules.append(rule)
        return rules

    def _rule(self, study: Study, viewport: Viewport) -> tuple[dict[str, Any], object]:
        shown = viewport.acquired
        studies = self._workspace.studies
        of = studies.study_of(shown) if shown is not None else None
        priors = self._workspace.priors(study)
        if shown is None or viewport.instance is None or (of is not study and of not in priors):
            return {"empty": True, "optional": True}, None
        series = studies.series_of(shown)
        said = series.description if series is not None else ""
        person = f"{study.patient} {study.patient_id}".casefold()
        named = any(word in person for word in re.findall(r"\w{3,}", said.casefold()))
        view = shown.get("ViewPosition").strip().upper()
        radiograph = shown.get("Modality") in ("CR", "DX", "MG")
        side = (shown.get("ImageLaterality") or shown.get("Laterality")).strip().upper()[:1]
        window = viewport.display.window
        own = window is not None and window.lut < 0 and viewport.instance.kind != REFORMAT
        return {
            "prior": of is not study,
            "modality": [shown.get("Modality")],
            "description": said if not radiograph and not named else "",
            "view": [view] if radiograph and view else [],
            "facing": shown.get("Modality") == "MG",
            "laterality": side if radiograph and side in ("L", "R") else "",
            "window": [window.center, window.width] if own and window is not None else [],
        }, (shown if radiograph else id(series))

    def manage(self) -> None:
        parent = self._notices.window()
        from app.views.viewports.protocol_dialog import ProtocolDialog

        self._with_protocols(
            lambda: ProtocolDialog(self.protocols, self.loaded.emit, parent).open()
        )

    def open_folder(self) -> None:
        """Open the folder of the user's own protocols in the system's file manager."""
        folder = self.protocols.folder
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = tr("the folder cannot be opened: {strerror}").format(
                strerror=error.strerror or error
            )
            remedy = tr("Ask for the right to write into the settings folder")
            self._notices.show_error(FileProblem(reason, subject=str(folder), remedy=remedy))
            return
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))


def _modality_of(study: Study) -> str:
    """Return the modality of a study's first images; "" if it has none."""
    images = (one.modality for one in study.series if one.content is Content.IMAGE)
    return next(images, "")


def _shown_key(key: str) -> str:
    """Return a key such as "Ctrl+Z" as this computer and language name it."""
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)
