"""Download of one large file: explicit, resumable, verified, atomic. Standard library only."""

from __future__ import annotations

import hashlib
import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from app.errors import SightlineError, UsageError
from app.tools.api import CancelToken

_CHUNK = 1 << 18
_TIMEOUT_S = 30.0
_NETWORK = (
    urllib.error.URLError,
    http.client.HTTPException,
    ssl.SSLError,
    ConnectionError,
    TimeoutError,
)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def download(
    url: str,
    target: Path,
    *,
    size: int,
    sha256: str,
    progress: Callable[[float, str], None] | None = None,
    cancel: CancelToken | None = None,
    otherwise: str = "",
) -> None:
    """Download `url` to `target`, which appears only when it is whole and verified.

    What came before a break stays beside it as `<target>.part` and is gone on with next time.

    Args:
        url: https (http only from this computer itself, for tests and local mirrors).
        target: The file.
        size: Its size in bytes.
        sha256: Its digest.
        progress: Called with a fraction 0..1 and a text.
        cancel: Stops it.
        otherwise: What the user can do when there is no network.

    Raises:
        Cancelled: It was stopped.
        UsageError: The address is not one that is fetched.
        SightlineError: No network, no space, or another file came.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise UsageError("only https addresses are fetched", subject=url)
    partial = target.with_name(target.name + ".part")
    try:
        _fetch(url, partial, size, progress, cancel)
    except _NETWORK as error:
        raise SightlineError(
            f"it could not be downloaded ({_why(error)})",
            subject=url,
            remedy=f"Check the network and try again: what came is kept. {otherwise}".strip(),
        ) from error
    except OSError as error:
        raise SightlineError(
            f"it could not be saved ({error.strerror or error})",
            subject=str(target),
            remedy="Make space there, or set SIGHTLINE_MODELS to a folder with space.",
        ) from error
    _accept(partial, target, url, sha256)


def _why(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        error.close()  # it holds the connection
        return f"the server answers {error.code}"
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    return str(error) or "the connection broke"


def _fetch(
    url: str,
    partial: Path,
    size: int,
    progress: Callable[[float, str], None] | None,
    cancel: CancelToken | None,
) -> None:
    have = partial.stat().st_size if partial.is_file() else 0
    if have > size:
        partial.unlink()
        have = 0
    if have == size:
        return
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
        if answer.status != 206:
            have = 0  # the server sends the whole file
        with partial.open("ab" if have else "wb") as stream:
            _copy(answer, stream, have, size, progress, cancel)


def _copy(
    answer: IO[bytes],
    stream: IO[bytes],
    have: int,
    size: int,
    progress: Callable[[float, str], None] | None,
    cancel: CancelToken | None,
) -> None:
    while block := answer.read(_CHUNK):
        if cancel is not None:
            cancel.check()
        stream.write(block)
        have += len(block)
        if have > size:
            raise http.client.HTTPException("the server sends more than the published file")
        if progress is not None:
            progress(have / size, f"{have / 1e6:.0f} of {size / 1e6:.0f} MB")
    if have < size:
        raise http.client.HTTPException("the connection broke off")


def _accept(partial: Path, target: Path, url: str, sha256: str) -> None:
    with partial.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != sha256:
        partial.unlink()
        raise SightlineError(
            f"what came is not the published file (sha256 {found}, expected {sha256})",
            subject=url,
            remedy="Try again; if it stays so, the file or the way to it was tampered with.",
        )
    partial.replace(target)
