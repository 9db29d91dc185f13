"""Questions of a run to the user, as cards: may a tool run, may it use an unsuitable image?

The user answers with buttons, never by typing. A card shows a heading, the question and the
buttons; after the answer, one line with the outcome.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.agent.events import ApprovalRequested
from app.agent.policy.approvals import shown_arguments, shown_program
from app.agent.request import Decision
from app.views.chat import run_wording
from app.views.chat.widgets import ElidedText, WrappedText, link_button, show_open
from app.views.layouts import Flow, column, icon_row
from app.views.plain_text import one_line
from app.views.text_view import LongText, literal_view
from app.views.theme import SPACE, THEME, restyle
from app.views.translation import tr, tr_report, translatable
from app.views.widgets import IconLabel, label, push_button
from app.views.wording import PackTexts

REASON_CHARS = 500
ARM_MS = 300  # ms; a click meant for the widget that stood here before must not allow anything
_MAX_HEIGHT = 240
_PROGRAM_HEIGHT = 420
_WAITS = translatable("The assistant is waiting for your answer.")
_CODES = translatable("Invisible characters are shown as their codes.")
_OF_CALL = ("tool", "arguments", "effect", "touches")
_KEY = re.compile(r'^(\s*)("(?:[^"\\]|\\.)*")(?=: )', re.MULTILINE)
_SCROLL = translatable("Scroll up to see what is asked; then it can be allowed.")
_UNSUITABLE = translatable(
    "Results on an image that a tool was not made for may be meaningless. Your yes applies to this "
    "image in this conversation, and every result on it says so."
)

Answer = Callable[[str, Decision], object]
"""`answer(approval_id, decision)` hands an answer to the run."""


class RequestCard(QFrame):
    """A card with a run's question to the user, answered once; it never takes the focus."""

    def __init__(
        self,
        event: ApprovalRequested,
        answer: Answer,
        texts: PackTexts | None = None,
        *,
        live: bool = True,
    ) -> None:
        super().__init__()
        self.approval_id = event.approval_id
        self.call_id = event.call_id
        self.answered = False
        self._answer = answer
        self._texts = texts or PackTexts()
        self._live = live  # False for a question of an earlier run
        self.setObjectName("chatCard")
        self.setProperty("state", "approval")
        self.setAccessibleName(
            tr("Approval needed: {title}").format(title=one_line(tr_report(event.title)))
        )
        head = self._make_head(event)
        self.what, self._choices = QWidget(), QWidget()
        self._fill_what(column(spacing=6, parent=self.what), event)
        self._fill_choices(column(parent=self._choices), event)
        self._choices.setVisible(live)
        outcome = self._make_outcome()
        margins = (SPACE.m, 10, SPACE.m, 10)
        column(head, self.what, self._choices, outcome, margins=margins, parent=self)

    def appear(self) -> None:
        """Called when the card has been added to the conversation; subclasses may act on it."""

    def resolve(self, granted: bool, reason: str = "", scope: str = "once") -> None:
        """Show the answer; `scope` is "once", or "session" if it holds for the conversation."""
        text = self._outcome(granted, scope)
        mark = ("circle-check", THEME.ok) if granted else ("ban", THEME.text_faint)
        self._close(f"{text}: {reason}" if reason else text, *mark)

    def expire(self) -> None:
        if not self.state.full:
            self._close(tr("Not answered; nothing was done."), "ban", THEME.text_faint)

    # -- for each kind of question

    def _fill_what(self, layout: QVBoxLayout, event: ApprovalRequested) -> None:
        raise NotImplementedError

    def _fill_choices(self, layout: QVBoxLayout, event: ApprovalRequested) -> None:
        raise NotImplementedError

    def _outcome(self, granted: bool, scope: str) -> str:
        raise NotImplementedError

    # -- building

    def _make_head(self, event: ApprovalRequested) -> QLayout:
        calls = tr("Allow these {count} calls?").format(count=len(event.calls))
        self.title = literal_view(calls if event.calls else tr_report(event.title))
        self.title.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.effect = label(run_wording.effect(event.effect), "caption", wrap=True)
        self.effect.setVisible(bool(event.effect))
        mark = IconLabel("shield-check", 18, THEME.warning)
        return icon_row(mark, column(self.title, self.effect, spacing=2))

    def _make_outcome(self) -> QWidget:
        self._show = link_button(tr("What was asked"), action=self._toggle)
        show_open(self._show, False)
        self._show.hide()
        self._mark = IconLabel("ban", 14, THEME.text_faint)
        self.state = WrappedText("caption")
        self._resolved = QWidget()
        # The button stands below: beside the text it would take half of a narrow dock.
        lines = column(icon_row(self._mark, self.state, 6), spacing=2, parent=self._resolved)
        lines.addWidget(self._show, 0, Qt.AlignmentFlag.AlignLeft)
        self._resolved.hide()
        return self._resolved

    # -- answering

    def _say(self, decision: Decision) -> None:
        if self.answered:
            return
        self.answered = True
        if self._has_focus():
            self.title.setFocus()  # until the button that shows the question is there
        self._choices.setEnabled(False)
        self._answer(self.approval_id, decision)

    def _close(self, text: str, name: str, tint: str) -> None:
        self.answered = True
        self._show.show()
        if self._has_focus():
            self._show.setFocus()  # else Qt gives it to some button of the toolbar
        self._choices.hide()
        self.what.hide()
        self.setProperty("state", "")
        restyle(self)
        self._mark.set_icon(name, tint)
        self.state.set_full(text)
        self.setAccessibleName(f"{self.title.plain()} {self.state.full}")
        self._resolved.show()

    def _has_focus(self) -> bool:
        focused = self.window().focusWidget()
        return focused is self or (focused is not None and self.isAncestorOf(focused))

    def _toggle(self) -> None:
        opened = self.what.isHidden()
        self.what.setVisible(opened)
        show_open(self._show, opened)


class GuardedCard(RequestCard):
    """A card with buttons for yes that work only once the whole question has been on the screen."""

    texts: Sequence[LongText] = ()

    def appear(self) -> None:
        """Start a timer that enables the yes buttons once the question has been on the screen."""
        self._arming = QTimer(self, singleShot=True, interval=ARM_MS)
        self._arming.timeout.connect(self._arm)
        if self._live:
            self._arming.start()

    def _add_detail(self, layout: QVBoxLayout, text: str, name: str) -> None:
        self.detail = literal_view(text, name=name, max_height=_MAX_HEIGHT)
        layout.addWidget(self.detail)

    def _add_answers(
        self, layout: QVBoxLayout, *parts: QWidget | QLayout, yes: Sequence[QPushButton]
    ) -> None:
        """Add a hint and the answers; the buttons `yes` wait until the question was seen."""
        self._waits = label(tr(_WAITS), "faint", wrap=True)
        self._yes_buttons = yes
        for button in yes:
            button.setEnabled(False)
        layout.addLayout(column(self._waits, *parts))

    def _arm(self) -> None:
        """Enable yes as soon as every part was on the screen."""
        if self.answered:
            return
        if not all(text.complete for text in self.texts):
            self._arming.start()
            return
        self._unseen = [part for part in self._unseen if part.visibleRegion().isEmpty()]
        self._waits.setText(tr(_SCROLL if self._unseen else _WAITS))
        if self._unseen:
            self._arming.start()
            return
        for button in self._yes_buttons:
            button.setEnabled(True)


class ApprovalCard(GuardedCard):
    """Asks whether a tool, or each of a plan's calls, may run, with arguments, files and hosts.

    Tab comes to No first.
    """

    arguments: LongText | None = None  # of the (last) call

    def _fill_what(self, layout: QVBoxLayout, event: ApprovalRequested) -> None:
        self.touched: list[_ReachedPlace] = []
        self.programs: list[LongText] = []
        self.texts: list[LongText] = []
        self._unseen: list[QWidget] = [self.title]
        self._count = len(event.calls)
        for item in event.calls:
            head = label(run_wording.effect(str(item.get("effect", ""))), "caption", wrap=True)
            self._add_call(layout, **{name: item[name] for name in _OF_CALL}, head=head)
        if event.tool and not event.calls:
            of_call = {name: getattr(event, name) for name in _OF_CALL}
            self._add_call(layout, **of_call)
        self._add_detail(layout, event.detail, tr("What it would do"))
        self.detail.setProperty("tone", "muted")
        # The detail of a tool's request repeats its effect and arguments.
        told = event.calls or (event.tool and event.effect)
        self.detail.setVisible(bool(event.detail.strip()) and not told)

    def _add_call(
        self,
        layout: QVBoxLayout,
        tool: str,
        arguments: Mapping[str, Any],
        effect: str,
        touches: Sequence[Mapping[str, str]],
        head: QWidget | None = None,
    ) -> None:
        """Show exactly what one call would do; `head` says its effect where there are several."""
        touched = [_ReachedPlace(item) for item in touches]
        self.touched += touched
        self._unseen += touched
        self.tool = ElidedText(f"{self._texts.title(tool)}  ·  {tool}", "label")
        self.tool.setAccessibleName(tr("Tool: {tool}").format(tool=one_line(tool)))
        self.arguments = LongText(_MAX_HEIGHT, tone="mono")
        self.arguments.setAccessibleName(tr("The exact arguments"))
        self.texts.append(self.arguments)
        programs = _programs(effect, arguments)
        others = {key: value for key, value in arguments.items() if key not in programs}
        text, hidden = _argument_text(others)
        self.arguments.append_plain(text)
        for part in (self.tool, *([head] if head else []), *touched, self.arguments):
            layout.addWidget(part)
        if programs and not others:
            self.arguments.hide()
        elif head is not None:
            self._unseen.append(self.arguments)
        for name, program in programs.items():
            hidden |= self._add_program(layout, name, program)
        if hidden:
            layout.addWidget(label(tr(_CODES), "warning", wrap=True))

    def _add_program(self, layout: QVBoxLayout, name: str, program: str) -> bool:
        """Show the program that would run, line by line; return whether some of it is as codes."""
        shown = shown_program(program)
        count = program.rstrip("\n").count("\n") + 1
        heading = tr("{name}, {lines} lines:").format(name=json.dumps(name), lines=count)
        view = LongText(_PROGRAM_HEIGHT, tone="mono")
        view.setAccessibleName(tr("The program that would run"))
        font = view.font()
        for ligatures in ("calt", "liga"):  # ">=" is no single sign
            font.setFeature(QFont.Tag(ligatures), 0)
        view.setFont(font)
        view.append_plain(shown)
        layout.addWidget(label(heading, "caption"))
        layout.addWidget(view)
        self.programs.append(view)
        self.texts.append(view)
        self._unseen.append(view)
        return shown != program

    def _fill_choices(self, layout: QVBoxLayout, event: ApprovalRequested) -> None:
        self.reason = QLineEdit()
        self.reason.setMaxLength(REASON_CHARS)
        self.reason.setPlaceholderText(tr("Reason for not allowing it (optional)"))
        self.reason.setAccessibleName(tr("Reason for not allowing it"))
        self.reason.setAccessibleDescription(tr("Enter refuses; the assistant is told the reason"))
        self.reason.setToolTip(tr("The assistant is told the reason. Enter refuses."))
        self.reason.returnPressed.connect(lambda: self._refuse("once"))
        deny = tr("Allow none") if self._count else tr("Don't allow")
        self.deny = push_button(deny, lambda: self._refuse("once"))
        self.deny_session = push_button(
            tr("Not in this conversation"), lambda: self._refuse("session")
        )
        self.deny_session.setToolTip(
            tr("The tool is refused, whatever its arguments, until Sightline is closed")
        )
        self.each = push_button(
            tr("Ask one by one"), lambda: self._say(Decision(granted=False, scope="each"))
        )
        self.each.setVisible("each" in event.scopes)
        allow = tr("Allow all {count}").format(count=self._count) if self._count else tr("Allow")
        self.allow = push_button(
            tr("Allow once") if event.tool else allow,
            lambda: self._say(Decision(granted=True)),
        )
        self.allow_session = push_button(
            tr("Allow in this conversation"), lambda: self._say(Decision(True, "session"))
        )
        self.allow_session.setToolTip(
            tr("The same tool with the same arguments is not asked again")
        )
        once = Flow(SPACE.s, self.deny, self.each, self.allow)
        session = Flow(SPACE.s, self.deny_session, self.allow_session)
        yes = (self.allow, self.allow_session)
        self._add_answers(layout, self.reason, once, session, yes=yes)
        for button in (self.deny_session, self.allow_session):
            button.setVisible("session" in event.scopes)
        self.setFocusProxy(self.reason)

    def _outcome(self, granted: bool, scope: str) -> str:
        if scope == "session":
            allowed, refused = (
                tr("Allowed in this conversation"),
                tr("Not allowed in this conversation"),
            )
            return allowed if granted else refused
        if self._count:
            asked = tr("Asked one by one") if scope == "each" else tr("None of them allowed")
            return tr("All {count} allowed").format(count=self._count) if granted else asked
        if not granted:
            return tr("Not allowed")
        return tr("Allowed") if self.arguments is None else tr("Allowed once")

    def _refuse(self, scope: Literal["once", "session"]) -> None:
        reason = " ".join(self.reason.text().split())
        self._say(Decision(granted=False, scope=scope, reason=reason))


def _programs(effect: str, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the arguments that are programs: texts of several lines for a tool that runs them."""
    if effect != "execute":
        return {}
    return {k: v for k, v in arguments.items() if isinstance(v, str) and "\n" in v}


def _argument_text(arguments: Mapping[str, Any]) -> tuple[str, bool]:
    """Return arguments as JSON (ASCII keys, escaped quotes), and if any text would be hidden."""
    if not arguments:
        return tr("No arguments."), False
    text = shown_arguments(arguments)
    keys = _KEY.sub(lambda found: found[1] + json.dumps(json.loads(found[2])), text)
    return keys, text != json.dumps(arguments, ensure_ascii=False, indent=2)


class OverrideCard(GuardedCard):
    """Asks whether a tool may use an image unsuitable for it; Tab reaches "Don't use it" first."""

    def _fill_what(self, layout: QVBoxLayout, event: ApprovalRequested) -> None:
        self._add_detail(layout, event.detail, tr("Reasons against it"))
        self._unseen = [self.title, self.detail]
        about = [self._texts.title(event.tool) if event.tool else "", one_line(event.image)]
        self.about = ElidedText("  ·  ".join(part for part in about if part), "caption")
        self.about.setVisible(bool(self.about.full))
        layout.addWidget(self.about)
        layout.addWidget(label(tr(_UNSUITABLE), "caption", wrap=True))

    def _fill_choices(self, layout: QVBoxLayout, event: ApprovalRequested) -> None:
        self.deny = push_button(
            tr("Don't use it"), lambda: self._say(Decision(False)), primary=True
        )
        self.allow = push_button(tr("Use it anyway"), lambda: self._say(Decision(True)))
        answers = Flow(SPACE.s, self.deny, self.allow)
        self._add_answers(layout, answers, yes=(self.allow,))
        self.setFocusProxy(self.deny)

    def _outcome(self, granted: bool, scope: str) -> str:
        return tr("Used at your request") if granted else tr("Not used")


class _ReachedPlace(QFrame):
    """A file or host to be reached by its resolved name, escaped by the policy."""

    def __init__(self, touched: Mapping[str, str]) -> None:
        super().__init__()
        self.setObjectName("chatTouched")
        shown = touched.get("shown", "")
        what, note = (tr_report(touched.get(key, "")) for key in ("what", "note"))
        self.setAccessibleName(f"{one_line(what)} {one_line(shown, 600)}")
        argument = touched.get("argument", "")
        head = WrappedText("caption")
        head.set_full(f"{what[:1].upper()}{what[1:]}" + (f" ({argument})" if argument else ""))
        self.place = literal_view(shown, "place", self.accessibleName())
        layout = column(head, self.place, spacing=2, margins=(SPACE.s, 6, SPACE.s, 6), parent=self)
        if note:
            warning = WrappedText("warning")
            warning.set_full(note)
            layout.addWidget(warning)
