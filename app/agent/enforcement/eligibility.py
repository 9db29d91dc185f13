"""Eligibility of tools: which may run for a question, and on which images.

A tool is refused if its pack excludes it, if the question leaves it out, or if it is not suitable
for the image. Rules never insert such a tool by themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.agent.call_log import CallLog
from app.agent.enforcement.rulings import GO_ON_WITHOUT, Refusal
from app.agent.events import Override
from app.agent.image_reference import unsuitable_image
from app.agent.loop.tool_execution import Tools
from app.agent.messages import ToolCall
from app.agent.planning import Intent
from app.tools.pack_plan import Plans, Priority


@dataclass(frozen=True)
class Eligibility:
    """Decides which tools may be called during a run.

    Attributes:
        plans: The rules that the tool packs declare.
        intent: What the question asks for.
        tools: The tools of the packs.
        record: The calls that have finished so far.
    """

    plans: Plans
    intent: Intent
    tools: Tools
    record: CallLog

    def may(self, tool: str) -> bool:
        """Return whether rules may insert this tool, regardless of the image."""
        excluded = self.plans.rule(tool).priority is Priority.EXCLUDED
        there = self.tools.get(tool) is not None
        return there and not excluded and tool not in self.intent.left_out

    def barred(self, call: ToolCall) -> Refusal | None:
        """Return a refusal if a call may not run on any image; None if it may."""
        name = call.name
        if self.plans.rule(name).priority is Priority.EXCLUDED:
            reason = f"{name} is excluded by its pack: it never runs for a question."
            return Refusal(call, Override(rule="excluded", tool=name, reason=reason), GO_ON_WITHOUT)
        words = self.intent.left_out.get(name)
        if words is not None:
            said = f' ("{words}")' if words else ""
            reason = f"The question leaves {name} out{said}."
            return Refusal(call, Override(rule="left_out", tool=name, reason=reason), GO_ON_WITHOUT)
        return None

    def unsuitable(self, call: ToolCall, images: Collection[str]) -> Refusal | None:
        """Return a refusal if the tool is unsuitable for one of these images.

        None if the call may run.
        """
        accepts = self.plans.rule(call.name).accepts
        if accepts.asks:
            return None  # it refuses by itself, unless the user wants it
        for key in sorted(images):
            note = self.record.note(key)
            why = unsuitable_image(accepts, note) if note is not None else ""
            if why:
                reason = f"{call.name} is not for this image: {why}."
                override = Override(rule="unsuitable", tool=call.name, reason=reason)
                return Refusal(call, override, "Choose a tool that is for this image, or say so.")
        return None

    def blocked(self, name: str, images: Collection[str]) -> str:
        """Return why a tool cannot give a result for these images, as a clause.

        "" if it may run.
        """
        if self.tools.get(name) is None:
            return f"{name} is not installed"
        if name in self.intent.left_out:
            return f"the question leaves {name} out"
        if self.record.failed_here(name, images):
            return f"{name} failed"
        accepts = self.plans.rule(name).accepts
        notes = filter(None, (self.record.note(key) for key in sorted(images)))
        why = next(filter(None, (unsuitable_image(accepts, note) for note in notes)), "")
        return f"{name} is not for this image: {why}" if why else ""

    def preferred(self, names: Sequence[str], images: Collection[str]) -> list[str]:
        """Return the tools that may run, the one that best matches the question first."""

        def rank(name: str) -> tuple[bool, bool, bool, int]:
            rule = self.plans.rule(name)
            meant = name in self.intent.subjects
            asked = self.intent
            return (name not in asked.wanted, name not in asked.named, not meant, -rule.priority)

        fit = (name for name in names if self.fit(name, images))
        return sorted(fit, key=rank)

    def fit(self, name: str, images: Collection[str]) -> bool:
        """Return whether rules may insert this tool for these images."""
        return self.may(name) and not self.blocked(name, images)
