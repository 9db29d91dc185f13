"""Studies for `blind_commands_01.toml` in the real window, with the offline assistant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import UID, ExplicitVRLittleEndian, generate_uid
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog

from app.agent.events import ApprovalRequested, RunEvent, RunFinished, ToolFinished
from app.agent.sessions import Thread
from app.imaging.findings import Box, Finding, Geometry, Mask, Provenance, State
from app.imaging.types import ImageRef, Window
from app.views.agent_thread import AgentThread
from app.views.canvas.corner_text import Detail
from app.views.chat.dock import ChatDock
from app.wiring import Program, ViewRequest, build_window
from app.workspace.layout import LAYOUTS
from app.workspace.viewport import Display
from tests.gui.viewer_support import WaitUntil

SIZE = 320
_STORAGE = {
    "CT": UID("1.2.840.10008.5.1.4.1.1.2"),
    "DX": UID("1.2.840.10008.5.1.4.1.1.1.1"),
    "US": UID("1.2.840.10008.5.1.4.1.1.3.1"),
}


def image(modality: str, study: str, series: str, number: int, **attributes: Any) -> Dataset:
    """One image of a noisy ramp; `attributes` replace those that it has."""
    made = Dataset()
    made.file_meta = FileMetaDataset()
    made.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    made.file_meta.MediaStorageSOPClassUID = made.SOPClassUID = _STORAGE[modality]
    made.SOPInstanceUID = generate_uid(entropy_srcs=[series, str(number)])
    made.file_meta.MediaStorageSOPInstanceUID = made.SOPInstanceUID
    made.StudyInstanceUID, made.SeriesInstanceUID = study, series
    made.PatientName, made.PatientID = "Doe^Jane", "4711"
    made.PatientBirthDate, made.PatientSex = "19600101", "F"
    made.Modality, made.InstanceNumber = modality, number
    made.StudyDate, made.SeriesNumber = "20240131", 1
    made.Rows = made.Columns = SIZE
    made.SamplesPerPixel, made.PhotometricInterpretation = 1, "MONOCHROME2"
    made.BitsAllocated, made.BitsStored, made.HighBit, made.PixelRepresentation = 16, 12, 11, 0
    ramp = np.linspace(0, 4000, SIZE, dtype=np.uint16)
    noise = np.random.default_rng(number).integers(0, 90, (SIZE, SIZE), np.uint16)
    made.PixelData = (np.tile(ramp, (SIZE, 1)) + noise).astype("<u2").tobytes()
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def ct_series(folder: Path, study: str, number: int, count: int, name: str) -> None:
    """A CT series 5 mm apart downwards from z = -40 mm."""
    uid = generate_uid(entropy_srcs=[study, str(number)])
    for place in range(count):
        made = image(
            "CT",
            study,
            uid,
            place + 1,
            SeriesNumber=number,
            SeriesDescription=name,
            StudyDescription="CT chest",
            ImageOrientationPatient=[1, 0, 0, 0, 1, 0],
            ImagePositionPatient=[-160.0, -160.0, -40.0 - 5.0 * place],
            PixelSpacing=[1.0, 1.0],
            SliceThickness=1.25 if number == 3 else 5.0,
            FrameOfReferenceUID=f"{study}.9",
            RescaleSlope=1,
            RescaleIntercept=-1024,
            RescaleType="HU",
            WindowCenter=50,
            WindowWidth=350,
        )
        made.save_as(folder / f"{number}-{place:03}.dcm", enforce_file_format=True)


def radiograph(folder: Path, date: str) -> None:
    """A chest radiograph of a date; of the same patient as the others."""
    made = image(
        "DX",
        f"1.2.3.{date}",
        f"1.2.3.{date}.1",
        1,
        StudyDate=date,
        BodyPartExamined="CHEST",
        ViewPosition="PA",
        WindowCenter=2048,
        WindowWidth=4096,
        StudyDescription="Chest PA",
        PatientOrientation=["L", "F"],
    )
    made.save_as(folder / f"{date}.dcm", enforce_file_format=True)


def loop(folder: Path) -> None:
    """An ultrasound loop of 60 frames, 15 a second."""
    frames = 60
    pixels = np.random.default_rng(0).integers(0, 255, (frames, 64, 64), np.uint8)
    made = image(
        "US",
        "1.2.3.60",
        "1.2.3.60.1",
        1,
        Rows=64,
        Columns=64,
        BitsAllocated=8,
        BitsStored=8,
        HighBit=7,
        NumberOfFrames=frames,
        FrameTime=1000 / 15,
        PixelData=pixels.tobytes(),
    )
    made.save_as(folder / "loop.dcm", enforce_file_format=True)


def make_files(scene: str, folder: Path) -> None:
    """Write the files of a scene of `blind_commands_01.toml`, named as `files_of` says."""
    folder.mkdir()
    if scene == "ct":
        ct_series(folder, "1.2.3.1", 1, 1, "Scout")
        ct_series(folder, "1.2.3.1", 2, 40, "Chest axial 5 mm")
        ct_series(folder, "1.2.3.1", 3, 160, "Lung 1.25 mm kernel")
    elif scene == "cine":
        loop(folder)
    else:
        if scene != "cxr":
            radiograph(folder, "20220131")
        radiograph(folder, "20240131")


def files_of(scene: str) -> str:
    """Return the scene whose files a scene shows: several differ in what is shown of them only."""
    return {"ct_pair": "ct", "pointed": "ct", "worked": "ct", "two": "prior"}.get(scene, scene)


class Room:
    """The real window on a scene, with the offline assistant.

    Attributes:
        folder: The scene's files, which all tests share: to be read only.
        asked: What the user was asked since the last command, and the dialogues that opened.
        answer: What the user answers.
        marks_all: Whether there are findings in scenes of several images, too: on the current one.
    """

    marks_all = False

    def __init__(self, scene: str, folder: Path, wait_until: WaitUntil) -> None:
        self.scene, self.folder, self.wait = scene, folder, wait_until
        self.program = Program()
        self.window = build_window(self.program, ViewRequest(llm="offline"))
        self.window.resize(1300, 900)
        self.window.show()
        self.workspace = self.window.workspace
        assert isinstance(self.window.chat, ChatDock)
        self.agent: AgentThread = self.window.chat._agent
        self.thread = Thread("talk")
        self.asked: list[str] = []
        self.answer = False
        self.said = ""
        self.failed: list[str] = []
        self.findings: dict[str, Finding] = {}
        self._ended: list[str] = []
        self._refs: dict[str, ImageRef] = {}
        self.agent.run_event.connect(self._hear)
        self.agent.run_ended.connect(lambda _run, kind: self._ended.append(kind))
        self.window.open_paths([folder])
        wait_until(lambda: not self.window.busy and self.workspace.studies.all)
        self._watch = QTimer(self.window, interval=30)
        self._watch.timeout.connect(self._close_dialogs)
        self._watch.start()

    def close(self) -> None:
        """Close the window and end the program."""
        self._watch.stop()
        self.window.close()
        self.window.deleteLater()
        self.program.close()

    def _hear(self, event: RunEvent) -> None:
        if isinstance(event, ApprovalRequested):
            self.asked.append(f"{event.title} {event.detail}")
            self.agent.resolve(event.approval_id, self.answer)
        elif isinstance(event, ToolFinished) and event.status != "ok":
            self.failed.append(event.summary)
        elif isinstance(event, RunFinished):
            self.said = event.answer

    def _close_dialogs(self) -> None:
        for one in QApplication.topLevelWidgets():
            if isinstance(one, QDialog) and one.isVisible():
                self.asked.append(one.windowTitle())
                one.reject()

    def ask(self, text: str) -> None:
        """Ask the assistant, and wait until the run has ended and all is shown."""
        self.asked, self.failed, self.said, self._ended = [], [], "", []
        self.agent.ask(text, self.thread)
        self.wait(lambda: self._ended)
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is loading."""

        def still() -> bool:
            frames = self.window.viewports.frames
            return not any(one.canvas.busy or one.planes.busy for one in frames)

        self.wait(lambda: still() and not self.window.busy)

    def begin(self, start: dict[str, Any]) -> None:
        """Show the scene as it is described, with the differences in `start`."""
        window, workspace = self.window, self.workspace
        layout, scene = workspace.layout, self.scene
        window.canvas.scroller.pause()
        workspace.annotations.forget([one.finding.id for one in workspace.annotations.all()])
        window.links.set_link("scroll", on=False)
        if layout.maximised:
            layout.maximise(False)
        layout.arrange(LAYOUTS["1x1"])
        studies = sorted(workspace.studies.all, key=lambda one: one.date)
        series = studies[-1].series
        main = next((one for one in series if one.number == 2), series[0])
        place = start.get("slice", 20) - 1 if len(main.instances) == 40 else 0
        frame = start.get("frame", 10) - 1 if scene == "cine" else 0
        self._show(0, main.instances[place], frame)
        if scene in ("two", "ct_pair"):
            layout.arrange(LAYOUTS["1x2"])
            other = studies[0].series[0] if scene == "two" else series[2]
            self._show(1, other.instances[0])
            layout.activate(layout.viewports[0])
        canvas = window.canvas
        canvas.scroller.speed = 1.0
        for one in window.viewports.frames:
            one.canvas.set_detail(Detail.ALL)
        canvas.drawing_tool.set_tool("")
        for name in ("Studies", "Findings"):
            window.docks[name].show()
        self.settle()
        self._add_findings()
        workspace.key_marks.forget(workspace.key_marks.images())
        self._start(start)
        workspace.commands.clear()
        self.settle()
        if scene == "worked":
            for text in ("lung window", "slice 30", "invert"):
                self.ask(text)
                self.thread = Thread(f"talk-{text}")
        if scene == "worked" and start.get("undone"):
            workspace.commands.undo()
            self.settle()
        if scene == "pointed":
            for x, y in ((210, 180), (260, 240)):
                at = canvas.to_widget(x, y).toPoint()
                QTest.mouseClick(canvas.viewport(), Qt.MouseButton.LeftButton, pos=at)

    def _show(self, number: int, instance: Any, frame: int = 0) -> None:
        viewport = self.workspace.layout.viewports[number]
        viewport.show(instance, frame)
        viewport.set_display(Display())
        self.settle()
        self.window.viewports.frame_of(viewport).canvas.fit()

    def _start(self, start: dict[str, Any]) -> None:
        canvas, workspace = self.window.canvas, self.workspace
        actions = self.window.actions_.shortcuts_.actions
        for name, value in start.items():
            if name == "window":
                canvas.set_window(Window(value["center"], value["width"]))
            elif name == "plane":
                actions[f"plane_menu.choices.{value}"].trigger()
            elif name == "inverted":
                canvas.toggle_invert()
            elif name == "flipped":
                actions["flip_h" if value == "horizontal" else "flip_v"].trigger()
            elif name == "rotated":
                canvas.rotate(value // 90)
            elif name == "zoom":
                canvas.zoom_by(value)
            elif name == "layout":
                workspace.layout.arrange(LAYOUTS["x".join(map(str, value))])
            elif name == "maximised":
                workspace.layout.maximise(value)
            elif name == "panels":
                for dock in ("Studies", "Findings"):
                    self.window.docks[dock].setVisible(value)
            elif name == "linked":
                self.window.links.set_link("scroll", on=value)
            elif name == "playing":
                canvas.scroller.toggle()
            elif name == "texts":
                canvas.set_detail(Detail.ALL if value else Detail.NONE)
            elif name == "key_image":
                actions["key_image"].trigger()
            elif name == "hidden":
                workspace.annotations.set_visible([f"id-{one}" for one in value], False)
            elif name == "state":
                for one, state in value.items():
                    workspace.annotations.decide([f"id-{one}"], State(state))
            elif name == "selected":
                workspace.annotations.select(f"id-{value}")
            elif name == "active":
                right = workspace.layout.viewports[1]
                workspace.layout.activate(right)
            elif name not in ("undone", "slice", "frame"):
                raise AssertionError(f"a start with {name}")
            self.settle() if name != "playing" else None

    def _add_findings(self) -> None:
        """Add the scene's findings: boxes and masks of tools, proposed."""
        self.findings = {}
        several = self.scene in ("prior", "two", "ct_pair")
        if self.scene == "cine" or (several and not self.marks_all):
            return
        frame = self.window.canvas.frame
        assert frame is not None
        ct = self.scene not in ("cxr", "prior", "two")
        kinds: dict[str, tuple[str, Geometry, int]] = {
            "A": ("Nodule", Box(60, 80, 84, 104), 12),
            "B": ("Left pleural effusion", _mask(220, 240, 60, 40), 25),
            "C": ("Heart", _mask(140, 160, 70, 80), 20),
            "D": ("Left lung", _mask(180, 60, 90, 160), 20),
            "E": ("Right lung", _mask(40, 60, 90, 160), 20),
        }
        if not ct:
            kinds = {
                "A": ("Heart", _mask(140, 160, 70, 80), 1),
                "B": ("Left pleural effusion", Box(220, 240, 290, 290), 1),
                "C": ("Right nodule", Box(60, 80, 84, 104), 1),
                "D": ("Left lung", _mask(180, 60, 90, 160), 1),
                "E": ("Right lung", _mask(40, 60, 90, 160), 1),
            }
        shown = self.workspace.acquired if ct else None
        series = self.workspace.studies.series_of(shown) if shown is not None else None
        for name, (label, geometry, place) in kinds.items():
            ref = frame.ref
            if series is not None and place != 20:
                ref = self._ref(series.instances[place - 1])
            made = Provenance("finder", "1", "net", "", "earlier", name)
            self.findings[name] = Finding(
                f"id-{name}", ref, geometry, label, None, "", made, state=State.PROPOSED
            )
        self.workspace.annotations.add(list(self.findings.values()))

    def _ref(self, instance: Any) -> ImageRef:
        if (known := self._refs.get(instance.sop_instance_uid)) is None:
            frame = self.program.decoder.frame(instance)
            self.wait(frame.done)
            known = self._refs[instance.sop_instance_uid] = frame.result().ref
        return known


def _mask(x: int, y: int, width: int, height: int) -> Mask:
    pixels = np.zeros((SIZE, SIZE), np.bool_)
    pixels[y : y + height, x : x + width] = True
    return Mask(pixels)
