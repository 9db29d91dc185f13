"""The list of files that could not be opened, grouped by reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from app.imaging.types import Problem
from app.views import wording
from app.views.layouts import column, row
from app.views.theme import SPACE, THEME
from app.views.translation import tr, tr_n, tr_report
from app.views.widgets import ElidedLabel, IconLabel, label, plain_tip, rule, tool_button

SHOWN_REASONS = 20
NAMED = 3  # files of a reason that are named
LISTED = 30  # ... in its tooltip
_VARYING = re.compile(r"\S*[\d/\\]\S*")
ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason why files could not be opened, with the problems of these files."""

    text: str  # without what differs between the files
    remedy: str
    problems: tuple[Problem, ...]

    @property
    def heading(self) -> str:
        """The file's name if there is only one file, else the number of files."""
        if len(self.problems) == 1:
            return name_of(self.problems[0])
        return tr_n("%n file", "%n files", len(self.problems))

    @property
    def names(self) -> str:
        """Names of the first few files; "" if there is only one file."""
        if len(self.problems) == 1:
            return ""
        shown = ", ".join(name_of(problem) for problem in self.problems[:NAMED])
        more = len(self.problems) - NAMED
        return tr("{shown} and {more:,} more").format(shown=shown, more=more) if more > 0 else shown


def by_reason(problems: Iterable[Problem]) -> list[Reason]:
    """Group problems by reason; the most frequent reason comes first."""
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        kind = (_VARYING.sub(ELLIPSIS, problem.reason), problem.remedy)
        groups.setdefault(kind, []).append(problem)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    return [_reason(remedy, found) for (_, remedy), found in ordered]


def _reason(remedy: str, problems: list[Problem]) -> Reason:
    texts = {problem.reason for problem in problems}
    text = texts.pop() if len(texts) == 1 else _VARYING.sub(ELLIPSIS, problems[0].reason)
    return Reason(wording.one_line(text), wording.one_line(remedy), tuple(problems))


def problems_text(problems: Sequence[Problem]) -> str:
    """Return e.g. "2 files could not be opened, 1 warning"; "" without problems."""
    lost = sum(not problem.remark for problem in problems)
    remarks = len(problems) - lost
    parts = (
        [tr_n("%n file could not be opened", "%n files could not be opened", lost)] if lost else []
    )
    if remarks:
        parts.append(
            tr_n("%n warning", "%n warnings", remarks)
            if lost
            else tr_n("%n warning about files", "%n warnings about files", remarks)
        )
    return ", ".join(parts)


def name_of(problem: Problem) -> str:
    """Return the name of a problem's file, without its folder."""
    return wording.one_line(problem.path.name or str(problem.path))


class ProblemList(QFrame):
    """The list of problems with reasons and remedies; hidden while there are no problems."""

    def __init__(self, clear: Callable[[], object]) -> None:
        super().__init__()
        self.heading = ElidedLabel("", "section")
        self.problems: tuple[Problem, ...] = ()
        inner = QWidget()
        margins = (SPACE.m, 0, SPACE.m, SPACE.m)
        self._rows = column(spacing=SPACE.m, margins=margins, parent=inner)
        self._scroll = QScrollArea()
        self._scroll.setWidget(inner)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setAccessibleName(tr("Files that were not opened"))
        head = row(
            IconLabel("triangle-alert", 14, THEME.warning),
            (self.heading, 1),
            tool_button("copy", tr("Copy the whole list"), self.copy, 14),
            tool_button("x", tr("Clear this list"), clear, 14),
            margins=(SPACE.m, SPACE.s, SPACE.s, SPACE.xs),
        )
        column(rule(), head, self._scroll, spacing=0, parent=self)
        self.hide()

    def copy(self) -> None:
        """Copy all files with their reasons and remedies to the clipboard, one file per line."""
        lines = (f"{p.path}\t{p.reason}\t{p.remedy}" for p in self.problems)
        QGuiApplication.clipboard().setText("\n".join(lines))

    def show_problems(self, problems: Sequence[Problem]) -> None:
        if tuple(problems) == self.problems:
            return
        self.problems = tuple(problems)
        while (item := self._rows.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        reasons = by_reason(problems)
        for reason in islice(reasons, SHOWN_REASONS):
            self._rows.addWidget(_reason_row(reason))
        more = len(reasons) - SHOWN_REASONS
        if more > 0:
            self._rows.addWidget(
                label(tr_n("and %n other reason", "and %n other reasons", more), "faint")
            )
        self._rows.addStretch(1)
        self.heading.setText(problems_text(self.problems))
        self.setVisible(bool(problems))


def _reason_row(reason: Reason) -> QWidget:
    box = QWidget()
    name = ElidedLabel(reason.heading, "label")
    lines = column(name, label(tr_report(reason.text), "caption", wrap=True), spacing=1, parent=box)
    if reason.remedy:
        lines.addWidget(label(tr_report(reason.remedy), "faint", wrap=True))
    if reason.names:
        lines.addWidget(ElidedLabel(reason.names, "faint"))
    paths = [str(problem.path) for problem in islice(reason.problems, LISTED)]
    more = len(reason.problems) - LISTED
    tip = "\n".join([*paths, *([tr("and {more:,} more").format(more=more)] if more > 0 else [])])
    box.setToolTip(plain_tip(tip))
    name.setToolTip(plain_tip(tip))
    return box
