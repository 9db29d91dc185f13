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
from app.workspace.studies import Studies
from app.workspace.viewport import Viewport


class Workspace:
    """All models of one window."""

    def __init__(self) -> None:
        self.studies = Studies()
        self.commands = CommandStack()
        self.annotations = Annotations(self.commands)
        self.viewport = Viewport()
        self.panes = Panes()

    def add(self, result: ScanResult, *, show: bool = True) -> None:
        """Add what a scan found and show its first image."""
        self.studies.add(result)
        if show and result.studies:
            for series in result.studies[0].series:
                if series.instances:
                    self.viewport.show(series.instances[0])
                    break

    def close_study(self, study_uid: str) -> None:
        """Close a study; an image of it that is shown is taken from the viewport."""
        shown = self.viewport.instance
        study = self.studies.study_of(shown) if shown else None
        self.studies.close(study_uid)
        if study and study.uid == study_uid:
            self.viewport.show(None)
            self.panes.clear()

    def open_images(self) -> tuple[OpenImage, ...]:
        """The images that a run may touch, frozen now, the shown one first."""
        shown = self.viewport.instance
        rest = [item for item in self.studies.instances() if item is not shown]
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
                self.panes.show(
                    Pane(
                        artifact.path,
                        artifact.title,
                        artifact.description,
                        tool,
                        dict(artifact.options),
                    )
                )

    def next_instance(self, step: int) -> Instance | None:
        """The instance `step` places on in the shown series, or None at its ends."""
        shown = self.viewport.instance
        series = self.studies.series_of(shown) if shown else None
        if shown is None or series is None:
            return None
        index = series.instances.index(shown) + step
        return series.instances[index] if 0 <= index < len(series.instances) else None
