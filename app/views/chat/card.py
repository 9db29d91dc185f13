"""One tool call as a card: what it is, how far it is, what it brought, or why it failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.agent.events import ToolFinished, ToolProgress, ToolStarted
from app.agent.messages import for_people
from app.imaging.findings import Finding
from app.tools.api import Artifact
from app.views import wording
from app.views.background import Background
from app.views.chat import missing
from app.views.chat.disclosure import Disclosures
from app.views.chat.facts import as_json, facts, named_images, warnings, without_warnings
from app.views.chat.links import FindingChip, FindingLinks
from app.views.chat.table import FactsTable
from app.views.chat.text import one_line, tooltip
from app.views.chat.textview import TextView
from app.views.chat.thumbnail import Thumbnail
from app.views.chat.widgets import (
    Elided,
    Flow,
    ThinProgress,
    icon_label,
    label,
    link_button,
    row,
)
from app.views.icons import pixmap
from app.views.pack_texts import PackTexts
from app.views.style import restyle
from app.views.theme import SPACE, THEME

CHIPS = 12  # shown; the findings list has all of them
_CITED_MS = 1600
_STATES = {
    "running": ("loader-circle", THEME.accent, "Running"),
    "ok": ("circle-check", THEME.ok, "Done"),
    "failed": ("circle-x", THEME.error, "Failed"),
    "refused": ("ban", THEME.text_faint, "Not run"),
    "cancelled": ("ban", THEME.text_faint, "Stopped"),
}


@dataclass(frozen=True, slots=True)
class CardTools:
    """What a card needs of its dock.

    Attributes:
        links: Makes chips.
        background: Reads pictures.
        open_artifact: Shows a picture beside the image: `(artifact, tool)`.
        open_models: Opens the models window at a card's name.
        texts: Titles and icons of the tools.
    """

    links: FindingLinks
    background: Background
    open_artifact: Callable[[Artifact, str], object]
    open_models: Callable[[str], object] = lambda _name: None
    texts: PackTexts = field(default_factory=PackTexts)


class ToolCard(QFrame):
    """A tool call. Parts that are closed at first are built when they are opened."""

    def __init__(self, started: ToolStarted, tools: CardTools, *, live: bool = True) -> None:
        super().__init__()
        self.setObjectName("chatCard")
        self.call_id = started.call_id
        self.tool = started.tool
        self.arguments = started.arguments
        self.status = "running"
        self.evidence = 0  # the result's number, once there is one
        self.findings: tuple[Finding, ...] = ()
        self.missing: tuple[str, ...] = ()  # cards of models that were not there
        self.thumbnails: list[Thumbnail] = []
        self.chips: list[FindingChip] = []
        self._tools = tools
        self._cited: QTimer | None = None  # while a citation has led here
        self._began = time.monotonic() if live else None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._body = QVBoxLayout(self)
        self._body.setContentsMargins(SPACE.m, 10, SPACE.m, 10)
        self._body.setSpacing(SPACE.s)
        self._add_head()
        self.progress = ThinProgress()
        self.progress_text = Elided("", "caption")
        self.progress_text.hide()
        self._body.addWidget(self.progress)
        self._body.addWidget(self.progress_text)
        self._details = Disclosures()
        self._details.add("Arguments", lambda: as_json(started.arguments))
        self._body.addWidget(self._details)
        self.models_button: QPushButton | None = None
        self.summary: TextView | None = None
        self.error: TextView | None = None
        self.reason: TextView | None = None  # why it was not run
        self.warning: TextView | None = None
        self.table: FactsTable | None = None
        self._name()

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self.status == "running"

    @property
    def evidence_text(self) -> str:
        """What a citation of it leads to: tool and image."""
        image = named_images(self.arguments)
        lines = [f"Result {self.evidence}: {self._tools.texts.title(self.tool)} ({self.tool})"]
        return "\n".join([*lines, *([f"Image: {image}"] if image else [])])

    def point_out(self) -> None:
        """A citation led here: stand out for a moment, and take the focus."""
        self.setProperty("cited", True)
        restyle(self)
        if self._cited is None:
            self._cited = QTimer(self, singleShot=True, interval=_CITED_MS)
            self._cited.timeout.connect(self._unmark)
        self._cited.start()
        first = self.chips[0] if self.chips else self._details.button("Arguments")
        first.setFocus(Qt.FocusReason.OtherFocusReason)

    def _unmark(self) -> None:
        self.setProperty("cited", False)
        restyle(self)

    @property
    def duration_text(self) -> str:
        """The duration as the card shows it."""
        return self._duration.text()

    def tick(self) -> None:
        """Show how long it has been running."""
        if self._began is not None and self.running:
            self._duration.setText(seconds(time.monotonic() - self._began))
            self.progress.tick()

    def waiting(self, waiting: bool) -> None:
        """Whether it waits for the user's yes or no."""
        if self.running:
            self._word.setText("Waiting" if waiting else "Running")
            self.progress.setVisible(not waiting)

    def stopping(self) -> None:
        """It was told to stop and has not yet."""
        if self.running:
            self._word.setText("Stopping")
            self._word.show()
            self.setAccessibleName(f"Tool call: {self._tools.texts.title(self.tool)}, stopping")

    def set_progress(self, event: ToolProgress) -> None:
        """Show how far it is."""
        if not self.running:
            return
        self.progress.set_fraction(event.fraction)
        self.progress_text.set_full(event.text)
        self.progress_text.setVisible(bool(event.text))

    def finish(self, event: ToolFinished) -> None:
        """Show what it brought, or why it failed."""
        self.status = "refused" if event.refused else event.status
        self.setProperty("state", self.status)
        restyle(self)
        self.progress.hide()
        self.progress_text.hide()
        name, tint, word = _STATES[self.status]
        self._mark.setPixmap(pixmap(name, 14, tint, 2.0))
        self._mark.setAccessibleName(word)
        self._word.setText(word if event.status != "ok" else "")
        self._word.setVisible(event.status != "ok")
        self._number_it(event)
        took = event.duration_s if not event.refused else 0.0
        self._duration.setText(seconds(took) if took else "")
        at = self._body.indexOf(self._details)
        for part in self._parts(event):
            self._body.insertWidget(at, part)
            at += 1
        if event.output or event.metadata:
            result = {"output": event.output, "metadata": event.metadata}
            self._details.add("Result", lambda: as_json(result))
        self._name()

    def _number_it(self, event: ToolFinished) -> None:
        self.evidence = event.evidence
        self.findings = tuple(event.findings)
        self._number.setText(f"[{event.evidence}]")
        self._number.setVisible(bool(event.evidence))
        self._number.setToolTip(tooltip(f"Answers cite this result as [{event.evidence}]"))

    def _parts(self, event: ToolFinished) -> list[QWidget]:
        parts: list[QWidget] = []
        if event.refused:
            self.reason = _text(self._tools.texts.with_titles(event.refused, (self.tool,)), "muted")
            parts.append(self.reason)
        elif event.status == "failed":
            reason = for_people(event.error) or event.summary or "It failed without a reason."
            short = missing.shortened(reason)
            if short != reason:
                self._details.add("How to get it", lambda: reason)
            self.error = _text(short, "error")
            parts.append(self.error)
        elif event.status == "ok":
            warned = warnings(event.output, event.metadata)
            parts.extend(self._summary(event, without_warnings(event.summary, warned)))
            if warned:
                self.warning = _text("\n".join(f"⚠ {text}" for text in warned), "warning")
                parts.append(self.warning)
        parts.extend(self._missing(event))
        table = facts(event.output) if event.status == "ok" else None
        if table and table.rows:
            self.table = FactsTable(table)
            parts.append(self.table)
        if event.findings:
            parts.append(self._chips(event.findings))
        if event.status == "ok":
            parts.append(self._made_by(event))
        return parts

    def _add_head(self) -> None:
        title = Elided(self._tools.texts.title(self.tool))
        title.setProperty("role", "strong")
        title.setToolTip("")
        name = Elided(self.tool)
        name.setProperty("role", "faint")
        name.setToolTip("")
        self._duration = label("", "caption")
        self._word = label("Running", "caption")
        self._mark = icon_label("loader-circle", THEME.accent, 14)
        self._mark.setAccessibleName("Running")
        texts = QVBoxLayout()
        texts.setContentsMargins(0, 0, 0, 0)
        texts.setSpacing(1)
        texts.addWidget(title)
        texts.addWidget(name)
        head = row(icon_label(self._tools.texts.icon(self.tool), THEME.text_muted, 18), spacing=10)
        head.addLayout(texts, 1)
        self._number = label("", "caption")
        self._number.setObjectName("chatNumber")
        self._number.hide()
        head.addLayout(row(self._duration, self._word, self._mark, self._number, spacing=6))
        self._body.addLayout(head)

    def _summary(self, event: ToolFinished, text: str) -> list[QWidget]:
        """The summary, a single picture beside it, several below it."""
        if text:
            self.summary = _text(text, "muted")
        pictures = self._pictures(event)
        if self.summary is None or len(pictures) != 1:
            parts: list[QWidget] = [self.summary] if self.summary is not None else []
            return parts + ([_flow(pictures)] if pictures else [])
        beside = QWidget()
        line = QHBoxLayout(beside)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(SPACE.m)
        line.addWidget(pictures[0], 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(self.summary, 1, Qt.AlignmentFlag.AlignTop)
        return [beside]

    def _pictures(self, event: ToolFinished) -> list[QWidget]:
        pictures: list[QWidget] = []
        shown = [item for item in event.artifacts if item.role in ("image", "show")][:4]
        for artifact in shown:
            thumbnail = Thumbnail(
                artifact.path,
                one_line(artifact.title, 80),
                self._tools.background,
                lambda item=artifact: self._tools.open_artifact(item, self.tool),
                str(artifact.options.get("model") or "a model")
                if artifact.options.get("synthetic")
                else "",
            )
            self.thumbnails.append(thumbnail)
            pictures.append(thumbnail)
        return pictures

    def _missing(self, event: ToolFinished) -> list[QWidget]:
        """A way to the models that it says were not there."""
        said = missing.texts_of(event.error, event.output, event.metadata)
        self.missing = missing.named(*said)
        return [self._models_button()] if self.missing else []

    def _models_button(self) -> QWidget:
        first, several = self.missing[0], len(self.missing) > 1
        button = link_button("Models…", "cpu", lambda: self._tools.open_models(first))
        button.setAccessibleName("Open the models" if several else f"Open the model {first}")
        button.setToolTip(tooltip(f"Install or download: {', '.join(self.missing)}"))
        self.models_button = button
        return _flow([button])

    def _chips(self, findings: Sequence[Finding]) -> QWidget:
        shown = findings if len(findings) <= CHIPS + 1 else findings[:CHIPS]
        self.chips = [self._tools.links.chip(finding) for finding in shown]
        left = len(findings) - len(shown)
        return _flow([*self.chips, *([label(f"and {left} more", "faint")] if left else [])])

    def _made_by(self, event: ToolFinished) -> QWidget:
        models = sorted({item.provenance.model for item in event.findings} - {""})
        maker = ", ".join(models) or self.tool
        return Elided(f"{wording.NOT_FOR_DIAGNOSIS} · {maker}", "faint")

    def _name(self) -> None:
        word = _STATES[self.status][2]
        number = f", result {self.evidence}" if self.evidence else ""
        self.setAccessibleName(f"Tool call: {self._tools.texts.title(self.tool)}, {word}{number}")


def seconds(value: float) -> str:
    """A duration, short."""
    if value < 0.1:
        return "< 0.1 s"
    if value < 60:
        return f"{value:.1f} s"
    return f"{int(value // 60)} min {int(value % 60):02d} s"


def _flow(parts: Sequence[QWidget]) -> QWidget:
    box = QWidget()
    flow = Flow()
    box.setLayout(flow)
    for part in parts:
        flow.addWidget(part)
    return box


def _text(text: str, tone: str) -> TextView:
    view = TextView()
    view.setProperty("tone", tone)
    view.set_plain(text)
    view.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
    return view
