"""Records from a FHIR server: a real HTTP server on this machine, asked page by page."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from app.errors import Cancelled, SightlineError
from app.imaging.processes.worker_pool import WorkerPool
from app.records import fhir_server
from app.records.fhir_server import ServerReader, server_query
from app.records.record_library import RecordLibrary
from app.tools.api import CancelToken
from tests.unit.records.record_files import patient_bundle

Json = dict[str, Any]
_PER_PAGE = 40


class Server:
    """A small FHIR server with one patient; `everything` says whether it has `$everything`."""

    def __init__(self, everything: bool = True, token: str = "") -> None:
        self.bundle = patient_bundle(7)
        self.resources = [one["resource"] for one in self.bundle["entry"]]
        self.patient = self.resources[0]["id"]
        text = json.dumps(self.resources)
        for one in self.bundle["entry"]:  # a server has no urn:uuid references
            kind = one["resource"]["resourceType"]
            text = text.replace(one["fullUrl"], f"{kind}/{one['resource']['id']}")
        self.resources = json.loads(text)
        self.everything = everything
        self.token = token
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.answer: Callable[[str], tuple[int, Any, Json] | None] = lambda _path: None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                outer.headers.append(dict(self.headers))
                status, body, headers = outer.reply(self.path, self.headers)
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                plain = headers.get("raw")
                for name, value in headers.items():
                    self.send_header(name, value)
                kind = "text/plain; charset=utf-8" if plain else "application/fhir+json"
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self._http.server_port}/fhir"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def reply(self, target: str, headers: Any) -> tuple[int, Any, Json]:
        special = self.answer(target)
        if special is not None:
            return special
        if self.token and headers.get("Authorization") != f"Bearer {self.token}":
            return 401, {}, {}
        parts = urlsplit(target)
        path, query = parts.path.removeprefix("/fhir/"), parse_qs(parts.query)
        if path == "metadata":
            types = sorted({one["resourceType"] for one in self.resources})
            rest = [{"mode": "server", "resource": [{"type": one} for one in types]}]
            statement = {"resourceType": "CapabilityStatement", "fhirVersion": "4.0.1"}
            return 200, {**statement, "rest": rest}, {}
        if path.endswith("$everything"):
            if not self.everything:
                return 404, {}, {}
            return 200, self.page(self.resources, target, query), {}
        chosen = [one for one in self.resources if one["resourceType"] == path]
        if path == "Patient":
            chosen = [one for one in chosen if _fits(one, query)]
        return 200, self.page(chosen, target, query), {}

    def page(self, some: list[Json], target: str, query: dict[str, list[str]]) -> Json:
        start = int(query.get("start", ["0"])[0])
        bundle: Json = {"resourceType": "Bundle", "type": "searchset"}
        bundle["entry"] = [
            {"fullUrl": f"{self.base}/{one['resourceType']}/{one['id']}", "resource": one}
            for one in some[start : start + _PER_PAGE]
        ]
        if start + _PER_PAGE < len(some):
            path = urlsplit(target).path.removeprefix("/fhir/")
            url = f"{self.base}/{path}?start={start + _PER_PAGE}"
            bundle["link"] = [{"relation": "next", "url": url}]
        return bundle

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def _fits(patient: Json, query: dict[str, list[str]]) -> bool:
    if "_id" in query:
        return patient["id"] == query["_id"][0]
    if "identifier" in query:
        value = query["identifier"][0].rpartition("|")[2]
        return value in [one["value"] for one in patient["identifier"]]
    return query["name"][0].lower() in json.dumps(patient["name"]).lower()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    made: list[Server] = []

    def start(**options: Any) -> Server:
        made.append(Server(**options))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.fixture
def library(pool: WorkerPool) -> Iterator[RecordLibrary]:
    library = RecordLibrary(pool=pool)
    yield library
    library.close()


@pytest.mark.parametrize("everything", [True, False])
def test_a_patient_is_read_over_several_pages(
    serve: Callable[..., Server], library: RecordLibrary, everything: bool
) -> None:
    server = serve(everything=everything)
    opened = library.open_server(server_query(server.base, "MRN000007"))
    assert opened.patients == 1
    entries = library.entries(server.patient)
    own = [one for one in server.resources if "subject" in one or "patient" in one]
    assert {one.id for one in entries} == {f"{one['resourceType']}/{one['id']}" for one in own}
    assert all(one.source.startswith(server.base) for one in entries)
    if everything:
        assert len([one for one in server.asked if "everything" in one]) == 3
        assert list(library.problems()) == []


def test_the_patient_is_found_by_id_number_and_name(
    pool: WorkerPool, serve: Callable[..., Server]
) -> None:
    server = serve()
    name = server.resources[0]["name"][0]["family"]
    for query in (
        server_query(f"{server.base}/Patient/{server.patient}"),
        server_query(
            f"{server.base}/Patient?identifier=http://hospital.smarthealthit.org|MRN000007"
        ),
        server_query(server.base, name),
    ):
        library = RecordLibrary(pool=pool)
        library.open_server(query)
        assert [one.id for one in library.patients()] == [server.patient]
        library.close()


def test_the_token_goes_to_this_host_only(
    serve: Callable[..., Server], library: RecordLibrary
) -> None:
    other = serve()
    server = serve(token="secret-1")

    def elsewhere(target: str) -> tuple[int, Any, Json] | None:
        if "everything" not in target:
            return None
        page = server.page(server.resources[:10], target, {})
        page["link"] = [{"relation": "next", "url": f"{other.base}/Observation"}]
        return 200, page, {}

    server.answer = elsewhere
    library.open_server(server_query(server.base, server.patient), "secret-1")
    assert other.asked == []
    assert all(one["authorization"] == "Bearer secret-1" for one in server.headers)
    assert any("another host" in one.reason for one in library.problems())


def test_a_token_is_never_sent_unencrypted(tmp_path: Path) -> None:
    with pytest.raises(SightlineError, match="https"):
        ServerReader(server_query("http://hospital.example/fhir", "1"), "secret", tmp_path)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "valid token"),
        (403, "does not allow"),
        (404, "no FHIR server"),
        (302, "not followed"),
        (500, "failed"),
    ],
)
def test_refusals_are_told_in_plain_words(
    serve: Callable[..., Server], library: RecordLibrary, status: int, words: str
) -> None:
    server = serve()
    server.answer = lambda _path: (status, {}, {"Location": "http://127.0.0.1:9/"})
    with pytest.raises(SightlineError, match=words):
        library.open_server(server_query(server.base, "1"))
    assert library.count() == 0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>Sign in</html>", "as a FHIR server"),
        ({"resourceType": "CapabilityStatement", "fhirVersion": "3.0.2"}, "FHIR R4 is needed"),
        (b"[" * 100_000, "as a FHIR server"),
    ],
)
def test_what_is_no_fhir_r4_server_is_refused(
    serve: Callable[..., Server], library: RecordLibrary, body: Any, words: str
) -> None:
    server = serve()
    server.answer = lambda _path: (200, body, {})
    with pytest.raises(SightlineError, match=words):
        library.open_server(server_query(server.base, "1"))


def test_nobody_and_several_are_refused(
    serve: Callable[..., Server], library: RecordLibrary
) -> None:
    server = serve()
    with pytest.raises(SightlineError, match="no such patient"):
        library.open_server(server_query(server.base, "Nobody Else"))
    twin = {**server.resources[0], "id": "twin"}
    server.resources.append(twin)
    with pytest.raises(SightlineError, match="2 patients fit"):
        library.open_server(server_query(server.base, server.resources[0]["name"][0]["family"]))


def test_a_busy_server_is_asked_again(serve: Callable[..., Server], library: RecordLibrary) -> None:
    server = serve()
    busy = iter([True, True])
    server.answer = lambda _path: (429, {}, {"Retry-After": "0"}) if next(busy, False) else None
    assert library.open_server(server_query(server.base, server.patient)).patients == 1


def test_a_page_that_is_too_large_or_names_itself_ends_it(
    serve: Callable[..., Server], library: RecordLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()

    def loop(target: str) -> tuple[int, Any, Json] | None:
        if "everything" not in target:
            return None
        page = server.page(server.resources, target, {})
        page["link"] = [{"relation": "next", "url": f"{server.base}/{target[6:]}"}]
        return 200, page, {}

    server.answer = loop
    library.open_server(server_query(server.base, server.patient))
    assert any("twice" in one.reason for one in library.problems())
    monkeypatch.setattr(fhir_server, "PAGE_BYTES", 1000)
    with pytest.raises(SightlineError, match="MiB"):
        library.open_server(server_query(server.base, server.patient))


def test_it_can_be_cancelled(serve: Callable[..., Server], library: RecordLibrary) -> None:
    server, cancel = serve(), CancelToken()

    def stop(_target: str) -> None:
        cancel.cancel()

    server.answer = stop
    with pytest.raises(Cancelled):
        library.open_server(server_query(server.base, server.patient), "", None, cancel)
    assert library.count() == 0


@pytest.mark.parametrize("as_resource", [True, False])
def test_texts_of_notes_are_fetched_from_this_host_only(
    serve: Callable[..., Server], library: RecordLibrary, as_resource: bool
) -> None:
    server = serve(everything=False)
    attachments = [
        {"contentType": "text/plain", "url": "Binary/n1"},
        {"contentType": "text/plain", "url": "https://other.example/fhir/Binary/n2"},
        {"contentType": "application/pdf", "url": "Binary/n3"},
    ]
    server.resources.append(
        {
            "resourceType": "DocumentReference",
            "id": "d1",
            "status": "current",
            "subject": {"reference": f"Patient/{server.patient}"},
            "content": [{"attachment": one} for one in attachments],
        }
    )
    data = base64.b64encode(b"Short of breath.").decode()
    binary = {"resourceType": "Binary", "id": "n1", "contentType": "text/plain", "data": data}

    def texts(target: str) -> tuple[int, Any, Json] | None:
        if target != "/fhir/Binary/n1":
            return None
        return (200, binary, {}) if as_resource else (200, b"Short of breath.", {"raw": "yes"})

    server.answer = texts
    library.open_server(server_query(server.base, server.patient))
    note = library.entry(server.patient, "DocumentReference/d1")
    assert note is not None
    assert note.text == "Short of breath."
    texts_missing = [one.path for one in library.problems() if "text" in one.reason]
    assert texts_missing == ["https://other.example/fhir/Binary/n2"]
    assert "/fhir/Binary/n3" not in server.asked


def test_medications_are_named_where_they_are_resources(
    serve: Callable[..., Server], library: RecordLibrary
) -> None:
    server = serve(everything=False)
    order = next(one for one in server.resources if one["resourceType"] == "MedicationRequest")
    drug: Json = {
        "resourceType": "Medication",
        "id": "m1",
        "code": order.pop("medicationCodeableConcept"),
    }
    order["medicationReference"] = {"reference": "Medication/m1"}

    def include(target: str) -> tuple[int, Any, Json] | None:
        if "_include=MedicationRequest:medication" not in target:
            return None
        orders = [one for one in server.resources if one["resourceType"] == "MedicationRequest"]
        return 200, server.page([drug, *orders], target, {}), {}

    server.answer = include
    library.open_server(server_query(server.base, server.patient))
    entry = library.entry(server.patient, f"MedicationRequest/{order['id']}")
    assert entry is not None
    assert entry.name == drug["code"]["text"]
    assert not any("Medication/" in one.reason for one in library.problems())


def test_a_server_that_is_not_there_is_told(library: RecordLibrary) -> None:
    with pytest.raises(SightlineError, match="cannot be reached"):
        library.open_server(server_query("http://127.0.0.1:9/fhir", "1"))


@pytest.mark.parametrize(
    "address", ["ftp://host/fhir", "https:///fhir", "https://host:99999/x", "https://u:p@host/f"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(SightlineError, match="no address"):
        server_query(address, "1")
