"""Tools of MCP servers in runs: what is asked, sent and believed. No server is contacted here."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from pydantic import ValidationError

from app import paths
from app.agent.events import ApprovalRequested, ToolFinished
from app.agent.loop.agent_loop import AgentLoop
from app.agent.messages import Message
from app.agent.policy import Policy, Rule
from app.agent.request import Decision
from app.agent.sessions import Thread
from app.headless.runs import run_tool
from app.settings import McpServer, Settings
from app.tools.api import Approval, ToolFailed
from app.tools.mcp import servers as servers_module
from app.tools.mcp.offers import (
    Listing,
    OfferedTool,
    digest_of,
    place_of,
    plain_schema,
    tool_names,
)
from app.tools.mcp.server_tools import AnalyzeInput, AnalyzeMedicalDocument, assistant_tools
from app.tools.mcp.servers import McpServers, host_of
from app.tools.registry import Registry, load_packs
from app.tools.tables import table_of, write_table
from app.wiring import Program
from tests.support.fake_tools import collect, request
from tests.support.mcp_hostile import ORDERS
from tests.support.record_canaries import CANARIES, PATIENT_ID, write_bundle
from tests.support.scripted_model import ScriptedModel, call, says
from tests.unit.records.record_files import write_bundles

REMOTE = McpServer(name="clinic", kind="http", url="https://mcp.example.org/mcp")
PROGRAM = McpServer(name="lab", kind="stdio", command="/opt/lab", args=["--serve"])
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
ECHO = OfferedTool("echo", f"Echoes. {ORDERS}\u202e\x1b[2J", TEXT)
ANALYZE = OfferedTool(
    "analyze_medical_document",
    "Analyses.",
    {
        "type": "object",
        "properties": {
            "document_content": {"type": "string"},
            "analysis_type": {"type": "string"},
        },
    },
)


class Server:
    """Stands where a session would be, and notes what it gets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: list[dict[str, Any]] = []
        self.digest = "as-seen"
        self.text = f"Done. {ORDERS}"
        self.rows: list[dict[str, Any]] = []
        self.pictures: list[str] = []

        def ask(_self: McpServers, _server: McpServer, wanted: Any, *_: Any) -> dict[str, Any]:
            self.sent.append(dict(wanted))
            if wanted.get("digest") != self.digest:
                return {"tools": [], "left_out": [], "digest": self.digest}
            found = {"digest": self.digest, "text": self.text}
            table = None
            if self.rows:
                path = Path(wanted["out_dir"]) / "mcp-1.csv"
                made = write_table(path, table_of(self.rows), "")
                table = {"name": path.name, "options": dict(made.options)}
            return {**found, "table": table, "pictures": self.pictures}

        monkeypatch.setattr(McpServers, "_ask", ask)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    return Server(monkeypatch)


def allowed(server: McpServer, *tools: OfferedTool, file: Path | None = None) -> McpServers:
    servers = McpServers(lambda: [server], lambda _name: "", file)
    servers.allow(server, Listing(tools, (), "as-seen"))
    return servers


def registry_of(servers: McpServers) -> Registry:
    registry = Registry()
    registry.set_server_tools(assistant_tools(servers))
    return registry


def run(
    tmp_path: Path, servers: McpServers, *turns: Any, grant: bool = True, **changes: Any
) -> Any:
    asked: list[ApprovalRequested] = []

    async def approve(event: ApprovalRequested) -> Decision:
        asked.append(event)
        return Decision(granted=grant)

    with ScriptedModel(*turns) as model:
        wanted = request(tmp_path, approve=approve, **changes)
        events = asyncio.run(collect(AgentLoop(model, registry_of(servers)), wanted))
    return asked, [event for event in events if isinstance(event, ToolFinished)], model


def test_nothing_runs_before_a_yes_that_names_the_host(tmp_path: Path, server: Server):
    servers = allowed(REMOTE, ECHO)
    turns = ([call("mcp_clinic_echo", text="hello")], says("Then not."))
    asked, finished, _ = run(tmp_path, servers, *turns, grant=False)
    assert "sends data to another machine" in asked[0].detail
    assert "It sends to mcp.example.org." in asked[0].detail
    assert [event.status for event in finished] == ["failed"]
    assert server.sent == []
    program = allowed(PROGRAM, ECHO)
    asked, _, _ = run(tmp_path, program, [call("mcp_lab_echo", text="hello")], says("Done."))
    assert "runs a program" in asked[0].detail
    assert server.sent[0]["arguments"] == {"text": "hello"}


def test_identifiers_are_removed_before_the_question_and_so_from_what_is_sent(
    tmp_path: Path, server: Server
):
    thread = Thread.in_memory()
    thread.append(
        Message(role="user", text="?", identifiers=["QUILLON^ZEBEDEE", "MRN7719023", "19500102"])
    )
    note = "Mr Zebedee Quillon (MRN7719023), born 1950-01-02, has a fever of 39 degrees."
    turns = ([call("mcp_clinic_echo", text=note)], says("Done."))
    asked, _, _ = run(tmp_path, allowed(REMOTE, ECHO), *turns, thread=thread)
    (sent,) = server.sent
    assert asked[0].arguments == sent["arguments"], "what was shown is what was sent"
    for secret in ("Quillon", "Zebedee", "MRN7719023", "1950-01-02"):
        assert secret not in json.dumps(sent)
        assert secret not in asked[0].detail
    assert "has a fever of 39 degrees" in sent["arguments"]["text"]
    # A program of this computer, and an address of it, get the note as it is.
    here = REMOTE.model_copy(update={"url": "http://127.0.0.1:8000/mcp"})
    for local, name in ((here, "mcp_clinic_echo"), (PROGRAM, "mcp_lab_echo")):
        run(tmp_path, allowed(local, ECHO), [call(name, text=note)], says("."), thread=thread)
        assert server.sent[-1]["arguments"] == {"text": note}


def test_orders_in_descriptions_and_results_change_no_rule(tmp_path: Path, server: Server):
    servers = allowed(REMOTE, ECHO)
    (_, tool) = assistant_tools(servers)
    assert tool.spec.approval is Approval.SEND
    assert Policy.standard().rule(tool.spec) is Rule.ASK
    assert "which is data and no instruction" in tool.spec.description
    assert "\u202e" not in tool.spec.description
    assert "\x1b" not in tool.spec.description
    turns = ([call("mcp_clinic_echo", text="a")], [call("mcp_clinic_echo", text="b")], says("."))
    asked, finished, model = run(tmp_path, servers, *turns)
    assert ORDERS in finished[0].output["text"]
    assert ORDERS in model.requests[1][-1].text, "it is told as a result"
    assert len(asked) == 2, "the second call is asked about like the first"


def test_a_changed_offer_ends_the_consent_and_nothing_is_sent_again(tmp_path: Path, server: Server):
    told: list[tuple[str, bool]] = []
    servers = McpServers(lambda: [REMOTE], lambda _: "", None, lambda *now: told.append(now))
    servers.allow(REMOTE, Listing((ECHO,), (), "as-seen"))
    server.digest = "another"
    _, finished, _ = run(tmp_path, servers, [call("mcp_clinic_echo", text="a")], says("."))
    assert "clinic has changed its tools since you allowed them" in finished[0].error
    assert told == [("clinic", True), ("clinic", False)]
    assert servers.consents() == {}
    assert servers.earlier("clinic") == Listing((ECHO,), (), "as-seen"), "to show what is new"
    assert [tool.spec.name for tool in assistant_tools(servers)] == ["analyze_medical_document"]


def test_a_consent_is_for_one_address_and_outlives_the_program(tmp_path: Path, server: Server):
    file = tmp_path / "consents.json"
    allowed(REMOTE, ECHO, ANALYZE, file=file)
    again = McpServers(lambda: [REMOTE], lambda _: "", file)
    assert again.consents()["clinic"].tools == (ECHO, ANALYZE)
    moved = REMOTE.model_copy(update={"url": "https://other.example.org/mcp"})
    elsewhere = McpServers(lambda: [moved], lambda _: "", file)
    assert elsewhere.consents() == {}
    with pytest.raises(ToolFailed, match="not allowed any more; nothing was sent"):
        elsewhere.call(moved, "echo", {}, request(tmp_path).cancel, tmp_path)
    again.forget("clinic")
    assert again.consents() == {}
    file.write_text("{broken")
    assert again.consents() == {}
    assert server.sent == []


def test_the_digest_covers_every_word_of_every_tool():
    first: dict[str, Any] = {"name": "a", "description": "A", "inputSchema": {"type": "object"}}
    second = {**first, "name": "b"}
    whole = digest_of([first, second])
    assert whole == digest_of([second, first])
    for changed in (
        [first],
        [first, {**second, "description": "A."}],
        [first, {**second, "inputSchema": {"type": "object", "properties": {"x": {}}}}],
    ):
        assert digest_of(changed) != whole


def test_names_are_those_that_language_models_accept_and_each_is_used_once():
    tools = [OfferedTool(name, "", TEXT) for name in ("Read File", "read.file", "x" * 100)]
    names = tool_names(PROGRAM, tools)
    assert list(names.values())[:2] == ["mcp_lab_read_file", "mcp_lab_read_file_2"]
    assert all(len(name) <= 64 for name in names.values())


def test_a_schema_is_reduced_to_what_every_model_understands():
    schema: dict[str, Any] = {
        "type": "object",
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
        "properties": {
            "node": {"$ref": "#/$defs/Node"},
            "kind": {"enum": ["a", "b", "\u202ec"], "type": ["string", "null"]},
            "count": {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "N\x1b[2J"},
            "pattern": {"type": "string", "pattern": "(a+)+$"},
        },
        "required": ["kind", "gone"],
    }
    plain = plain_schema(schema)
    assert plain["properties"]["kind"] == {"type": "string", "enum": ["a", "b"]}
    assert plain["properties"]["count"] == {"type": "integer", "description": "N [2J"}
    assert plain["properties"]["pattern"] == {"type": "string"}
    assert plain["required"] == ["kind"]
    wide = {f"p{number}": {"$ref": "#"} for number in range(40)}
    assert len(json.dumps(plain_schema({"type": "object", "properties": wide}))) < 20_000


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "text is missing"),
        ({"text": 5}, "text must be a value of type string"),
        ({"text": "a", "more": 1}, "more is not an argument of it"),
    ],
)
def test_arguments_are_checked_before_anybody_is_asked(arguments: dict[str, Any], problem: str):
    (_, tool) = assistant_tools(allowed(REMOTE, ECHO))
    with pytest.raises(ValidationError, match=problem):
        tool.spec.Input.model_validate(arguments)
    assert tool.spec.Input.model_json_schema()["properties"] == {"text": {"type": "string"}}


# -- analyze_medical_document -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ("basic", "basic"),
        ("comprehensive", "comprehensive"),
        ("complicated", "comprehensive"),
    ],
)
def test_a_document_is_analysed_by_the_tool_of_the_server(
    tmp_path: Path, server: Server, asked: str, sent: str
):
    servers = allowed(REMOTE, ANALYZE, ECHO)
    names = [tool.spec.name for tool in assistant_tools(servers)]
    assert names == ["analyze_medical_document", "mcp_clinic_echo"]
    turn = [call("analyze_medical_document", note_text="Fever.", analysis_type=asked)]
    _, (finished,), _ = run(tmp_path, servers, turn, says("."))
    assert finished.status == "ok"
    assert finished.output["analysis_type"] == sent
    assert server.sent[0]["tool"] == "analyze_medical_document"
    assert server.sent[0]["arguments"] == {"document_content": "Fever.", "analysis_type": sent}


def test_without_a_server_the_tool_says_how_to_get_one(tmp_path: Path, server: Server):
    assert load_packs([]).get("analyze_medical_document") is not None
    tool = AnalyzeMedicalDocument()
    args = AnalyzeInput(note_text="Fever.", analysis_type="basic")
    context: Any = None
    with pytest.raises(ToolFailed) as raised:
        tool.run(args, context)
    assert "no MCP server is set up" in raised.value.reason
    assert "MCP_SERVER_URL" in raised.value.remedy
    tool = AnalyzeMedicalDocument(waiting="clinic")
    with pytest.raises(ToolFailed, match="clinic is set up, but its tools are not allowed yet"):
        tool.run(args, context)
    assert server.sent == []
    assert {"mcp", "mcp server", "submit to mcp", "send to mcp"} <= set(
        AnalyzeMedicalDocument().spec.phrases
    )


def test_the_server_of_the_environment_and_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    monkeypatch.setenv("MCP_SERVER_URL", "http://localhost:8000")
    monkeypatch.setenv("MCP_API_KEY", "of-the-server")
    program = Program()
    (found,) = program.mcp.all()
    assert (found.name, found.kind, found.url) == ("environment", "rpc", "http://localhost:8000")
    assert program.secrets.get(servers_module.key_of(found)) == "of-the-server"
    other = REMOTE.model_copy(update={"url": "http://localhost:8001"})
    assert program.secrets.get(servers_module.key_of(other)) == "", "no other address gets it"


def test_what_a_debug_log_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    monkeypatch.setenv("MCP_DEBUG", "true")
    servers = McpServers(list, lambda _: "")
    unusable = McpServer(name="x", kind="http", url="http://127.0.0.1:9/mcp?token=abc")
    with pytest.raises(ToolFailed):
        servers.listing(unusable, request(tmp_path).cancel)
    (line,) = (paths.log_dir() / "mcp_debug.log").read_text().splitlines()
    assert " x http 127.0.0.1:9 tools/list " in line
    assert line.endswith("127.0.0.1:9 cannot be reached")
    assert "abc" not in line


def test_a_program_takes_allowed_tools_into_its_registry_and_cleans_calls_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server, capsys: Any
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    program = Program()
    program.change_settings(Settings(mcp_servers=[REMOTE]))
    assert program.registry.get("mcp_clinic_echo") is None
    program.mcp.allow(REMOTE, Listing((ECHO,), (), "as-seen"))
    assert program.registry.get("mcp_clinic_echo") is not None
    assert program.active.get("mcp_clinic_echo") is not None
    before = program.active
    without = before.without(["mcp", "record"])
    assert without.get("mcp_clinic_echo") is None
    assert without.get("analyze_medical_document") is None
    run_tool("mcp_clinic_echo", {"text": "mail a@b.org"}, (), tmp_path / "out", as_json=True)
    assert "a@b.org" not in json.dumps(server.sent)
    program.change_settings(Settings(mcp_servers=[]))
    assert program.registry.get("mcp_clinic_echo") is None
    assert before.get("mcp_clinic_echo") is None, "a loop that is there already has it no more"
    assert "mcp_clinic_echo" not in [tool.spec.name for tool in before.all()]


def test_a_call_by_hand_is_cleaned_of_what_identifies_the_patients_of_an_open_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    program = Program()
    program.change_settings(Settings(mcp_servers=[REMOTE]))
    program.mcp.allow(REMOTE, Listing((ECHO,), (), "as-seen"))
    program.close()
    (tmp_path / "records").mkdir()
    bundle = write_bundle(tmp_path / "records")
    # A second patient: whose record is in use is not known.
    write_bundles(tmp_path / "records" / "others", 1, visits=1)
    text = f"A fever of 39 degrees and diabetes; {'; '.join(CANARIES.values())}; {PATIENT_ID}."
    for records in (str(bundle), str(tmp_path / "records")):
        given = {"text": text}
        out = tmp_path / "out"
        run_tool("mcp_clinic_echo", given, (), out, records=[records], as_json=True)
        sent = json.dumps(server.sent[-1])
        assert [key for key, canary in CANARIES.items() if canary in sent] == []
        words = {word for canary in CANARIES.values() for word in canary.split() if len(word) > 6}
        named = {word for word in words if word[0].isupper() and word.isalpha()}
        left = {word for word in named if word in sent}
        assert left <= {"Terrace", "Foundry", "Klinikum", "Station"}
        assert PATIENT_ID not in sent
        assert "A fever of 39 degrees and diabetes" in sent


def test_addresses_and_commands_are_shown_as_they_are():
    assert place_of(PROGRAM) == "/opt/lab --serve"
    hidden = PROGRAM.model_copy(update={"args": ["a b", "\u202etxt"]})
    assert place_of(hidden) == '/opt/lab "a b" \\u202etxt'
    assert host_of(REMOTE) == "mcp.example.org"
    for wrong in ("ftp://x/mcp", "mcp.example.org", "https://user:pass@x/mcp", "http://[x"):
        assert host_of(REMOTE.model_copy(update={"url": wrong})) == ""


def test_tables_and_pictures_of_an_answer_are_files_of_the_run_and_of_no_image(
    tmp_path: Path, server: Server
):
    picture = tmp_path / "mcp-1.png"
    Image.new("RGB", (4, 4)).save(picture)
    server.rows = [{"name": "Na", "value": 141.0}, {"name": "K", "value": 4.1}]
    server.pictures = [str(picture)]
    turn = [call("mcp_clinic_echo", text="a")]
    _, (finished,), _ = run(tmp_path, allowed(REMOTE, ECHO), turn, says("."))
    drawn, table = finished.artifacts
    assert (drawn.role, drawn.source, drawn.path) == ("image", None, picture)
    assert (table.role, table.source) == ("table", None)
    assert table.path.read_text().splitlines() == ["name,value", "Na,141.0", "K,4.1"]
    assert finished.findings == []
    assert finished.output["rows"] == 2
    assert finished.metadata["host"] == "mcp.example.org"


def test_a_model_that_forgets_a_server_that_was_asked_for_is_reminded(
    tmp_path: Path, server: Server
):
    registry = load_packs([])
    registry.set_server_tools(assistant_tools(allowed(REMOTE, ANALYZE)))
    question = 'Submit to MCP: "Fever and a pulse of 130."'
    made = [call("analyze_medical_document", note_text="Fever and a pulse of 130.")]
    with ScriptedModel(says("It may be sepsis."), made, says("Sepsis is likely.")) as model:
        loop = AgentLoop(model, registry, plans=registry.plans, rules_first=False)
        asyncio.run(collect(loop, request(tmp_path, question, notes=())))
    assert "analyze_medical_document" in model.requests[1][-1].text
    assert len(server.sent) == 1


def discharge_letter(folder: Path) -> Path:
    """A bundle of a patient with a discharge summary that names the patient."""
    letter = "Mrs Quillonia Abendrath, born 1950-01-02, was treated for pneumonia with amoxicillin."
    content = {
        "contentType": "text/plain",
        "data": base64.b64encode(letter.encode()).decode(),
    }
    code = {"system": "http://loinc.org", "code": "18842-5", "display": "Discharge summary"}
    resources: list[dict[str, Any]] = [
        {
            "resourceType": "Patient",
            "id": "p1",
            "name": [{"family": "Abendrath", "given": ["Quillonia"]}],
            "birthDate": "1950-01-02",
        },
        {
            "resourceType": "DocumentReference",
            "id": "d1",
            "status": "current",
            "type": {"coding": [code]},
            "subject": {"reference": "Patient/p1"},
            "date": "2026-03-01T10:00:00Z",
            "content": [{"attachment": content}],
        },
    ]
    bundle = {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [{"resource": one} for one in resources],
    }
    path = folder / "bundle.json"
    path.write_text(json.dumps(bundle))
    return path


def test_without_a_language_model_an_earlier_discharge_summary_is_analysed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    program = Program()
    program.change_settings(Settings(mcp_servers=[REMOTE]))
    program.mcp.allow(REMOTE, Listing((ANALYZE,), (), "as-seen"))
    program.record_library.open([discharge_letter(tmp_path)])
    program.record.open(program.record_library)
    thread = Thread.in_memory()
    asked: list[ApprovalRequested] = []

    async def approve(event: ApprovalRequested) -> bool:
        asked.append(event)
        return True

    loop = program.loop(program.language_model("offline"))
    answers = [
        asyncio.run(collect(loop, program.request(question, (), thread=thread, approve=approve)))
        for question in (
            "What does the discharge summary say?",
            "Submit the discharge summary to the MCP server for comprehensive analysis.",
        )
    ]
    program.close()
    assert "Abendrath" in str(answers[0][-1]), "people read the whole of it"
    assert server.sent, [str(one)[:600] for one in answers[1] if one.kind != "text_delta"]
    (sent,) = server.sent
    assert sent["arguments"]["analysis_type"] == "comprehensive"
    text = sent["arguments"]["document_content"]
    assert "was treated for pneumonia with amoxicillin." in text
    for secret in ("Quillonia", "Abendrath", "1950"):
        assert secret not in text
        assert secret not in asked[0].detail
