"""Which weights there are, where they belong, whether they are there and whole.

Nothing here imports torch, and nothing is fetched unless `WeightStore.get` is called for it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from app import paths
from app.errors import SightlineError, UsageError
from app.tools.api import CancelToken, ModelHost, ToolFailed
from app.tools.download import download
from app.tools.needs import command, is_installed
from app.tools.weight_specs import WEIGHTS, WeightSpec

Progress = Callable[[float, str], None]

_CHECK_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class WeightStatus:
    """Whether weights are there.

    Attributes:
        name: See `WeightSpec`.
        title: See `WeightSpec`.
        state: "embedded", "installed", "missing", or after `verify` "intact", "other" (a readable
            file that is not the published one) or "broken".
        path: Where the file is or belongs.
        size: Bytes of the file, or of the published one while it is missing.
        sha256: Of the file after `verify`, else of the published one ("" unknown).
        used_by: Tools.
        licence: Terms.
        url: Where it is published.
        how_to_get: What to do to have it.
        note: More about the state.
    """

    name: str
    title: str
    state: str
    path: str
    size: int
    sha256: str
    used_by: tuple[str, ...]
    licence: str
    url: str
    how_to_get: str
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return {**asdict(self), "used_by": list(self.used_by)}


_hashes: dict[tuple[str, int, int], str] = {}
_hashes_lock = threading.Lock()


def sha256_of(path: Path) -> str:
    """Hex digest of a file, remembered until its size or time changes."""
    stat = path.stat()
    key = (str(path), stat.st_size, stat.st_mtime_ns)
    with _hashes_lock:
        known = _hashes.get(key)
    if known is None:
        with path.open("rb") as stream:
            known = hashlib.file_digest(stream, "sha256").hexdigest()
        with _hashes_lock:
            _hashes[key] = known
    return known


class WeightStore:
    """The user's models folder together with the shipped one.

    Args:
        folder: The models folder; by default `paths.models_dir()`.
        shipped: Where embedded models lie; by default `resources/models`.
        specs: The table; by default `WEIGHTS`.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        shipped: Path | None = None,
        specs: Iterable[WeightSpec] = WEIGHTS,
    ) -> None:
        self.folder = folder if folder is not None else paths.models_dir()
        self._shipped = shipped if shipped is not None else paths.resources_dir() / "models"
        self._specs = tuple(specs)

    def find(self, spec: WeightSpec) -> Path | None:
        """The installed or shipped file, or None."""
        if spec.embedded:
            path = self._shipped / spec.name / spec.file_name
            return path if path.is_file() else None
        candidates = (self.folder / name for name in spec.file_names)
        return next((path for path in candidates if path.is_file()), None)

    def require(self, spec: WeightSpec, feature: str) -> Path:
        """The file.

        Args:
            spec: Which.
            feature: What needs it, for the message.

        Raises:
            ToolFailed: It is not installed; says which file, where it goes and how to get it.
        """
        path = self.find(spec)
        if path is None:
            raise ToolFailed(
                f"{feature} needs weights that are not installed: {spec.file_name}",
                remedy=self.how_to_get(spec),
            )
        return path

    def how_to_get(self, spec: WeightSpec) -> str:
        """Which file, where it goes and how to get it."""
        if spec.embedded:
            return "It comes with Sightline: reinstall Sightline."
        run = command()
        return (
            f"Run `{run} models get {spec.name}` ({spec.size / 1e6:.0f} MB). Where this computer "
            f"has no network: download {spec.url} elsewhere, then `{run} models install PATH`. "
            f"It belongs in {self.folder}."
        )

    def is_published(self, spec: WeightSpec, path: Path) -> bool:
        """Whether the file is exactly the published (or, embedded, the card's) one."""
        expected = self._expected(spec)
        return bool(expected) and sha256_of(path) == expected

    def status(self) -> tuple[WeightStatus, ...]:
        """Of each weights, quickly: no file is read."""
        return tuple(self._status(spec) for spec in self._specs)

    def verify(self, host: ModelHost | None = None) -> tuple[WeightStatus, ...]:
        """As `status`, with every file read: "intact", "other" or "broken" where there is one.

        Args:
            host: Used for files that are not the published ones: can they be loaded?
        """
        return tuple(self._verified(spec, host) for spec in self._specs)

    def install(
        self,
        path: Path,
        name: str | None = None,
        *,
        host: ModelHost | None = None,
        allow_other: bool = False,
    ) -> WeightStatus:
        """Copy a weights file into the models folder, once it is known to be what is needed.

        Args:
            path: The file.
            name: Which weights it is; by default told from its name or content.
            host: For the check that the model can load it; without torch that check is left out
                for a file whose sha256 is the published one.
            allow_other: Take a file that differs from the published one (own training, conversion
                to safetensors) if the model can load it.

        Raises:
            UsageError: No such file or name.
            SightlineError: It is another file, is damaged, or cannot be copied.
        """
        if not path.is_file():
            reason = "it is a folder, not a file" if path.is_dir() else "there is no such file"
            raise UsageError(reason, subject=str(path))
        spec = self._identify(path, name)
        published = sha256_of(path) == spec.sha256
        if not published and not allow_other:
            raise SightlineError(
                f"this is not the published file of {spec.name}: {path.stat().st_size:,} bytes, "
                f"sha256 {sha256_of(path)}; expected {spec.size:,} bytes, sha256 {spec.sha256}",
                subject=str(path),
                remedy=f"Download it again. Weights of your own that the model can load: copy them "
                f"into {self.folder} under that name; results then carry a warning.",
            )
        if not published or (host is not None and is_installed("torch")):
            self._check(spec, path, host)
        target = spec.file_name if path.suffix != ".safetensors" else spec.file_names[1]
        self._copy(path, self.folder / target)
        return self._verified(spec, None)

    def get(
        self,
        name: str,
        *,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> WeightStatus:
        """Download weights into the models folder; goes on where an earlier try broke off.

        Raises:
            UsageError: No such name, or it is embedded.
            Cancelled: `cancel` was set; the part that came stays for the next try.
            SightlineError: No network, no space, or not the file that was published.
        """
        spec = self._named(name)
        if spec.embedded:
            raise UsageError(f"{spec.name} comes with Sightline", remedy="Nothing has to be got.")
        target = self.folder / spec.file_name
        if not (target.is_file() and self.is_published(spec, target)):
            download(
                spec.url,
                target,
                size=spec.size,
                sha256=spec.sha256,
                progress=progress,
                cancel=cancel,
                otherwise=self.how_to_get(spec),
            )
        return self._verified(spec, None)

    def _named(self, name: str) -> WeightSpec:
        for spec in self._specs:
            if name in (spec.name, *spec.file_names):
                return spec
        known = ", ".join(spec.name for spec in self._specs)
        raise UsageError(f"no weights are called {name!r}", remedy=f"There are: {known}.")

    def _identify(self, path: Path, name: str | None) -> WeightSpec:
        """By the given name, the file's name, or its content under another name."""
        if name is not None:
            spec = self._named(name)
        else:
            digest = sha256_of(path)
            matches = (
                spec
                for spec in self._specs
                if path.name in spec.file_names or (spec.sha256 and spec.sha256 == digest)
            )
            spec = next(matches, None)
        if spec is None or spec.embedded:
            files = "; ".join(s.file_name for s in self._specs if not s.embedded)
            raise UsageError(
                "this is none of the weights that Sightline knows",
                subject=str(path),
                remedy=f"Known files: {files}.",
            )
        return spec

    def _check(self, spec: WeightSpec, path: Path, host: ModelHost | None) -> None:
        """Load it in the model process, as the tool will."""
        if host is None or not is_installed("torch"):
            raise SightlineError(
                "whether the model can load this file cannot be checked here",
                subject=str(path),
                remedy="The check needs the AI packages: see `python3 installer/bootstrap.py run`.",
            )
        payload = {"weights": str(path), "device": "cpu"}
        host.call(spec.check, payload, cancel=CancelToken(), timeout_s=_CHECK_TIMEOUT_S)

    def _copy(self, source: Path, target: Path) -> None:
        if target.exists() and source.samefile(target):
            return
        partial = target.with_name(target.name + ".copy")
        try:
            shutil.copyfile(source, partial)
            partial.replace(target)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise SightlineError(
                f"it cannot be copied into the models folder ({error.strerror})",
                subject=str(target),
                remedy="Make space there, or set SIGHTLINE_MODELS to a folder with space.",
            ) from error

    def _expected(self, spec: WeightSpec) -> str:
        if not spec.embedded:
            return spec.sha256
        card = self._shipped / spec.name / "card.json"
        try:
            return str(json.loads(card.read_text(encoding="utf-8"))["sha256"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def _status(self, spec: WeightSpec) -> WeightStatus:
        path = self.find(spec)
        if path is None:
            state, place, size = "missing", self.folder / spec.file_name, spec.size
            if spec.embedded:
                place = self._shipped / spec.name / spec.file_name
        else:
            state = "embedded" if spec.embedded else "installed"
            place, size = path, path.stat().st_size
        return WeightStatus(
            name=spec.name,
            title=spec.title,
            state=state,
            path=str(place),
            size=size,
            sha256=self._expected(spec),
            used_by=spec.used_by,
            licence=spec.licence,
            url=spec.url,
            how_to_get=self.how_to_get(spec),
        )

    def _verified(self, spec: WeightSpec, host: ModelHost | None) -> WeightStatus:
        status = self._status(spec)
        path = self.find(spec)
        if path is None:
            return status
        if self.is_published(spec, path):
            return replace(status, state="intact", sha256=sha256_of(path))
        note = "differs from the published file"
        state = "broken" if spec.embedded else "other"
        if state == "other" and host is not None and is_installed("torch"):
            try:
                self._check(spec, path, host)
                note += ", but the model can load it"
            except SightlineError as error:
                state, note = "broken", error.reason
        return replace(status, state=state, sha256=sha256_of(path), note=note)
