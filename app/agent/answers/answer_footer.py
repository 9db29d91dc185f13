"""What the program says behind an answer, whoever gave it: contradictions, doubtful images."""

from __future__ import annotations

from collections.abc import Collection

from app.agent.answers.disagreements import disagreements
from app.agent.answers.image_warnings import caveats
from app.agent.answers.relevant_results import concerned_by
from app.agent.enforcement.director import Director
from app.agent.request import RunRequest
from app.tools.planning import Plans


def behind(director: Director, request: RunRequest, plans: Plans, cited: Collection[int]) -> str:
    """Paragraphs of their own, each with an empty line before it; "" for nothing.

    Args:
        director: Knows what ran, and whether rules answered.
        request: The question.
        plans: What the packs say.
        cited: Numbers of the results that the answer cites.
    """
    concerned = concerned_by(
        director.record,
        director.intent,
        cited,
        request.thread.history,
        by_rules=director.by_rules,
    )
    told = disagreements(concerned, plans), caveats(concerned, plans)
    return "".join(f"\n\n{part}" for part in told if part)
