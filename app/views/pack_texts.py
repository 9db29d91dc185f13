"""Titles, icons and suggested questions from the tool packs, used in the whole window."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

from app import paths
from app.tools.api import ToolSpec
from app.tools.pack_plan import NO_PLANS, Plans
from app.views.wording import sentence

DEFAULT_ICON = "wrench"
_WORD = re.compile(r"(?<![\w./-])[A-Za-z_]\w*(?![\w/-])")


class PackTexts:
    """Titles, icons and suggested questions for the installed tools."""

    def __init__(self, specs: Iterable[ToolSpec] = (), plans: Plans = NO_PLANS) -> None:
        self._specs = {spec.name: spec for spec in specs}
        # Each question with the images that it suits; those for few images come first.
        packs = sorted(plans.packs, key=lambda pack: not pack.suggested_for.modalities)
        self.suggestions = tuple(
            (text, pack.suggested_for) for pack in packs for text in pack.suggestions
        )
        # Asks to outline what the user has marked on the image; "" if no pack can do that.
        self.marked_question = next(
            (pack.marked_question for pack in plans.packs if pack.marked_question), ""
        )

    def title(self, tool: str) -> str:
        """Return a tool's title; if it declares none, its name written as words."""
        spec = self._specs.get(tool)
        declared = sentence(spec.title) if spec is not None else ""
        return declared or words_of(tool) or "Tool"

    def icon(self, tool: str) -> str:
        """Return the name of a tool's icon, or "wrench" if it is not declared or not found."""
        spec = self._specs.get(tool)
        name = PurePath(spec.icon).name if spec is not None else ""
        known = bool(name) and (paths.resources_dir() / "icons" / f"{name}.svg").is_file()
        return name if known else DEFAULT_ICON

    def with_titles(self, text: str, tools: Iterable[str] = ()) -> str:
        """Return `text` with the names of tools replaced by their titles.

        Args:
            text: A sentence that names tools as the language model does.
            tools: Names to replace in addition to those of the installed tools. A name without an
                underscore ("crop") may be an ordinary word, so it is not replaced.
        """
        titles = {name: self.title(name) for name in (*self._specs, *tools) if "_" in name}
        return _WORD.sub(lambda found: titles.get(found[0], found[0]), text)


def words_of(key: str) -> str:
    """Return an identifier written as words: "area_pixels" becomes "Area pixels"."""
    return sentence(key.replace("_", " "))[:60]
