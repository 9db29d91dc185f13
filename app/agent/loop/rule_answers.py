"""A question that rules alone answer: no language model is asked, and nothing is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from app.agent.answers.summary import write_summary
from app.agent.enforcement.director import Director
from app.agent.events import TextDelta
from app.agent.loop.emitter import Emitter
from app.agent.loop.limits import Stop
from app.agent.loop.transcript import Transcript
from app.agent.messages import Message, ToolCall
from app.agent.planning.rules import Act, Finished, NoRule
from app.tools.planning import Plans

BY_RULES = "Answered by rules, no language model was asked: "
"""How an answer begins that no model gave."""

Work = Callable[[str, Sequence[ToolCall]], Awaitable[Stop | None]]
"""Makes the calls of one message, with its text; a `Stop` where a limit was reached."""


@dataclass(slots=True)
class ByRules:
    """Answers one question by rules, where they are certain.

    Attributes:
        question: The user's text.
        plans: What the packs tell.
        director: Decides.
        work: Makes the calls.
        emitter: Tells the answer.
        transcript: Keeps it.
    """

    question: str
    plans: Plans
    director: Director
    work: Work
    emitter: Emitter
    transcript: Transcript

    def begin(self) -> bool:
        """Whether rules take up the question, so that the model need not be asked."""
        return not isinstance(self.director.decide(), NoRule)

    async def answer(self) -> str | Stop | None:
        """The answer of rules alone; None where it takes the model after all."""
        self.director.by_rules = True
        while not isinstance(decision := self.director.decide(), NoRule):
            if isinstance(decision, Act):
                calls = [self.director.rules_call(decision.step)]
            else:
                calls = self.director.before_answer()
            if not calls and isinstance(decision, Finished):
                return self._told(decision)
            stop = await self.work("", calls)
            if stop is not None:
                return stop
        self.director.by_rules = False
        return None

    def _told(self, finished: Finished) -> str:
        director = self.director
        notes = [*finished.notes, *director.notes]
        told = write_summary(
            director.results, [], notes, finished.topics, self.question, self.plans
        )
        text = f"{BY_RULES}{told}"
        self.emitter.emit(TextDelta, text=text)
        self.transcript.say(Message(role="assistant", text=text))
        return text
