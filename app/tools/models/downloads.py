"""Downloads models from the addresses on their cards or from the Hugging Face hub.

huggingface_hub lists repositories and transfers files. The files are collected in a hidden folder
inside the models folder that is named after the commit, so that an interrupted download can resume;
once all of them are complete and verified, `installation` moves the model to its final folder.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import quote, urlsplit

from app.errors import SightlineError, UsageError
from app.tools.api import CancelToken, Progress
from app.tools.hosting.states import in_words
from app.tools.models.cards import ModelCard
from app.tools.models.durable_files import check_names, is_revision, is_sha256, publish, safe_name
from app.tools.models.install_plan import (
    Consent,
    PlannedFile,
    PlannedModel,
    check_consent,
    check_space,
    checked_model,
)
from app.tools.models.places import ModelPaths, split_files
from app.tools.models.records import file_key, read_sha256, remember, sha256_of
from app.tools.models.status import how_to_get
from app.tools.needs import is_installed, missing_package

if TYPE_CHECKING:
    import httpx2

HUB = "https://huggingface.co"
DOWNLOADS = ".getting"
_NO_COMMIT = "files"
_COMMIT = re.compile(r"[0-9a-f]{12}")
_TOKEN = re.compile(r"[!-~]*")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LIST_TIMEOUT_S = 30.0
_ESTIMATE_AFTER_S = 2.0  # before that the speed says little
_LONGEST_ANSWER = 1 << 24  # bytes of a list of files, or of an error's page
_PAUSE_S = 5  # after too many requests, if the server does not say how long
_CHUNK = 1 << 18  # after each of so many bytes progress is reported and a cancel heeded
_BAD_ANSWER = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


def hub() -> str:
    """Return the address of the model hub: SIGHTLINE_HUB, else HF_ENDPOINT, else huggingface.co."""
    mirror = os.environ.get("SIGHTLINE_HUB") or os.environ.get("HF_ENDPOINT") or HUB
    return mirror.rstrip("/")


def mirror_address(url: str) -> str:
    """Return an address with huggingface.co replaced by `hub()`; other addresses unchanged."""
    return hub() + url.removeprefix(HUB) if url.startswith(f"{HUB}/") else url


def host_of(card: ModelCard) -> str:
    """Return the name of the server from which a model would be downloaded, to show to the user."""
    address = mirror_address(card.files[0].url) or hub()
    return address.partition("://")[2].partition("/")[0].rpartition("@")[2]


def delete_downloads(place: ModelPaths) -> None:
    """Delete the files of a model that were downloaded but not installed."""
    folder = place.models / DOWNLOADS
    for found in folder.glob(f"{place.card.name}-*"):
        commit = found.name.removeprefix(f"{place.card.name}-")
        if commit == _NO_COMMIT or _COMMIT.fullmatch(commit):  # else a model of a longer name
            shutil.rmtree(found, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.rmdir()  # unless it contains another model's download


def fetch_self_check_file(place: ModelPaths, cancel: CancelToken | None = None) -> None:
    """Download the file for a model's self-check, if it needs one; errors are ignored."""
    check, target = place.card.self_check, place.self_check_file
    if check is None or target is None or not check.fetched or target.is_file():
        return
    file = PlannedFile(target.name, target.name, check.file.size, check.file.sha256)
    with contextlib.suppress(SightlineError, OSError):
        target.parent.mkdir(exist_ok=True)
        download_file(mirror_address(check.file.url), target, file, {}, None, cancel)


@dataclass(slots=True)
class ModelDownload:
    """The download of one model; after `cancel`, the part that was downloaded is kept."""

    place: ModelPaths
    progress: Progress | None = None
    cancel: CancelToken | None = None

    def run(self, consent: Consent) -> tuple[Path, PlannedModel]:
        """Download the files that are not there yet, and verify them.

        Returns:
            The folder in which they are, in a subfolder named like the card; and the model with the
            list of these files.

        Raises:
            Cancelled: `cancel` was set.
            SightlineError: A consent is missing, or a file cannot be downloaded.
        """
        card = self.place.card
        check_consent(checked_model(self.place), consent)  # before any host is asked
        commit, files = self._available(card)
        # The card's digest comes first: the hub's is only the hub's word.
        known = tuple(replace(f, sha256=_card_sha256(card, f) or f.sha256) for f in files)
        model = checked_model(self.place, known, commit)
        model = check_consent(model, consent)
        if model.problems:
            raise SightlineError("; ".join(model.problems), subject=card.repository or card.name)
        staging = self.place.models / DOWNLOADS / f"{card.name}-{commit[:12] or _NO_COMMIT}"
        folder = staging / card.name
        check_space(self.place.models, sum(_bytes_left(folder, file) for file in model.files))
        total, done = max(1, model.bytes), 0
        for number, file in enumerate(model.files, 1):
            target = folder / file.name
            if not self._is_complete(target, file):
                self._get(file, commit, target, self._file_progress(number, model, done))
            done += file.size
            if self.progress is not None:
                self.progress(min(1.0, done / total), f"{number} of {len(model.files)} files")
        sizes = {file.name: (folder / file.name).stat().st_size for file in model.files}
        sized = tuple(replace(file, size=sizes[file.name]) for file in model.files)
        return staging, replace(model, files=sized)

    def _available(self, card: ModelCard) -> tuple[str, tuple[PlannedFile, ...]]:
        """Return the commit, and the files at the card's addresses and in its repository."""
        own = [file for file in card.files if file.url]
        fixed = tuple(PlannedFile(f.name, f.name, f.size, f.sha256) for f in own)
        if not card.repository or len(own) == len(card.files):
            if not own:
                raise SightlineError(
                    f"{card.title} cannot be downloaded: its card has no address",
                    remedy="Bring it as a file or folder: `models install PATH`.",
                )
            return card.revision, fixed
        commit, files = list_repository(card.repository, card.revision, how_to_get(self.place))
        names = {file.name for file in fixed}
        taken, _left = split_files(card, (f.name for f in files))
        if not card.folder:
            taken = [name for name in taken if name == card.files[0].name]
        return commit, (*fixed, *(f for f in files if f.name in taken and f.name not in names))

    def _is_complete(self, target: Path, file: PlannedFile) -> bool:
        """Return True if an earlier try got the file and the disk has not damaged it since."""
        if not target.is_file():
            return False
        return not file.sha256 or sha256_of(target, cancel=self.cancel) == file.sha256

    def _get(self, file: PlannedFile, commit: str, target: Path, progress: Progress) -> None:
        card = self.place.card
        target.parent.mkdir(parents=True, exist_ok=True)
        if self._copy_installed(target, file.sha256):
            return
        known = card.file_of(file.name)
        own = known.url if known is not None and not known.is_pattern else ""
        url = (
            mirror_address(own) or f"{hub()}/{card.repository}/resolve/{commit}/{quote(file.name)}"
        )
        # The token is for the hub alone; a card's own addresses may be of any host.
        headers = {} if own else _authorization()
        alternative = how_to_get(self.place)
        download_file(url, target, file, headers, progress, self.cancel, alternative=alternative)
        if file.sha256:
            remember(file_key(target), file.sha256)  # it was read just now

    def _copy_installed(self, target: Path, sha256: str) -> bool:
        """Copy the file if the installed version of the model has the same; return True then."""
        record = self.place.record()
        for file in record.files if record and sha256 else ():
            path = self.place.file(file.name)
            if file.sha256 == sha256 and path.is_file():
                target.unlink(missing_ok=True)
                shutil.copyfile(path, target)
                return sha256_of(target, cancel=self.cancel) == sha256
        return False

    def _file_progress(self, number: int, model: PlannedModel, done: int) -> Progress:
        """Return a function that reports a file's progress as the model's."""
        total, count = max(1, model.bytes), len(model.files)
        size = model.files[number - 1].size

        def report(fraction: float, text: str) -> None:
            if self.progress is not None:
                share = (done + fraction * size) / total if size else fraction
                prefix = f"file {number} of {count}: " if count > 1 else ""
                self.progress(min(1.0, share), prefix + text)

        return report


def list_repository(
    repository: str, revision: str, alternative: str = ""
) -> tuple[str, tuple[PlannedFile, ...]]:
    """Return (commit, files) of a Hugging Face repository ("owner/name"), as listed by the hub.

    `revision` is a commit, or "" for the main branch; `alternative` is as for `download_file`.

    Raises:
        SightlineError: The hub cannot be reached, or its answer cannot be understood.
    """
    url = f"{hub()}/{repository}"
    check_address(url)
    token = _token()
    _prepare_library(_guard_answer)
    from huggingface_hub import HfApi

    # False: without HF_TOKEN, the library must not use a token that another program has stored.
    api = HfApi(endpoint=hub(), token=token or False, library_name="sightline")
    with _hub_errors(url, alternative):
        try:
            found = api.model_info(
                repository,
                revision=revision or "main",
                timeout=_LIST_TIMEOUT_S,
                files_metadata=True,
            )
            commit = str(found.sha)
            files = tuple(_remote_file(entry) for entry in found.siblings or ())
            if not is_revision(commit):
                raise ValueError("no commit")
        except _BAD_ANSWER as error:
            raise SightlineError(
                "the hub's answer was not understood",
                subject=url,
                remedy=alternative,
                detail=f"{type(error).__name__}: {error}",
            ) from error
    if revision and commit != revision:
        raise SightlineError(
            f"the hub has commit {commit}, not the requested {revision}", subject=url
        )
    check_names(file.name for file in files)
    return commit, files


def download_file(
    url: str,
    target: Path,
    file: PlannedFile,
    headers: dict[str, str],
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
    *,
    alternative: str = "",
) -> None:
    """Download a file; `target` appears only when it is complete and verified.

    If the download is interrupted, the received part is kept in `<target>.part`, and the next call
    resumes from it.

    Args:
        url: An https address (http only on this computer, for tests and local mirrors).
        target: The file to be made; its folder exists.
        file: The file's expected size and digests, as far as they are known.
        headers: HTTP headers sent to the host in `url`, but to no other host to which it redirects.
        progress: Called with a fraction from 0 to 1 and a status text.
        cancel: Token that stops the download when it is cancelled.
        alternative: Text on other ways to get the file, for error messages.

    Raises:
        Cancelled: `cancel` was set.
        UsageError: The address is not allowed.
        SightlineError: There is no network, permission or disk space, or the file that was received
            is not the expected one.
    """
    check_address(url)
    cancel = cancel or CancelToken()
    _prepare_library(partial(_guard_transfer, cancel))
    # Not hf_hub_download: since version 2 it deletes what it has when the connection breaks.
    from huggingface_hub.file_download import http_get

    part = target.with_name(target.name + ".part")
    try:
        have = part.stat().st_size if part.is_file() else 0
        if file.size and have > file.size:
            part.unlink()  # it is of another version of the file
            have = 0
        with part.open("ab") as stream, _hub_errors(url, alternative, part):
            received = _PartialFile(stream, have, file.size, progress, cancel)
            http_get(
                url,
                cast("BinaryIO", received),
                resume_size=have,
                headers={"user-agent": "sightline", **headers},
                expected_size=file.size or None,
            )
        _verify(part, file, url)
        publish(part, target)
    except OSError as error:
        raise SightlineError(
            f"it could not be saved ({error.strerror or error})",
            subject=str(target),
            remedy="Make space there, or set SIGHTLINE_MODELS to a folder with space.",
        ) from error


def check_address(url: str) -> None:
    """Raise an error if files may not be downloaded from an address.

    Raises:
        UsageError: The address contains a password, or is neither https nor on this computer.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.username or parts.password:
        raise UsageError(
            "an address that contains a user name or password is not used",
            remedy="Leave them out of SIGHTLINE_HUB: they would appear in errors and logs.",
        )
    local = parts.scheme == "http" and parts.hostname in _LOOPBACK
    if parts.scheme != "https" and not local:
        raise UsageError("only https addresses are fetched", subject=url)


class _PartialFile:
    """The file that a transfer writes: it reports progress, heeds a cancel and limits the size."""

    def __init__(
        self, stream: BinaryIO, have: int, size: int, progress: Progress | None, cancel: CancelToken
    ) -> None:
        self._stream = stream
        self._have = self._resumed_at = have
        self._size = size
        self._progress = progress
        self._cancel = cancel
        self._began = time.monotonic()
        self.tell = stream.tell
        self.truncate = stream.truncate

    def seek(self, offset: int) -> int:
        """Go back to the start: the server sends the whole file although a part was asked for."""
        self._have = self._resumed_at = offset
        return self._stream.seek(offset)

    def write(self, data: bytes) -> int:
        self._cancel.check()
        self._have += len(data)
        if self._size and self._have > self._size:
            raise SightlineError("the server sends more than the published file")
        if self._progress is not None:
            share = self._have / self._size if self._size else 0.0
            of = f" of {self._size / 1e6:.0f}" if self._size else ""
            self._progress(share, f"{self._have / 1e6:.0f}{of} MB{self._time_left()}")
        return self._stream.write(data)

    def _time_left(self) -> str:
        seconds = time.monotonic() - self._began
        left, received = self._size - self._have, self._have - self._resumed_at
        if seconds < _ESTIMATE_AFTER_S or left <= 0 or received <= 0:
            return ""
        return f", {in_words(left / received * seconds)}"


def _verify(part: Path, file: PlannedFile, url: str) -> None:
    """Check the digests of a file that is complete; another file is deleted."""
    from huggingface_hub.utils.sha import git_hash

    kind, expected = ("sha256", file.sha256) if file.sha256 else ("sha1", file.git_sha1)
    if not expected:
        return
    found = read_sha256(part) if file.sha256 else git_hash(part.read_bytes())
    if found != expected:
        part.unlink()
        raise SightlineError(
            f"the download is not the published file ({kind} {found}, expected {expected})",
            subject=url,
            remedy="Try again; if it happens again, the file may have been tampered with.",
        )


def _prepare_library(guard: Callable[[httpx2.Response], None]) -> None:
    """Set huggingface_hub to report nothing to anyone, and to call `guard` with each answer."""
    if not is_installed("huggingface_hub"):
        raise missing_package("The download of models", "huggingface_hub")
    from huggingface_hub import constants
    from huggingface_hub.utils import disable_progress_bars, get_session, logging

    # Else each request names the torch version, and huggingface.co is asked for a list of agents.
    constants.HF_HUB_DISABLE_TELEMETRY = True
    constants.DOWNLOAD_CHUNK_SIZE = _CHUNK
    disable_progress_bars()
    logging.set_verbosity_error()
    client = get_session()
    client.event_hooks = {**client.event_hooks, "response": [guard]}
    client.headers["accept-encoding"] = "identity"  # so that sizes are those of what arrives


def _guard_answer(response: httpx2.Response) -> None:
    """Refuse a redirect out of https, and an answer that is longer than any list of files."""
    import httpx2

    if response.has_redirect_location:
        target = response.url.join(response.headers["location"])
        if target.scheme != "https" and response.url.scheme == "https":
            raise SightlineError(
                "it leads from https to http, which is not safe", subject=str(target)
            )
        check_address(str(target))
        return
    stream, content = cast("httpx2.SyncByteStream", response.stream), bytearray()
    for block in stream:
        content += block
        if len(content) > _LONGEST_ANSWER:
            raise SightlineError("the server's answer is too long", subject=str(response.url))
    stream.close()
    response.stream = httpx2.ByteStream(bytes(content))
    response.headers.pop("content-encoding", None)  # what it unpacks to has no bound


def _guard_transfer(cancel: CancelToken, response: httpx2.Response) -> None:
    """Guard the answer unless it is the file, and wait as long as the server wants after 429."""
    if not response.is_success:
        _guard_answer(response)
    if response.status_code == 429:
        # The library waits by itself, but hears no cancel: it is left one second.
        asked = response.headers.pop("ratelimit", "") or response.headers.get("retry-after", "")
        seconds = re.search(r"\bt=(\d+)|^(\d+)$", asked)
        cancel.wait(int(seconds[1] or seconds[2]) if seconds else _PAUSE_S)
        cancel.check()
        response.headers["retry-after"] = "0"


@contextlib.contextmanager
def _hub_errors(url: str, alternative: str, part: Path | None = None) -> Generator[None]:
    """Raise errors of a transfer as `SightlineError`s that say what the user can do."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    remedy = f"Check the network and try again: what was downloaded is kept. {alternative}".strip()
    try:
        yield
    except HfHubHTTPError as error:
        code = error.response.status_code
        if code == 416 and part is not None:
            part.unlink(missing_ok=True)  # what came earlier belongs to another file
        raise _status_error(code, url, alternative, remedy) from error
    except OfflineModeIsEnabled as error:
        reason = "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set, which forbids downloads"
        raise SightlineError(reason, subject=url, remedy=f"Unset it. {alternative}") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        reason = str(error) or "the connection broke off"
        text = f"it could not be downloaded ({reason})"
        raise SightlineError(text, subject=url, remedy=remedy) from error
    except OSError as error:
        if error.errno is not None:
            raise  # of the disk
        # http_get's consistency check: the connection ended early without any other error.
        text = "it could not be downloaded (the connection broke off)"
        raise SightlineError(text, subject=url, remedy=remedy, detail=str(error)) from error


def _status_error(code: int, url: str, alternative: str, remedy: str) -> SightlineError:
    reason = f"the server answers {code}"
    match code:
        case 401 | 403:
            reason += ": access to this model is restricted"
            remedy = (
                "Accept the model's terms on its page with your account there, set HF_TOKEN to an "
                f"access token of that account, and try again. {alternative}".strip()
            )
        case 404 | 410:
            reason += ": it is no longer there"
            remedy = alternative or remedy
        case 429:
            reason += ": too many requests"
            remedy = f"Try again later: what was downloaded is kept. {alternative}"
        case _:
            pass
    return SightlineError(f"it could not be downloaded ({reason})", subject=url, remedy=remedy)


def _token() -> str:
    """Return the user's access token from HF_TOKEN, or ""; an error does not repeat it."""
    token = os.environ.get("HF_TOKEN", "").strip()
    if not _TOKEN.fullmatch(token):
        raise SightlineError(
            "HF_TOKEN is not an access token: it contains spaces, line ends or accents",
            remedy="Copy the token again from your account at the hub.",
        )
    return token


def _authorization() -> dict[str, str]:
    token = _token()
    return {"Authorization": f"Bearer {token}"} if token else {}


def _remote_file(entry: Any) -> PlannedFile:
    size = int((entry.lfs.size if entry.lfs else entry.size) or 0)
    sha256 = str(entry.lfs.sha256) if entry.lfs else ""
    if size < 0 or (sha256 and not is_sha256(sha256)):
        raise ValueError("a file without size or digest")
    git_sha1 = "" if entry.lfs else str(entry.blob_id or "")
    name = safe_name(entry.rfilename)
    return PlannedFile(name, name, size, sha256, git_sha1)


def _card_sha256(card: ModelCard, file: PlannedFile) -> str:
    known = card.file_of(file.name)
    return known.sha256 if known else ""


def _bytes_left(folder: Path, file: PlannedFile) -> int:
    path = folder / file.name
    part = path.with_name(path.name + ".part")
    have = next((p.stat().st_size for p in (path, part) if p.is_file()), 0)
    return max(0, file.size - have)
