"""A card for results that contradict each other: each side with its result and its findings."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QPushButton

from app.agent.events import Side, ToolsDisagree
from app.views.chat.finding_links import FindingChip
from app.views.chat.tool_card import ChatServices, ToolCard
from app.views.chat.widgets import WrappedText, link_button
from app.views.layouts import Flow, column, icon_row
from app.views.plain_text import one_line
from app.views.text_view import RESULT_SCHEME
from app.views.theme import SPACE, THEME
from app.views.translation import tr
from app.views.widgets import IconLabel, label

_MOST_CHIPS = 6


class DisagreementCard(QFrame):
    """Lists the sides of a disagreement, none of them first by right: there is no vote.

    Each side has its tool, what that says, a button with the result's number that leads to its
    card, and a chip for each finding that shows it on the image.
    """

    def __init__(
        self,
        found: ToolsDisagree,
        services: ChatServices,
        card_of: Callable[[int], ToolCard | None],
    ) -> None:
        super().__init__()
        self.setObjectName("chatCard")
        self.setProperty("state", "approval")
        self.found = found
        self.chips: list[FindingChip] = []
        self.citations: list[QPushButton] = []
        head = tr("The tools disagree on {what}").format(what=one_line(found.about, 200))
        title = WrappedText("strong")
        title.set_full(head)
        self.setAccessibleName(head)
        lines = icon_row(IconLabel("triangle-alert", 14, THEME.warning), title)
        layout = column(lines, spacing=6, margins=(SPACE.m, SPACE.s, SPACE.m, SPACE.s), parent=self)
        if found.image:
            layout.addWidget(label(one_line(found.image, 200), "caption", wrap=True))
        for side in found.sides:
            words = WrappedText()
            words.set_full(services.texts.with_titles(side.says, {side.tool}))
            layout.addWidget(words)
            layout.addLayout(self._leads(side, services, card_of(side.evidence)))
        note = tr("Nothing was averaged and nobody voted: look at the image yourself.")
        layout.addWidget(label(note, "caption", wrap=True))

    def _leads(self, side: Side, services: ChatServices, card: ToolCard | None) -> Flow:
        target = f"{RESULT_SCHEME}{side.evidence}"
        button = link_button(f"[{side.evidence}]", action=lambda: services.follow(target))
        button.setAccessibleName(tr("Show result {number}").format(number=side.evidence))
        self.citations.append(button)
        findings = card.findings if card else ()
        places = (key.partition(".")[2] for key in side.items)
        items = [card.item(int(place)) for place in places if card and place.isdecimal()]
        named = {key for item in items if item is not None for key in item.findings}
        # Of a tool that says nothing of single findings all are shown, else none of another one.
        shown = [one for one in findings if one.id in named or not side.items]
        chips = [services.links.chip(one) for one in shown[:_MOST_CHIPS]]
        self.chips += chips
        return Flow(SPACE.xs, button, *chips)
