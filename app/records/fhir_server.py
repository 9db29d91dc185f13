"""A patient's record from a FHIR server: found, then read page by page; nothing is ever written.

Only GET requests, to the given host only, without redirects. The pages are left as files to the
worker processes, like any other file. Source: FHIR R4, "RESTful API", "Search", `$everything`.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, quote, urlencode, urljoin, urlsplit

from app.errors import Cancelled, SightlineError
from app.imaging.processes.workers import CancelLike

if TYPE_CHECKING:
    import httpx2

KEY_KIND = "fhir"
"""Kind of the token's name in the keyring (`app.secrets.key_name`), and SIGHTLINE_FHIR_KEY."""

PAGE_BYTES = 64 * 2**20
RECORD_BYTES = 1024 * 2**20
MAX_PAGES = 2_000
_PER_PAGE = 200
_CONNECT_S, _READ_S, _WHOLE_PAGE_S = 10.0, 60.0, 180.0
_TRIES, _LONGEST_WAIT_S = 4, 20.0
_ACCEPT = "application/fhir+json, application/json;q=0.8"
_CHECK = "Check the address."

_SEARCHED = (
    "AllergyIntolerance",
    "CarePlan",
    "ClinicalImpression",
    "Condition",
    "DiagnosticReport",
    "DocumentReference",
    "Encounter",
    "ImagingStudy",
    "Immunization",
    "MedicationAdministration",
    "MedicationDispense",
    "MedicationRequest",
    "MedicationStatement",
    "Observation",
    "Procedure",
)
"""Types that are searched by the parameter "patient" where a server has no `$everything`."""


@dataclass(frozen=True, slots=True)
class ServerQuery:
    """A FHIR server and the patient that is asked for.

    Attributes:
        base: The server's address without a slash at the end: "https://host/fhir".
        patient: Id, identifier ("system|value" or "value") or name.
        by: "_id", "identifier", "name"; "" to try one after the other.
    """

    base: str
    patient: str
    by: str = ""

    @property
    def host(self) -> str:
        """The server's host, for the question whether it may be asked."""
        return (urlsplit(self.base).hostname or "").lower()

    @property
    def is_here(self) -> bool:
        """Whether the server is this machine, so that nothing leaves it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def title(self) -> str:
        """The address of the patient, which names the record's source."""
        return f"{self.base}/Patient?{self.by or 'patient'}={self.patient}"


@dataclass(frozen=True, slots=True)
class ServerPage:
    """One answer of a server: the address it came from and the file with its bytes."""

    url: str
    path: Path


def is_server(source: str) -> bool:
    """Return whether a source is a server's address, not a file."""
    return source.lower().startswith(("http://", "https://"))


def server_query(address: str, patient: str = "") -> ServerQuery:
    """Return the server and the patient of an address.

    Args:
        address: "https://host/fhir", "https://host/fhir/Patient/ID", or
            "https://host/fhir/Patient?identifier=...".
        patient: Id, identifier or name, if the address names none.

    Raises:
        SightlineError: It is no such address, or names no patient.
    """
    try:
        parts = urlsplit(address.strip())
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.username
    except ValueError:
        parts, fine = urlsplit(""), False
    if not fine or _origin(address)[2] < 0:
        raise SightlineError(
            "this is no address of a FHIR server",
            subject=address[:200],
            remedy="Write it as https://host/fhir.",
        )
    path, by = parts.path.rstrip("/"), ""
    found = re.search(r"/Patient(?:/([A-Za-z0-9\-.]{1,64}))?$", path)
    if found is not None:
        path = path[: found.start()]
        if found.group(1):
            patient, by = found.group(1), "_id"
    for name, values in parse_qs(parts.query).items():
        if name in ("_id", "identifier", "name"):
            patient, by = values[0], name
    if not patient.strip():
        raise SightlineError(
            "the address names no patient",
            subject=address[:200],
            remedy="Write https://host/fhir/Patient/ID or .../Patient?identifier=NUMBER.",
        )
    return ServerQuery(f"{parts.scheme}://{parts.netloc}{path}", patient.strip(), by)


class ServerReader:
    """Reads a patient's record from a server into files; used by one thread.

    Args:
        query: The server and the patient.
        token: The bearer token, "" for none. It is sent to this server only.
        folder: Folder for the pages.
        cancel: Stops the reading between and during requests.
    """

    def __init__(
        self, query: ServerQuery, token: str, folder: Path, cancel: CancelLike | None = None
    ) -> None:
        if token and not query.base.startswith("https://") and not query.is_here:
            raise SightlineError(
                "the token is not sent over http, where others can read it",
                subject=query.base,
                remedy="Use an address with https.",
            )
        self._query = query
        self._token = token
        self._folder = folder
        self._cancel = cancel
        self._bytes = self._pages = 0
        self._attachments: list[str] = []
        self.problems: list[tuple[str, str]] = []
        """(address, reason) of what the server did not give."""

    def pages(self, told: Callable[[int], object] = lambda _count: None) -> Iterator[ServerPage]:
        """Yield the pages of the record; `told` is called with the number so far.

        Raises:
            SightlineError: The server cannot be reached, refuses, is no FHIR R4 server, or has not
                exactly one such patient.
            Cancelled: The token was cancelled.
        """
        import httpx2

        with self._client(httpx2) as client:
            self._http = httpx2
            types = self._capabilities(client)
            patient = self._find_patient(client)
            for page in self._record(client, patient, types):
                told(self._pages)
                yield page
            yield from self._texts(client)

    def _client(self, http: Any) -> httpx2.Client:
        return http.Client(
            follow_redirects=False,
            trust_env=not self._query.is_here,
            verify=_tls_context(),
            timeout=http.Timeout(_READ_S, connect=_CONNECT_S),
        )

    # What is asked

    def _capabilities(self, client: httpx2.Client) -> frozenset[str]:
        """Return the types that the server can search; check that it speaks FHIR R4."""
        found = self._json(client, f"{self._query.base}/metadata")
        version = str(found.get("fhirVersion", ""))
        if found.get("resourceType") != "CapabilityStatement":
            raise self._error("it does not answer as a FHIR server", _CHECK)
        if version and not version.startswith("4."):
            raise self._error(f"it speaks FHIR {version}; FHIR R4 is needed", "Ask for R4.")
        types: set[str] = set()
        for rest in _objects(found.get("rest")):
            types |= {str(one.get("type")) for one in _objects(rest.get("resource"))}
        return frozenset(types)

    def _find_patient(self, client: httpx2.Client) -> str:
        query = self._query
        ways = (query.by,) if query.by else ("_id", "identifier", "name")
        for way in ways:
            if way == "_id" and not re.fullmatch(r"[A-Za-z0-9\-.]{1,64}", query.patient):
                continue
            asked = urlencode({way: query.patient, "_count": 10})
            found = self._json(client, f"{query.base}/Patient?{asked}")
            ids = {
                str(one["resource"].get("id", ""))
                for one in _objects(found.get("entry"))
                if isinstance(one.get("resource"), dict)
                and one["resource"].get("resourceType") == "Patient"
            } - {""}
            if len(ids) > 1:
                raise self._error(
                    f"{len(ids)} patients fit", "Give the patient's id or medical record number."
                )
            if ids:
                return ids.pop()
        raise self._error("it has no such patient", "Check the id, number or name.")

    def _record(
        self, client: httpx2.Client, patient: str, types: frozenset[str]
    ) -> Iterator[ServerPage]:
        base, own = self._query.base, quote(patient, safe="")
        everything = f"{base}/Patient/{own}/$everything?_count={_PER_PAGE}"
        first = self._page(client, everything, may_fail=True)
        if first is not None:
            yield from self._following(client, *first)
            return
        start = self._page(client, f"{base}/Patient?_id={own}")
        if start is not None:
            yield start[0]
        for kind in _SEARCHED:
            if types and kind not in types:
                continue
            asked = f"{base}/{kind}?patient={own}&_count={_PER_PAGE}"
            found = None
            if kind.startswith("Medication"):  # what it is may be a resource of its own
                found = self._page(client, f"{asked}&_include={kind}:medication", may_fail=True)
            found = found or self._page(client, asked, may_fail=True)
            if found is None:
                self.problems.append((asked, f"the server gives no {kind}"))
            else:
                yield from self._following(client, *found)

    def _texts(self, client: httpx2.Client) -> Iterator[ServerPage]:
        """Yield the texts of notes and reports that the server keeps as Binary resources."""
        for address in dict.fromkeys(self._attachments):
            target = urljoin(f"{self._query.base}/", address)
            if _origin(target) != _origin(self._query.base) or "/Binary/" not in target:
                self.problems.append((target, "a text is on another host, which is not asked"))
                continue
            found = None
            if self._pages < MAX_PAGES and self._bytes < RECORD_BYTES:
                found = self._page(client, target, may_fail=True)
            if found is None:
                self.problems.append((target, "the server does not give the text of a note"))
            else:
                yield found[0]

    def _following(
        self, client: httpx2.Client, page: ServerPage, following: str
    ) -> Iterator[ServerPage]:
        yield page
        seen = {page.url}
        while following:
            target = urljoin(page.url, following)
            if _origin(target) != _origin(self._query.base):
                why = "the next page is on another host, which is not asked: the record has gaps"
                self.problems.append((page.url, why))
                return
            if target in seen or self._pages >= MAX_PAGES or self._bytes >= RECORD_BYTES:
                why = "the server names a page twice: the record has gaps"
                if target not in seen:
                    why = "there are too many pages: the record has gaps"
                self.problems.append((page.url, why))
                return
            seen.add(target)
            found = self._page(client, target)
            if found is None:
                return
            page, following = found
            yield page

    # Requests

    def _page(
        self, client: httpx2.Client, url: str, *, may_fail: bool = False
    ) -> tuple[ServerPage, str] | None:
        """Keep an answer in a file; return it with the address of the next page ("" for none)."""
        answer = self._get(client, url, may_fail=may_fail)
        if answer is None:
            return None
        data, kind = answer
        if "/Binary/" in url and "json" not in kind:
            # Sent as it is, although FHIR was asked for.
            number = urlsplit(url).path.rpartition("/")[2]
            text = base64.b64encode(data).decode("ascii")
            binary = {"resourceType": "Binary", "id": number, "contentType": kind, "data": text}
            data = json.dumps(binary).encode()
        self._pages += 1
        self._bytes += len(data)
        path = self._folder / f"page-{self._pages:05}.json"
        path.write_bytes(data)
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return ServerPage(url, path), ""  # the worker that reads it says what is wrong
        self._attachments += _attachments(value)
        return ServerPage(url, path), _next_link(value)

    def _json(self, client: httpx2.Client, url: str) -> dict[str, Any]:
        answer = self._get(client, url)
        try:
            value = json.loads(answer[0] if answer else b"null")
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise self._error("it does not answer as a FHIR server", _CHECK)
        return cast("dict[str, Any]", value)

    def _get(
        self, client: httpx2.Client, url: str, *, may_fail: bool = False
    ) -> tuple[bytes, str] | None:
        """Return the bytes and the content type of an answer; None if it failed and may."""
        for tried in range(_TRIES):
            status, headers, data = self._once(client, url)
            if status in (429, 503) and tried < _TRIES - 1:
                self._wait(headers.get("retry-after", ""), tried)
                continue
            if status == 200:
                return data, headers.get("content-type", "").partition(",")[0]
            if may_fail and status in (400, 403, 404, 405, 406, 410, 422, 501):
                return None
            raise self._refusal(status)
        return None

    def _once(self, client: httpx2.Client, url: str) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"accept": _ACCEPT, "accept-encoding": "identity", "user-agent": "sightline"}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        until = time.monotonic() + _WHOLE_PAGE_S
        try:
            with client.stream("GET", url, headers=headers) as response:
                done = threading.Event()
                if self._cancel is not None:
                    threading.Thread(
                        target=self._close_if_cancelled, args=(response, done), daemon=True
                    ).start()
                try:
                    parts: list[bytes] = []
                    size = 0
                    for part in response.iter_raw():
                        self._check()
                        size += len(part)
                        if size > PAGE_BYTES:
                            raise self._error(
                                f"it sent a page of over {PAGE_BYTES >> 20} MiB", "Ask for less."
                            )
                        if time.monotonic() > until:
                            raise self._error("it sends too slowly", "Try again later.")
                        parts.append(part)
                finally:
                    done.set()
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise self._error("it sent a compressed answer, not asked for", _CHECK)
                return response.status_code, response.headers, b"".join(parts)
        except (self._http.HTTPError, self._http.StreamError, self._http.InvalidURL) as error:
            self._check()
            raise self._unreachable(error) from error

    def _close_if_cancelled(self, response: Any, done: threading.Event) -> None:
        while not done.wait(0.2):
            if self._cancel is not None and self._cancel.cancelled:
                response.close()
                return

    def _check(self) -> None:
        if self._cancel is not None and self._cancel.cancelled:
            raise Cancelled

    def _wait(self, retry_after: str, tried: int) -> None:
        seconds = float(retry_after) if retry_after.isdigit() else 1.0 * 2**tried
        until = time.monotonic() + min(seconds, _LONGEST_WAIT_S)
        while time.monotonic() < until:
            self._check()
            time.sleep(0.05)

    # Errors

    def _error(self, reason: str, remedy: str) -> SightlineError:
        return SightlineError(reason, subject=self._query.host, remedy=remedy)

    def _refusal(self, status: int) -> SightlineError:
        if status == 401:
            return self._error("the server asks for a valid token (401)", "Enter a new token.")
        if status == 403:
            return self._error(
                "the server does not allow it (403)", "Ask for a token that may read this patient."
            )
        if 300 <= status < 400:
            return self._error(
                f"it sends the request elsewhere, which is not followed ({status})", _CHECK
            )
        if status == 404:
            return self._error("there is no FHIR server at this address (404)", _CHECK)
        if status in (429, 503):
            return self._error(f"the server is too busy ({status})", "Try again later.")
        return self._error(f"the server failed ({status})", "Try again later.")

    def _unreachable(self, error: Exception) -> SightlineError:
        if isinstance(error, self._http.TimeoutException):
            return self._error("the server did not answer in time", "Try again later.")
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return self._error("the server's certificate is not trusted", _CHECK)
        return self._error(
            f"the server cannot be reached ({type(error).__name__})",
            "Check the address and the network.",
        )


@cache
def _tls_context() -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context()


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        port = -1
    return parts.scheme, (parts.hostname or "").lower(), port


def _attachments(value: Any) -> list[str]:
    """Return the addresses of the texts that a bundle's notes and reports name."""
    if not isinstance(value, dict):
        return []
    found: list[str] = []
    for entry in _objects(cast("dict[str, Any]", value).get("entry")):
        resource = entry.get("resource")
        if not isinstance(resource, dict):
            continue
        kept = cast("dict[str, Any]", resource)
        held = _objects(kept.get("presentedForm"))
        if kept.get("resourceType") == "DocumentReference":
            held += _objects([one.get("attachment") for one in _objects(kept.get("content"))])
        for one in held:
            is_text = str(one.get("contentType", "text/plain")).startswith("text/")
            if is_text and not one.get("data") and isinstance(one.get("url"), str):
                found.append(one["url"])
    return found


def _next_link(value: Any) -> str:
    """Return the address of the next page that a bundle names, "" for none."""
    if not isinstance(value, dict):
        return ""
    links = _objects(cast("dict[str, Any]", value).get("link"))
    return next((str(one.get("url", "")) for one in links if one.get("relation") == "next"), "")


def _objects(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        return []
    every = cast("list[Any]", value)
    return [cast("dict[str, Any]", one) for one in every if isinstance(one, dict)]
