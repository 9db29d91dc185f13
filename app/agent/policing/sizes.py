"""How large arguments may be, and which values a site lets them have."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.agent.policing.data import Additions, ArgumentRule, Sizes
from app.agent.policing.verdicts import Judgement, Rule
from app.agent.policing.walk import Piece
from app.tools.api import ToolSpec


def judge(spec: ToolSpec, pieces: Sequence[Piece], additions: Additions) -> list[Judgement]:
    """A judgement for each argument that is too large, or that a site has a rule for."""
    found: list[Judgement] = []
    whole = 0
    for piece in pieces:
        whole += len(piece.value) if isinstance(piece.value, str) else 0
        why = _too_large(piece, additions.sizes)
        if why:
            found.append(_refused(spec, piece.where, why))
    if whole > additions.sizes.whole:
        most = f"{additions.sizes.whole:,}"
        found.append(_refused(spec, "", f"hold more than {most} characters together"))
    for name, rule in additions.rules_for(spec.name):
        for piece in pieces:
            if name in (piece.argument, re.sub(r"\[\d+\]", "", piece.where)):
                found += _by_rule(spec, piece, rule)
    return found


def _too_large(piece: Piece, sizes: Sizes) -> str:
    match piece.value:
        case str() as text if len(text) > sizes.text:
            return f"is longer than {sizes.text:,} characters"
        case int() | float() as number if not _finite(number):
            return "is no finite number"
        case int() | float() as number if abs(number) > sizes.number:
            return f"is beyond {sizes.number:,.0f}"
        case Mapping() | list() as items if len(items) > sizes.items:
            return f"has more than {sizes.items:,} items"
        case _:
            return ""


def _by_rule(spec: ToolSpec, piece: Piece, rule: ArgumentRule) -> list[Judgement]:
    why = _beyond(piece.value, rule)
    if why:
        return [_refused(spec, piece.where, f"{why}, by the policy of this installation")]
    if rule.rule is Rule.ALLOW or piece.default:
        return []
    if rule.rule is Rule.DENY:
        return [_refused(spec, piece.where, "may not be given, by the policy of this installation")]
    reason = f"The policy of this installation asks where {piece.argument} is given."
    return [Judgement(Rule.ASK, reason, piece.where)]


def _beyond(value: Any, rule: ArgumentRule) -> str:
    match value:
        case str() as text if rule.longest is not None and len(text) > rule.longest:
            return f"is longer than {rule.longest:,} characters"
        case Mapping() | list() as items if rule.most is not None and len(items) > rule.most:
            return f"has more than {rule.most:,} items"
        case int() | float() as number if rule.least is not None and not number >= rule.least:
            return f"is below {rule.least:g}"
        case int() | float() as number if rule.greatest is not None and not number <= rule.greatest:
            return f"is above {rule.greatest:g}"
        case str() | int() | float() as item if rule.values and str(item) not in rule.values:
            return f"is none of {', '.join(rule.values)}"
        case _:
            return ""


def _finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number that no float can hold
        return True


def _refused(spec: ToolSpec, where: str, why: str) -> Judgement:
    subject = f"its argument {where}" if where else "its arguments"
    return Judgement(Rule.DENY, f"{spec.name} was not run: {subject} {why}.", where, "Use less.")
