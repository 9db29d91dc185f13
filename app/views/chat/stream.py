"""The streamed text and reasoning of a run as widgets, and how a failed answer is taken back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from PySide6.QtWidgets import QWidget

from app.imaging.findings import Finding
from app.views.chat.links import FindingLinks
from app.views.chat.message import AnswerView
from app.views.chat.reasoning import ReasoningView

Insert = Callable[[QWidget, QWidget | None], object]
"""`insert(widget, before)`: show a widget, at the end where `before` is None."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """How far everything was when an event of another kind came."""

    answers: int = 0
    thoughts: int = 0
    text: int = 0
    thinking: int = 0


class Stream:
    """Writes text and reasoning into views; one of each a turn of the model.

    Args:
        insert: Shows a widget.
        links: Makes the names of findings links.
        results: Number of a result that may be cited to what it is.
        show: Leads to the result of a number.
        live: Whether the run goes on now.
    """

    def __init__(
        self,
        insert: Insert,
        links: FindingLinks,
        results: Callable[[], Mapping[int, str]],
        show: Callable[[int], object],
        *,
        live: bool,
    ) -> None:
        self.answers: list[AnswerView] = []
        self.thoughts: list[ReasoningView] = []
        self.open: AnswerView | None = None  # what streamed text goes to
        self._thinking: ReasoningView | None = None
        self._insert = insert
        self._links = links
        self._results = results
        self._show = show
        self._live = live
        self._findings: list[Finding] = []
        # Of a run of the past it is not known; what is shown now says nothing of it.
        self._shown = links.shown if live else ""
        self._mark = _Mark()

    def write(self, text: str) -> bool:
        """Add a piece of the answer; False when there is nothing to see of it yet."""
        if self._thinking is not None:
            self._thinking.finish()
        if self.open is None:
            if not text.strip():
                return False
            self.open = AnswerView(self._links.select, self._show)
            self._link(self.open)
            self.answers.append(self.open)
            self._insert(self.open, None)
        self.open.writer.append(text)
        return True

    def think(self, text: str) -> None:
        """Add a piece of reasoning; it stands above the answer, also when it comes after it."""
        if self._thinking is None:
            if not text.strip():
                return
            self._thinking = ReasoningView(live=self._live)
            self.thoughts.append(self._thinking)
            self._insert(self._thinking, self.open)
        self._thinking.append(text)

    def mark(self) -> None:
        """An event of another kind came: what was streamed so far stays."""
        self._mark = _Mark(
            len(self.answers),
            len(self.thoughts),
            len(self.open.text) if self.open is not None else 0,
            self._thinking.size if self._thinking is not None else 0,
        )

    def withdraw(self) -> None:
        """Take back what was streamed since `mark`."""
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
        """The model's turn is over: what it says next stands below what comes now."""
        if self._thinking is not None:
            self._thinking.finish()
        self.open = self._thinking = None

    def take(self, findings: list[Finding]) -> None:
        """Findings that the text may name."""
        self._findings.extend(findings)

    def complete(self, answer: str, unknown: Collection[int] = ()) -> None:
        """The run ended: show the answer where it was not streamed, link what it names.

        Args:
            answer: The whole answer.
            unknown: Numbers that texts of the run cite and that no result has.
        """
        shown = "".join("".join(view.text.split()) for view in self.answers)
        if "".join(answer.split()) not in shown:
            if self.open is None:
                self.write(answer)
            else:
                self.open.writer.set_text(answer)
        for view in self.answers if unknown else filter(None, [self.open]):
            self._link(view, unknown)

    def tick(self) -> None:
        """Show how long the model has been thinking."""
        if self._thinking is not None:
            self._thinking.tick()

    def _link(self, view: AnswerView, unknown: Collection[int] = ()) -> None:
        targets = self._links.targets(self._findings, self._shown)
        view.writer.set_links(targets, self._results(), unknown)
