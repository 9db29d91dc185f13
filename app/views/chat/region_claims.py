"""From a region on an image back to the chat: the sentences that cite it, and its tool call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from PySide6.QtGui import QTextBlock, QTextCursor
from PySide6.QtWidgets import QMenu, QWidget

from app.agent.answers.evidence import sentences
from app.views.chat.answer import AnswerView
from app.views.chat.dock import ChatDock
from app.views.plain_text import menu_text, one_line
from app.views.translation import tr

_CHARS = 90  # of a sentence in the menu
_MOST = 20  # sentences


@dataclass(frozen=True, slots=True)
class Mention:
    """A sentence of an answer that cites a finding; `start` and `end` are document positions."""

    view: AnswerView
    text: str
    start: int
    end: int


def mentions(dock: ChatDock, finding_id: str) -> list[Mention]:
    """Return the sentences of the shown conversation that cite a finding, the latest first."""
    found: list[Mention] = []
    for run in dock.conversation.runs:
        for view in run.answers:
            block = view.view.document().begin()
            while block.isValid():
                found += _in_block(view, block, partial(dock.leads_to, finding_id=finding_id))
                block = block.next()
    return found[::-1]


def _in_block(
    view: AnswerView, block: QTextBlock, leads: Callable[[str], bool]
) -> Iterator[Mention]:
    text, places = block.text(), list[int]()
    part = block.begin()
    while not part.atEnd():
        fragment = part.fragment()
        target = fragment.charFormat().anchorHref()
        if target and leads(target):
            places.append(fragment.position() - block.position())
        part += 1
    for start, end in sentences(text) if places else ():
        if any(start <= place < end for place in places):
            at = block.position()
            yield Mention(view, text[start:end].strip(), at + start, at + end)


def claims_menu(dock: ChatDock, finding_id: str, parent: QWidget) -> QMenu:
    """Return a menu that leads to the sentences that cite a finding, and to its tool call."""
    menu = QMenu(parent)
    menu.setTitle(tr("Claims about this"))
    found = mentions(dock, finding_id)
    if not found:
        menu.addAction(tr("No sentence that is shown cites it")).setEnabled(False)
    for mention in found[:_MOST]:
        action = menu.addAction(menu_text(one_line(mention.text, _CHARS)))
        action.triggered.connect(partial(_show, dock, mention))
    card = dock.card_of(finding_id)
    if card is not None:
        menu.addSeparator()
        title = one_line(dock.texts.title(card.tool), _CHARS)
        text = tr("Made by [{number}] {title}: arguments, model, weights")
        action = menu.addAction(menu_text(text.format(number=card.evidence, title=title)))
        action.triggered.connect(lambda _checked=False: dock.show_card(card, details=True))
    elif (made := dock.maker_of(finding_id)) is not None:
        menu.addSeparator()
        title = one_line(dock.texts.title(made.tool), _CHARS)
        text = tr("Made by {title}: arguments, model, weights")
        action = menu.addAction(menu_text(text.format(title=title)))
        action.triggered.connect(lambda _checked=False: dock.show_maker(made))
    return menu


def _show(dock: ChatDock, mention: Mention, _checked: bool = False) -> None:
    """Scroll to a sentence and select it."""
    text = mention.view.view
    cursor = QTextCursor(text.document())
    cursor.setPosition(mention.start)
    cursor.setPosition(mention.end, QTextCursor.MoveMode.KeepAnchor)
    text.setTextCursor(cursor)
    dock.conversation.reveal(mention.view)
    column = dock.conversation.widget()
    if column is not None:
        place = text.viewport().mapTo(column, text.cursorRect(cursor).center())
        dock.conversation.ensureVisible(place.x(), place.y(), 0, 60)
