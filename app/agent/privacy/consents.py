"""Consents: what the user allowed to be sent where, and the questions that ask for it.

Four questions stand between a conversation and a remote model: whether the conversation may be
sent, whether what a patient's record says may be sent, whether these pictures may be sent, and
once more whether those that could show who the patient is may be sent. An answer holds for one
conversation, host and model, in memory only. A picture is sent only if it was on the screen when
the user said yes. One that is unlikely to show who the patient is may also be sent after a yes to
another picture of the same image.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from app.agent.messages import Picture

Sent = Literal["text", "pictures"]


@dataclass(frozen=True, slots=True)
class Target:
    """A conversation and the remote model to send it to; `host` includes a port other than 443."""

    thread_id: str
    host: str
    model: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture that a model would receive.

    Attributes:
        picture: The PNG with its caption.
        image: Identifies the image: its SOP Instance UID, frame, and hash of its pixels.
        risk: Why it may show who the patient is, for the user; "" if that is unlikely. With a
            reason, the picture is called risky.
    """

    picture: Picture
    image: str
    risk: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What a yes covers: ("picture", its digest) if risky, otherwise ("image", `image`)."""
        return ("picture", digest_from_name(self.picture)) if self.risk else ("image", self.image)


class Consents:
    """The user's consents, by conversation and remote model. Thread-safe.

    They are kept in memory only, so the program asks again after a restart.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._text: set[Target] = set()
        self._record: dict[Target, bool] = {}
        self._yes: set[tuple[Target, tuple[str, str]]] = set()
        self._no: set[tuple[Target, str]] = set()
        self._sees: set[tuple[Target, str]] = set()
        self.withdrawn: Callable[[str], object] = lambda _host: None  # is told of it

    def given(self, thread_id: str, host: str, model: str) -> bool:
        """Return whether the user allowed this conversation to be sent to this model."""
        with self._lock:
            return Target(thread_id, host, model) in self._text

    def give(self, thread_id: str, host: str, model: str) -> None:
        """Remember that the user allowed this conversation to be sent to this model."""
        with self._lock:
            self._text.add(Target(thread_id, host, model))

    def record_allowed(self, to: Target) -> bool | None:
        """Return whether results of patients' records may be sent; None if not asked yet."""
        with self._lock:
            return self._record.get(to)

    def answer_record(self, to: Target, allowed: bool) -> None:
        """Remember whether results of patients' records may be sent."""
        with self._lock:
            self._record[to] = allowed

    def about(self, to: Target, shown: Shown) -> bool | None:
        """Return True if the user allowed this picture, False if not, None if not asked yet."""
        with self._lock:
            if (to, shown.image) in self._no:
                return False
            return True if (to, shown.key) in self._yes else None

    def allow(self, to: Target, shown: Shown) -> None:
        """Remember that this picture may be sent.

        If it is not risky (`Shown.risk`), the user is not asked about its image again.
        """
        with self._lock:
            self._yes.add((to, shown.key))
            self._sees.add((to, digest_from_name(shown.picture)))

    def refuse(self, to: Target, shown: Shown) -> None:
        """Remember a no for every picture of this image, so that the user is not asked again."""
        with self._lock:
            self._no.add((to, shown.image))

    def sees(self, to: Target, picture: Picture) -> bool:
        """Return whether exactly this picture was allowed for `to`; it may then be sent again."""
        with self._lock:
            return (to, digest_from_name(picture)) in self._sees

    def hosts(self, what: Sent = "text") -> tuple[str, ...]:
        """Return the hosts to which "text" or "pictures" of some conversation may now be sent."""
        with self._lock:
            given = self._text if what == "text" else {to for to, _ in self._sees}
            return tuple(sorted({to.host for to in given}))

    def withdraw(self, host: str) -> None:
        """Forget every answer about `host`, for text and for pictures."""
        with self._lock:
            self._text = {to for to in self._text if to.host != host}
            self._record = {to: yes for to, yes in self._record.items() if to.host != host}
            self._yes = {item for item in self._yes if item[0].host != host}
            self._no = {item for item in self._no if item[0].host != host}
            self._sees = {item for item in self._sees if item[0].host != host}
        self.withdrawn(host)


def digest_from_name(picture: Picture) -> str:
    """Return the name of a picture's file: the first digits of the SHA-256 of its bytes.

    Before the file is sent, its bytes are compared with its name (`llm.hosted_model`), so that
    nothing else can take the place of what was on the screen.
    """
    return Path(picture.path).stem


NOT_ENCRYPTED = (
    "The connection is not encrypted (http, not https): whoever is on the network between this "
    "computer and {host} can read all of it, and can change the answers."
)


def consent_request(
    model: str, host: str, *, pictures: bool = False, encrypted: bool = True
) -> dict[str, Any]:
    """Return the fields of the approval request for sending a conversation to a remote model.

    If the model accepts `pictures`, the text announces a second question about them. Unless the
    connection is `encrypted`, the text warns of that.
    """
    pixels = (
        "Pictures are sent only if you allow that in a second question."
        if pictures
        else "No pixels are sent."
    )
    return {
        "about": "conversation",
        "host": host,
        "model": model,
        "sent": [
            "Your question and the earlier ones of this conversation, with their answers",
            "The names and descriptions of the tools",
            "Your notes under Settings > Assistant memory, and your administrator's",
            "The tools' results, without names, ids, dates, institutions and file paths",
        ],
        "warning": "" if encrypted else NOT_ENCRYPTED.format(host=host),
        "title": f"Send this conversation to {host}?",
        "detail": (
            f"{host} is outside this machine. {pixels} Write no patient data into the question. "
            "Your answer holds for this conversation and this model until Sightline is closed."
        ),
    }


def record_request(model: str, host: str, *, notes: bool = False) -> dict[str, Any]:
    """Return the fields of the approval request for sending what a patient's record says.

    `notes`: whether free text is sent, cleaned, rather than held back.
    """
    free = (
        "Notes and reports, without every word that is neither ordinary nor clinical"
        if notes
        else "Of notes and reports only their kind: their text is held back (Settings > Tools)"
    )
    return {
        "about": "record",
        "host": host,
        "model": model,
        "sent": [
            "Values, diagnoses, medication and scores that tools read from the patient's record",
            "Without names, record numbers, addresses and dates; a date becomes a count of days",
            free,
        ],
        "title": f"Also send what the patient's record says to {host}?",
        "detail": (
            "A rare disease or an unusual course can tell who somebody is, even without a name. "
            "With no, the results stay here and the model is told so. Your answer holds for this "
            "conversation and this model until Sightline is closed; for pictures you are asked "
            "apart."
        ),
    }


def picture_request(model: str, host: str, shown: Sequence[Shown]) -> dict[str, Any]:
    """Return the fields of the approval request for sending these pictures to a remote model."""
    risky = any(item.risk for item in shown)
    again = " You are asked once more about those that say why." if risky else ""
    return _pictures("pictures", model, host, shown) | {
        "title": f"Also send pictures to {host}?",
        "detail": (
            "They are what the viewer shows, as PNG without the file's attributes. Text that is "
            "burnt into an image (a name, an id, a date) cannot be removed and would be sent with "
            f"it: look at the pictures before you answer.{again} With no, text alone is sent. Your "
            "answer holds for these images in this conversation until Sightline is closed; about "
            "others you are asked."
        ),
    }


def risky_request(model: str, host: str, shown: Sequence[Shown]) -> dict[str, Any]:
    """Return the fields of the second request, for pictures that may show who the patient is."""
    one = len(shown) == 1
    reasons = " ".join(f"{item.picture.image_id}: {item.risk}" for item in shown)
    return _pictures("risky_pictures", model, host, shown) | {
        "title": f"{'This picture' if one else 'These pictures'} may show who the patient is. "
        f"Send {'it' if one else 'them'} to {host}?",
        "detail": (
            f"{reasons} Enlarge {'the picture' if one else 'each picture'} and look for a name, an "
            "id, a date or a face. With no, "
            f"{'it stays' if one else 'they stay'} here. Your answer holds for exactly "
            f"{'this picture' if one else 'these pictures'}."
        ),
    }


def _pictures(about: str, model: str, host: str, shown: Sequence[Shown]) -> dict[str, Any]:
    counted = "A picture" if len(shown) == 1 else f"{len(shown)} pictures"
    return {
        "about": about,
        "host": host,
        "model": model,
        "sent": [
            f"{counted}, exactly as shown below",
            "The words beside each picture",
        ],
        "pictures": [
            {**item.picture.model_dump(include={"path", "caption", "image_id"}), "risk": item.risk}
            for item in shown
        ],
    }
