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
from app.agent.image_reference import (
    image_arguments,
    image_reference,
    name_of,
    named_with_number,
    resource_of,
    takes_list,
    unsuitable_image,
)
from app.agent.planning.placed_images import ELSE, NOUN, OF, PlacedImage, placed_image
from app.agent.planning.plan import Decision, OpenImage, Output, Reply, Scene, Step, ToolPlan
from app.agent.planning.question_text import masked
from app.agent.repeated_calls import NAME as REPEATED
from app.tools.api import Resource

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
_MANY = re.compile(
    rf"\b(?P<count>both|all|alle[nr]?|beide[nr]?|sämtliche\w*|two|three|four|several|zwei|drei|vier|"
    rf"mehrere\w*)\s+(?:of\s+)?{_DET}{{0,3}}(?:chest\s+)?{_PLURAL}(?!\w)|"
    rf"\b(?P<each>every|each|either|per|pro|je|jede[snmr]?)\s+(?:of\s+)?{_DET}{{0,3}}(?:chest\s+)?{NOUN}(?!\w)|"
    rf"\b{OF}(?:first|last|latest|old|older|new|newer|newest|oldest|erst\w*|letzt\w*|alt\w*|"
    rf"neu\w*|älter\w*|jüngst\w*)\s?(?:chest\s|thorax)?{NOUN}(?!\w)",
    re.IGNORECASE,
)
_ON_BOTH = re.compile(
    r"\b(?:on|in|for|of|auf|bei|von) (?:both|beiden)"
    r"(?= *(?:$|[.,;?!]|(?:and|und|then|please|pls|bitte)\b|(?-i:[a-zäöü]+en)\b))",
    re.IGNORECASE,
)
"""As in "outline the heart on both", with two images open."""
_COUNTS = {"both": 2, "beide": 2, "two": 2, "zwei": 2, "three": 3, "drei": 3, "four": 4, "vier": 4}
_MOST_NAMED = 8  # images that a reply lists: a CT has hundreds
_SOME = ("several", "mehrere")
_GROUPS_EACH = re.compile(
    r"\b(?:each|every|per|both|all|je|pro|jede\w*|alle\w*|beide\w*)\s+(?:the\s+|of\s+the\s+)?"
    r"(?:group|condition|treatment|gruppe|bedingung)(?:s|n|en)?(?!\w)",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"\b(?:than|als|compare\w*|versus|vs|verglichen|vergleich\w*|unlike|anders)\b", re.IGNORECASE
)
_PERHAPS = re.compile(
    rf"\b{ELSE}\s?(?:chest\s|thorax)?{NOUN}(?!\w)|"
    r"\b(?:both|prior|previous|earlier|compar\w*|chang\w*|progress\w*|before|beide\w*|"
    r"vorher\w*|früher\w*|frueher\w*|vergl\w*|veränder\w*|veraender\w*)(?!\w)|"
    rf"\b(?:first|last|latest|old|older|new|newer|erst\w*|letzt\w*|alt\w*|neu\w*)\s?"
    rf"(?:chest\s|thorax)?{NOUN}(?!\w)",
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
        many: The ids of the images on each of which the work is wanted ("in each image", "in the
            control group"); () if it is wanted once.
        group: The name of the group that these are.
        placed: The words that name an image by its viewport, year or age; None if there are none.
    """

    ids: tuple[str, ...] = ()
    unclear: str = ""
    many: tuple[str, ...] = ()
    group: str = ""
    placed: PlacedImage | None = None

    @property
    def only_id(self) -> str:
        """Return the id of the image if the question clearly names exactly one.

        Otherwise return "", which means the current image.
        """
        return self.ids[0] if len(self.ids) == 1 and not self.unclear else ""


def image_choice(
    text: str, images: Sequence[Mapping[str, Any]], shown: Mapping[str, Any] | None = None
) -> ImageChoice:
    """Return the images that a question is about. A file name counts even in quotation marks.

    Args:
        text: The question.
        images: Notes on the open images, the current one first.
        shown: What the window shows (`tools.api.Viewer.state`).
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
        unclear = f"{compared[0]} {' and '.join(found)}" if compared else ""
        open_ = {note.get("id") for note in images}
        several = len(found) > 1 and not unclear and open_.issuperset(found)
        return ImageChoice(found, unclear, found if several else ())
    if (placed := placed_image(blank, images, shown or {})) is not None:
        ids = placed.ids
        many = ids if len(ids) > 1 else ()
        return ImageChoice(ids, "" if ids else placed.said, many, placed=placed)
    other = None
    if len(images) > 1:
        group = named_group(blank, images)
        if group:
            return ImageChoice(many=ids_of(images, group), group=group)
        if _GROUPS_EACH.search(blank) and any(note.get("group") for note in images):
            return ImageChoice(many=ids_of(images))
        compared = named_groups(blank, images)
        if compared:
            return ImageChoice(many=compared)
        if len(images) == _COUNTS["both"] and (both := _ON_BOTH.search(blank)) is not None:
            return ImageChoice((), both[0], ids_of(images))
        other = _MANY.search(blank)
        if other is not None and _means_all(other, len(images)):
            return ImageChoice((), " ".join(other[0].split()), ids_of(images))
    return ImageChoice(found, " ".join(other[0].split()) if other else "")


def ids_of(images: Sequence[Mapping[str, Any]], group: str = "") -> tuple[str, ...]:
    """Return the ids of the open images, or of those in one group."""
    return tuple(str(note.get("id")) for note in images if not group or note.get("group") == group)


def named_groups(blank: str, images: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the ids of the images of two or more groups that a question names; () for fewer.

    A comparison that names none is about all of them; see `QuestionKind.over_groups`.
    """
    grouped = [note for note in images if note.get("group")]
    groups = dict.fromkeys(str(note["group"]) for note in grouped)
    named = [g for g in groups if re.search(rf"(?<!\w){re.escape(g)}(?!\w)", blank, re.IGNORECASE)]
    if len(named) < 2:
        return ()
    return tuple(str(note.get("id")) for note in grouped if note["group"] in named)


def _means_all(match: re.Match[str], images: int) -> bool:
    """Return whether "all images", "both films", "each slide" mean all that are open."""
    if match["each"]:
        return True
    word = re.sub(r"n$|r$", "", (match["count"] or "").lower())
    if not word or word.startswith(_SOME):
        return False
    return _COUNTS.get(word, images) == images


def named_group(blank: str, images: Sequence[Mapping[str, Any]]) -> str:
    """Return the one group of images that a question names ("in the control group"), or ""."""
    groups = list(dict.fromkeys(str(note["group"]) for note in images if note.get("group")))
    named = [group for group in groups if _names_group(blank, group)]
    others = [g for g in groups if re.search(rf"(?<!\w){re.escape(g)}(?!\w)", blank, re.IGNORECASE)]
    return named[0] if len(named) == 1 and len(others) == 1 else ""


def _group_phrase(group: str) -> re.Pattern[str]:
    """Return the pattern of "control group", "treated images", "of the group control"."""
    name = r"[_\s-]+".join(map(re.escape, re.split(r"[_\s-]+", group)))
    noun = r"(?:groups?|images?|pictures?|wells?|samples?|slides?|gruppen?|bilder[ns]?|proben?)"
    before = rf"(?<!\w){name}[\s-]+{noun}(?!\w)"
    after = rf"(?<!\w){OF}(?:group|gruppe)\s+{name}(?!\w)"
    return re.compile(f"{before}|{after}", re.IGNORECASE)


def _names_group(blank: str, group: str) -> bool:
    return _group_phrase(group).search(blank) is not None


def without_group(blank: str, group: str) -> str:
    """Return a question without the phrase that names its group of images, in the same length.

    "How many in the control group?" names where to count; it compares nothing with a control.
    """
    return _group_phrase(group).sub(lambda match: " " * len(match[0]), blank)


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


def for_these_images(decision: Decision, which: ImageChoice, scene: Scene) -> Decision:
    """Return `decision` for the images that are meant, or a reply that asks which image is meant.

    Where the work is wanted on each of several images, its steps are repeated for them. The reply
    is returned if `which` is unclear, or several images, but a step takes the current one.
    """
    if not isinstance(decision, ToolPlan):
        return decision
    if not (which.unclear or which.many or len(which.ids) > 1):
        return decision
    # "Compare with the earlier film": a tool with several image arguments selects them itself.
    settled = {step.tool for step in decision.steps if _takes_several(step, scene)}
    guessed = not settled and any(
        source == OpenImage() for step in decision.steps for source in step.sources()
    )
    if which.many and len(settled) < len(decision.steps):
        repeated = repeated_plan(decision, which, scene)
        if repeated is not None:
            return repeated
    return Reply(unclear_text(which, scene)) if guessed else decision


def on_image(plan: ToolPlan, image: str) -> ToolPlan:
    """Return a plan on another image than the current one, except for steps that take both."""

    def there(value: Any) -> Any:
        if isinstance(value, list):
            return [there(item) for item in value]
        return OpenImage(image) if value == OpenImage() else value

    def moved(step: Step) -> Step:
        if OpenImage(image) in step.sources():
            return step
        arguments = {name: there(value) for name, value in step.arguments.items()}
        return replace(step, arguments=arguments, target=there(step.target))

    return replace(plan, steps=tuple(map(moved, plan.steps)))


def repeated_plan(plan: ToolPlan, which: ImageChoice, scene: Scene) -> ToolPlan | None:
    """Return a plan whose steps on an image run on each of the images; None if none can."""
    if REPEATED not in scene.tools:
        return None
    steps: list[Step] = []
    joined: set[int] = set()  # numbers of the steps that work on all images at once
    for number, step in enumerate(plan.steps, start=1):
        if any(isinstance(item, Output) and item.step in joined for item in step.sources()):
            joined.add(number)  # it goes on from there
            steps.append(step)
            continue
        made = _repeated_step(step, which, scene)
        if made.tool != REPEATED and _many_images(made):
            joined.add(number)
        steps.append(made)
    ran = any(step.tool == REPEATED and not step.skip for step in steps)
    return replace(plan, steps=tuple(steps)) if ran else None


def _many_images(step: Step) -> bool:
    """Return whether a step takes several open images as one argument."""
    lists = (value for value in step.arguments.values() if isinstance(value, list))
    return any(sum(isinstance(item, OpenImage) for item in value) > 1 for value in lists)


def _repeated_step(step: Step, which: ImageChoice, scene: Scene) -> Step:
    schema = scene.tools.get(step.tool)
    slots = image_arguments(schema) if schema is not None else []
    if schema is None or not slots:
        return step
    if _takes_several(step, scene):
        return step
    given = step.arguments.get(slots[0])
    source = given[0] if isinstance(given, list) and given else given
    if isinstance(source, Output) and not source.fallback:
        return replace(step, skip="what it would show is marked on each image itself")
    accepts = scene.plans.rule(step.tool).accepts
    notes = [note for note in map(scene.note, map(OpenImage, which.many)) if note is not None]
    whys = [unsuitable_image(accepts, note) for note in notes]
    shown = scene.note(source if isinstance(source, OpenImage) else None)
    skip = step.skip
    if shown is not None and skip and skip == unsuitable_image(accepts, shown):
        skip = ""  # of the current image only
    if whys and all(whys):
        skip = whys[0]
    if _takes_all(step, scene):
        return replace(step, arguments={**step.arguments, slots[0]: _sources(which)}, skip=skip)
    if not schema.repeatable:
        return replace(step, skip=skip or "it does more than compute, so it is not repeated")
    literal = {
        name: value
        for name, value in step.arguments.items()
        if name not in slots and not any(True for _ in Step("", {name: value}).sources())
    }
    every = len(which.many) == len(scene.images)
    where: dict[str, Any] = {} if every else {"images": _sources(which)}
    where = {"group": which.group} if which.group else where
    arguments = {"tool": step.tool, **where, "arguments": literal}
    why = f"for each image: {step.why}" if step.why else "for each image"
    return Step(REPEATED, arguments, why, skip)


def _takes_all(step: Step, scene: Scene) -> bool:
    """Return whether a step's tool takes any number of images at once."""
    schema = scene.tools.get(step.tool)
    slots = image_arguments(schema) if schema is not None else []
    if schema is None or not slots:
        return False
    field = schema.parameters["properties"][slots[0]]
    unlimited = "maxItems" not in str(field)
    return takes_list(field) and unlimited and resource_of(field) is Resource.IMAGES


def _sources(which: ImageChoice) -> list[OpenImage]:
    return [OpenImage(name) for name in which.many]


def _takes_several(step: Step, scene: Scene) -> bool:
    """Return whether a step's tool has several image arguments; one need not be given."""
    schema = scene.tools.get(step.tool)
    if schema is None:
        return False
    fields = schema.parameters.get("properties", {})
    return sum(not takes_list(fields[name]) for name in image_arguments(schema)) > 1


def unclear_text(which: ImageChoice, scene: Scene) -> str:
    """Return the reply to a question for which it is not clear which image is meant."""
    said = f'"{which.unclear}"' if which.unclear else " and ".join(which.ids)
    first = name_of(scene.images[0], scene.images)
    if len(scene.images) < 2:
        return f"only {first} is open, so I ran no tool for {said}. Open the other one, then ask."
    viewports = {str(one.get("image") or "") for one in scene.shown.get("viewports", ())}
    notes = [note for note in scene.images if str(note.get("id")) in viewports] or scene.images
    names = ", ".join(map(named_with_number, notes[:_MOST_NAMED]))
    more = len(scene.images) - len(notes[:_MOST_NAMED])
    return (
        f"I run tools on one image at a time, so I ran none for {said}. Name the image: open are "
        f"{names}{f', and {more} more' if more else ''}; {first} is the one that is shown."
    )
