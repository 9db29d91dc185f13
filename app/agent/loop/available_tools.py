"""Which tools a language model is not offered: those whose model is not installed.

Each description costs a model that reads on a processor seconds, and a call of such a tool could
only fail. The model is told their names instead, so that it can say what would be needed. Called
all the same, the tool runs and says itself what is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app.agent.loop.tool_execution import Tools
from app.tools.api import Tool, ToolSpec
from app.tools.models.cards import cards
from app.tools.models.store import ModelStore
from app.tools.needs import is_installed

_TEXT = (
    "These tools exist and are not offered, since their models are not installed on this "
    "computer: {names}. Where the question needs one of them, say so; the user can install it in "
    "the program under Tools, Models."
)


class Ready:
    """The tools of a run that can do something now.

    Args:
        tools: All of them.
        question: The user's text; a tool that it names is kept, so that its own error tells more.
        lacks: Whether a tool lacks something that it cannot do without.
    """

    def __init__(self, tools: Tools, question: str, lacks: Callable[[ToolSpec], bool]) -> None:
        self._left_out = {
            tool.spec.name: tool
            for tool in tools.all()
            if tool.spec.needs and tool.spec.name not in question and lacks(tool.spec)
        }
        self._tools = tools

    def get(self, name: str) -> Tool | None:
        """The tool of that name, if it can do something."""
        return None if name in self._left_out else self._tools.get(name)

    def all(self) -> tuple[Tool, ...]:
        """Those that can do something, in the order they are listed to the model."""
        return tuple(tool for tool in self._tools.all() if tool.spec.name not in self._left_out)

    def told_after(self, system: str) -> str:
        """The system prompt, and behind it which tools are not offered."""
        if not self._left_out:
            return system
        return f"{system}\n\n{_TEXT.format(names=', '.join(self._left_out))}".strip()


def lacking_in(models_dir: Path) -> Callable[[ToolSpec], bool]:
    """Whether a tool lacks a package or a model; quick, no file is read.

    Args:
        models_dir: Where the user's models lie.
    """
    store = ModelStore(models_dir)

    def has_model(tool: str, name: str) -> bool:
        # A model may be published in two layouts, each with a card: either will do.
        same = {card.name for card in cards().values() if tool in card.tools and not card.embedded}
        known = (same | {name}) & set(cards())
        # Of the models that somebody else's pack brings nothing is known here.
        return not known or any(store.has(each) for each in known)

    def lacks(spec: ToolSpec) -> bool:
        needed = [need for need in spec.needs if not need.optional]
        return any(
            not (is_installed(n.name) if n.kind == "package" else has_model(spec.name, n.name))
            for n in needed
        )

    return lacks
