"""What a step works on: "the converted PNG", "segmentation_image_path", "the same image", ..."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.agent.planning.steps import (
    DICOM,
    GENERATOR,
    PRODUCES,
    SEGMENTATION,
    VISUALIZER,
    Absent,
    Earlier,
    OpenImage,
    Output,
    Scene,
    Source,
    Step,
)

_PICTURE = r"(?:dicom|image|images|png|file|scan|picture|x-?ray|radiograph|film|jpe?g)"
_SEGMENTED = re.compile(
    r"\bsegmentation_image_path\b|\bsegmentation\s+(?:overlay|image|mask|result|picture)s?\b"
    r"|\b(?:segmented|overlay)\s+(?:image|picture|png)\b|\b(?:the|that|this)\s+overlay\b",
    re.IGNORECASE,
)
_CONVERTED = re.compile(
    rf"\b(?:converted|processed|exported)\s+(?:dicom\s+)?{_PICTURE}\b", re.IGNORECASE
)
_GENERATED = re.compile(
    rf"\b(?:generated|synthetic|synthesi[sz]ed)\s+(?:chest\s+)?{_PICTURE}\b", re.IGNORECASE
)
_OF_STEP = re.compile(
    r"\b(?P<key>\w+_path|image|output|result|picture)\s+(?:of|from)\s+step\s+(?P<step>\d{1,2})\b",
    re.IGNORECASE,
)
_OTHER_KEY = re.compile(r"\b(?!(?:image|dicom)_paths?\b)([a-z]\w*_path)s?\b", re.IGNORECASE)
_SAME = re.compile(
    rf"\b(?:same|that|this)\s+(?:one\b|{_PICTURE}\b)|\bon\s+(?:it|that|the\s+same)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    rf"\b(?:uploaded|opened|open|current|original|source|loaded|given|input|my)\s+(?:chest\s+)?"
    rf"{_PICTURE}\b",
    re.IGNORECASE,
)
IMAGE_ID = re.compile(r"\bimage-\d+\b", re.IGNORECASE)
_IMAGE_PATH = re.compile(r"\bimage_path\b", re.IGNORECASE)


def find_target(text: str, steps: Sequence[Step], scene: Scene) -> Source | None:
    """The source that `text` (quoted strings blanked) names, or None when it names none.

    The most specific wording wins: "that same generated image" is the generated one.
    """
    of_step = _OF_STEP.search(text)
    if of_step:
        return _of_step(int(of_step["step"]), of_step["key"], steps)
    if _SEGMENTED.search(text):
        return from_tool(SEGMENTATION, steps, scene)
    if _CONVERTED.search(text):
        return converted(steps)
    if _GENERATED.search(text):
        return from_tool(GENERATOR, steps, scene)
    other = _OTHER_KEY.search(text)
    if other:
        return by_key(other.group(1).lower(), steps, scene)
    named = IMAGE_ID.search(text)
    if named:
        return OpenImage(named.group().lower())
    if _OPEN.search(text):
        return OpenImage()
    if _SAME.search(text):
        return next((step.target for step in reversed(steps) if step.target), OpenImage())
    if _IMAGE_PATH.search(text):
        return latest_picture(steps) or OpenImage()
    return None


def converted(steps: Sequence[Step]) -> Source:
    """The PNG of the last dicom_processor step, else the open image, which shows the same."""
    for number in range(len(steps), 0, -1):
        if steps[number - 1].tool == DICOM:
            return Output(number, "image_path", fallback=True)
    return OpenImage()


def from_tool(tool: str, steps: Sequence[Step], scene: Scene) -> Source:
    """What the last step of `tool` makes, or made for an earlier question."""
    key = PRODUCES[tool]
    for number in range(len(steps), 0, -1):
        if steps[number - 1].tool == tool:
            return Output(number, key)
    earlier = scene.earlier_output(key, tool)
    if earlier:
        return Earlier(str(earlier))
    return Absent(key if tool == SEGMENTATION else "generated image")


def by_key(key: str, steps: Sequence[Step], scene: Scene) -> Source:
    """The last step that returns `key`: one known to, else the last whose outputs are unknown."""
    for known in (True, False):
        for number in range(len(steps), 0, -1):
            produced = PRODUCES.get(steps[number - 1].tool)
            if produced == key if known else produced is None:
                return Output(number, key)
    earlier = scene.earlier_output(key)
    return Earlier(str(earlier)) if earlier else Absent(key)


def latest_picture(steps: Sequence[Step]) -> Source | None:
    """The `image_path` of the last step that makes one."""
    for number in range(len(steps), 0, -1):
        tool = steps[number - 1].tool
        if tool in (DICOM, GENERATOR):
            return Output(number, "image_path", fallback=tool == DICOM)
    return None


def default_target(tool: str, steps: Sequence[Step]) -> Source:
    """What a tool works on when the user does not say.

    For image_visualizer the last picture made, for the rest the converted or generated image, else
    the open one.
    """
    if tool == DICOM:
        return OpenImage()
    if tool == VISUALIZER:
        for number in range(len(steps), 0, -1):
            key = PRODUCES.get(steps[number - 1].tool)
            if key and steps[number - 1].tool != VISUALIZER:
                return Output(number, key, fallback=steps[number - 1].tool == DICOM)
    return latest_picture(steps) or OpenImage()


def _of_step(number: int, key: str, steps: Sequence[Step]) -> Source:
    if not 1 <= number <= len(steps):
        return Absent(f"output of step {number}")
    tool = steps[number - 1].tool
    wanted = key.lower() if key.lower().endswith("_path") else PRODUCES.get(tool, "image_path")
    return Output(number, wanted, fallback=tool == DICOM)
