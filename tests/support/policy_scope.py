"""Shared parts of the policy tests: a run with one open image, and tools with any arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.agent.policy import Judgement, Policy, Rule, Scope
from app.imaging.types import Instance
from app.tools.api import Approval, PathUse, ToolSpec
from app.tools.images import OpenImage, RunImages
from tests.support.fake_tools import Anything


class Free(BaseModel):
    """Any arguments under any names."""

    model_config = ConfigDict(extra="allow")


class Typed(BaseModel):
    """Paths and addresses recognisable only by type, not by name."""

    place: Path = Path("start")
    places: list[Path] = []
    deep: dict[str, list[Path | None]] = {}
    link: str = Field(default="", json_schema_extra={"format": "uri"})
    count: int = 1
    note: str = ""


def spec(
    effect: Approval = Approval.READ,
    given: type[BaseModel] = Free,
    paths: dict[str, PathUse] | None = None,
    **more: Any,
) -> ToolSpec:
    return ToolSpec(
        "tool", "Made for tests.", given, Anything, approval=effect, paths=paths or {}, **more
    )


def open_scope(tmp_path: Path) -> Scope:
    """Return the scope of an open image, a run's folder with one file, and a secret beside them."""
    study, out = tmp_path / "study of DOE JANE", tmp_path / "run 1"
    study.mkdir()
    out.mkdir()
    (study / "chest.dcm").write_bytes(b"DICM")
    (study / "other.dcm").write_bytes(b"DICM")
    (out / "overlay.png").write_bytes(b"PNG")
    (tmp_path / "secret.txt").write_text("secret")
    (out / "way-out").symlink_to(tmp_path)
    instance = Instance(study / "chest.dcm", "1.2.3", "dicom", 4, 4)
    opened = [OpenImage("image-1", instance)]
    images = RunImages(opened, out, None)  # type: ignore[arg-type]
    return Scope.for_run(images, images.notes(remote=False), out)


def judge(
    given: dict[str, Any], scope: Scope, wanted: ToolSpec | None = None, **site: Any
) -> Judgement:
    wanted = wanted or spec()
    return Policy.from_data(site).judge(wanted, wanted.Input.model_validate(given), scope)


def denied(arguments: dict[str, Any], scope: Scope, wanted: ToolSpec | None = None) -> bool:
    return judge(arguments, scope, wanted).rule is Rule.DENY


WRITER = spec(Approval.WRITE, paths={"path": "write", "into.file": "write"})
SENDER = spec(Approval.SEND)
