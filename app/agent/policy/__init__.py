"""Rules that decide which tool calls run, which ask the user first, and which are refused.

`policy` applies the rules to a call, `arguments` checks what its arguments name, `hosts` reads
network addresses, `scope` knows what a run may touch, `site_rules` reads the rules of a user or a
site, `grants` keeps the user's answers.
"""

from app.agent.policy.grants import Grant, Grants, ToolRefusal, exact, fingerprint
from app.agent.policy.judgements import Judgement, Rule, Touch
from app.agent.policy.policy import DEFAULTS, Policy
from app.agent.policy.scope import NO_SCOPE, Scope

__all__ = [
    "DEFAULTS",
    "NO_SCOPE",
    "Grant",
    "Grants",
    "Judgement",
    "Policy",
    "Rule",
    "Scope",
    "ToolRefusal",
    "Touch",
    "exact",
    "fingerprint",
]
