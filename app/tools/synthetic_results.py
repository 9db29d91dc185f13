"""Mark every result that is based on a synthetic image, since such an image shows no patient.

This is done here for all tools, so that none can forget it: a call notes which images it read, and
the mark of a synthetic one is added to everything that the call returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.imaging.files import synthetic
from app.imaging.findings import Finding
from app.tools.api import Artifact, Images, ImageSnapshot, RegistrationTarget, ToolResult


class CallImages:
    """The images that one call may read; `models` made the synthetic ones that it has read."""

    def __init__(self, images: Images) -> None:
        self._images = images
        self.models: list[str] = []

    def resolve(self, name: str, frame: int | None = None) -> ImageSnapshot:
        """Return an image; see `app.tools.api.Images`."""
        snapshot = self._images.resolve(name, frame)
        model = snapshot.instance.get(synthetic.ATTRIBUTE)
        if not model and snapshot.derived:  # a patient's image with a synthetic one in it
            model = synthetic.file_model_title(snapshot.path)
        if model and model not in self.models:
            self.models.append(model)
        return snapshot

    def add_derived(
        self, path: Path, source: ImageSnapshot | None, *, target: RegistrationTarget | None = None
    ) -> None:
        """Record a picture, marked if it shows a synthetic image; see `app.tools.api.Images`."""
        if source is None:  # it may show any of the images that were read
            model = next(iter(self.models), "")
        else:
            model = source.instance.get(synthetic.ATTRIBUTE)
        if model:
            _mark(path, model)
        self._images.add_derived(path, source, target=target)

    def names(self) -> tuple[str, ...]:
        """Return the names of all images; see `app.tools.api.Images`."""
        return self._images.names()

    def __getattr__(self, name: str) -> Any:
        # The other methods of a run's images stay reachable.
        return getattr(self._images, name)


def warning(models: Sequence[str]) -> str:
    """Return the warning sentence for a result, naming the models."""
    return (
        f"a synthetic image, made by {' and '.join(models)}: this result says nothing of any "
        "patient"
    )


def marked(result: ToolResult, models: Sequence[str]) -> ToolResult:
    """Return a call's result, marked as based on synthetic images by `models` if there are any.

    The warning is added to the summary, to metadata["warnings"] and to each finding; pictures get
    the mark in their files and in their options.
    """
    if not models:
        return result
    said = warning(models)
    told = result.metadata.get("warnings")
    warnings = [str(item) for item in told] if isinstance(told, list | tuple) else []
    if said not in warnings:
        warnings.append(said)
    return replace(
        result,
        summary=f"{result.summary} Note: {said}.",
        metadata={**result.metadata, "warnings": warnings, "synthetic": True},
        findings=tuple(_finding(finding, models) for finding in result.findings),
        artifacts=tuple(_artifact(artifact, models) for artifact in result.artifacts),
    )


def _finding(finding: Finding, models: Sequence[str]) -> Finding:
    said = f"Synthetic image, made by {' and '.join(models)}: no patient."
    return replace(finding, description=f"{said} {finding.description}".strip())


def _artifact(artifact: Artifact, models: Sequence[str]) -> Artifact:
    _mark(artifact.path, models[0])
    return replace(artifact, options={**artifact.options, "synthetic": True, "model": models[0]})


def _mark(path: Path, model: str) -> None:
    # A file that is no PNG, or gone, still has the mark in the artifact's options.
    with suppress(OSError, ValueError):
        synthetic.mark(path, model)
