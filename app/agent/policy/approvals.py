"""Asks the user before a remote model is sent data, or a tool does more than read and compute.

The user sees exactly what will run: the arguments are validated and frozen before the question,
shown in full with every invisible character written out, and compared once more before the call.
"""

from __future__ import annotations

import json
import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from pydantic import BaseModel

from app.agent.enforcement.update_plan_tool import OWN
from app.agent.events import ApprovalRequested, ApprovalResolved, RunEvent
from app.agent.loop.emitter import Emitter
from app.agent.messages import ToolCall
from app.agent.policy.grants import Grants, exact, fingerprint
from app.agent.policy.judgements import Judgement, Rule, Touch
from app.agent.policy.policy import Policy
from app.agent.policy.scope import NO_SCOPE, Scope
from app.agent.request import Approve, Decision
from app.tools.api import Approval, ToolSpec

_log = logging.getLogger(__name__)

LONGEST_SHOWN = 50_000
"""Maximum number of characters of a call's arguments shown in an approval question.

Longer ones are refused, not cut.
"""

_DOES = {
    Approval.WRITE: "writes outside the run's own folder",
    Approval.SEND: "sends data to another machine",
    Approval.EXECUTE: "runs a program",
    Approval.READ: "reads",
    Approval.COMPUTE: "computes",
}
_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))
_BLANK = frozenset(
    map(chr, (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0xFFFC, 0x1D159))
) | frozenset(map(chr, [*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
"""Letters and marks without a visible form: fillers and variation selectors (Unicode 16, 23.4)."""

_UNUSUAL = re.compile(r"[^ -~\n]")


def shown_arguments(arguments: Mapping[str, Any]) -> str:
    """Return arguments as JSON text for the user; parsing the text gives exactly these arguments.

    Line breaks, invisible characters, unusual spaces and characters that change the writing
    direction are written as escapes, so that no argument can look like another.
    """
    text = json.dumps(arguments, ensure_ascii=False, indent=2)
    # The only raw control characters are the line breaks that `indent` itself writes.
    return _UNUSUAL.sub(lambda found: _escaped(found[0]) if is_hidden(found[0]) else found[0], text)


def shown_program(text: str) -> str:
    """Return a program's text for the user, its lines as they are and what is invisible as codes.

    A text with such codes differs from the program; the user is to be told so.
    """
    return "".join(_escaped(sign) if sign != "\n" and is_hidden(sign) else sign for sign in text)


def tool_request(
    spec: ToolSpec,
    call: ToolCall,
    arguments: BaseModel | Mapping[str, Any] | None = None,
    judged: Judgement | None = None,
    *,
    remember: bool = True,
) -> dict[str, Any]:
    """Return the fields of the `ApprovalRequested` event that asks whether a call may run.

    Args:
        spec: The tool.
        call: The call as the model wrote it.
        arguments: The validated arguments; None for those of `call`.
        judged: The judgement of the call, for the files and hosts that it would reach.
        remember: Whether to offer an answer that holds for the whole conversation.
    """
    frozen = exact(call.arguments if arguments is None else arguments)
    touches = [_escaped_touch(item) for item in judged.touches] if judged is not None else []
    effect = spec.approval
    reach = "".join(f"{_sentence(item)} " for item in touches)
    if effect == Approval.SEND and judged is not None and not touches:
        reach = "It does not say to which host. "
    return {
        "title": f"Allow {spec.name}?",
        "detail": f"This tool {_DOES.get(effect, 'acts')}. {reach}"
        f"Arguments: {shown_arguments(frozen)}",
        "call_id": call.id,
        "tool": spec.name,
        "arguments": frozen,
        "effect": str(effect),
        "scopes": ["once", "session"] if remember else ["once"],
        "touches": [item.to_dict() for item in touches],
    }


def _sentence(touch: Touch) -> str:
    note = f" ({touch.note})" if touch.note else ""
    return f"It {touch.what} {touch.shown}{note}."


def _escaped_touch(touch: Touch) -> Touch:
    """Return a touched file or host with invisible and direction-changing characters escaped."""
    shown, where, note = (
        "".join(_escaped(sign) if is_hidden(sign) else sign for sign in text)
        for text in (touch.shown, touch.argument, touch.note)
    )
    return replace(touch, shown=shown, argument=where, note=note)


@dataclass(frozen=True, slots=True)
class PolicyVerdict:
    """The decision whether a call may run, and exactly which call it applies to.

    Attributes:
        error: Why the call may not run, for the model; also shown to the user if `told` is empty.
        remedy: What the model should do instead.
        allowed: The fingerprint of the call that was allowed; "" if none was.
        told: The reason for the user, if it is worded differently from `error`; otherwise "".
    """

    granted: bool
    error: str = ""
    remedy: str = ""
    allowed: str = ""
    told: str = ""

    def covers(self, spec: ToolSpec, arguments: BaseModel | Mapping[str, Any]) -> bool:
        """Return whether this tool with these arguments is exactly the call that was allowed.

        To be checked right before the call is made.
        """
        return self.granted and self.allowed == fingerprint(spec, arguments)


@dataclass(frozen=True, slots=True)
class WantedCall:
    """A call that a plan wants to make, with its validated arguments."""

    spec: ToolSpec
    call: ToolCall
    arguments: BaseModel


@dataclass(slots=True)
class PlanAnswers:
    """The user's answers in one run about calls that were asked about together.

    Attributes:
        allowed: How often each exact call, by its fingerprint with what it reaches, may be made.
        refused: The verdicts on calls that may not, by call id.
        asked: The ids of the calls that were asked about, also if the answer was to ask one by one.
    """

    allowed: Counter[str] = field(default_factory=Counter[str])
    refused: dict[str, PolicyVerdict] = field(default_factory=dict[str, PolicyVerdict])
    asked: set[str] = field(default_factory=set[str])

    def takes(self, exact_call: str) -> bool:
        """Return whether a call was allowed; it is used up by that."""
        if not self.allowed[exact_call]:
            return False
        self.allowed[exact_call] -= 1
        return True


@dataclass(frozen=True, slots=True)
class Gate:
    """Decides whether calls may run: by the policy, by the user's earlier answers, or by asking.

    Attributes:
        policy: The rules of the user and the site about tools.
        grants: The user's answers that hold for a whole conversation; shared by all runs of the
            program.
    """

    policy: Policy
    grants: Grants

    def judge(
        self,
        spec: ToolSpec,
        arguments: BaseModel | Mapping[str, Any],
        thread_id: str,
        scope: Scope = NO_SCOPE,
    ) -> Judgement:
        """Return whether to allow, ask about or deny a call, by the policy and earlier answers."""
        judged = self.policy.judge(spec, arguments, scope)
        if judged.rule is Rule.DENY or spec.pack == OWN:
            return judged
        if self.grants.is_refused(thread_id, spec.name):
            reason = f"The user does not want {spec.name} to be used in this conversation."
            told = "You answered that it is not to be used in this conversation."
            remedy = "Do not call it again; go on without it."
            return Judgement(Rule.DENY, reason, remedy=remedy, user_reason=told)
        strict = self.grants.strict
        if strict == "deny" and spec.approval not in (Approval.READ, Approval.COMPUTE):
            reason = f"The user has switched off all tools that act; {spec.name} is one."
            told = "You switched off tools that write, send or run programs, on the page Tools."
            return Judgement(Rule.DENY, reason, remedy="Go on without it.", user_reason=told)
        if strict and judged.rule is Rule.ALLOW:
            return replace(judged, rule=Rule.ASK)
        if judged.rule is Rule.ASK and self._remembered(spec, arguments, thread_id, judged):
            return replace(judged, rule=Rule.ALLOW)
        return judged

    def needs_question(
        self,
        spec: ToolSpec,
        arguments: BaseModel | Mapping[str, Any],
        thread_id: str,
        scope: Scope = NO_SCOPE,
    ) -> bool:
        """Return whether `admit` would ask the user about this call; such a call must run alone."""
        return self.judge(spec, arguments, thread_id, scope).rule is Rule.ASK

    async def ask_together(
        self,
        wanted: Sequence[WantedCall],
        answers: PlanAnswers,
        *,
        thread_id: str,
        emitter: Emitter,
        approve: Approve,
        scope: Scope = NO_SCOPE,
    ) -> None:
        """Ask once about all calls that would each be asked about, and note what is answered.

        Nothing is asked where that is fewer than two calls, or more than can be shown.
        """
        asked: list[tuple[WantedCall, Judgement]] = []
        for one in wanted:
            if one.call.id in answers.asked:
                continue
            judged = self.judge(one.spec, one.arguments, thread_id, scope)
            if judged.rule is Rule.ASK:
                asked.append((one, judged))
        requests = [tool_request(i.spec, i.call, i.arguments, j) for i, j in asked]
        detail = "\n\n".join(f"{one['tool']}: {one['detail']}" for one in requests)
        if len(asked) < 2 or len(detail) > LONGEST_SHOWN:
            return
        shown = ("call_id", "tool", "arguments", "effect", "touches")
        question: dict[str, Any] = {
            "title": f"Allow these {len(asked)} calls?",
            "detail": detail,
            "about": "plan",
            "scopes": ["once", "each"],
            "calls": [{name: one[name] for name in shown} for one in requests],
            "touches": [touch for one in requests for touch in one["touches"]],
        }
        decision = await ask(emitter, approve, question)
        answers.asked.update(one.call.id for one, _ in asked)
        if decision.granted:
            answers.allowed.update(fingerprint(i.spec, i.arguments, j.touches) for i, j in asked)
        elif decision.scope != "each":
            for one, _ in asked:
                answers.refused[one.call.id] = _denied(one.spec, decision.reason, False)

    async def admit(
        self,
        spec: ToolSpec,
        call: ToolCall,
        arguments: BaseModel,
        *,
        thread_id: str,
        emitter: Emitter,
        approve: Approve,
        scope: Scope = NO_SCOPE,
        answers: PlanAnswers | None = None,
    ) -> PolicyVerdict:
        """Return the verdict on a call, after asking the user if the policy requires it.

        `answers` are those that the user gave in this run about several calls together.
        """
        if answers is not None and call.id in answers.refused:
            return answers.refused[call.id]
        judged = self.judge(spec, arguments, thread_id, scope)
        allowed = fingerprint(spec, arguments)
        if judged.rule is Rule.DENY:
            return PolicyVerdict(False, judged.reason, judged.remedy, told=judged.user_reason)
        if judged.rule is Rule.ALLOW:
            return PolicyVerdict(True, allowed=allowed)
        if answers is not None and answers.takes(fingerprint(spec, arguments, judged.touches)):
            return PolicyVerdict(True, allowed=allowed)
        remember = self.policy.remember and not self.grants.strict
        wanted = tool_request(spec, call, arguments, judged, remember=remember)
        if len(wanted["detail"]) > LONGEST_SHOWN:
            return PolicyVerdict(
                False,
                f"The arguments of {spec.name} are too long to be shown to the user for approval.",
                f"Use fewer; at most {LONGEST_SHOWN} characters can be shown.",
            )
        decision = await ask(emitter, approve, wanted)
        if not decision.granted:
            if decision.scope == "session":
                self.grants.refuse(thread_id, spec.name)
            return _denied(spec, decision.reason, decision.scope == "session")
        # The user thought about it for a while: a link may lead elsewhere now.
        again = self.policy.judge(spec, wanted["arguments"], scope)
        if again.rule is Rule.DENY or again.touches != judged.touches:
            return _changed(spec)
        if decision.scope == "session":
            self.grants.grant(thread_id, spec, wanted["arguments"], judged.touches)
        return PolicyVerdict(True, allowed=allowed)

    def _remembered(
        self,
        spec: ToolSpec,
        arguments: BaseModel | Mapping[str, Any],
        thread_id: str,
        judged: Judgement,
    ) -> bool:
        if not self.policy.remember or self.grants.strict:
            return False
        return self.grants.is_granted(thread_id, spec, arguments, judged.touches)


async def ask(emitter: Emitter, approve: Approve, wanted: dict[str, Any]) -> Decision:
    """Emit an approval request with the fields `wanted`, and return the answer of `approve`.

    The answer is emitted, too. If an error prevents an answer, the answer is no.
    """
    approval_id = uuid4().hex
    requested: list[ApprovalRequested] = []

    def keep(**fields: Any) -> RunEvent:
        requested.append(ApprovalRequested(**fields))
        return requested[0]

    emitter.emit(keep, approval_id=approval_id, **wanted)
    decision = Decision(granted=False)
    try:
        answer = await approve(requested[0]) if requested else False
        decision = _offered(answer, requested[0]) if requested else decision
    except Exception as error:
        _log.warning("An approval could not be asked for (%s)", type(error).__name__)
        decision = Decision(granted=False, reason="The question could not be asked.")
    emitter.emit(
        ApprovalResolved,
        approval_id=approval_id,
        granted=decision.granted,
        reason=decision.reason,
        scope=decision.scope,
    )
    return decision


def _offered(answer: Decision | bool, asked: ApprovalRequested) -> Decision:
    """Return the answer, no wider than what was offered; anything but a plain yes is a no."""
    if not isinstance(answer, Decision):
        return Decision(granted=answer is True)
    scope = answer.scope if answer.scope in asked.scopes else "once"
    return Decision(granted=answer.granted is True, scope=scope, reason=answer.reason)


def _denied(spec: ToolSpec, reason: str, for_all: bool) -> PolicyVerdict:
    why = " ".join(reason.split())
    said = f' and said: "{why}"' if why else ""
    where = " in this conversation" if for_all else ""
    advice = (
        "Do not call it again; go on without it."
        if for_all
        else "Do not call it again like this. Go on without it, or say what you would need it for."
    )
    told = f"Not allowed{where}{f': {why}' if why else '.'}"
    return PolicyVerdict(
        False, f"The user did not allow {spec.name}{where}{said}.", advice, told=told
    )


def _changed(spec: ToolSpec) -> PolicyVerdict:
    return PolicyVerdict(
        False,
        f"What {spec.name} would reach changed while the user was asked.",
        "Tell the user; it is asked anew if you call it again.",
    )


def is_hidden(sign: str) -> bool:
    """Return whether a character is invisible or changes the direction of writing."""
    return sign in _BLANK or (sign != " " and unicodedata.category(sign) in _INVISIBLE)


def _escaped(sign: str) -> str:
    code = ord(sign)
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    code -= 0x10000  # JSON knows four digits only: the two halves of UTF-16
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
