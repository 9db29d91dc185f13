"""The dialog that asks for consent before a model is installed, downloaded, used or removed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QScrollArea,
    QWidget,
)

from app.tools.hosting.states import ModelState, State
from app.tools.models.cards import ModelCard
from app.tools.models.downloads import host_of
from app.tools.models.install_plan import Consent, InstallPlan, needs_code
from app.tools.models.places import is_program
from app.tools.models.status import ModelStatus
from app.views.layouts import column, row
from app.views.models import model_wording
from app.views.settings.fields import wrapped_label
from app.views.theme import SPACE, THEME
from app.views.translation import tr, tr_n, translatable
from app.views.widgets import push_button

FILTERS = (
    translatable(
        "Models and model packs (*.zip *.tar *.tar.gz *.tgz *.safetensors *.pt *.pth *.bin)"
    ),
    translatable("All files (*)"),
)

_WIDTH = 560
_TERMS_HEIGHT = 220
_LEAST_TERMS = 90


@dataclass(frozen=True, slots=True)
class Question:
    """The content of a `ConsentDialog`.

    `facts` are sentences to read; `verb` is the text of the confirming button. `terms` are pairs
    (title of a model, its terms of use). `code` are pairs (title of a model, names of the
    program files that come with its weights); `code_needed`: whether the user must allow these.
    `unpublished`: how the files differ from the published ones; `danger`: it cannot be undone.
    """

    title: str
    facts: Sequence[str]
    verb: str
    terms: Sequence[tuple[str, str]] = ()
    code: Sequence[tuple[str, Sequence[str]]] = ()
    code_needed: bool = False
    unpublished: Sequence[str] = ()
    danger: bool = False


class ConsentDialog(QDialog):
    """Asks for consent, ticking every required box; then `agreed` is called with it."""

    def __init__(
        self, question: Question, agreed: Callable[[Consent], object], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("modelQuestion")
        self.setWindowTitle(question.verb)
        self.setMinimumWidth(_WIDTH)
        self._needed: list[QCheckBox] = []
        self._agreed = agreed
        self.code: QCheckBox | None = None
        self.unpublished: QCheckBox | None = None
        self.terms: list[QCheckBox] = []
        inside = QWidget()
        inside.setObjectName("modelQuestionPage")
        self._column = column(
            wrapped_label(question.title, "title"),
            *(wrapped_label(fact, "muted") for fact in question.facts),
            margins=(SPACE.xl, SPACE.xl, SPACE.xl, SPACE.s),
            parent=inside,
        )
        self._ask_terms(question)
        self._ask_code(question)
        self._ask_other(question)
        # Terms of many models are higher than a screen; the buttons stay within reach.
        self._page = QScrollArea()
        self._page.setFrameShape(QFrame.Shape.NoFrame)
        self._page.setWidgetResizable(True)
        self._page.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._page.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        ground = f"#modelQuestion, #modelQuestionPage {{ background: {THEME.panel}; }}"
        self.setStyleSheet(ground)
        self._page.setWidget(inside)
        buttons = self._buttons(question)
        column((self._page, 1), buttons, margins=(0, 0, 0, SPACE.l), parent=self)
        self._update()
        self.setAccessibleName(question.title)
        self.setAccessibleDescription(" ".join(question.facts))

    def _ask_terms(self, question: Question) -> None:
        for title, text in question.terms:
            self._column.addWidget(
                wrapped_label(tr("Terms of {title}").format(title=title), "section")
            )
            view = QPlainTextEdit(text.strip())
            view.setReadOnly(True)
            view.setTabChangesFocus(True)
            view.setMinimumHeight(_LEAST_TERMS)
            view.setMaximumHeight(_TERMS_HEIGHT)
            view.setAccessibleName(tr("Terms of {title}").format(title=title))
            self._column.addWidget(view)
            self.terms.append(
                self._check(
                    tr("I have read and accept the terms of {title}").format(title=title), True
                )
            )

    def _ask_code(self, question: Question) -> None:
        if not question.code:
            return
        for title, names in question.code:
            listed = ", ".join(names) or tr("as its publisher offers it")
            self._column.addWidget(
                wrapped_label(tr("Program code of {title}").format(title=title), "section")
            )
            why = tr(
                "The weights come with program code of their publisher ({listed}). It "
                "can do whatever you can on this computer. Allow it only if you trust "
                "the publisher or have read the code."
            ).format(listed=listed)
            self._column.addWidget(wrapped_label(why, "muted"))
        self.code = self._check(tr("Allow this code to run"), question.code_needed)
        if not question.code_needed:
            without = tr("Without it the weights are installed, and the code is left out.")
            self._column.addWidget(wrapped_label(without, "caption"))

    def _ask_other(self, question: Question) -> None:
        if not question.unpublished:
            return
        self._column.addWidget(wrapped_label(tr("Not the published files"), "section"))
        for why in question.unpublished:
            self._column.addWidget(wrapped_label(why, "warning"))
        self.unpublished = self._check(tr("Use them anyway; results will carry a warning"), True)

    def _check(self, text: str, needed: bool) -> QCheckBox:
        check = QCheckBox(text)
        check.toggled.connect(lambda _on: self._update())
        if needed:
            self._needed.append(check)
        self._column.addWidget(check)
        return check

    def _buttons(self, question: Question) -> QHBoxLayout:
        self.cancel = push_button(tr("Cancel"), self.reject)
        self.yes = push_button(question.verb, self._say_yes, primary=not question.danger)
        self.yes.setAutoDefault(False)
        self.cancel.setDefault(True)
        self.cancel.setFocus()
        return row(1, self.cancel, self.yes, margins=(SPACE.xl, 0, SPACE.xl, 0))

    def showEvent(self, event: QShowEvent) -> None:
        # Wrapped text has its height only now.
        width = max(self.width(), _WIDTH)
        room = self.screen().availableGeometry().height() - SPACE.xl
        footer = self.yes.sizeHint().height() + SPACE.s + SPACE.l
        # Measured with the scroll bar: it would take away the width that makes it unnecessary.
        inner = width - self._page.verticalScrollBar().sizeHint().width()
        self.resize(width, min(self._column.totalHeightForWidth(inner) + footer, room))
        super().showEvent(event)

    def _update(self) -> None:
        self.yes.setEnabled(all(check.isChecked() for check in self._needed))

    def _say_yes(self) -> None:
        consent = Consent(
            terms=bool(self.terms) and all(check.isChecked() for check in self.terms),
            code=self.code is not None and self.code.isChecked(),
            unpublished=self.unpublished is not None and self.unpublished.isChecked(),
        )
        self.accept()
        self._agreed(consent)


def is_loaded(live: ModelState | None) -> bool:
    """Return True if a model is in memory or being loaded."""
    return live is not None and live.state in (State.READY, State.BUSY, State.LOADING)


def needs_consent(status: ModelStatus) -> bool:
    """Return True if the user must still accept an installed model's terms or allow its code."""
    unanswered = not status.accepted or _code_unanswered(status)
    return status.usable and not status.card.embedded and unanswered


def can_download(status: ModelStatus) -> bool:
    """Return True if the model's card gives an address to download from."""
    card = status.card
    return not card.embedded and bool(card.repository or all(file.url for file in card.files))


def _code_unanswered(status: ModelStatus) -> bool:
    return status.code in ("not allowed", "changed")


def _terms(status: ModelStatus) -> Sequence[tuple[str, str]]:
    card = status.card
    return ((card.title, card.terms),) if card.terms and not status.accepted else ()


def _programs(card: ModelCard) -> Sequence[tuple[str, Sequence[str]]]:
    names = [file.name for file in card.files if file.code or is_program(file.name)]
    return ((card.title, names),)


def install_question(plan: InstallPlan) -> Question:
    """Return the question to ask before an installation."""
    facts = [
        f"{model.card.title}: {tr_n('%n file', '%n files', len(model.files))}, "
        f"{model_wording.size(model.bytes)}"
        + (tr(", replaces what is installed") if model.replaces else "")
        for model in plan.models
    ]
    left = sum(len(model.left_out) for model in plan.models)
    if left:
        facts.append(
            tr_n(
                "%n other file in it is not needed and left out.",
                "%n other files in it are not needed and left out.",
                left,
            )
        )
    needed = any(needs_code(model.card) for model in plan.models if model.code)
    titles = tr(" and ").join(model.card.title for model in plan.models)
    return Question(
        tr("Install {titles}?").format(titles=titles),
        facts,
        tr("Install"),
        terms=plan.terms,
        code=plan.code,
        code_needed=needed,
        unpublished=plan.unpublished,
    )


def unknown_question(status: ModelStatus, reason: str) -> Question:
    """Return the question whether files, not recognized for a `reason`, are a chosen model's."""
    title = status.card.title
    return Question(
        tr("Is it {title}?").format(title=title),
        [reason],
        tr("Check whether it is {title}").format(title=title),
    )


def _size_guess(card: ModelCard) -> str:
    """Return a sentence on the size of a model whose card does not have it."""
    if not card.memory:
        return tr("Its size is known only once the host is contacted.")
    least = model_wording.size(min(card.memory.values()))
    return tr(
        "About {least}, judging by its memory; exactly known once the host is contacted."
    ).format(least=least)


def download_question(status: ModelStatus) -> Question:
    """Return the question to ask before a download; it names the host and the size."""
    card, host = status.card, host_of(status.card)
    amount = model_wording.size(card.size)
    facts = [
        tr("From {host}: {amount}.").format(host=host, amount=amount)
        if card.size
        else tr("From {host}. {size_guess}").format(host=host, size_guess=_size_guess(card)),
        tr(
            "The host learns this computer's network address and what is downloaded; no image or "
            "patient data is sent."
        ),
    ]
    if card.gated:
        token = bool(os.environ.get("HF_TOKEN"))
        facts.append(
            tr("Its publisher provides it only to those who have accepted its terms there.")
            + (
                ""
                if token
                else tr(" Set HF_TOKEN to your access token before you start Sightline.")
            )
        )
    return Question(
        tr("Download {title}?").format(title=card.title),
        facts,
        tr("Download"),
        terms=_terms(status),
        code=_programs(card) if card.trust_remote_code else (),
        code_needed=needs_code(card),
    )


def agreement_question(status: ModelStatus) -> Question:
    """Return the question to accept an installed model's terms and allow the code in its files."""
    card = status.card
    facts = [tr("Its files are recorded as they are now, so that any later change is detected.")]
    if status.code == "changed":
        facts.append(tr("Its program code has changed since you allowed it."))
    return Question(
        tr("Use {title}?").format(title=card.title),
        facts,
        tr("Accept"),
        terms=_terms(status),
        code=_programs(card) if _code_unanswered(status) else (),
        code_needed=needs_code(card) or status.accepted,
    )


def removal_question(status: ModelStatus) -> Question:
    """Return the question to ask before a model's files are deleted."""
    tools = ", ".join(status.card.tools)
    return Question(
        tr("Remove {title}?").format(title=status.card.title),
        [
            tr("{size} are deleted in {path}.").format(
                size=model_wording.size(status.bytes), path=status.path
            ),
            tr("Tools that then work in part or not at all: {tools}.").format(tools=tools),
        ],
        tr("Remove"),
        danger=True,
    )
