"""Download of one file: explicit, resumable, verified, atomic. Standard library only."""

from __future__ import annotations

import hashlib
import http.client
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from app.errors import SightlineError, UsageError
from app.tools.api import CancelToken
from app.tools.models.durable import rename, settle, settle_names

_CHUNK = 1 << 18
_TIMEOUT_S = 30.0
_LONGEST_WAIT_S = 300.0
_NETWORK = (
    urllib.error.URLError,
    http.client.HTTPException,
    ssl.SSLError,
    ConnectionError,
    TimeoutError,
)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PASSING = (429, 500, 502, 503, 504)
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
PAUSES_S: tuple[float, ...] = (1.0, 5.0, 20.0)
"""Before each further try in one call; what came in between is kept."""

Progress = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file to be had.

    Attributes:
        url: https (http only from this computer itself, for tests and local mirrors).
        size: Bytes; 0 where it is not known.
        sha256: Its digest; "" where it is not known.
        git_sha1: As git has it, of its header and the content; "" where it is not known.
        headers: Sent to `url`'s own host, and to no other one that it redirects to.
        otherwise: What the user can do when it cannot be had.
    """

    url: str
    size: int = 0
    sha256: str = ""
    git_sha1: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    otherwise: str = ""


def download(
    wanted: Wanted,
    target: Path,
    *,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
    pauses: tuple[float, ...] | None = None,
) -> None:
    """Download a file to `target`, which appears only when it is whole and verified.

    What came before a break stays beside it as `<target>.part` and is gone on with, in this call
    and the next one.

    Args:
        wanted: What, from where.
        target: The file.
        progress: Called with a fraction 0..1 and a text.
        cancel: Stops it.
        pauses: Seconds before each further try; by default `PAUSES_S`.

    Raises:
        Cancelled: It was stopped.
        UsageError: The address is not one that is fetched.
        SightlineError: No network, no right, no space, or another file came.
    """
    check_address(wanted.url)
    partial = target.with_name(target.name + ".part")
    try:
        _fetch_patiently(wanted, partial, progress, cancel, pauses)
        _accept(partial, target, wanted)
    except _NETWORK as error:
        raise could_not(error, wanted.url, wanted.otherwise) from error
    except OSError as error:
        raise SightlineError(
            f"it could not be saved ({error.strerror or error})",
            subject=str(target),
            remedy="Make space there, or set SIGHTLINE_MODELS to a folder with space.",
        ) from error


def read_url(url: str, headers: Mapping[str, str], most: int, otherwise: str = "") -> bytes:
    """A short answer.

    Raises:
        UsageError: The address is not one that is fetched.
        SightlineError: It cannot be had, or is longer than `most`.
    """
    check_address(url)
    try:
        with _open(url, headers) as answer:
            data = answer.read(most + 1)
    except _NETWORK as error:
        raise could_not(error, url, otherwise) from error
    if len(data) > most:
        raise SightlineError("the server's answer is too long", subject=url)
    return data


def check_address(url: str) -> None:
    """Whether a file may be fetched from there.

    Raises:
        UsageError: It may not.
    """
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise UsageError(
            "an address that holds a name or password is not fetched",
            remedy="Leave them out of SIGHTLINE_HUB: they would stand in errors and logs.",
        )
    if not _may_fetch(url):
        raise UsageError("only https addresses are fetched", subject=url)


def could_not(error: Exception, url: str, otherwise: str) -> SightlineError:
    """What the user reads when something cannot be downloaded."""
    remedy = f"Check the network and try again: what came is kept. {otherwise}".strip()
    reason = str(error) or "the connection broke"
    if isinstance(error, urllib.error.HTTPError):
        error.close()  # it holds the connection
        reason, remedy = _of_status(error.code, otherwise, remedy)
    elif isinstance(error, urllib.error.URLError):
        reason = str(error.reason)
    return SightlineError(f"it could not be downloaded ({reason})", subject=url, remedy=remedy)


def _of_status(code: int, otherwise: str, remedy: str) -> tuple[str, str]:
    reason = f"the server answers {code}"
    match code:
        case 401 | 403:
            return f"{reason}: it gives this to those only who may have it", (
                "Accept the model's terms on its page with your account there, set HF_TOKEN to an "
                f"access token of that account, and try again. {otherwise}".strip()
            )
        case 404 | 410:
            return f"{reason}: it is not there any more", otherwise or remedy
        case 429:
            return (
                f"{reason}: too many requests",
                f"Try again later: what came is kept. {otherwise}",
            )
        case _:
            return reason, remedy


def _may_fetch(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a server to another address; what was said to the first host stays with it.

    Hubs send large files from another host, whose operator has no business with the user's token.
    """

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """The next request."""
        if not _may_fetch(newurl):
            raise http.client.HTTPException("the server leads to an address that is not fetched")
        made = super().redirect_request(req, fp, code, msg, headers, newurl)
        if made is not None and _origin(newurl) != _origin(req.full_url):
            kept = {key: value for key, value in made.headers.items() if key == "Range"}
            made.headers = kept
        return made


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def _open(url: str, headers: Mapping[str, str]) -> Any:
    opener = urllib.request.build_opener(_Redirects)
    opener.addheaders = [("User-Agent", "sightline")]
    return opener.open(urllib.request.Request(url, headers=dict(headers)), timeout=_TIMEOUT_S)


def _fetch_patiently(
    wanted: Wanted,
    partial: Path,
    progress: Progress | None,
    cancel: CancelToken | None,
    pauses: tuple[float, ...] | None,
) -> None:
    """Fetch; after a break go on, as long as tries are left."""
    left = list(PAUSES_S if pauses is None else pauses)
    cancel = cancel or CancelToken()
    while True:
        try:
            _fetch(wanted, partial, progress, cancel)
        except _NETWORK as error:
            wait = _wait_for(error, partial)
            if wait is None or not left:
                raise
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            pause = max(left.pop(0), wait)
        else:
            return
        if progress is not None:
            progress(0.0, f"the connection broke; trying again in {pause:.0f} s")
        cancel.wait(pause)
        cancel.check()


def _wait_for(error: Exception, partial: Path) -> float | None:
    """Least seconds until another try makes sense; None where it makes none."""
    if not isinstance(error, urllib.error.HTTPError):
        lasting = isinstance(error, urllib.error.URLError) and not partial.exists()
        return None if lasting or isinstance(error, _Wrong) else 0.0
    if error.code == 416 and partial.exists():
        partial.unlink()  # what came belongs to another file
        return 0.0
    if error.code not in _PASSING:
        return None
    asked = error.headers.get("Retry-After", "0")
    seconds = float(asked) if asked.isdigit() else 0.0
    return seconds if seconds <= _LONGEST_WAIT_S else None


class _Wrong(http.client.HTTPException):
    """What comes is not what was to come: another try makes no sense."""


def _fetch(wanted: Wanted, partial: Path, progress: Progress | None, cancel: CancelToken) -> None:
    have = partial.stat().st_size if partial.is_file() else 0
    if wanted.size and have > wanted.size:
        partial.unlink()
        have = 0
    if wanted.size and have == wanted.size:
        return
    partial.parent.mkdir(parents=True, exist_ok=True)
    headers = {"Range": f"bytes={have}-"} if have else {}
    with _open(wanted.url, {**wanted.headers, **headers}) as answer:
        came = _RANGE.match(answer.headers.get("Content-Range", ""))
        if answer.status != 206 or came is None or int(came[1]) != have:
            if answer.status == 206:
                raise _Wrong("the server sends another part than was asked for")
            have = 0  # the server sends the whole file
        size = _announced(answer, have)
        if wanted.size and size and size != wanted.size:
            raise _Wrong(
                f"the server offers {size:,} bytes, the published file has {wanted.size:,}"
            )
        with partial.open("ab" if have else "wb") as stream:
            _copy(answer, stream, have, wanted.size or size, progress, cancel)


def _announced(answer: Any, have: int) -> int:
    """Bytes of the whole file as the server says; 0 where it does not."""
    length = answer.headers.get("Content-Length", "")
    encoded = answer.headers.get("Content-Encoding", "identity") != "identity"
    return have + int(length) if length.isdigit() and not encoded else 0


def _copy(
    answer: IO[bytes],
    stream: IO[bytes],
    have: int,
    size: int,
    progress: Progress | None,
    cancel: CancelToken,
) -> None:
    began, first = time.monotonic(), have
    while block := answer.read(_CHUNK):
        cancel.check()
        stream.write(block)
        have += len(block)
        if size and have > size:
            raise _Wrong("the server sends more than the published file")
        if progress is not None:
            left = time_left(have - first, size - have, time.monotonic() - began)
            of = f" of {size / 1e6:.0f}" if size else ""
            progress(have / size if size else 0.0, f"{have / 1e6:.0f}{of} MB{left}")
    if have < size:
        raise http.client.HTTPException("the connection broke off")


def time_left(done: int, left: int, seconds: float) -> str:
    """How long it will still take (", about 3 min left"), once that can be told.

    Args:
        done: Bytes that came in `seconds`.
        left: Bytes still to come.
        seconds: Time that it took so far.
    """
    if seconds < 2 or done <= 0 or left <= 0:
        return ""
    wait = left / done * seconds
    if wait < 90:
        return f", about {max(1, round(wait))} s left"
    return (
        f", about {round(wait / 60)} min left"
        if wait < 5400
        else (f", about {wait / 3600:.1f} h left")
    )


def _accept(partial: Path, target: Path, wanted: Wanted) -> None:
    size = partial.stat().st_size if partial.is_file() else 0
    for kind, expected, start in (
        ("sha256", wanted.sha256, b""),
        ("sha1", wanted.git_sha1, f"blob {size}\0".encode()),
    ):
        if not expected:
            continue
        digest = hashlib.new(kind, start)
        with partial.open("rb") as stream:
            while block := stream.read(_CHUNK):
                digest.update(block)
        if digest.hexdigest() != expected:
            partial.unlink()
            raise SightlineError(
                f"what came is not the published file ({kind} {digest.hexdigest()}, "
                f"expected {expected})",
                subject=wanted.url,
                remedy="Try again; if it stays so, the file or the way to it was tampered with.",
            )
    settle(partial)
    rename(partial, target)
    settle_names(target.parent)
