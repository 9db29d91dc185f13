"""The interface between packs (groups of tools, e.g. "chest") and the program.

A tool's `run` is plain blocking code. The program calls it in a worker thread, never on the GUI
thread. Heavy work (torch) must be sent to the model process by `ToolContext.host`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from app.errors import CancelToken, SightlineError
from app.imaging.findings import Finding, Provenance
from app.imaging.pixels.regions import PixelRegion
from app.imaging.types import Frame, ImageRef, Instance, Rescale, Window
from app.records.types import NoRecords, Records
from app.tools.pack_plan import PackPlan

JsonDict = dict[str, Any]
Progress = Callable[[float, str], None]
"""`progress(fraction 0..1, text)` reports how far a piece of work is."""

PathUse = Literal["read", "write", "text"]
"""How the file that an argument names is used; see `ToolSpec.paths`."""


class Resource(StrEnum):
    """A kind of thing that is open or was made, by which an argument says what it takes.

    IMAGE is one frame, named as in `Images.resolve`; IMAGES a list of such names; GROUP the name of
    a group of images ("control"); MASK an image file whose values number objects from 1 (0 is
    background); TABLE a CSV file; VOLUME, CHANNEL and REGION are parts of an image (see `Images`).
    """

    IMAGE = "image"
    IMAGES = "images"
    GROUP = "group"
    VOLUME = "volume"
    CHANNEL = "channel"
    REGION = "region"
    RECORD = "record"
    TABLE = "table"
    MASK = "mask"
    TEXT = "text"


RESOURCE_KEY = "x-resource"
"""Key in an argument's JSON schema that holds its `Resource`."""


def takes(resource: Resource, description: str = "", **more: Any) -> Any:
    """Return the pydantic field of an argument that takes a resource.

    Use it as the default or in the type: `image_path: str = takes(Resource.IMAGE, "The image.")`.
    `more` are further arguments of `pydantic.Field`.
    """
    extra: dict[str, Any] = {RESOURCE_KEY: resource.value, **more.pop("json_schema_extra", {})}
    return Field(description=description or None, json_schema_extra=extra, **more)


REPEATING_TOOL = "for_each_image"
"""The tool that runs another on many images; its result's output has `tool` and `results`."""

MAX_VOLUME_BYTES = 2 * 1024**3
"""Most memory that the voxels of a volume may take (see `Images.volume`)."""


class ToolRetry(SightlineError):
    """The error for wrong arguments; its text tells the language model how to correct them.

    Args:
        for_model: What only the language model is told, such as ids, for the arguments.
        more: As of `SightlineError`.
    """

    def __init__(self, reason: str, *, for_model: str = "", **more: str) -> None:
        super().__init__(reason, **more)
        self.for_model = for_model


class ToolFailed(SightlineError):
    """The error for a call that cannot succeed; `remedy` says what the user can do about it."""


class Approval(StrEnum):
    """The effect of a tool; by default, only READ and COMPUTE run without asking the user."""

    READ = "read"
    COMPUTE = "compute"
    WRITE = "write"
    SEND = "send"
    EXECUTE = "execute"


class ToolInput(BaseModel):
    """Base class for the arguments of a tool; a call with an undeclared argument is refused."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Need:
    """A model or package that a tool needs.

    Attributes:
        kind: "weights" (a model; see `app.tools.models.cards`) or "package".
        name: The model's card name, or the package's import name.
        optional: Whether the tool is still useful without this model or package.
    """

    kind: str
    name: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """The description of a tool.

    Attributes:
        name: The name that a language model calls, e.g. "chest_xray_segmentation".
        description: Text for the model and the user: what it does, on what, and its limits.
        Input: Pydantic model of the arguments (extra fields forbidden).
        Output: Pydantic model of `ToolResult.output`, for documentation and checks.
        needs: Models and packages that the tool uses.
        approval: What the tool does; this decides whether the user is asked before it runs.
        timeout_s: Time limit in seconds; then the call is cancelled and reported as failed.
        pack: Name of its pack ("chest", "general").
        version: Version of the tool, recorded in provenance.
        sequential: Whether no other tool call of the same run may run at the same time.
        phrases: Phrases by which users may refer to this tool ("cell count", "count nuclei"), for
            the offline planner; `name` written with spaces is always recognised.
        paths: Maps each argument that looks like a file name to "read" or "write" (what the tool
            does with that file), or to "text" if it is not a file name after all. Relative paths
            are in the run's own folder (`ToolContext.out_dir`); only a "write" argument may name a
            file outside it.
        hosts: Host names that a tool with `approval` SEND contacts in every call.
        title: Name of the tool for people, e.g. "Measure heart size"; "" to use `name` in words.
        icon: Name of a file in resources/icons without its suffix; "" for the wrench icon.
        other_names: Further names by which a language model or a script may call the tool.
        labels: Labels of findings that always have the same colour, whatever was found before them,
            the most important first. The first three have colours that no other label gets.
        cleaned: Whether what identifies a patient is removed from the arguments of a call, as for a
            remote language model, before the user is asked and the tool runs.
        memory: What it does with the user's notes (`app.tools.memory`), if anything; then other
            programs are not offered it. A call is refused if what it "keeps" names a patient.
        for_profiles: Whether it is part of an agent profile's protocol: without a profile, a model
            is offered it only if the question names it.
    """

    name: str
    description: str
    Input: type[BaseModel]
    Output: type[BaseModel]
    needs: tuple[Need, ...] = ()
    approval: Approval = Approval.COMPUTE
    timeout_s: float = 120.0
    pack: str = ""
    version: str = "0.1.0"
    sequential: bool = False
    phrases: tuple[str, ...] = ()
    paths: Mapping[str, PathUse] = field(default_factory=dict[str, "PathUse"])
    hosts: tuple[str, ...] = ()
    title: str = ""
    icon: str = ""
    labels: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()
    cleaned: bool = False
    memory: Literal["", "uses", "keeps"] = ""
    for_profiles: bool = False


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file that a call made under its output folder.

    Attributes:
        role: "image" (a converted or overlay PNG, shown as the call's thumbnail in the chat),
            "show" (image_visualizer: the program opens the file in a pane of the canvas), "mask" (a
            TIFF whose values number the objects of `source`), "table" (CSV; see
            `app.tools.tables`), "plot" (JSON; see `app.tools.plots`) or "file" (any other).
        title: Text above the pane of a "show" artifact.
        description: Text below the pane of a "show" artifact.
        source: The image from which the file was made, with the same rows and columns, or None.
        options: Display options of a "show" artifact: figsize, cmap; what `app.tools.tables` keeps
            of a table.
    """

    path: Path
    role: str = "image"
    title: str = ""
    description: str = ""
    source: ImageRef | None = None
    options: JsonDict = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call.

    Only `summary`, `output` and `metadata` reach the language model (JSON-ready, no pixels).
    `findings` are drawn on the images; `artifacts` are files of the run, shown in the chat.
    """

    summary: str
    output: JsonDict
    metadata: JsonDict
    findings: tuple[Finding, ...] = ()
    artifacts: tuple[Artifact, ...] = ()


@dataclass(frozen=True, slots=True)
class ImageSnapshot:
    """An image as a tool receives it; it does not change while the call runs.

    Attributes:
        ref: The reference that findings on this image must carry. For a PNG made in this run from
            an open image with the same rows and columns, this is the open image's reference, so
            that masks are shown on the open image and its spacing is kept.
        instance: The source instance: Modality, ViewPosition, PatientOrientation, ...
        frame: The source frame (stored values, spacing, orientation, ...).
        display: The pixels as shown: uint8 [rows, columns] or [rows, columns, 3]. MONOCHROME1 is
            already inverted, so bright = high, but `inverted` is ignored: models expect the natural
            greys. For a derived PNG these are its own pixels.
        window: The grey-value window with which `display` was made; None for colour images and
            pictures.
        derived: The window with which `display` was made; None for colour images and pictures.
        inverted: Whether the user has exchanged black and white in the viewer.
        drawn: Points and boxes that the user (no tool) has drawn on the image, the latest last.
        found: Findings of tools on the image before the run, with what the user made of them.
        group: The name of its group ("control"), "" if unknown; see `app.tools.groups`.
        replicate: The independent sample within the group ("2"), "" if unknown.
        own: For a file made in this run, its own stored values; see `values`.
    """

    ref: ImageRef
    path: Path
    instance: Instance
    frame: Frame
    display: NDArray[np.uint8]
    window: Window | None
    derived: bool = False
    inverted: bool = False
    drawn: tuple[Finding, ...] = ()
    found: tuple[Finding, ...] = ()
    group: str = ""
    replicate: str = ""
    own: NDArray[Any] | None = None

    @property
    def values(self) -> NDArray[Any]:
        """The stored values of the file at `path`, at full bit depth: [rows, columns] or with 3.

        `frame.stored` has those of the source, also for a file that was made from it in this run.
        """
        return self.frame.stored if self.own is None else self.own

    @property
    def channel_names(self) -> tuple[str, ...]:
        """Names of the image's channels, in order; () if it has a single one."""
        axes = self.instance.axes
        return axes.names if axes is not None and len(axes.channels) > 1 else ()

    @property
    def channel(self) -> int:
        """Number of the channel that `frame` is, from 0."""
        axes = self.instance.axes
        return axes.place(self.ref.frame)[0] if axes is not None else 0


@dataclass(frozen=True, slots=True, eq=False)
class ImageVolume:
    """A stack of images as a tool receives it: depths of a microscope, slices of a scan.

    Attributes:
        voxels: Stored values [z, rows, columns], at the file's own bit depth. `rescale` turns them
            into real units (HU, ...).
        spacing: Distances in mm along (z, rows, columns), each None if unknown.
        slices: For each z, the name and the frame with which `Images.resolve` finds it; () if the
            slices were resampled to an even distance.
        warnings: What the user should know, e.g. that slices were resampled.
        affine: [4, 4] matrix from (column, row, slice, 1) to patient coordinates in mm (LPS); None
            if the voxels lie in no patient.
        step_mm: Distance in mm between neighbouring images as they were acquired; None if it is
            unknown or varies.
    """

    voxels: NDArray[Any]
    spacing: tuple[float | None, float | None, float | None]
    rescale: Rescale
    slices: tuple[tuple[str, int], ...] = ()
    warnings: tuple[str, ...] = ()
    affine: NDArray[np.float64] | None = None
    step_mm: float | None = None


@dataclass(frozen=True, slots=True)
class RegistrationTarget:
    """The image onto which another image was aligned (registered) to make a new picture.

    Attributes:
        image: This target image; the new picture has its rows, columns and patient orientation.
        scale: Size of an object in the other image, by its pixel spacing, divided by the size of
            the same object in `image`; None if not known.
    """

    image: ImageSnapshot
    scale: float | None = None


class Images(Protocol):
    """The images that a run may read: those open when the run started and those made in it."""

    def resolve(
        self,
        name: str,
        frame: int | None = None,
        *,
        channel: int | str | None = None,
        z: int | None = None,
        time: int | None = None,
    ) -> ImageSnapshot:
        """Return the image named by the app's id ("image-1") or a path.

        Args:
            name: The image.
            frame: Index of a frame, from 0; None for the frame that the viewer shows. Of channels
                that are shown together, that is the selected one.
            channel: Instead of `frame`: the channel's number from 0, or its name. Like `z` and
                `time`, None for the shown one.
            z: Depth, from 0.
            time: Time point, from 0.

        Raises:
            ToolRetry: The image is neither open nor in the run's output folder, or there is no such
                frame, channel, depth or time point; the message lists those that there are.
            FileProblem: The image cannot be decoded.
        """
        ...

    def volume(
        self,
        name: str,
        *,
        channel: int | str | None = None,
        time: int | None = None,
        cancel: CancelToken | None = None,
    ) -> ImageVolume:
        """Return all depths of a channel at a time point, or all slices of a scan's series.

        Channel and time are as in `resolve`. Blocks until all slices are read.

        Raises:
            ToolRetry: There is no such image or channel, or the image is a single picture.
            ToolFailed: The volume would take more than `MAX_VOLUME_BYTES`.
            FileProblem: A slice cannot be decoded, or the series is no volume.
            Cancelled: `cancel` was set.
        """
        ...

    def region(
        self, name: str, x: int, y: int, width: int, height: int, level: int | None = None
    ) -> PixelRegion:
        """Return a part of an image at full bit depth, e.g. of a whole slide too large to be shown.

        Args:
            name: The image.
            x: Column of the left edge, in pixels of the level, from 0.
            y: Row of the top edge.
            width: Columns; what lies outside the image is left out.
            height: Rows.
            level: Level of the pyramid, 0 for the largest; None for the one that the viewer shows.

        Raises:
            ToolRetry: There is no such image.
            FileProblem: There is no such level, nothing of the region lies in the image, it is
                larger than `pixels.regions.MAX_REGION_PIXELS`, or it cannot be decoded.
        """
        ...

    def add_derived(
        self, path: Path, source: ImageSnapshot | None, *, target: RegistrationTarget | None = None
    ) -> None:
        """Record a picture that was made in this run, and the image from which it was made.

        Args:
            path: The picture's file, under the run's output folder.
            source: The image from which it was made; None if it shows no image of this run.
            target: None if each pixel of the picture shows the same pixel of `source`. Otherwise
                `source` was registered to this other image; the picture then has the patient, date
                and view (PA, AP, ...) of `source`, and the rows, columns and orientation of
                `target`.
        """
        ...

    def names(self) -> tuple[str, ...]:
        """Return the ids or paths by which `resolve` finds the images, the current image first."""
        ...

    def instances(self) -> Mapping[str, Instance]:
        """Return the headers of all open files by id, also of waveforms and other non-images."""
        ...

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Return the ids of the open images of each group, by the group's name; {} for none."""
        ...

    def marks(self, name: str) -> tuple[tuple[str, Finding], ...]:
        """Return the marks on the series of an image, each with the id of the image it lies on.

        These are what a person drew or measured there, and tools' findings in any state.

        Raises:
            ToolRetry: There is no such image.
        """
        ...

    def accepted_findings(self) -> tuple[Finding, ...]:
        """Return tools' findings on the shown study that a person has accepted or edited."""
        ...


class ModelHost(Protocol):
    """Runs functions in the model process, a separate process that does the heavy work (torch)."""

    def call(
        self,
        entry: str,
        payload: Mapping[str, Any],
        *,
        cancel: CancelToken,
        timeout_s: float,
        progress: Callable[[float, str], None] | None = None,
    ) -> dict[str, Any]:
        """Call `entry` ("app.tools.chest.thorax_net:entry") with `payload` in the model process.

        The payload and the result may contain only JSON values and numpy arrays. The function is
        called as `function(payload)` or, if it takes two parameters, `function(payload, progress)`.

        Raises:
            Cancelled: `cancel` was set. If the function did not stop by itself, its process was
                killed.
            ToolFailed: The function raised an error or timed out, or its process died.
        """
        ...


class Confirm(Protocol):
    """A function that asks the user a yes-or-no question; a language model cannot answer it."""

    def __call__(self, title: str, detail: str, *, image: ImageRef | None = None) -> bool:
        """Ask the user whether to go on despite a reason against it, and wait for the answer.

        Args:
            title: The question, in the program's own words.
            detail: The reason against going on.
            image: The image that the question is about. For the same title, detail and image, a yes
                is then valid for the whole conversation and a no for the rest of the run.

        Returns:
            The answer; False if there is no user to ask.

        Raises:
            Cancelled: The run was stopped meanwhile.
        """
        ...


class Store(Protocol):
    """A small key-value store that is kept for the conversation."""

    def get(self, key: str, default: Any = None) -> Any:
        """Return a copy of the JSON value under `key`, or `default`."""
        ...

    def put(self, key: str, value: Any) -> None:
        """Keep a JSON value under `key`; None removes it.

        Raises:
            ToolFailed: It is no JSON value, or all values together exceed 1 MiB.
            FileProblem: It cannot be written.
        """
        ...

    def keys(self) -> tuple[str, ...]:
        """Return the keys."""
        ...


class _MemoryStore:
    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def get(self, key: str, default: Any = None) -> Any:
        return self._values.get(key, default)

    def put(self, key: str, value: Any) -> None:
        self._values[key] = value

    def keys(self) -> tuple[str, ...]:
        return tuple(self._values)


@dataclass(frozen=True, slots=True)
class PastResult:
    """A successful result of the conversation.

    Attributes:
        tool: The tool; of a call of `for_each_image` the tool that it ran.
        arguments: The call's arguments as they were given.
    """

    call_id: str
    tool: str
    arguments: JsonDict
    output: JsonDict
    metadata: JsonDict
    artifacts: tuple[Artifact, ...] = ()


class Results(Protocol):
    """The results of the conversation so far, without those that the user has rejected."""

    def all(self) -> tuple[PastResult, ...]:
        """Return the results, the oldest first."""
        ...

    def by_id(self, call_id: str) -> PastResult | None:
        """Return the result of a call, or None."""
        ...

    def latest(self, tool: str) -> PastResult | None:
        """Return the latest result of a tool, or None."""
        ...


class _NoResults:
    def all(self) -> tuple[PastResult, ...]:
        return ()

    def by_id(self, call_id: str) -> PastResult | None:
        del call_id

    def latest(self, tool: str) -> PastResult | None:
        del tool


class ToolModel(Protocol):
    """The language model of the run, for a tool that needs one."""

    @property
    def name(self) -> str:
        """The model's name, for the result's metadata."""
        ...

    @property
    def sees(self) -> bool:
        """Return whether the model accepts pictures."""
        ...

    @property
    def remote(self) -> bool:
        """Return whether the model runs on another machine, which results are sent to."""
        ...

    def ask(self, prompt: str, *, system: str = "", images: Sequence[str] = ()) -> str:
        """Return the model's answer to a prompt; blocks.

        What leaves this machine is asked for, cleaned of identifiers and recorded as for the
        question itself; tokens count against the run's limits.

        Args:
            prompt: The question, with all that the model needs to know.
            system: Instructions.
            images: Names of open images, at most four, whose pictures are shown to the model.

        Raises:
            ToolFailed: A limit is reached, or the model accepts no pictures or may not get these.
            SightlineError: The model failed, or the user does not allow anything to be sent.
            Cancelled: The call was cancelled.
        """
        ...


class InnerCalls(Protocol):
    """Runs other tools within a tool's call, on one image each.

    Such a call is judged like any other, by the policy and the packs' rules. Only tools that read
    or compute may be run.
    """

    def check(self, tool: str) -> ToolSpec:
        """Return the description of a tool that may be run.

        Raises:
            ToolRetry: There is no such tool, or it may not be run within another tool's call.
        """
        ...

    def bind(self, tool: str, arguments: Mapping[str, Any], image: str) -> dict[str, Any]:
        """Return the arguments of a call on the image named `image`.

        Those that earlier results on this image give (its mask) are added.

        Raises:
            ToolFailed: A rule or the policy does not let the tool run on this image.
            ToolRetry: The arguments are wrong.
        """
        ...

    def run(self, tool: str, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Run a tool with arguments that `bind` returned; for errors see `Tool.run`."""
        ...


class NoInnerCalls:
    """No tool can be run within a call; implements `InnerCalls`."""

    def check(self, tool: str) -> ToolSpec:
        """Refuse every tool."""
        raise ToolFailed(f"{tool} cannot be run within another tool's call here")

    def bind(self, tool: str, arguments: Mapping[str, Any], image: str) -> dict[str, Any]:
        """Refuse every call."""
        raise ToolFailed(f"{tool} cannot be run within another tool's call here")

    def run(self, tool: str, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Refuse every call."""
        raise ToolFailed(f"{tool} cannot be run within another tool's call here")


@dataclass(frozen=True, slots=True)
class ViewerAnswer:
    """What a command did in the window.

    Attributes:
        summary: What is shown now, in one sentence: "Window: lung (C -600, W 1500)".
        output: The same as data, for the model.
        findings: Marks that the command made, to be added as the tool's results.
    """

    summary: str
    output: JsonDict
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class ViewPicture:
    """A viewport as the user sees it: window, zoom, marks; no text of the file or of a person.

    Attributes:
        image_id: The open image's id, e.g. "image-1".
        image: Identifies the frame: its SOP Instance UID, number, and hash of its pixels.
        risk: Why the pixels may show who the patient is; "" if that is unlikely.
        caption: What it shows, in codes and numbers.
        draw: Draws it, on any thread: uint8 RGB [rows, columns, 3].

    `draw` raises FileProblem if the frame cannot be read.
    """

    image_id: str
    image: str
    risk: str
    caption: str
    draw: Callable[[], NDArray[np.uint8]]


class Viewer(Protocol):
    """The window as tools may work it: what is shown, and commands that change it.

    `do` may be called on any thread. Commands run on the window's own thread, as if the user had
    given them; all of one run are undone at once.
    """

    def state(self) -> JsonDict:
        """Return what is shown: viewports, series, slices, windows, marks, selection.

        For the window's own thread.
        """
        ...

    def pictures(self) -> Sequence[ViewPicture]:
        """Return what the viewports show, the active one first. For the window's own thread."""
        ...

    def do(self, command: str, arguments: JsonDict, context: ToolContext) -> ViewerAnswer:
        """Run the command of a viewer tool, given by the tool's name, and wait until it is shown.

        Raises:
            ToolRetry: There is no such image, finding or place; the message lists those there are.
            ToolFailed: What is shown cannot do this, e.g. a photograph has no axial plane.
            Cancelled: The call was cancelled.
        """
        ...


def _no_user(title: str, detail: str, *, image: ImageRef | None = None) -> bool:
    del title, detail, image
    return False


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The objects and settings that a running tool call may use.

    Attributes:
        out_dir: The run's own output folder (exists); nothing is written elsewhere.
        host: Runs functions in the model process.
        models_dir: The user's models folder.
        device: "cpu", "cuda", "mps" or "auto".
        cancel: Token that the tool checks between steps.
        confirm: Asks the user whether to go on despite a reason against it ("the file
            says that this is a head: use it anyway?").
        calls: Runs other tools.
        conversation_id: The id of the conversation; "" outside one.
        store: Keeps small JSON values for the conversation.
        results: The earlier results of the conversation.
        model: The language model that the user has chosen; None for the offline planner.
        records: The patients' records that are open.
        record_patient: The id of the patient whose record the user has chosen or whose study is
            shown; "" for none.
        record_unlinked: Whether the user chose that record though it is not the shown study's.
        viewer: The window; None where there is none, as on the command line.
        ahead: The calls that the same message or plan is to make after this one: each a tool's name
            and its arguments.
    """

    run_id: str
    call_id: str
    images: Images
    out_dir: Path
    host: ModelHost
    models_dir: Path
    device: str
    cancel: CancelToken
    progress: Progress
    confirm: Confirm = _no_user
    calls: InnerCalls = field(default_factory=NoInnerCalls)
    conversation_id: str = ""
    store: Store = field(default_factory=_MemoryStore)
    results: Results = field(default_factory=_NoResults)
    model: ToolModel | None = None
    records: Records = field(default_factory=NoRecords)
    record_patient: str = ""
    record_unlinked: bool = False
    viewer: Viewer | None = None
    ahead: tuple[tuple[str, JsonDict], ...] = ()

    def provenance(self, spec: ToolSpec, model: str = "", weights_sha256: str = "") -> Provenance:
        """Return the record of a finding's origin: the tool, this run and call, and the model."""
        return Provenance(
            tool=spec.name,
            tool_version=spec.version,
            model=model,
            weights_sha256=weights_sha256,
            run_id=self.run_id,
            call_id=self.call_id,
        )


class Tool(Protocol):
    """A tool of a pack: its description (`spec`) and its blocking function (`run`)."""

    @property
    def spec(self) -> ToolSpec:
        """The tool's description."""
        ...

    def run(self, args: Any, context: ToolContext) -> ToolResult:
        """Run the tool; `args` is an instance of `spec.Input`.

        Raises:
            ToolRetry: The arguments are wrong in a way that the language model can correct.
            ToolFailed: The work cannot be done; the text says what the user can do.
            Cancelled: The run was stopped.
        """
        ...


class Registrar(Protocol):
    """The methods of the registry that a pack's function `register(registry)` may call."""

    def register(self, tool: Tool) -> None:
        """Add a tool.

        Raises:
            ValueError: A tool with that name is already registered.
        """
        ...

    def plan(self, plan: PackPlan) -> None:
        """Add the pack's plan, which says when its tools are used.

        Raises:
            ValueError: A plan for a pack with that name is already registered.
        """
        ...
