"""What the plan of a pack from elsewhere may say: of its own tools, by words that mean something.

A plan takes part in every question. One that called "is" or "image" its own would have the model
asked once more about nearly each, and one that ruled over another pack's tools could switch them
off.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from app.tools.planning import PackPlan, QuestionKind

_WORDS = """
    a about all an and any anything are as at be been but by can could do does done for from get
    give go has have help here how i if in is it its just know like look made make may me more my
    need no not now of ok on one or out please say see shall should show so some tell than that the
    them then there these they thing this those to up us use want was we were what when where which
    who why will with would yes you your
    case file files finding findings image images patient picture pictures question result results
    scan scans study
    aber alle als am an auch auf aus bei bild bilder bitte da das dass datei dem den der des die
    dies diese dieser dieses du ein eine einen er es etwas frage für gibt hat hier ich ihr im in ist
    ja kann kannst man mir mit nach nein nicht noch nur oder sag sagen sehen sich sie siehst sind so
    studie und uns von was wer wie wir wird wo zeig zeige zeigen zu zum zur
"""
EVERYDAY = frozenset(_WORDS.split())
"""Words that alone make no question one for any tool, in English and German."""


def bounded(plan: PackPlan, tools: Collection[str]) -> PackPlan:
    """The plan without everyday words; a kind that has no others is left out.

    A kind that is declared `bare` keeps them: it is meant only where nothing else is said.

    Args:
        plan: As the pack tells it.
        tools: The pack's own tools.

    Raises:
        ValueError: It rules over a tool that is not its own.
    """
    foreign = sorted({rule.tool for rule in plan.tools} - set(tools))
    if foreign:
        raise ValueError(f"its plan has rules for tools of others: {', '.join(foreign)}")
    # Nor does it take words from other packs' kinds.
    own = (replace(kind, whole=False, addressed=False) for kind in plan.kinds)
    kinds = (kind if kind.bare else _telling(kind) for kind in own)
    caveats = tuple(word for word in plan.caveats if not _is_everyday(word))
    kept = tuple(kind for kind in kinds if kind is not None)
    return replace(plan, kinds=kept, caveats=caveats)


def _telling(kind: QuestionKind) -> QuestionKind | None:
    words = tuple(word for word in kind.words if not _is_everyday(word))
    if words == kind.words:
        return kind
    return replace(kind, words=words) if words else None


def _is_everyday(word: str) -> bool:
    """Whether nothing of it is more than an everyday word: "is", "the image", "*"."""
    parts = word.casefold().replace("*", " ").split()
    return all(any(one in EVERYDAY or len(one) < 2 for one in part.split("|")) for part in parts)
