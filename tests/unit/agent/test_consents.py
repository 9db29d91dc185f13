"""A picture that was not on the screen is never sent; a risky one only after a yes of its own."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.agent.events import ApprovalRequested
from app.agent.llm.hosted_model import encoded
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.emitter import Emitter
from app.agent.messages import Picture
from app.agent.privacy.consents import Consents, Shown, Target, consent_request, digest_from_name
from app.agent.privacy.model_pictures import ShownPictures, may_send, risk_of
from app.agent.request import RunRequest
from app.agent.sessions import Thread
from app.imaging.types import Instance, Window
from app.tools.images import RunImages
from tests.support.fake_tools import FakeRegistry
from tests.support.scripted_model import ScriptedModel, says
from tests.unit.agent.test_context_in_runs import User, model, pictured
from tests.unit.agent.test_pictures import Source, opened, request
from tests.unit.agent.test_pictures import pictured as shown_of

HOST = "api.example.org"


class Case:
    """One conversation with a user who answers as told."""

    def __init__(self, *answers: bool) -> None:
        self.user = User(*answers)
        self.consents = Consents()
        self.thread = Thread.in_memory()

    def request(self, images: RunImages, folder: Path, question: str = "What is it?") -> RunRequest:
        made = request(images, folder, question, approve=self.user)
        return replace(made, thread=self.thread)

    def sends(self, images: RunImages, folder: Path, **more: Any) -> int:
        """How many pictures of one question may go."""
        asked = self.request(images, folder, more.pop("question", "What is it?"))
        look = shown_of(asked)
        return len(self.allowed(asked, look, **more))

    def allowed(
        self, asked: RunRequest, look: ShownPictures, host: str = HOST, name: str = "m"
    ) -> tuple[Picture, ...]:
        async def ask() -> tuple[Picture, ...]:
            return await may_send(
                asked, look, name, host, consents=self.consents, emitter=Emitter("run")
            )

        return asyncio.run(ask())

    @property
    def about(self) -> list[str]:
        """What was asked, in order; the list begins anew."""
        asked, self.user.asked = self.user.asked, []
        return [event.about for event in asked]


def windowed(images: RunImages, folder: Path, source: Any, width: float) -> RunImages:
    """The same images, seen with another window."""
    turned = [replace(image, window=Window(30.0, width)) for image in images._opened]
    return RunImages(turned, folder, source)


# -- which pictures ---------------------------------------------------------------------------


def test_a_picture_that_stays_back_is_told_of_with_each_later_question(tmp_path: Path):
    user, thread, consents = User(True, False), Thread.in_memory(), Consents()
    scripted = model(says("Blind."), says("Blind."), remote=HOST, images=True)
    told: list[list[str]] = []
    for part in ("one", "two"):
        folder = tmp_path / part
        folder.mkdir()
        events = pictured(folder, scripted, user, thread=thread, consents=consents)
        told.append([event.text for event in events if event.kind == "notice"])
    first, (second,) = told
    assert first == []
    assert second.startswith(f"image 1 (DX, PA, 2024-01-31) is not sent to {HOST}, as you said.")


@pytest.mark.parametrize("granted", [True, False])
def test_an_image_is_asked_about_once_a_conversation_host_and_model(tmp_path: Path, granted: bool):
    images, _ = opened(tmp_path, (8, 8), BurnedInAnnotation="NO")
    case = Case(*[granted] * 4)
    for _ in range(3):
        assert case.sends(images, tmp_path / "files") == granted
    assert case.about == ["pictures"]
    case.sends(images, tmp_path / "files", host=f"{HOST}:8443")
    case.sends(images, tmp_path / "files", name="another model")
    assert case.about == ["pictures", "pictures"]
    case.consents.withdraw(HOST)
    assert case.sends(images, tmp_path / "files") == granted
    assert case.about == ["pictures"]


def test_another_conversation_is_asked_again(tmp_path: Path):
    images, _ = opened(tmp_path, (8, 8), BurnedInAnnotation="NO")
    case = Case(True, True)
    case.sends(images, tmp_path / "files")
    case.thread = Thread.in_memory()
    case.sends(images, tmp_path / "files")
    assert case.about == ["pictures", "pictures"]


def test_a_new_image_is_asked_about_and_a_known_one_is_not_again(tmp_path: Path):
    images, _ = opened(tmp_path, (8, 8), (9, 9), BurnedInAnnotation="NO")
    case = Case(True, False)
    assert case.sends(images, tmp_path / "files") == 1
    assert case.sends(images, tmp_path / "files", question="And image 2?") == 1
    first, second = case.user.asked
    assert [item["image_id"] for item in first.pictures] == ["image-1"]
    assert [item["image_id"] for item in second.pictures] == ["image-2"]


def test_another_window_of_an_image_is_covered_but_not_of_a_risky_one(tmp_path: Path):
    images, source = opened(tmp_path, (30, 30), BurnedInAnnotation="NO")
    case = Case(True)
    case.sends(images, tmp_path / "files")
    assert case.sends(windowed(images, tmp_path / "files", source, 20.0), tmp_path / "files") == 1
    assert case.about == ["pictures"]
    risky = [
        replace(image, instance=replace(image.instance, attributes={"Modality": "US"}))
        for image in images._opened
    ]
    seen = RunImages(risky, tmp_path / "files", source)
    case = Case(True, True, True, True)
    assert case.sends(seen, tmp_path / "files") == 1
    assert case.sends(seen, tmp_path / "files") == 1
    assert case.about == ["pictures", "risky_pictures"]
    assert case.sends(windowed(seen, tmp_path / "files", source, 20.0), tmp_path / "files") == 1
    assert case.about == ["pictures", "risky_pictures"]


@pytest.mark.parametrize(
    ("answers", "asked", "sent"),
    [
        ((False,), ["pictures"], []),
        ((True, False), ["pictures", "risky_pictures"], ["image-2"]),
        ((True, True), ["pictures", "risky_pictures"], ["image-1", "image-2"]),
    ],
)
def test_a_risky_picture_needs_a_second_yes_and_the_others_do_not_wait_for_it(
    tmp_path: Path, answers: tuple[bool, ...], asked: list[str], sent: list[str]
):
    images, source = opened(tmp_path, (8, 8), (9, 9), BurnedInAnnotation="NO")
    first, second = images._opened
    marked = replace(first.instance, attributes={"Modality": "US", "BurnedInAnnotation": "NO"})
    mixed = RunImages([replace(first, instance=marked), second], tmp_path / "files", source)
    case = Case(*answers)
    run = case.request(mixed, tmp_path / "files", "Compare with image 2.")
    look = shown_of(run)
    assert [item.image_id for item in case.allowed(run, look)] == sent
    events = list(case.user.asked)
    assert case.about == asked
    if len(events) > 1:
        (only,) = events[1].pictures
        assert only["image_id"] == "image-1"
        assert only["risk"].startswith("Ultrasound")
        assert only["risk"] in events[1].detail


def test_a_question_shows_exactly_the_files_that_would_be_sent(tmp_path: Path):
    images, _ = opened(tmp_path, (8, 8), BurnedInAnnotation="NO")
    case = Case(True)
    run = case.request(images, tmp_path / "files")
    (picture,) = case.allowed(run, shown_of(run))
    (event,) = case.user.asked
    (shown,) = event.pictures
    assert shown == {
        "path": picture.path, "caption": picture.caption, "image_id": "image-1", "risk": "",
    }  # fmt: skip
    assert (event.host, event.model) == (HOST, "m")
    assert base64.b64decode(encoded(picture)) == Path(shown["path"]).read_bytes()


def test_what_takes_the_place_of_a_picture_that_was_shown_is_not_sent(tmp_path: Path):
    images, _ = opened(tmp_path, (8, 8), (9, 9), BurnedInAnnotation="NO")
    case = Case(True)
    run = case.request(images, tmp_path / "files", "image 2")
    one, two = case.allowed(run, shown_of(run))
    assert encoded(one)
    Path(one.path).write_bytes(Path(two.path).read_bytes())
    assert encoded(one) == ""


def test_a_run_that_is_stopped_between_the_questions_has_allowed_nothing(tmp_path: Path):
    images, _ = opened(tmp_path, (8, 8), BurnedInAnnotation="YES")
    case = Case()

    async def stops(event: ApprovalRequested) -> bool:
        if event.about == "risky_pictures":
            raise asyncio.CancelledError
        return True

    run = replace(case.request(images, tmp_path / "files"), approve=stops)
    look = shown_of(run)
    with pytest.raises(asyncio.CancelledError):
        case.allowed(run, look)
    assert not case.consents.sees(Target(case.thread.thread_id, HOST, "m"), look.pictures[0])


def test_a_model_on_this_machine_needs_no_consent(tmp_path: Path):
    images, _ = opened(tmp_path, (8, 8))
    case = Case()
    assert case.sends(images, tmp_path / "files", host="") == 1


# -- what is risky ----------------------------------------------------------------------------


def image(kind: str = "dicom", **attributes: str) -> Instance:
    return Instance(Path("x"), "1.2.3", kind, 8, 8, attributes=attributes)


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ({"Modality": "DX", "BurnedInAnnotation": "NO"}, ""),
        ({"Modality": "CT", "BurnedInAnnotation": " no "}, ""),
        ({"Modality": "CT", "BurnedInAnnotation": "YES"}, "there IS text"),
        ({"Modality": "CT", "BurnedInAnnotation": "yes"}, "there IS text"),
        ({"Modality": "CT", "BurnedInAnnotation": "NONE"}, "does not say"),
        ({"Modality": "CT"}, "does not say"),
        ({"Modality": "US", "BurnedInAnnotation": "NO"}, "Ultrasound"),
        ({"Modality": " us", "BurnedInAnnotation": "NO"}, "Ultrasound"),
        ({"Modality": "SC", "BurnedInAnnotation": "NO"}, "screen capture"),
        ({"Modality": "OT", "BurnedInAnnotation": "NO"}, "other"),
        ({"Modality": "XC", "BurnedInAnnotation": "NO"}, "face"),
    ],
)
def test_which_images_may_show_who_the_patient_is(attributes: dict[str, str], why: str):
    risk = risk_of(image(**attributes))
    assert why in risk
    assert bool(risk) == bool(why)


@pytest.mark.parametrize("last", ["", ".1", ".2", ".3", ".4"])
def test_a_secondary_capture_is_risky_whatever_modality_it_claims(last: str):
    uid = f"1.2.840.10008.5.1.4.1.1.7{last}"
    told = {"Modality": "CT", "BurnedInAnnotation": "NO"}
    assert "screen capture" in risk_of(image(**told, SOPClassUID=uid))
    assert risk_of(image(**told, SOPClassUID="1.2.840.10008.5.1.4.1.1.77.1.6")) == ""


@pytest.mark.parametrize("kind", ["picture", "tiff", "volume"])
def test_a_file_without_a_header_is_risky(kind: str):
    assert "no DICOM header" in risk_of(image(kind))


# -- whole runs -------------------------------------------------------------------------------


def test_a_picture_that_was_refused_does_not_go_with_a_later_question_either(tmp_path: Path):
    user, thread, consents = User(True, True, False), Thread.in_memory(), Consents()
    scripted = model(says("Blind."), says("Blind."), remote=HOST, images=True)
    for part in ("one", "two"):
        folder = tmp_path / part
        folder.mkdir()
        pictured(folder, scripted, user, thread=thread, consents=consents, burned_in="YES")
    assert [event.about for event in user.asked] == ["conversation", "pictures", "risky_pictures"]
    for sent in scripted.requests:
        assert [picture for message in sent for picture in message.pictures] == []


def test_a_yes_to_one_model_of_a_host_is_none_to_another(tmp_path: Path):
    consents, thread = Consents(), Thread.in_memory()
    for name in ("one", "two"):
        scripted = ScriptedModel(says("Hello."), remote_host=HOST)
        scripted.name = name
        user = User(True)
        run = request(RunImages([], tmp_path, Source({})), tmp_path, approve=user)
        loop = AgentLoop(scripted, FakeRegistry(), consents=consents)

        async def talk(loop: AgentLoop = loop, run: RunRequest = run) -> str:
            return [event.kind async for event in loop.run(replace(run, thread=thread))][-1]

        assert asyncio.run(talk()) == "run_finished"
        assert [event.model for event in user.asked] == [name]


# -- the answers ------------------------------------------------------------------------------


def test_the_first_question_says_no_pixels_only_where_that_is_so():
    asked = consent_request("m", "h")
    assert "No pixels are sent." in asked["detail"]
    assert (asked["about"], asked["host"], asked["model"]) == ("conversation", "h", "m")
    asked = consent_request("m", "h", pictures=True)
    assert "No pixels" not in asked["detail"]
    assert "only if you allow that in a second question" in asked["detail"]


def test_the_settings_list_the_hosts_and_withdraw_them():
    consents = Consents()
    shown = Shown(Picture(path="0.png", caption=""), "1.2.3 0")
    to = Target("t2", "a.example.org", "m")
    consents.give("t1", "b.example.org", "m")
    consents.give("t2", "a.example.org", "m")
    consents.allow(to, shown)
    consents.refuse(Target("t1", "b.example.org", "m"), shown)
    assert consents.hosts() == ("a.example.org", "b.example.org")
    assert consents.hosts("pictures") == ("a.example.org",)
    assert consents.given("t1", "b.example.org", "m")
    assert not consents.given("t1", "b.example.org", "another")
    assert not consents.given("t1", "a.example.org", "m")
    consents.withdraw("a.example.org")
    assert consents.hosts() == ("b.example.org",)
    assert consents.hosts("pictures") == ()
    assert consents.about(to, shown) is None
    assert not consents.sees(to, shown.picture)
    assert digest_from_name(shown.picture) == "0"


@pytest.mark.parametrize(("encrypted", "warned"), [(False, True), (True, False)])
def test_the_question_warns_of_a_way_that_is_not_encrypted(
    tmp_path: Path, encrypted: bool, warned: bool
):
    user = User(False)
    model = ScriptedModel(remote_host=HOST)
    model.encrypted = encrypted  # type: ignore[attr-defined]
    asked = request(opened(tmp_path)[0], tmp_path / "out", "What is it?", approve=user)

    async def run() -> None:
        async for _ in AgentLoop(model, FakeRegistry()).run(asked):
            pass

    asyncio.run(run())
    assert [bool(event.warning) for event in user.asked] == [warned]
