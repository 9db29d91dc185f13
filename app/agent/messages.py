"""Messages of the transcript that a language model sees; sessions store them as JSON."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

MEND = "Mend the arguments and call again."
"""Separator in an error's text; what follows it is meant for the language model alone."""


GREETING = (
    r"(?:hello|hi|hey|good\s+(?:morning|afternoon|evening|day)|hallo|moin|servus|guten\s+\w+|"
    r"gr(?:ü|ue)(?:ß|ss)\s+gott)(?:[\s,]+(?:there|all|everybody|sightline))?[\s.!?]*"
)
THANKS = r"(?:ok(?:ay)?[\s,]+)?(?:many\s+)?(?:thanks|thank\s+you|danke)(?:\s+\w+){0,3}[\s.!]*"
_EMPTY = re.compile(
    rf"\s*(?:{GREETING}|{THANKS}|help|what\s+can\s+(?:you|i)\s+(?:do|ask)|test)?[\s.!?]*",
    re.IGNORECASE,
)


def has_subject(question: str) -> bool:
    """Return True unless a question is only a greeting, thanks, "help", "test" or empty."""
    return _EMPTY.fullmatch(question) is None


_FOR_MODELS = re.compile(rf"{re.escape(MEND)}|\bDo not call it again\b|\bGo on without it\b")


def for_people(error: str) -> str:
    """Return an error's text up to what is only for the language model: `MEND`, "Go on ..."."""
    return _FOR_MODELS.split(error, maxsplit=1)[0].rstrip()


class ToolCall(BaseModel):
    """A tool call requested by the model.

    `arguments` is the parsed JSON. If the JSON could not be parsed, `raw` is the text that the
    model sent, `arguments` is empty, and the call is answered with an error.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    name: str
    arguments: dict[str, Any]
    raw: str = ""


class Picture(BaseModel):
    """A picture for a model that accepts images: a PNG of what the viewer shows.

    Attributes:
        path: The PNG, in the thread's folder.
        caption: The image, frame, window and view, and how much the picture was reduced in size.
        image_id: The app's id of the image, e.g. "image-1".
        mirrored: Whether the file stores the image with the patient's right on the image's right.
    """

    model_config = ConfigDict(frozen=True)

    path: str
    caption: str
    image_id: str = ""
    mirrored: bool = False


class RecordContent(BaseModel):
    """What a tool's result holds of patients' records, and a remote model may not read.

    Attributes:
        patients: (id, name) of each patient of whom the result may tell.
        identifiers: What identifies them, and words with digits that nobody knows.
        words: Words and long numbers that nobody knows: neither ordinary nor clinical nor coded.
        terms: Words of coded terms in the result: known, whatever other results make of them.
    """

    model_config = ConfigDict(frozen=True)

    patients: list[tuple[str, str]] = []
    identifiers: list[str] = []
    words: list[str] = []
    terms: list[str] = []


class Message(BaseModel):
    """One entry of the transcript.

    Attributes:
        role: system, user, assistant or tool.
        text: Plain text; for a tool message, the JSON of {summary, output, metadata} or an error.
        tool_calls: The calls in an assistant message.
        call_id: For a tool message: the id of the call that was made.
        tool: For a tool message: the tool's name.
        ok: For a tool message: whether the call succeeded.
        data: For a tool message: {"summary", "output", "metadata"} as objects (not JSON text).
        images: For a user message: notes on the images that were open, the current one first
            ({"id", "path", "kind", "modality", "view", "rows", "columns", "frames", "patient"}).
        pictures: For a user message: the pictures shown to a model that accepts images.
        identifiers: For a user message: names, places, ids and dates of the headers that were open
            then, to be removed from everything sent to a remote model, in later questions too.
        texts: For a user message: free text from those headers, whose uncommon words are also to
            be removed.
        evidence: For a tool message: the number of its result in the conversation, from 1; 0 for
            none.
        advice: For a tool message: what Sightline itself asks the model to do because of the
            result.
        record: What the message holds of patients' records; None for nothing.
    """

    model_config = ConfigDict(frozen=True)

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    tool_calls: list[ToolCall] = []
    call_id: str = ""
    tool: str = ""
    ok: bool = True
    data: dict[str, Any] = {}
    images: list[dict[str, Any]] = []
    pictures: list[Picture] = []
    identifiers: list[str] = []
    texts: list[str] = []
    evidence: int = 0
    advice: str = ""
    record: RecordContent | None = None

    @property
    def output(self) -> dict[str, Any]:
        """Return the `output` of a tool's result; {} if it has none."""
        return self._table("output")

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the `metadata` of a tool's result; {} if it has none."""
        return self._table("metadata")

    def _table(self, key: str) -> dict[str, Any]:
        found = self.data.get(key)
        return found if isinstance(found, dict) else {}
