"""The policy: which tool calls run, which ask the user first, and which are refused.

There are rules for each effect that a tool declares, and for the files, hosts and sizes that its
arguments name. A site may set stricter ones. What a model, a tool or a file says is never a reason:
a decision rests on the tool's declaration, on these rules, on what the arguments would reach, and
on the user's own answers.
"""

from __future__ import annotations

import difflib
import json
import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from app.agent.enforcement.update_plan_tool import OWN
from app.agent.policy.arguments import NestedTooDeeply, judge_arguments
from app.agent.policy.grants import exact
from app.agent.policy.judgements import STRICTNESS, Judgement, Rule, strictest
from app.agent.policy.scope import NO_SCOPE, Scope
from app.agent.policy.site_rules import EVERY, parse_rules
from app.errors import UsageError
from app.settings import PolicySettings
from app.tools.api import Approval, ToolSpec
from app.user_files import read_regular

_log = logging.getLogger(__name__)

DEFAULTS: Mapping[Approval, Rule] = {
    Approval.READ: Rule.ALLOW,
    Approval.COMPUTE: Rule.ALLOW,
    Approval.WRITE: Rule.ASK,
    Approval.SEND: Rule.ASK,
    Approval.EXECUTE: Rule.ASK,
}
"""The default rule for each effect."""

_STRICT = {"read": "ask", "compute": "ask", "write": "deny", "send": "deny", "execute": "deny"}
"""Rules used if a site's cannot be read; they are strict because the site's may be as well."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Judges tool calls by the rules in `DEFAULTS` and by stricter ones in `rules`.

    `also` are further policies that apply, such as the site's in addition to the user's.
    """

    rules: PolicySettings = field(default_factory=PolicySettings)
    also: tuple[Policy, ...] = ()

    @classmethod
    def standard(cls) -> Policy:
        """Return the policy without added rules: only reading and computing run without asking."""
        return cls()

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Policy:
        """Return the policy described by a site's file or by the settings; see `policy.site_rules`.

        Raises:
            UsageError: Part of the data is not understood.
        """
        return cls(parse_rules(data))

    def rule(self, spec: ToolSpec) -> Rule:
        """Return the strictest rule for the tool's name and effect; ASK for an unknown effect."""
        effect = spec.approval  # once: a pack's own type may answer differently the second time
        tools = self.rules.tools
        own = (
            cast("Mapping[str, Rule]", self.rules.effects).get(effect),
            tools.get(spec.name),
            tools.get(EVERY),
        )
        rules = [DEFAULTS.get(effect, Rule.ASK), *(Rule(rule) for rule in own if rule)]
        rules += [policy.rule(spec) for policy in self.also]
        return max(rules, key=STRICTNESS.__getitem__)

    @property
    def remember(self) -> bool:
        """True if the user may allow a call for a whole conversation."""
        return self.rules.remember and all(policy.remember for policy in self.also)

    def judge(
        self,
        spec: ToolSpec,
        arguments: BaseModel | Mapping[str, Any],
        scope: Scope = NO_SCOPE,
    ) -> Judgement:
        """Return the strictest judgement of a call with exactly these arguments."""
        rule = self.rule(spec)
        if rule is Rule.DENY:
            reason = f"The policy of this installation does not allow {spec.name}."
            return Judgement(rule, reason, remedy="Go on without it.")
        by_effect = Judgement(rule)
        if spec.pack == OWN:
            return by_effect  # the loop's own tools reach nothing but the conversation
        plain = exact(arguments)
        try:
            by_arguments = judge_arguments(spec, plain, scope, self.rules)
        except (NestedTooDeeply, RecursionError):
            reason = f"{spec.name} was not run: its arguments are nested too deeply."
            return Judgement(Rule.DENY, reason, remedy="Use a flatter form.")
        others = (policy.judge(spec, plain, scope) for policy in self.also)
        return strictest([by_effect, by_arguments, *others])

    def unknown_names(self, specs: Collection[ToolSpec]) -> list[str]:
        """Return a sentence for each rule that names a tool that does not exist."""
        known = {EVERY, *(spec.name for spec in specs)}
        sentences = [
            f'A rule names the tool "{name}", which is not installed.{_suggestion(name, known)}'
            for name in self.rules.tools
            if name not in known
        ]
        for policy in self.also:
            sentences += policy.unknown_names(specs)
        return list(dict.fromkeys(sentences))


def _suggestion(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(names), n=1)
    return f" Is {near[0]} meant?" if near else ""


def site_policies(files: Iterable[Path], notices: list[str]) -> tuple[Policy, ...]:
    """Return the policies in a site's JSON files; they apply in addition to the user's own.

    `notices` receives a sentence for the user for each file that cannot be used; until it is
    corrected, the user is asked before every tool, and none may write, send or run programs.
    """
    policies: list[Policy] = []
    for file in files:
        try:
            data: Any = json.loads(read_regular(file).decode("utf-8-sig"))
            if not isinstance(data, dict):
                raise UsageError("it is not a JSON object")
            policies.append(Policy.from_data(cast("dict[str, Any]", data)))
            continue
        except FileNotFoundError:
            continue
        except UsageError as error:
            reason = error.reason
        except OSError:
            reason = "it cannot be read"
        except (ValueError, RecursionError):
            reason = "it is not JSON"
        _log.warning("a site's policy for tools cannot be used")
        notices.append(
            f"The policy for tools of this computer cannot be used ({reason}): until it is "
            "corrected every tool asks, and none may write, send or run programs. Tell this "
            "computer's administrator."
        )
        policies.append(Policy.from_data({"effects": _STRICT}))
    return tuple(policies)
