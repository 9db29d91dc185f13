"""Shows the model's text and reasoning as they stream in; removes the text of a failed attempt."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from app.agent.answers.german import german_names
from app.imaging.findings import Finding
from app.views.chat.finding_links import FindingLinks
from app.views.chat.markdown import CitedResult, MarkdownWriter
from app.views.chat.message import copy_text
from app.views.chat.widgets import ElidedText, link_button, show_open
from app.views.layouts import column, row
from app.views.text_view import LongText, TextView
from app.views.theme import SPACE
from app.views.translation import tr
from app.views.widgets import label

_MAX_HEIGHT = 240  # px of opened reasoning

Insert = Callable[[QWidget, QWidget | None], object]
"""`insert(widget, before)` shows a widget, at the end if `before` is None."""


class _AnswerText(TextView):
    """The text of an answer; as a whole it is copied as the model wrote it, tables with bars."""

    def __init__(self) -> None:
        super().__init__()
        self.writer = MarkdownWriter(self.document())

    def copy_all(self) -> None:
        copy_text(self.writer.text)


class AnswerView(QWidget):
    """A widget that shows one answer; `sign` adds the author below the text."""

    def __init__(
        self,
        follow: Callable[[str], object],
        point_at: Callable[[str], object],
    ) -> None:
        super().__init__()
        self.view = _AnswerText()
        self.view.setAccessibleName(tr("Assistant's answer"))
        self.view.link_clicked.connect(follow)
        self.view.link_hovered.connect(point_at)
        self.writer = self.view.writer
        self.outdated = label("", "warning", wrap=True)
        self.outdated.hide()
        self._layout = column(self.outdated, self.view, margins=(2, 0, 2, 0), parent=self)
        self.targets: dict[str, str] = {}  # ids of the findings that the text may link to, by label
        self.linked: dict[str, str] = {}  # those of them that exist
        self.unknown: Collection[int | str] = ()
        self.note: ElidedText | None = None
        self.usage: ElidedText | None = None

    @property
    def text(self) -> str:
        """The model's text (Markdown), unchanged."""
        return self.writer.text

    def add(self, part: QWidget) -> None:
        """Show a widget between the text and the author."""
        self._layout.addWidget(part)

    def sign(self, author: str, usage: str = "", *buttons: QWidget) -> None:
        """Add the author, token usage, a Copy button and `buttons` below the answer, only once."""
        if self.note is not None:
            return
        self.note = ElidedText(author, "faint")
        copy = link_button(tr("Copy"), "copy", lambda: copy_text(self.text))
        copy.setAccessibleName(tr("Copy the answer"))
        foot = column(row((self.note, 1), copy, *buttons, spacing=SPACE.xs), spacing=0)
        if usage:
            self.usage = ElidedText(usage, "faint")
            foot.addWidget(self.usage)
        self._layout.addLayout(foot)


class ReasoningView(QWidget):
    """A button and below it the model's reasoning, which is laid out when first opened."""

    def __init__(self, *, live: bool = True) -> None:
        super().__init__()
        self._pieces: list[str] = []
        self.length = 0
        self._began = time.monotonic() if live else None
        self.button = link_button(tr("Thinking"), action=self.toggle)
        show_open(self.button, False)
        self.button.setAccessibleName(tr("The model's thinking"))
        self.button.setToolTip(
            tr("What the model thinks before it answers; not part of the answer")
        )
        self._time = label("", "faint")
        self.view: LongText | None = None
        head = row(self.button, self._time, 1, spacing=2)
        self._layout = column(head, spacing=4, margins=(2, 0, 2, 0), parent=self)

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def opened(self) -> bool:
        return self.view is not None and not self.view.isHidden()

    def append(self, text: str) -> None:
        self._pieces.append(text)
        self.length += len(text)
        if self.view is not None:
            self.view.append_plain(text)

    def cut(self, length: int) -> None:
        if length < self.length:
            self._pieces = [self.text[:length]]
            self.length = length
            if self.view is not None:
                self.view.restart(self.text)

    def tick(self) -> None:
        """Update the displayed duration of the reasoning."""
        passed = time.monotonic() - self._began if self._began is not None else 0.0
        if passed >= 1:
            self._time.setText(f"{passed:.0f} s")

    def finish(self) -> None:
        """Stop counting the time, because the model has moved on to its answer."""
        if self._began is not None:
            self.tick()
            self._began = None

    def toggle(self) -> None:
        opened = not self.opened
        if self.view is None:
            self.view = LongText(_MAX_HEIGHT, tone="thinking")
            self.view.setAccessibleName(tr("The model's thinking"))
            self._layout.addWidget(self.view)
            self.view.append_plain(self.text)
        self.view.setVisible(opened)
        show_open(self.button, opened)


@dataclass(frozen=True, slots=True)
class _Position:
    """Counts of views, and lengths of their texts, that a withdrawal goes back to."""

    answers: int = 0
    thoughts: int = 0
    text: int = 0
    thinking: int = 0


class AnswerStream:
    """Shows a run's streamed text and reasoning; each response of the model gets its own views."""

    def __init__(
        self,
        insert: Insert,
        links: FindingLinks,
        results: Callable[[], Mapping[int, CitedResult]],
        follow: Callable[[str], object],
        point_at: Callable[[str], object],
        *,
        live: bool,
    ) -> None:
        self.answers: list[AnswerView] = []
        self.thoughts: list[ReasoningView] = []
        self.open: AnswerView | None = None
        self._thinking: ReasoningView | None = None
        self._insert = insert
        self._links = links
        self._results = results
        self._follow, self._point_at = follow, point_at
        self._live = live
        self._findings: list[Finding] = []
        # The image that an earlier run was asked about is not known.
        self._image = links.shown if live else ""
        links.keep_current(self)
        self._mark = _Position()

    def write(self, text: str) -> bool:
        """Add a piece of the answer; return False while the answer has only whitespace."""
        if self._thinking is not None:
            self._thinking.finish()
        if self.open is None:
            if not text.strip():
                return False
            self.open = AnswerView(self._follow, self._point_at)
            self._link(self.open)
            self.answers.append(self.open)
            self._insert(self.open, None)
        self.open.writer.append(text)
        return True

    def think(self, text: str) -> None:
        """Add a piece of reasoning, shown above the answer even if the answer came first."""
        if self._thinking is None:
            if not text.strip():
                return
            self._thinking = ReasoningView(live=self._live)
            self.thoughts.append(self._thinking)
            self._insert(self._thinking, self.open)
        self._thinking.append(text)

    def mark(self) -> None:
        """Store the current position; `withdraw` removes what is streamed after it."""
        self._mark = _Position(
            len(self.answers),
            len(self.thoughts),
            len(self.open.text) if self.open is not None else 0,
            self._thinking.length if self._thinking is not None else 0,
        )

    def withdraw(self) -> None:
        mark = self._mark
        for view in (*self.answers[mark.answers :], *self.thoughts[mark.thoughts :]):
            view.hide()
            view.setParent(None)
            view.deleteLater()
        if len(self.answers) > mark.answers:
            self.open = None
        elif self.open is not None:
            self.open.writer.cut(mark.text)
        if len(self.thoughts) > mark.thoughts:
            self._thinking = None
        elif self._thinking is not None:
            self._thinking.cut(mark.thinking)
        del self.answers[mark.answers :]
        del self.thoughts[mark.thoughts :]

    def close(self) -> None:
        """End a response of the model; text of the next one goes into new views below."""
        if self._thinking is not None:
            self._thinking.finish()
        self.open = self._thinking = None

    def add_findings(self, findings: list[Finding]) -> None:
        self._findings.extend(findings)

    def complete(self, answer: str, unknown: Collection[int | str] = ()) -> None:
        """End the run: show and link the answer; `unknown` is cited and there is not."""
        shown = "".join("".join(view.text.split()) for view in self.answers)
        if "".join(answer.split()) not in shown:
            if self.open is None:
                self.write(answer)
            else:
                self.open.writer.set_text(answer)
        for view in self.answers if unknown else filter(None, [self.open]):
            self._link(view, unknown)

    def tick(self) -> None:
        if self._thinking is not None:
            self._thinking.tick()

    def _link(self, view: AnswerView, unknown: Collection[int | str] = ()) -> None:
        targets = self._links.targets(self._findings, self._image)
        known = german_names(list(targets)).items()
        view.targets = targets | {german: targets[label] for label, german in known}
        view.unknown = unknown
        self._show_links(view)
        self._show_outdated(view)

    def update_links(self) -> None:
        """Update the text's links, so that they lead only to findings that still exist."""
        for view in filter(isValid, self.answers):
            if self._links.existing(view.targets) != view.linked:
                self._show_links(view)
            self._show_outdated(view)

    def _show_outdated(self, view: AnswerView) -> None:
        own = {item.id for item in self._findings}
        about = [key for name, key in view.targets.items() if key in own or name in view.text]
        view.outdated.setText(self._links.outdated(about))
        view.outdated.setVisible(bool(view.outdated.text()))

    def _show_links(self, view: AnswerView) -> None:
        view.linked = self._links.existing(view.targets)
        same_image = self._links.same_image
        view.writer.set_links(view.linked, self._results(), view.unknown, same_image)
