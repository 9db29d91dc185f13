"""The viewer pack's plan: how its commands are read, and what an answer says of them."""

from __future__ import annotations

from collections.abc import Sequence

from app.tools.pack_plan import PackPlan, QuestionKind, ToolRule, pack_prompt
from app.tools.result_wording import Data, ResultWording, Sentence
from app.tools.viewer import tools as named
from app.tools.viewer.deeds import DEEDS
from app.tools.viewer.follow_ups import read_on
from app.tools.viewer.reading import is_of_view, read

KIND = "viewer command"

_WHY = {
    named.STATE: "sees what is shown",
    named.WINDOW: "sets the window",
    named.GO_TO: "goes to the image",
    named.SHOW: "shows the series",
    named.LAYOUT: "lays out the viewports",
    named.ZOOM: "zooms",
    named.CINE: "plays or stops the cine",
    named.MEASURE: "measures the length",
    named.MARK: "marks the place",
    named.PLACE: "looks at the place",
    named.FINDINGS: "works on the findings",
    named.COMMAND: "does what the menu does",
}


def _answer(told: Data, _targets: frozenset[str]) -> Sequence[Sequence[Sentence]]:
    text = str(told.get("said") or "")
    return [[Sentence(text)]] if text else []


PLAN = PackPlan(
    pack="viewer",
    title="Viewer",
    icon="monitor",
    # Read by `read`; the kind only says that the tools are for such questions.
    kinds=(QuestionKind(KIND, ("work .. the .. viewer",), tools=tuple(_WHY), needs_image=False),),
    tools=tuple(ToolRule(tool, why=why) for tool, why in _WHY.items()),
    wordings=tuple(
        ResultWording(
            tool.spec.name,
            tool.spec.title,
            kinds=frozenset({KIND}),
            answer=_answer,
            each=True,
        )
        for tool in named.TOOLS
    ),
    deeds=DEEDS,
    shown_by=(named.STATE, f"{named.FINDINGS} describe"),
    spoken=read,
    goes_on=read_on,
    of_view=is_of_view,
    prompt=pack_prompt("viewer"),
)
