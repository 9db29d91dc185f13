"""Consent to send a question, its pictures and the conversation: the methods of `SendConsent`.

ask: asks for consent, reads the headers, makes the pictures, asks about them and once more about
     those that may show who the patient is, and adds the question to the transcript
keep: reads the headers, makes the pictures, adds the question; nothing is sent, nothing is asked
go_on: asks, after `keep`, all that `ask` would have asked, because a model is needed after all
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.agent.events import Noted
from app.agent.json_forms import plain
from app.agent.llm.base import LanguageModel, ModelFailed, is_encrypted
from app.agent.loop.emitter import Emitter
from app.agent.loop.limits import WallClock
from app.agent.loop.tool_execution import in_thread, log_unexpected
from app.agent.loop.transcript import Transcript
from app.agent.messages import Message, Picture, RecordContent
from app.agent.planning import named_patients
from app.agent.policy.approvals import ask
from app.agent.privacy import confidentiality_profile as profile
from app.agent.privacy.consents import Consents, Target, consent_request, record_request
from app.agent.privacy.model_pictures import ShownPictures, make_pictures, may_send
from app.agent.privacy.record_content import identifiers_of
from app.agent.request import RunRequest, make_folder

_DECIMAL = re.compile(r"[-+]?\d{0,4}(?:\.\d*)?")
"""The shortest id that is searched for: one of four digits may as well be a number of pixels."""
_TIME = re.compile(r"[-+\d.:]*")
_FIGURE = re.compile(r"[-+]?\d{0,5}|[-+\d.:eE]*[.:][-+\d.:eE]*")
_LONG_ARC = re.compile(r"\d{8,}")
_LOCAL_WAIT_S = 2.0
_LONGEST = 500  # characters; what is longer was cut and stands nowhere like this


@dataclass(frozen=True, slots=True)
class Known:
    """The identifiers of the patients whose images are open.

    Attributes:
        identifiers: Names, places, ids, dates; their parts and other notations are removed, too.
        texts: Remarks and descriptions: their uncommon words and long numbers are removed.
    """

    identifiers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def known_of(headers: Iterable[tuple[str, str]]) -> Known:
    """Return the identifiers in DICOM headers, given as pairs (keyword or private tag, value)."""
    identifiers: set[str] = set()
    texts: set[str] = set()
    for keyword, whole in headers:
        if keyword in profile.PERSONS or keyword in profile.DATES:
            identifiers.update(_values(whole))
        elif keyword in profile.NUMBERS:
            identifiers.update(value for value in _values(whole) if not _DECIMAL.fullmatch(value))
        elif keyword in profile.UIDS:
            # Whole ones are removed wherever they stand; people type the end of one.
            texts.update(_LONG_ARC.findall(whole))
        elif keyword in profile.PROFILE or keyword == "TextValue" or not keyword[:1].isalpha():
            number = _TIME if keyword in profile.REST else _FIGURE
            texts.update(value for value in whole.split("\\") if not number.fullmatch(value))
        elif profile.is_coded(keyword) and not profile.is_code(keyword, whole):
            texts.add(whole)
    return Known(tuple(sorted(identifiers)), tuple(sorted(texts)))


def _values(whole: str) -> list[str]:
    """Return the values of a multi-valued attribute (PS3.5 6.4)."""
    return [value.strip() for value in whole.split("\\") if 0 < len(value.strip()) < _LONGEST]


async def known_to(request: RunRequest, host: str) -> Known:
    """Return the identifiers in the open files; cached while the same files are open.

    `host` is the remote model's host, or "" for a model on this machine. Such a model receives
    everything, but the files are read nevertheless, for at most 2 s, because a later question may
    go to a remote model after the files have been closed.

    Raises:
        ModelFailed: The files cannot be read, and the question would leave this machine.
    """
    headers = getattr(request.images, "headers", None)
    if headers is None:
        return Known()
    before = _known_before(request)
    if before.texts or before.identifiers:
        return before
    reading = in_thread(lambda: known_of(headers()), "headers")
    await asyncio.wait((reading,), timeout=None if host else _LOCAL_WAIT_S)
    if not reading.done():
        reading.cancel()
        return Known()
    value, error = reading.result()
    if isinstance(error, BaseException):
        log_unexpected("The open files' headers could not be read", error)
        if host:
            raise ModelFailed(
                "The open files' headers could not be read, so nothing says which words of a "
                "text are names. Nothing was sent",
                remedy="Close what was opened last, or choose a model on this machine.",
            )
    return value or Known()


def _known_before(request: RunRequest) -> Known:
    """Return the identifiers found for an earlier question about the same files."""
    wanted = [plain(note) for note in request.image_notes]
    for message in reversed(request.thread.history):
        if message.role == "user" and message.images == wanted and message.texts:
            return Known(tuple(message.identifiers), tuple(message.texts))
    return Known()


@dataclass(slots=True)
class SendConsent:
    """Asks the user to consent to sending a run's question; adds the question to the transcript.

    `eyes` says whether the model accepts pictures; `look` are the pictures once they are made.
    """

    request: RunRequest
    model: LanguageModel
    eyes: bool
    consents: Consents
    emitter: Emitter
    clock: WallClock
    transcript: Transcript
    look: ShownPictures | None = None

    async def ask(self, images: Sequence[str] = (), *, of_view: bool = False) -> bool:
        """Ask for consent to send the conversation; return whether pictures may be sent with it.

        Adds the user's question to the transcript. `images` are the ids of the images it names;
        with `of_view`, it is also about what the window shows.

        Raises:
            ModelFailed: The user does not allow the conversation to be sent, or the open files
                cannot be read.
        """
        pictures: list[Picture] = []
        known = Known()
        try:
            await self._consent()
            known = await self._known()
            await self._make(images, of_view)
            pictures = await self._allowed()
        finally:
            # Kept also where it is not answered: the user asked it.
            self._say(known, pictures)
        return bool(pictures)

    async def keep(self, images: Sequence[str] = (), *, of_view: bool = False) -> None:
        """Add the question to the transcript without asking for consent; arguments as in `ask`.

        For questions that rules answer without a language model, so that nothing is sent.
        """
        pictures: list[Picture] = []
        known = Known()
        try:
            # A model may have to go on, or read this later.
            known = await self._known()
            await self._make(images, of_view)
            # None of them is sent that was not allowed, whatever stands in the conversation.
            pictures = list(self.look.pictures) if self.look is not None else []
        finally:
            self._say(known, pictures)

    async def go_on(self) -> bool:
        """Ask for the consents that `keep` left out; return whether pictures may be sent.

        Raises:
            ModelFailed: The user does not allow the conversation to be sent.
        """
        await self._consent()
        return bool(await self._allowed())

    async def may_send(self) -> None:
        """Ask for consent to send the conversation, unless it was given.

        Raises:
            ModelFailed: The user does not allow it.
        """
        await self._consent()

    async def may_send_record(self, *, notes: bool) -> bool:
        """Return whether results of patients' records may be sent; the user is asked once."""
        to = Target(self.request.thread.thread_id, self.model.remote_host, self.model.name)
        allowed = self.consents.record_allowed(to)
        if allowed is None:
            wanted = record_request(self.model.name, self.model.remote_host, notes=notes)
            with self.clock.paused():
                decision = await ask(self.emitter, self.request.approve, wanted)
            allowed = decision.granted
            self.consents.answer_record(to, allowed)
        return allowed

    async def _consent(self) -> None:
        model, consents = self.model, self.consents
        thread_id = self.request.thread.thread_id
        if not model.remote_host or consents.given(thread_id, model.remote_host, model.name):
            return
        encrypted = is_encrypted(model)
        wanted = consent_request(
            model.name, model.remote_host, pictures=self.eyes, encrypted=encrypted
        )
        with self.clock.paused():
            decision = await ask(self.emitter, self.request.approve, wanted)
        if not decision.granted:
            raise ModelFailed(
                f"You did not allow anything to be sent to {model.remote_host}. Nothing was sent.",
                remedy="Ask again and allow it, or choose a model on this computer.",
            )
        consents.give(thread_id, model.remote_host, model.name)

    async def _known(self) -> Known:
        known = await known_to(self.request, self.model.remote_host)
        make_folder(self.request.out_dir)
        return known

    async def _make(self, images: Sequence[str], of_view: bool) -> None:
        if self.eyes:
            views = self.request.views if of_view else ()
            self.look = await make_pictures(self.request, images, views=views)

    async def _allowed(self) -> list[Picture]:
        """Return the pictures that the model may get; for a remote model the user is asked."""
        look = self.look
        if look is None:
            return []
        for problem in look.problems:
            self.emitter.emit(Noted, text=problem)
        with self.clock.paused():
            allowed = await may_send(
                self.request,
                look,
                self.model.name,
                self.model.remote_host,
                consents=self.consents,
                emitter=self.emitter,
            )
        return list(allowed)

    def _say(self, known: Known, pictures: list[Picture]) -> None:
        question = Message(
            role="user",
            text=self.request.question,
            images=[plain(note) for note in self.request.image_notes],
            pictures=pictures,
            identifiers=[*self.request.identifiers, *known.identifiers],
            texts=list(known.texts),
            record=_patients_asked_about(self.request),
        )
        self.transcript.say(question)


def _patients_asked_about(request: RunRequest) -> RecordContent | None:
    """Return whose records a question may be about: those it names, and the one in use."""
    named = list(named_patients(request.question, request.records).patients)
    shown = request.records.patient(request.record_patient) if request.record_patient else None
    patients = {one.id: one for one in (*([shown] if shown else []), *named)}
    if not patients:
        return None
    return RecordContent(
        patients=[(one.id, one.name) for one in patients.values()],
        identifiers=sorted({text for one in patients.values() for text in identifiers_of(one)}),
    )
