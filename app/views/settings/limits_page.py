"""The page of the limits: how far the assistant may go with one question."""

from __future__ import annotations

from PySide6.QtWidgets import QPushButton

from app.settings import LimitSettings, bounds
from app.views.chat.widgets import row
from app.views.settings.parts import Amount, Check, Column, Count, Form


class LimitsPage(Column):
    """Numbers with their units, within the ranges that the settings know.

    Args:
        limits: What is in use.
    """

    def __init__(self, limits: LimitSettings) -> None:
        super().__init__()
        self.heading(
            "How far may one question go?",
            "Reaching a limit ends the run with a summary of what was found so far; nothing that "
            "was found is lost.",
        )
        form = Form()
        self.steps = self._count("steps", "requests")
        form.put("Steps", self.steps)
        form.note("How often the language model is asked.", self.steps)
        self.tool_calls = self._count("tool_calls", "calls")
        form.put("Tool calls", self.tool_calls)
        form.note("All tools together.", self.tool_calls)
        self.calls_per_task = self._count("calls_per_task", "calls")
        form.put("Calls a task", self.calls_per_task)
        form.note("While one step of the plan is under way.", self.calls_per_task)
        self.minutes = Amount(*bounds(LimitSettings, "minutes"), behind=" minutes")
        form.put("Time", self.minutes)
        form.note("Waiting for your own answers is not counted.", self.minutes)
        self.tokens = self._count("tokens", "tokens", step=50_000)
        form.put("Tokens", self.tokens)
        form.note("Questions and answers of the language model together.", self.tokens)
        self.cost = Amount(*bounds(LimitSettings, "cost"), before="$ ", step=0.5)
        form.put("Cost", self.cost)
        form.note("An estimate, for models whose prices are entered on their page.", self.cost)
        self.rules_first = Check("Let rules answer what they are certain of")
        form.put("Rules first", self.rules_first)
        form.note(
            "A count, a ratio, a file's attributes: no language model is asked, and nothing is "
            "sent. Otherwise the model is asked every question.",
            self.rules_first,
        )
        self.column.addLayout(form)
        self.restore = QPushButton("Restore defaults")
        self.restore.clicked.connect(lambda _checked=False: self.show_limits(LimitSettings()))
        self.column.addLayout(row(self.restore, 1))
        self.column.addStretch(1)
        self.show_limits(limits)

    def limits(self) -> LimitSettings:
        """What is entered; the fields hold no value out of range."""
        return LimitSettings(
            steps=self.steps.value(),
            tool_calls=self.tool_calls.value(),
            calls_per_task=self.calls_per_task.value(),
            tokens=self.tokens.value(),
            cost=self.cost.value(),
            minutes=self.minutes.value(),
            rules_first=self.rules_first.isChecked(),
        )

    def show_limits(self, limits: LimitSettings) -> None:
        """Show other limits; they hold once the settings are saved."""
        self.steps.setValue(limits.steps)
        self.tool_calls.setValue(limits.tool_calls)
        self.calls_per_task.setValue(limits.calls_per_task)
        self.tokens.setValue(limits.tokens)
        self.cost.setValue(limits.cost)
        self.rules_first.setChecked(limits.rules_first)
        self.minutes.setValue(limits.minutes)

    def _count(self, name: str, unit: str, *, step: int = 1) -> Count:
        return Count(*bounds(LimitSettings, name), unit, step=step)
