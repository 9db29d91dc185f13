"""Rules that decide which tool calls run, which ask the user first, and which are refused.

`policy` applies the rules to a call and knows what a run may touch, `arguments` checks what its
arguments name, `site_rules` reads addresses and the rules of a user or a site, `grants` keeps the
user's answers.
"""

from app.agent.policy.grants import Grant, Grants, Refusal, exact, fingerprint
from app.agent.policy.policy import DEFAULTS, Judgement, Policy, Rule, Touch
from app.agent.policy.scope import NO_SCOPE, Scope

__all__ = [
    "DEFAULTS",
    "NO_SCOPE",
    "Grant",
    "Grants",
    "Judgement",
    "Policy",
    "Refusal",
    "Rule",
    "Scope",
    "Touch",
    "exact",
    "fingerprint",
]
