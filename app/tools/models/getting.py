"""`models get`: a model from the addresses on its card, or from the Hugging Face hub.

What comes is gathered in a hidden folder of the models folder, named by the commit, so that a later
try goes on there; it is installed from that folder when all of it is there and verified.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from app.errors import SightlineError
from app.tools.api import CancelToken
from app.tools.models.cards import ModelCard
from app.tools.models.digests import key_of, remember, sha256_of
from app.tools.models.download import Wanted, check_address, download, read_url
from app.tools.models.names import check_together, is_revision, is_sha256, safe_name
from app.tools.models.places import Place, is_program, wanted_files
from app.tools.models.planning import checked
from app.tools.models.plans import (
    Agreed,
    PlannedFile,
    PlannedModel,
    check_agreed,
    check_space,
)

Progress = Callable[[float, str], None]

HUB = "https://huggingface.co"
GATHERED = ".getting"
_NO_COMMIT = "files"
_COMMIT = re.compile(r"[0-9a-f]{12}")
_LONGEST_LIST = 1 << 24
_TOKEN = re.compile(r"[!-~]*")
_NONSENSE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)


def hub() -> str:
    """Where repositories are: the hub, or the mirror that SIGHTLINE_HUB names."""
    return os.environ.get("SIGHTLINE_HUB", "").rstrip("/") or HUB


def mirrored(url: str) -> str:
    """An address on the hub as its mirror has it; others as they are."""
    return hub() + url.removeprefix(HUB) if url.startswith(f"{HUB}/") else url


def host_of(wanted: ModelCard) -> str:
    """Whom `models get` would ask, for the question whether it may."""
    address = mirrored(wanted.files[0].url) or hub()
    return address.partition("://")[2].partition("/")[0].rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a repository: its name, size, and digest (git's own where it is a small one)."""

    name: str
    size: int
    sha256: str = ""
    git_sha1: str = ""


def listing(
    repository: str, revision: str, headers: dict[str, str], otherwise: str = ""
) -> tuple[str, tuple[HubFile, ...]]:
    """A repository's commit and files.

    Args:
        repository: "owner/name".
        revision: A commit; "" for the main branch.
        headers: With the token, where there is one.
        otherwise: What the user can do when there is no network.

    Raises:
        SightlineError: The hub cannot be asked, or answers with something else.
    """
    url = f"{hub()}/api/models/{repository}/revision/{revision or 'main'}?blobs=true"
    data = read_url(url, headers, _LONGEST_LIST, otherwise)
    try:
        found: Any = json.loads(data)
        commit = str(found["sha"])
        files = tuple(_file(entry) for entry in found["siblings"])
        if not is_revision(commit):
            raise ValueError("no commit")
    except _NONSENSE as error:
        raise SightlineError(
            "the hub's answer is none that is understood",
            subject=url,
            remedy=otherwise,
            detail=f"{type(error).__name__}: {error}",
        ) from error
    if revision and commit != revision:
        raise SightlineError(f"the hub offers commit {commit}, asked was {revision}", subject=url)
    check_together(file.name for file in files)
    return commit, files


def _file(entry: Any) -> HubFile:
    large = entry.get("lfs") or {}
    size = int(large.get("size", entry.get("size") or 0))
    sha256 = str(large.get("sha256", ""))
    if size < 0 or (sha256 and not is_sha256(sha256)):
        raise ValueError("a file without size or digest")
    git_sha1 = "" if large else str(entry.get("blobId", ""))
    return HubFile(safe_name(entry["rfilename"]), size, sha256, git_sha1)


def forget(place: Place) -> None:
    """Delete what was gathered of a model: it is installed now, or not wanted any more."""
    gathered = place.models / GATHERED
    for folder in gathered.glob(f"{place.card.name}-*"):
        commit = folder.name.removeprefix(f"{place.card.name}-")
        if commit == _NO_COMMIT or _COMMIT.fullmatch(commit):  # else a model of a longer name
            shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        gathered.rmdir()  # another model's download may be in it


@dataclass(slots=True)
class Getting:
    """One download of a model.

    Args:
        place: Where it belongs.
        otherwise: What the user can do when it cannot be had.
        progress: Called with a fraction 0..1 and a text.
        cancel: Stops it.
    """

    place: Place
    otherwise: str
    progress: Progress | None = None
    cancel: CancelToken | None = None

    def fetch(self, agreed: Agreed) -> tuple[Path, PlannedModel]:
        """Download what is not there yet.

        Returns:
            The folder that holds the model's own one, and what is in that.

        Raises:
            Cancelled: `cancel` was set; what came stays.
            SightlineError: Something is not agreed to, or it cannot be had.
        """
        card = self.place.card
        check_agreed(checked(card, (), self.place), agreed)  # before anybody is asked
        commit, files = self._listed(card)
        offered = tuple(
            PlannedFile(f.name, f.name, f.size, _sha256(card, f), is_program(f.name)) for f in files
        )
        planned = checked(card, offered, self.place, revision=commit)
        model = check_agreed(planned, agreed)
        if model.problems:
            raise SightlineError("; ".join(model.problems), subject=card.repository or card.name)
        by_name = {file.name: file for file in files}
        staging = self.place.models / GATHERED / f"{card.name}-{commit[:12] or _NO_COMMIT}"
        folder = staging / card.name
        check_space(self.place.models, sum(_still(folder, file) for file in model.files))
        self._download_all(model, by_name, commit, folder)
        sized = tuple(
            replace(file, size=(folder / file.name).stat().st_size) for file in model.files
        )
        return staging, replace(model, files=sized)

    def _listed(self, card: ModelCard) -> tuple[str, tuple[HubFile, ...]]:
        """What there is to be had: on the card, and on the hub where the card has no address."""
        own = [file for file in card.files if file.url]
        fixed = tuple(HubFile(file.name, file.size, file.sha256) for file in own)
        if not card.repository or len(own) == len(card.files):
            if not own:
                raise SightlineError(
                    f"{card.title} cannot be downloaded: its card has no address",
                    remedy="Bring it as a file or folder: `models install PATH`.",
                )
            return card.revision, fixed
        commit, files = listing(card.repository, card.revision, self._headers(), self.otherwise)
        names = {file.name for file in fixed}
        taken, _left = wanted_files(card, (f.name for f in files))
        if not card.folder:
            taken = [name for name in taken if name == card.files[0].name]
        return commit, (*fixed, *(f for f in files if f.name in taken and f.name not in names))

    def _download_all(
        self, model: PlannedModel, by_name: dict[str, HubFile], commit: str, folder: Path
    ) -> None:
        total = max(1, sum(file.size for file in model.files))
        done = 0
        for number, file in enumerate(model.files, 1):
            target = folder / file.name
            if not self._is_there(target, file):
                self._download(model.card, by_name[file.name], commit, target, number, model, done)
            done += file.size
            if self.progress is not None:
                self.progress(min(1.0, done / total), f"{number} of {len(model.files)} files")

    def _is_there(self, target: Path, file: PlannedFile) -> bool:
        """Whether an earlier try has it; what a disk has spoilt since then is fetched again."""
        if not target.is_file():
            return False
        return not file.sha256 or sha256_of(target, cancel=self.cancel) == file.sha256

    def _taken_over(self, target: Path, sha256: str) -> bool:
        """Whether the file is installed already, in this or another version of the model."""
        record = self.place.record()
        for file in record.files if record and sha256 else ():
            path = self.place.file(file.name)
            if file.sha256 == sha256 and path.is_file():
                target.unlink(missing_ok=True)
                shutil.copyfile(path, target)
                return sha256_of(target, cancel=self.cancel) == sha256
        return False

    def _download(
        self,
        card: ModelCard,
        file: HubFile,
        commit: str,
        target: Path,
        number: int,
        model: PlannedModel,
        done: int,
    ) -> None:
        total = max(1, sum(one.size for one in model.files))
        count = len(model.files)

        def told(fraction: float, text: str) -> None:
            if self.progress is not None:
                share = (done + fraction * file.size) / total if file.size else fraction
                which = f"file {number} of {count}: " if count > 1 else ""
                self.progress(min(1.0, share), which + text)

        known = card.file_of(file.name)
        own = known.url if known is not None and not known.is_pattern else ""
        url = mirrored(own) or f"{hub()}/{card.repository}/resolve/{commit}/{quote(file.name)}"
        wanted = Wanted(
            url,
            file.size,
            _sha256(card, file),
            file.git_sha1,
            {} if own else self._headers(),
            self.otherwise,
        )
        target.parent.mkdir(parents=True, exist_ok=True)
        if self._taken_over(target, wanted.sha256):
            return
        download(wanted, target, progress=told, cancel=self.cancel)
        if wanted.sha256:
            remember(key_of(target), wanted.sha256)  # it was read just now

    def _headers(self) -> dict[str, str]:
        """The user's token, for the hub or its mirror; see `download` for where it does not go."""
        check_address(hub())
        token = os.environ.get("HF_TOKEN", "").strip()
        if not _TOKEN.fullmatch(token):  # whoever sends it would write it into an error
            raise SightlineError(
                "HF_TOKEN is no access token: it holds spaces, line ends or letters with accents",
                remedy="Copy the token again from your account at the hub.",
            )
        return {"Authorization": f"Bearer {token}"} if token else {}


def _sha256(card: ModelCard, file: HubFile) -> str:
    """The card's digest comes first: what the hub says is then only its word."""
    known = card.file_of(file.name)
    return (known.sha256 if known else "") or file.sha256


def _still(folder: Path, file: PlannedFile) -> int:
    """Bytes to come."""
    path = folder / file.name
    part = path.with_name(path.name + ".part")
    have = next((p.stat().st_size for p in (path, part) if p.is_file()), 0)
    return max(0, file.size - have)
