"""Tools and a registry for agent tests: real specs and schemas, no models, no images."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from app.agent.events import (
    ApprovalRequested,
    RunEvent,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from app.agent.loop.agent_loop import AgentLoop, RunRequest
from app.agent.sessions import Thread
from app.imaging.findings import Box, Finding, Mask, Polyline, Provenance, new_id
from app.imaging.pixels.regions import PixelRegion
from app.imaging.types import ImageRef, Instance
from app.tools.api import (
    Approval,
    CancelToken,
    ImageSnapshot,
    ImageVolume,
    RegistrationTarget,
    Tool,
    ToolContext,
    ToolResult,
    ToolRetry,
    ToolSpec,
)

REF = ImageRef("1.2.3", 0, "0" * 64)
Run = Callable[[Any, ToolContext], ToolResult]


class Strict(BaseModel):
    """Arguments that forbid extra fields, as those of every tool do."""

    model_config = ConfigDict(extra="forbid")


class ImageInput(Strict):
    image_path: str


class DicomInput(Strict):
    dicom_path: str
    window_center: float | None = None
    window_width: float | None = None


class SegmentationInput(Strict):
    image_path: str
    organs: list[str] | None = None


class VisualizerInput(Strict):
    image_path: str
    title: str | None = None
    description: str | None = None
    figsize: tuple[float, float] | None = None
    cmap: str | None = None


class ExpertInput(Strict):
    image_paths: list[str]
    prompt: str
    max_new_tokens: int = 512


class LlavaInput(Strict):
    question: str
    image_path: str | None = None


class GroundingInput(Strict):
    image_path: str
    phrase: str
    max_new_tokens: int = 300


class GeneratorInput(Strict):
    prompt: str
    height: int = 512
    width: int = 512
    num_inference_steps: int = 75
    guidance_scale: float = 4.0


class Anything(BaseModel):
    """Output that is not checked."""


class FakeTool:
    """A tool whose `run` is a given function, with a record of its calls."""

    def __init__(
        self,
        name: str,
        input_type: type[BaseModel],
        run: Run,
        *,
        approval: Approval = Approval.COMPUTE,
        timeout_s: float = 30.0,
        sequential: bool = False,
    ) -> None:
        self.spec = ToolSpec(
            name=name,
            description=f"Does what {name} does. Made for tests.",
            Input=input_type,
            Output=Anything,
            approval=approval,
            timeout_s=timeout_s,
            pack="test",
            sequential=sequential,
        )
        self._run = run
        self.calls: list[BaseModel] = []
        self.threads: list[threading.Thread] = []

    def run(self, args: Any, context: ToolContext) -> ToolResult:
        """Record the call and run the function."""
        self.calls.append(args)
        self.threads.append(threading.current_thread())
        return self._run(args, context)


class FakeRegistry:
    """A registry of tools by name."""

    def __init__(self, *tools: Tool) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}

    def get(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        return self._tools.get(name)

    def all(self) -> tuple[Tool, ...]:
        """Return all tools."""
        return tuple(self._tools.values())


class NoImages:
    """Images of a run without open images."""

    def resolve(self, name: str, frame: int | None = None, **_: Any) -> ImageSnapshot:
        """Refuse every name."""
        raise ToolRetry(f"{name} is not open")

    def volume(self, name: str, **_: Any) -> ImageVolume:
        """Refuse every name."""
        raise ToolRetry(f"{name} is not open")

    def region(
        self, name: str, x: int, y: int, width: int, height: int, level: int | None = None
    ) -> PixelRegion:
        """Refuse every name."""
        raise ToolRetry(f"{name} is not open")

    def add_derived(
        self, path: Path, source: ImageSnapshot | None, *, target: RegistrationTarget | None = None
    ) -> None:
        """Do nothing."""

    def names(self) -> tuple[str, ...]:
        """Return no names."""
        return ()

    def instances(self) -> dict[str, Instance]:
        """Return no headers."""
        return {}

    def accepted_findings(self) -> tuple[Finding, ...]:
        return ()

    def marks(self, name: str) -> tuple[tuple[str, Finding], ...]:
        """Return no marks."""
        return ()

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Return no groups."""
        return {}


class NoHost:
    """A host without a model process."""

    def call(self, entry: str, payload: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        """Fail, because no test may call it."""
        raise AssertionError("no fake tool uses the model process")


def ok(summary: str = "done", output: dict[str, Any] | None = None, **metadata: Any) -> Run:
    """Return a `run` that always returns the same result."""

    def run(args: Any, context: ToolContext) -> ToolResult:
        return ToolResult(summary, output or {}, metadata)

    return run


def fails(error: BaseException) -> Run:
    """Return a `run` that raises an error."""

    def run(args: Any, context: ToolContext) -> ToolResult:
        raise error

    return run


def finding(context: ToolContext, geometry: Any, label: str) -> Finding:
    """Return a finding of this call."""
    provenance = Provenance("fake", "1", "", "", context.run_id, context.call_id)
    return Finding(new_id(), REF, geometry, label, 0.9, "", provenance)


def segmentation(args: Any, context: ToolContext) -> ToolResult:
    """Return a made-up segmentation with masks as findings."""
    context.progress(0.5, "half")
    mask = np.zeros((4, 6), dtype=bool)
    mask[1:3, 2:5] = True
    organs = args.organs or ["Left Lung", "Right Lung", "Heart"]
    metrics = {
        organ: {
            "area_pixels": 123456 + index,
            "area_cm2": None,
            "centroid": [10.5, 20.25],
            "bbox": [1, 2, 300, 400],
            "confidence_score": 0.8912,
        }
        for index, organ in enumerate(organs)
    }
    return ToolResult(
        f"Outlined {', '.join(organs)}.",
        {"segmentation_image_path": str(context.out_dir / "overlay.png"), "metrics": metrics},
        {"requested_organs": organs, "status": "completed"},
        tuple(finding(context, Mask(mask), organ) for organ in organs),
    )


def ratio(args: Any, context: ToolContext) -> ToolResult:
    """Return a made-up cardiothoracic ratio with its two lines."""
    lines = [Polyline(((0.0, 1.0), (50.0, 1.0))), Polyline(((0.0, 2.0), (100.0, 2.0)))]
    return ToolResult(
        "Cardiothoracic ratio about 0.47.",
        {
            "ratio": 0.4731,
            "heart_width_px": 473.1,
            "thorax_width_px": 1000.0,
            "approximate": True,
            "reliable": True,
            "warnings": ["the midline is off centre: the patient may be rotated"],
        },
        {"status": "completed"},
        tuple(finding(context, line, "width") for line in lines),
    )


def convert(args: Any, context: ToolContext) -> ToolResult:
    """Return a made-up conversion."""
    return ToolResult(
        "Converted.",
        {"image_path": str(context.out_dir / "processed.png")},
        {
            "Modality": "CR",
            "PatientID": "SECRET-ID-77",
            "PatientName": "DOE^JANE",
            "BitsStored": 15,
            "StudyDate": "20240131",
            "original_path": args.dicom_path,
            "status": "completed",
        },
    )


SCORES = {"Pneumonia": 0.312, "Mass": 0.731, "Effusion": 0.5, "Lung Opacity": 0.62}


def pack(*, full: bool = False) -> FakeRegistry:
    """Return a registry with the first tools of the seed, or all of them with `full`."""
    tools: list[Tool] = [
        FakeTool("dicom_processor", DicomInput, convert),
        FakeTool("image_visualizer", VisualizerInput, ok("Shown.", {"image_path": "shown.png"})),
        FakeTool("chest_xray_classifier", ImageInput, ok("18 scores.", dict(SCORES))),
        FakeTool("chest_xray_segmentation", SegmentationInput, segmentation),
        FakeTool("cardiothoracic_ratio", ImageInput, ratio),
    ]
    if full:
        predictions = [
            {
                "phrase": "left pleural effusion",
                "bounding_boxes": {"image_coordinates": [[10, 20, 110, 220]]},
            }
        ]
        tools += [
            FakeTool(
                "chest_xray_report_generator",
                ImageInput,
                ok("Report.", {"findings": "No acute finding.", "impression": "Normal."}),
            ),
            FakeTool("chest_xray_expert", ExpertInput, ok("Answered.", {"response": "A mass."})),
            FakeTool("llava_med_qa", LlavaInput, ok("Answered.", {"response": "I agree."})),
            FakeTool(
                "xray_phrase_grounding",
                GroundingInput,
                ok("Found.", {"predictions": predictions, "visualization_path": "boxes.png"}),
            ),
            FakeTool(
                "chest_xray_generator", GeneratorInput, ok("Made.", {"image_path": "generated.png"})
            ),
        ]
    return FakeRegistry(*tools)


DICOM_NOTE = {
    "id": "image-1",
    "path": "/studies/DOE_JANE/RG1.dcm",
    "kind": "dicom",
    "modality": "CR",
    "view": "PA",
    "rows": 1955,
    "columns": 1841,
    "frames": 1,
}
PNG_NOTE = {
    **DICOM_NOTE,
    "path": "/pictures/chest.png",
    "kind": "picture",
    "modality": "",
    "view": "",
}


async def yes(event: ApprovalRequested) -> bool:
    """Approve every request."""
    return True


def request(
    out_dir: Path,
    question: str = "question",
    *,
    notes: Sequence[Mapping[str, Any]] = (DICOM_NOTE,),
    thread: Thread | None = None,
    **changes: Any,
) -> RunRequest:
    """Return a request for tests."""
    fields: dict[str, Any] = {
        "run_id": "run-1",
        "thread": thread or Thread.in_memory(),
        "question": question,
        "images": NoImages(),
        "image_notes": list(notes),
        "out_dir": out_dir,
        "host": NoHost(),
        "models_dir": out_dir,
        "device": "cpu",
        "cancel": CancelToken(),
        "approve": yes,
    }
    return RunRequest(**{**fields, **changes})


async def collect(loop: AgentLoop, asked: RunRequest) -> list[Any]:
    """Return all events of a run and check their guarantees."""
    events = [event async for event in loop.run(asked)]
    check_promises(events)
    return events


def check_promises(events: Sequence[RunEvent]) -> None:
    """Check numbering without gaps, one final event, and one end for each started call.

    Calls that run side by side may finish in any order.
    """
    assert [event.seq for event in events] == list(range(len(events)))
    terminal = [
        event.kind
        for event in events
        if event.kind in ("run_finished", "run_failed", "run_cancelled")
    ]
    assert len(terminal) == 1
    assert events[-1].kind == terminal[0]
    started = [event.call_id for event in events if event.kind == "tool_started"]
    finished = [event.call_id for event in events if event.kind == "tool_finished"]
    assert sorted(started) == sorted(finished)
    assert len(set(started)) == len(started)
    order = [
        (event.call_id, event.kind)
        for event in events
        if isinstance(event, ToolStarted | ToolProgress | ToolFinished)
    ]
    for call_id in started:
        kinds = [kind for other, kind in order if other == call_id]
        assert kinds[0] == "tool_started"
        assert kinds[-1] == "tool_finished"


def box(context: ToolContext) -> Finding:
    """Return a box finding."""
    return finding(context, Box(1.0, 2.0, 3.5, 4.0), "Mass")
