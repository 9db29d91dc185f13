"""The workspace: what is open, how it is shown, and what was found on it. Knows no toolkit."""

from __future__ import annotations

from collections.abc import Sequence

from app.imaging.findings import Finding
from app.imaging.types import Instance, ScanResult
from app.tools.api import Artifact
from app.tools.images import OpenImage
from app.workspace.annotations import Annotations
from app.workspace.commands import CommandStack
from app.workspace.panes import Pane, Panes
from app.workspace.studies import Studies, uids_of
from app.workspace.viewport import Viewport


class Workspace:
    """All models of one window."""

    def __init__(self) -> None:
        self.studies = Studies()
        self.commands = CommandStack()
        self.annotations = Annotations(self.commands)
        self.viewport = Viewport()
        self.panes = Panes()
        self.viewport.image_changed.connect(self._follow_study)

    def add(self, result: ScanResult, *, show: bool = True) -> None:
        """Add what a scan found and show its first image."""
        self.studies.add(result)
        if show and result.studies:
            instances = [item for one in result.studies[0].series for item in one.instances]
            images = [item for item in instances if item.is_image]
            first = next(iter(images or [item for item in instances if item.has_frames]), None)
            if first is not None:
                self.viewport.show(first)

    def close_study(self, study_uid: str) -> None:
        """Close a study; an image of it that is shown is taken from the viewport."""
        shown = self.viewport.instance
        study = self.studies.study_of(shown) if shown else None
        closed = next((item for item in self.studies.all if item.uid == study_uid), None)
        self.studies.close(study_uid)
        self.panes.close_study(uids_of(closed))
        if study and study.uid == study_uid:
            self.viewport.show(None)

    def open_images(self) -> tuple[OpenImage, ...]:
        """The images that a run may touch, frozen now, the shown one first."""
        shown = self.viewport.instance
        rest = [item for item in self.studies.instances() if item.is_image and item is not shown]
        images: list[OpenImage] = []
        if shown is not None:
            display = self.viewport.display
            images.append(
                OpenImage(
                    "image-1", shown, self.viewport.frame_index, display.window, display.invert
                )
            )
        for instance in rest:
            images.append(OpenImage(f"image-{len(images) + 1}", instance, 0, None, False))
        return tuple(images)

    def take_results(
        self, tool: str, findings: Sequence[Finding], artifacts: Sequence[Artifact]
    ) -> None:
        """Take what a tool call brought: findings onto the image, pictures into panes."""
        self.annotations.add(findings, label=f"{tool}: {len(findings)} findings")
        for artifact in artifacts:
            if artifact.role == "show":
                self.panes.show(self._pane(tool, artifact))

    def open_artifact(self, tool: str, artifact: Artifact) -> None:
        """The user wants to see a picture: show it, beside the image that it was made from."""
        pane = self._pane(tool, artifact)
        self.panes.show(pane)
        if pane not in self.panes.all:
            for instance in self.studies.instances():
                if instance.sop_instance_uid == pane.sop_instance_uid:
                    self.viewport.show(instance)
                    break

    def _pane(self, tool: str, artifact: Artifact) -> Pane:
        shown = self.viewport.instance
        source = artifact.source.sop_instance_uid if artifact.source else ""
        return Pane(
            artifact.path,
            artifact.title or artifact.path.name,
            artifact.description,
            tool,
            dict(artifact.options),
            source or (shown.sop_instance_uid if shown else ""),
        )

    def _follow_study(self) -> None:
        shown = self.viewport.instance
        self.panes.set_study(uids_of(self.studies.study_of(shown) if shown else None))

    def next_instance(self, step: int) -> Instance | None:
        """The instance `step` places on in the shown series, or None at its ends."""
        shown = self.viewport.instance
        series = self.studies.series_of(shown) if shown else None
        if shown is None or series is None:
            return None
        index = series.instances.index(shown) + step
        return series.instances[index] if 0 <= index < len(series.instances) else None
