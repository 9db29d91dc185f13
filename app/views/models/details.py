"""All that is known of one model."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from app.tools.models.status import ModelStatus
from app.views import icons, wording
from app.views.chat.textview import BULLET, TextView
from app.views.chat.widgets import row
from app.views.models import words
from app.views.models.table import TONES
from app.views.pack_texts import PackTexts
from app.views.settings.fields import wrapped
from app.views.theme import SPACE
from app.views.widgets import label

_TERMS_HEIGHT = 120


class Details(QScrollArea):
    """What a model is for, its limits, licence, files, memory, and what of it was tried."""

    def __init__(self, texts: PackTexts | None = None) -> None:
        super().__init__()
        self._texts = texts or PackTexts()
        self.setObjectName("modelDetails")
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # arrows scroll it
        self.setAccessibleName("About the chosen model")
        inside = QWidget()
        inside.setObjectName("modelDetailsPage")
        self._column = QVBoxLayout(inside)
        self._column.setContentsMargins(SPACE.l, SPACE.m, SPACE.l, SPACE.l)
        self._column.setSpacing(SPACE.xs)
        self.title = wrapped("", "heading")
        self.tools = wrapped("", "muted")
        self.state_icon = label()
        self.state = wrapped("", "strong")
        self.state_more = wrapped("", "muted")
        for part in (self.title, self.tools):
            self._column.addWidget(part)
        line = row(self.state_icon, spacing=6)
        line.addWidget(self.state, 1)
        self._column.addSpacing(SPACE.s)
        self._column.addLayout(line)
        self._column.addWidget(self.state_more)
        # With the box that holds heading and text: they go together, gap and all.
        self.parts: dict[str, tuple[QWidget, TextView]] = {}
        for name in (
            "Made for",
            "Limits",
            "What of it was tried",
            "Licence",
            "Terms",
            "Code",
            "Memory",
            "Files",
            "Where",
            "Source",
            "How to get it",
        ):
            self._add(name)
        self._column.addStretch(1)
        self.setWidget(inside)

    def show_model(self, status: ModelStatus) -> None:
        """Tell all of a model but what it does now."""
        card = status.card
        self.title.setText(wording.one_line(card.title))
        used = ", ".join(f"{self._texts.title(tool)} ({tool})" for tool in card.tools)
        self.tools.setText(used)
        texts = {
            "Made for": card.intended_use,
            "Limits": "\n".join(f"{BULLET}{limit}" for limit in card.limits),
            "What of it was tried": card.tried,
            "Licence": card.licence,
            "Terms": _terms(status),
            "Code": _code(status),
            "Memory": words.memory(card),
            "Files": words.files(status),
            "Where": _where(status),
            "Source": _source(status),
            "How to get it": "" if status.there else status.how_to_get,
        }
        for name, text in texts.items():
            box, view = self.parts[name]
            view.set_plain(text)
            view.setAccessibleName(f"{name}: {wording.one_line(text)[:300]}")
            box.setVisible(bool(text))

    def tell(self, told: words.Told) -> None:
        """Say what it does now."""
        self.state.setText(told.text)
        self.state_more.setText(told.more)
        self.state_more.setVisible(bool(told.more))
        tint = TONES[told.tone]
        self.state.setStyleSheet(f"color: {tint};")
        self.state_icon.setPixmap(icons.icon(told.icon, tint).pixmap(QSize(16, 16)))

    def _add(self, name: str) -> None:
        heading = label(name, "section")
        view = TextView(max_height=_TERMS_HEIGHT if name == "Terms" else 0)
        view.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        box = QWidget()
        inside = QVBoxLayout(box)
        inside.setContentsMargins(0, SPACE.s, 0, 0)
        inside.setSpacing(SPACE.xs)
        inside.addWidget(heading)
        inside.addWidget(view)
        self._column.addWidget(box)
        self.parts[name] = (box, view)


def _terms(status: ModelStatus) -> str:
    if not status.card.terms:
        return ""
    said = "You accepted these terms." if status.accepted else "To be accepted before it is used."
    return f"{said}\n\n{status.card.terms.strip()}"


def _code(status: ModelStatus) -> str:
    return {
        "": "",
        "allowed": "Program code came with its weights. You allowed it to run.",
        "changed": "The program code with its weights was changed since you allowed it. It is not "
        "run until you allow it again.",
        "not allowed": "Its publisher's own program code can come with the weights. It is run only "
        "after your yes.",
    }[status.code]


def _where(status: ModelStatus) -> str:
    when = f"\nInstalled {status.installed[:16].replace('T', ' ')} UTC" if status.installed else ""
    return f"{status.path}{when}"


def _source(status: ModelStatus) -> str:
    card = status.card
    lines = [card.url or (f"https://huggingface.co/{card.repository}" if card.repository else "")]
    if status.revision:
        lines.append(f"Revision {status.revision}")
    if card.gated:
        lines.append("Its publisher asks for a login, and for its terms to be accepted there.")
    return "\n".join(line for line in lines if line)
