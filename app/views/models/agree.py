"""The question before something is installed, downloaded or removed: exactly what, and what to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.views.settings.fields import Check, wrapped
from app.views.theme import SPACE, THEME
from app.views.widgets import push_button

_WIDTH = 560
_TERMS_HEIGHT = 220
_LEAST_TERMS = 90


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked.

    Attributes:
        title: The question.
        facts: Sentences on what would be done.
        verb: Of the button that does it.
        terms: (title, text) of what has to be accepted.
        code: (title, names of files) of programs that would be run.
        code_needed: Without them it cannot be done.
        other: Why the files are not the published ones.
        danger: It cannot be taken back.
    """

    title: str
    facts: Sequence[str]
    verb: str
    terms: Sequence[tuple[str, str]] = ()
    code: Sequence[tuple[str, Sequence[str]]] = ()
    code_needed: bool = False
    other: Sequence[str] = ()
    danger: bool = False


@dataclass(frozen=True, slots=True)
class Yes:
    """What was said yes to, beside the thing itself."""

    terms: bool
    code: bool
    other: bool


class AgreeDialog(QDialog):
    """Asks. Cancel is the default; the button that does it works once all is ticked.

    Args:
        asked: What.
        agreed: Told the yes, after the dialogue is closed.
        parent: The window that waits.
    """

    def __init__(self, asked: Asked, agreed: Callable[[Yes], object], parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("modelQuestion")
        self.setWindowTitle(asked.verb)
        self.setMinimumWidth(_WIDTH)
        self._needed: list[Check] = []
        self._agreed = agreed
        self.code: Check | None = None
        self.other: Check | None = None
        self.terms: list[Check] = []
        inside = QWidget()
        inside.setObjectName("modelQuestionPage")
        self._column = QVBoxLayout(inside)
        self._column.setContentsMargins(SPACE.xl, SPACE.xl, SPACE.xl, SPACE.s)
        self._column.setSpacing(SPACE.s)
        self._column.addWidget(wrapped(asked.title, "title"))
        for fact in asked.facts:
            self._column.addWidget(wrapped(fact, "muted"))
        self._ask_terms(asked)
        self._ask_code(asked)
        self._ask_other(asked)
        # Terms of many models are higher than a screen; the buttons stay within reach.
        self._page = QScrollArea()
        self._page.setFrameShape(QFrame.Shape.NoFrame)
        self._page.setWidgetResizable(True)
        self._page.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._page.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        ground = f"#modelQuestion, #modelQuestionPage {{ background: {THEME.panel}; }}"
        self.setStyleSheet(ground)
        self._page.setWidget(inside)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, SPACE.l)
        outer.setSpacing(SPACE.s)
        outer.addWidget(self._page, 1)
        outer.addLayout(self._buttons(asked))
        self._update()
        self.setAccessibleName(asked.title)
        self.setAccessibleDescription(" ".join(asked.facts))

    def _ask_terms(self, asked: Asked) -> None:
        for title, text in asked.terms:
            self._column.addWidget(wrapped(f"Terms of {title}", "section"))
            view = QPlainTextEdit(text.strip())
            view.setReadOnly(True)
            view.setTabChangesFocus(True)
            view.setMinimumHeight(_LEAST_TERMS)
            view.setMaximumHeight(_TERMS_HEIGHT)
            view.setAccessibleName(f"Terms of {title}")
            self._column.addWidget(view)
            self.terms.append(self._check(f"I have read and accept the terms of {title}", True))

    def _ask_code(self, asked: Asked) -> None:
        if not asked.code:
            return
        for title, names in asked.code:
            listed = ", ".join(names) or "as its publisher offers it"
            self._column.addWidget(wrapped(f"Program code of {title}", "section"))
            why = (
                f"With the weights comes program code of their publisher ({listed}). It can do on "
                "this computer whatever you can. Allow it only if you trust the publisher, or "
                "looked at it."
            )
            self._column.addWidget(wrapped(why, "muted"))
        self.code = self._check("Allow this code to run", asked.code_needed)
        if not asked.code_needed:
            without = "Without it the weights are installed, and the code is left out."
            self._column.addWidget(wrapped(without, "caption"))

    def _ask_other(self, asked: Asked) -> None:
        if not asked.other:
            return
        self._column.addWidget(wrapped("Not the published files", "section"))
        for why in asked.other:
            self._column.addWidget(wrapped(why, "warning"))
        self.other = self._check("Take them anyway; results will carry a warning", True)

    def _check(self, text: str, needed: bool) -> Check:
        check = Check(text)
        check.toggled.connect(lambda _on: self._update())
        if needed:
            self._needed.append(check)
        self._column.addWidget(check)
        return check

    def _buttons(self, asked: Asked) -> QHBoxLayout:
        self.cancel = push_button("Cancel", self.reject)
        self.yes = push_button(asked.verb, self._say_yes, primary=not asked.danger)
        self.yes.setAutoDefault(False)
        self.cancel.setDefault(True)
        line = QHBoxLayout()
        line.setContentsMargins(SPACE.xl, 0, SPACE.xl, 0)
        line.setSpacing(SPACE.s)
        line.addStretch(1)
        line.addWidget(self.cancel)
        line.addWidget(self.yes)
        self.cancel.setFocus()
        return line

    def showEvent(self, event: QShowEvent) -> None:
        # Wrapped text says only now how high it is.
        width = max(self.width(), _WIDTH)
        room = self.screen().availableGeometry().height() - SPACE.xl
        beside = self.yes.sizeHint().height() + SPACE.s + SPACE.l
        # As if the scroll bar were there: it would take the room that its absence needs.
        inner = width - self._page.verticalScrollBar().sizeHint().width()
        self.resize(width, min(self._column.totalHeightForWidth(inner) + beside, room))
        super().showEvent(event)

    def _update(self) -> None:
        if hasattr(self, "yes"):
            self.yes.setEnabled(all(check.isChecked() for check in self._needed))

    def _say_yes(self) -> None:
        yes = Yes(
            terms=bool(self.terms) and all(check.isChecked() for check in self.terms),
            code=self.code is not None and self.code.isChecked(),
            other=self.other is not None and self.other.isChecked(),
        )
        self.accept()
        self._agreed(yes)
