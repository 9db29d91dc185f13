"""Finds the open image that a question is about: the current or a named one, if that is clear.

Running a tool on the wrong image is worse than running none. So if a question is about several
images, or about another image without naming it, no tool runs and the user is asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.agent.call_log import CallLog
from app.agent.image_reference import image_arguments, image_reference, name_of, named_with_id
from app.agent.planning.plan import Decision, OpenImage, Reply, Scene, Step, ToolPlan
from app.agent.planning.question_text import masked

_NOUN = (
    r"(?:images?|pictures?|films?|scans?|stud(?:y|ies)|exams?|radiographs?|x-?rays?|cxrs?|slides?|"
    r"files?|micrographs?|\w*bild(?:e[rsn]{0,2}|s)?|\w*aufnahmen?|untersuchung(?:en)?|ones?)"
)
_PLURAL = (
    r"(?:images|pictures|films|scans|studies|exams|radiographs|x-?rays|cxrs|slides|files|"
    r"micrographs|\w*bilder[ns]?|\w*aufnahmen|untersuchungen|ones)"
)
_DET = r"(?:(?:the|these|those|my|our|open|loaded|two|three|der|den|diese[nr]?|\d)\s+)"
_NUMBERS = r"\d{1,4}(?:\s*(?:,|&|and|und)\s*(?:image-|bild\s)?\d{1,4}(?!\s*(?:/|x|mm|px|%)))*"
IMAGE_ID = re.compile(r"\bimage-(\d+)\b", re.IGNORECASE)
_NUMBERED = re.compile(
    rf"\b(?:images?|pictures?|bild(?:er(?:n)?|es)?)[\s#-]{{1,2}}(?:no\.?\s|nr\.?\s|number\s)?"
    rf"({_NUMBERS})\b(?![./]\d)",
    re.IGNORECASE,
)
_THE = re.compile(r"\b(?:the|this|that|same|open|current|das|dem|diese[sm])\s+$", re.IGNORECASE)
_OF = (
    r"(?:in|on|of|for|from|im|auf|bei|von|vom|des|der|fuer|für|aus)\s+"
    r"(?:(?:the|dem|der|den)\s+)?"
)
_ELSE = (
    r"(?:other|another|second|2nd|third|3rd|fourth|4th|previous|prior|earlier|next|preceding|"
    r"ander\w*|vorherig\w*|vorig\w*|zweit\w*|dritt\w*|viert\w*|nächst\w*|naechst\w*|früher\w*|"
    r"frueher\w*|vor)"
)
_OTHER = re.compile(
    rf"\b{_OF}{_ELSE}\s?(?:chest\s|thorax)?{_NOUN}(?!\w)|\b{_OF}prior(?!\w)", re.IGNORECASE
)
_MANY = re.compile(
    rf"\b(?:both|all|alle[nr]?|beide[nr]?|sämtliche\w*|two|three|four|several|zwei|drei|vier|"
    rf"mehrere\w*)\s+(?:of\s+)?{_DET}{{0,3}}(?:chest\s+)?{_PLURAL}(?!\w)|"
    rf"\b(?:every|each|either|jede[snmr]?)\s+(?:of\s+)?{_DET}{{0,3}}(?:chest\s+)?{_NOUN}(?!\w)|"
    rf"\b{_OF}(?:first|last|latest|old|older|new|newer|newest|oldest|erst\w*|letzt\w*|alt\w*|"
    rf"neu\w*|älter\w*|jüngst\w*)\s?(?:chest\s|thorax)?{_NOUN}(?!\w)",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"\b(?:than|als|compare\w*|versus|vs|verglichen|vergleich\w*|unlike|anders)\b", re.IGNORECASE
)
_PERHAPS = re.compile(
    rf"\b{_ELSE}\s?(?:chest\s|thorax)?{_NOUN}(?!\w)|"
    r"\b(?:both|prior|previous|earlier|compar\w*|chang\w*|progress\w*|before|beide\w*|"
    r"vorher\w*|früher\w*|frueher\w*|vergl\w*|veränder\w*|veraender\w*)(?!\w)|"
    rf"\b(?:first|last|latest|old|older|new|newer|erst\w*|letzt\w*|alt\w*|neu\w*)\s?"
    rf"(?:chest\s|thorax)?{_NOUN}(?!\w)",
    re.IGNORECASE,
)
"""Words that may refer to an image other than the current one. They do not stop the rules."""


@dataclass(frozen=True, slots=True)
class ImageChoice:
    """The images that a question is about.

    Attributes:
        ids: The ids of the open images that the question names ("image-2"); () if it names none,
            which means the current image.
        unclear: The question's words for several images, or for another, unnamed image; "" if
            there are none.
    """

    ids: tuple[str, ...] = ()
    unclear: str = ""

    @property
    def only_id(self) -> str:
        """Return the id of the image if the question clearly names exactly one.

        Otherwise return "", which means the current image.
        """
        return self.ids[0] if len(self.ids) == 1 and not self.unclear else ""


def image_choice(text: str, images: Sequence[Mapping[str, Any]]) -> ImageChoice:
    """Return the images that a question is about.

    `images` are notes on the open images, the current one first. A file name counts even in
    quotation marks.
    """
    blank = masked(text)
    named = [f"image-{int(match[1])}" for match in IMAGE_ID.finditer(blank)]
    for match in _numbered_mentions(blank):
        named += [f"image-{int(number)}" for number in re.findall(r"\d+", match[1])]
    if len(images) > 1:
        low = text.lower()
        named += [str(note.get("id")) for note in images if _names_file(low, note)]
    found = tuple(dict.fromkeys(named))
    if found:
        compared = _COMPARED.search(blank)
        return ImageChoice(found, f"{compared[0]} {' and '.join(found)}" if compared else "")
    other = _OTHER.search(blank) or (_MANY.search(blank) if len(images) > 1 else None)
    return ImageChoice(found, " ".join(other[0].split()) if other else "")


def may_concern_another_image(text: str) -> bool:
    """Return whether a question (normalised) might be about an image other than the current one."""
    return _PERHAPS.search(masked(text)) is not None


def _numbered_mentions(text: str) -> list[re.Match[str]]:
    """Return the matches of image numbers; not "1)" in "1) this on the image 2) that on it"."""
    return [
        match
        for match in _NUMBERED.finditer(text)
        if not (text[match.end() :][:1] in tuple(").:") and _THE.search(text[: match.start()]))
    ]


def numbered_image(text: str) -> str:
    """Return the id of the first image that a text names by number ("image 2", "Bild 2"), or ""."""
    match = IMAGE_ID.search(text) or next(iter(_numbered_mentions(text)), None)
    return f"image-{int(re.split(r'[^0-9]', match[1])[0])}" if match else ""


def _names_file(text: str, note: Mapping[str, Any]) -> bool:
    """Return whether a text in lower case names the file of an open image."""
    path = str(note.get("path") or "").lower()
    name = re.split(r"[/\\]", path)[-1]
    distinctive = "." in name or (
        len(name) > 3 and re.search(r"[a-z]", name) and name[-1].isdigit()
    )
    if not distinctive or name not in text:
        return bool(path) and path != name and path in text
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None


def relevant_scene(scene: Scene, which: ImageChoice) -> Scene:
    """Return `scene`, with earlier results on images other than those in `which` marked as failed.

    Planning ignores failed results.
    """
    if not any(message.role == "tool" for message in scene.earlier) or not scene.images:
        return scene
    record = CallLog(scene.earlier, scene.images)
    notes = [scene.note(OpenImage(name)) for name in which.ids] or [scene.images[0]]
    keys = {image_reference(note) for note in notes if note is not None}
    other = {item.message.call_id for item in record.on_other_images(keys)}
    if not other:
        return scene
    earlier = tuple(
        message.model_copy(update={"ok": False}) if message.call_id in other else message
        for message in scene.earlier
    )
    return replace(scene, earlier=earlier)


def ask_if_unclear(decision: Decision, which: ImageChoice, scene: Scene) -> Decision:
    """Return `decision`, or a reply that asks which image is meant.

    The reply is returned if `which` is unclear or several images but a step takes the current one.
    """
    if not isinstance(decision, ToolPlan) or not (which.unclear or len(which.ids) > 1):
        return decision
    # "Compare with the earlier film": a tool with several image arguments selects them itself.
    settled = {step.tool for step in decision.steps if _takes_several(step, scene)}
    guessed = not settled and any(
        source == OpenImage() for step in decision.steps for source in step.sources()
    )
    return Reply(_unclear_text(which, scene)) if guessed else decision


def _takes_several(step: Step, scene: Scene) -> bool:
    schema = scene.tools.get(step.tool)
    needed = schema.parameters.get("required", ()) if schema else ()
    return schema is not None and sum(n in needed for n in image_arguments(schema)) > 1


def _unclear_text(which: ImageChoice, scene: Scene) -> str:
    said = f'"{which.unclear}"' if which.unclear else " and ".join(which.ids)
    first = name_of(scene.images[0], scene.images)
    if len(scene.images) < 2:
        return f"only {first} is open, so I ran no tool for {said}. Open the other one, then ask."
    names = ", ".join(map(named_with_id, scene.images))
    return (
        f"I run tools on one image at a time, so I ran none for {said}. Name the image: open are "
        f"{names}; {first} is the one that is shown."
    )
