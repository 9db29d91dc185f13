"""Messages of the transcript that a language model sees; sessions store them as JSON."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

MEND = "Mend the arguments and call again."
"""In an error's text, what follows this is for the language model alone."""


def for_people(error: str) -> str:
    """Return an error without the part that only a language model can act on."""
    return error.partition(MEND)[0].rstrip()


class ToolCall(BaseModel):
    """A call that the model requests.

    `arguments` is parsed JSON. `raw` is what the model sent if it could not be parsed; `arguments`
    is then empty, and the call is answered with an error.
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
        caption: Image, frame, window and view, and by how much its size was reduced.
        image_id: The app's id of the image, e.g. "image-1".
        mirrored: The patient's right is on the picture's right, as in the file.
    """

    model_config = ConfigDict(frozen=True)

    path: str
    caption: str
    image_id: str = ""
    mirrored: bool = False


class Message(BaseModel):
    """One entry of the transcript.

    Attributes:
        role: system, user, assistant or tool.
        text: Plain text; for a tool message the JSON of {summary, output, metadata} or an error.
        tool_calls: Calls of an assistant message.
        call_id: For a tool message: the call it answers.
        tool: For a tool message: the tool's name.
        ok: For a tool message: whether the call succeeded.
        data: For a tool message: {"summary", "output", "metadata"} as objects (not JSON text).
        images: For a user message: names of the images open, the current one first
            ({"id", "path", "kind", "modality", "view", "rows", "columns", "frames"}).
        pictures: For a user message: what a model with eyes is shown with it.
        identifiers: For a user message: names, ids and dates of the patients that were open then,
            to be removed from all that a remote model gets, in later questions too.
        texts: The same for texts of their files' headers (addresses, ids), which are removed whole.
        evidence: For a tool message: its number among the conversation's results, from 1; 0 for
            none.
        advice: For a tool message: what Sightline itself asks of the model because of it.
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
