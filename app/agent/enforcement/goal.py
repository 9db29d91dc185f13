"""Whether what a question asks for was found out, about the images that it is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.agent.call_log import CallLog
from app.agent.enforcement.verdicts import GoalVerdict, judge_goal
from app.agent.image_reference import image_reference, name_of, unsuitable_image
from app.agent.messages import Message
from app.agent.planning import Intent
from app.tools.planning import Plans


class Goal:
    """The goal of one question.

    Args:
        plans: What the packs tell.
        intent: What is asked.
        record: The calls that ran.
    """

    def __init__(self, plans: Plans, intent: Intent, record: CallLog) -> None:
        notes = intent.scene.images
        self._plans = plans
        self._notes = notes
        self._record = record
        self._schemas = intent.scene.tools
        # The open images that the question names.
        by_id = {str(note.get("id")): name_of(note, notes) for note in notes}
        self._named = tuple(by_id[name] for name in intent.images if name in by_id)
        self._images = frozenset(
            image_reference(note) for note in notes if note.get("id") in intent.images
        )

    def verdict(
        self, needed: Intent, results: Sequence[Message], waiting: Sequence[str]
    ) -> GoalVerdict:
        """By what ran now, and what earlier questions found out about the same image.

        Args:
            needed: What is asked for.
            results: Those of this run.
            waiting: What the plan says is still to come.
        """
        meant = [message for message in results if self._meant(message)]
        verdict = judge_goal(
            needed,
            self._plans,
            meant,
            waiting,
            self._schemas,
            earlier=[item.message for item in self._record.earlier(self._images)],
            barred=lambda tool: self._barred(tool, needed),
        )
        if len(meant) < len(results) and not verdict.complete:
            names = " and ".join(self._named)
            verdict = replace(verdict, why=f"{verdict.why} The question is about {names}.")
        return verdict

    def found(self, results: Sequence[Message]) -> bool:
        """Whether anything gave a result, now or for an earlier question about the same image."""
        return any(item.ok for item in results) or any(self._record.earlier())

    def tried(self, tool: str, results: Sequence[Message]) -> bool:
        """Whether a tool ran on an image that the question is about, however it ended."""
        return any(message.tool == tool and self._meant(message) for message in results)

    def _barred(self, tool: str, needed: Intent) -> str:
        """Why a tool can run on nothing that is open; "" where it can."""
        if not self._notes:
            return f"{tool} needs an image, and none is open" if needed.needs_image else ""
        whys = [unsuitable_image(self._plans.rule(tool).accepts, note) for note in self._notes]
        return f"{tool} is not for what is open: {whys[0]}" if all(whys) else ""

    def _meant(self, message: Message) -> bool:
        """Whether a result may be about an image that the question names, if it names any."""
        if not self._images:
            return True
        ended = self._record.of(message.call_id)
        return ended is None or ended.about(self._images)
