"""What the user allowed to be sent where, and how they are asked for it."""

from __future__ import annotations

from typing import Literal

Sent = Literal["text", "pictures"]


class Consents:
    """What may be sent to which remote host in which thread.

    Kept in memory only, so that a new start of the program asks again. Text (with tools' results)
    and pictures are two consents, since burnt-in text cannot be removed from a picture.
    """

    def __init__(self) -> None:
        self._answers: dict[tuple[str, str, Sent], bool] = {}

    def answer(self, thread_id: str, host: str, what: Sent = "text") -> bool | None:
        """The user's answer in this thread; None when they were not asked."""
        return self._answers.get((thread_id, host, what))

    def given(self, thread_id: str, host: str, what: Sent = "text") -> bool:
        """Whether sending to `host` was allowed in this thread."""
        return self._answers.get((thread_id, host, what), False)

    def give(self, thread_id: str, host: str, what: Sent = "text") -> None:
        """Remember a yes."""
        self._answers[thread_id, host, what] = True

    def refuse(self, thread_id: str, host: str, what: Sent) -> None:
        """Remember a no, so that the same is not asked with every question."""
        self._answers[thread_id, host, what] = False

    def hosts(self, what: Sent = "text") -> tuple[str, ...]:
        """The hosts that something may be sent to now, from any conversation; for the settings."""
        given = (key for key, yes in self._answers.items() if yes)
        return tuple(sorted({host for _, host, kind in given if kind == what}))

    def withdraw(self, host: str) -> None:
        """Forget every answer about `host`, for text and for pictures: it is asked anew."""
        self._answers = {key: yes for key, yes in self._answers.items() if key[1] != host}


def consent_request(model: str, host: str, *, pictures: bool = False) -> dict[str, str]:
    """Title and detail of the question whether data may be sent to a remote model.

    Args:
        model: The model's name.
        host: Where it runs.
        pictures: Whether it takes pictures: then a second question is asked for them.
    """
    pixels = (
        "Pictures are sent only if you allow that in a second question."
        if pictures
        else "No pixels are sent."
    )
    return {
        "title": f"Send this conversation to {host}?",
        "detail": (
            f"The model {model} runs on {host}, outside this machine. Sent are: your question and "
            "the earlier ones of this conversation with their answers, the names and descriptions "
            "of the tools, and the tools' results without identifying attributes (names, ids, "
            f"dates, institutions, file paths). {pixels} Write no patient data into the "
            "question. Your answer holds for this conversation until Sightline is closed."
        ),
    }


def picture_request(model: str, host: str, count: int, burned_in: str) -> dict[str, str]:
    """Title and detail of the second question: whether pictures may be sent.

    Args:
        model: The model's name.
        host: Where it runs.
        count: How many pictures go with this question.
        burned_in: "YES" or "NO" as the files say (BurnedInAnnotation), "" where they say nothing.
    """
    known = {
        "YES": "The file says that there IS such text in this image.",
        "NO": "The file says that there is no such text in this image; that is not checked.",
    }.get(burned_in, "The file does not say whether there is such text in this image.")
    what = "a picture" if count == 1 else f"{count} pictures"
    return {
        "title": f"Also send pictures to {host}?",
        "detail": (
            f"The model {model} on {host} can look at pictures. With this question it would get "
            f"{what} of what the viewer shows, at most 1024 pixels wide and high, as PNG, without "
            "the file's attributes. Text that is burnt into an image (a name, an id, a date) "
            f"cannot be removed and would be sent with it. {known} Look at the image before you "
            "answer. With no, text alone is sent. Your answer holds for all pictures "
            "of this conversation, earlier and later ones, until Sightline is closed."
        ),
    }
