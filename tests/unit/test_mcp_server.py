"""Sightline as an MCP server. The SDK's own client, over stdio and in process, is the witness."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult, ImageContent, TextContent
from PIL import Image
from pydantic import BaseModel
from pydicom import dcmread

from app.audit.entries import read_entries
from app.cli import main
from app.errors import UsageError
from app.headless.mcp_server import McpRequest, make_server
from app.imaging.demo import demo_paths
from app.settings import PolicySettings
from app.tools.api import Approval, Artifact, ToolContext, ToolResult
from app.tools.registry import Registry
from app.wiring import Program
from tests.support.fake_tools import FakeTool, Strict, ok
from tests.support.record_canaries import CANARIES, write_bundle

pytestmark = pytest.mark.usefixtures("forked")

NAME, NUMBER = "ZEBEDEE^QUILLON", "MRN7719023"
Use = Callable[[Client], Awaitable[Any]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A radiograph of a patient whose name and number must not get out."""
    data = dcmread(demo_paths()[0])
    data.PatientName, data.PatientID, data.BurnedInAnnotation = NAME, NUMBER, "NO"
    path = tmp_path / "quillon.dcm"
    data.save_as(path)
    return path


def text_of(result: CallToolResult) -> str:
    return "".join(item.text for item in result.content if isinstance(item, TextContent))


def pictures_of(result: CallToolResult) -> list[ImageContent]:
    return [item for item in result.content if isinstance(item, ImageContent)]


def served(program: Program, wanted: McpRequest, use: Use) -> Any:
    async def run() -> Any:
        async with Client(make_server(program, wanted)) as client:
            return await use(client)

    try:
        return asyncio.run(run())
    finally:
        program.close()


def with_tools(*tools: Any, policy: PolicySettings | None = None) -> Program:
    program = Program()
    registry = Registry()
    for tool in tools:
        registry.register(tool)
    program.registry = registry
    if policy is not None:
        program.settings = program.settings.model_copy(update={"policy": policy})
    return program


def test_another_assistant_uses_the_viewer_and_learns_nothing_of_the_patient(
    home: Path, study: Path
):
    async def use() -> tuple[str, list[Any], list[CallToolResult]]:
        arguments = ["-m", "app", "mcp", "--image", str(study), "--pictures"]
        command = StdioServerParameters(
            command=sys.executable, args=arguments, env={"SIGHTLINE_HOME": str(home / "home")}
        )
        async with Client(command) as client:
            tools = (await client.list_tools()).tools
            first = await client.call_tool("dicom_processor", {"dicom_path": "image-1"})
            assert first.structured_content is not None
            made = first.structured_content["output"]["image_path"]
            results = [
                first,
                await client.call_tool("image_visualizer", {"image_path": made}),
                await client.call_tool("dicom_processor", {"dicom_path": "/etc/passwd"}),
                await client.call_tool("no_such_tool", {}),
            ]
            return client.instructions or "", tools, results

    about, tools, (converted, shown, outside, unknown) = asyncio.run(use())
    assert "image-1" in about
    names = {tool.name for tool in tools}
    assert {"dicom_processor", "image_visualizer", "chest_xray_classifier"} <= names
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert not converted.is_error
    assert converted.structured_content is not None
    assert converted.structured_content["metadata"]["Modality"] == "CR"
    assert not shown.is_error, text_of(shown)
    assert len(pictures_of(shown)) == 1, "a name of an earlier result leads back to its file"
    assert outside.is_error
    assert "names neither an open image nor a file of this run" in text_of(outside)
    assert unknown.is_error
    for told in (about, *(item.model_dump_json() for item in (converted, shown, outside, unknown))):
        for secret in ("ZEBEDEE", "QUILLON", NUMBER, "quillon", str(home)):
            assert secret not in told
    entries = [one.facts for one in read_entries(home / "home" / "data" / "audit")]
    started = [facts for facts in entries if facts.get("via") == "mcp" and "status" not in facts]
    assert [facts["tool"] for facts in started] == ["dicom_processor", "image_visualizer"]


def test_stdout_carries_only_the_protocol(home: Path):
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    (home / "home" / "config").mkdir(parents=True)
    # A notice about settings is told, on stderr.
    (home / "home" / "config" / "settings.json").write_text('{"limits": {"steps": -1}}')
    done = subprocess.run(
        [sys.executable, "-m", "app", "mcp"],
        input=json.dumps(hello) + "\nthis is not JSON\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["result"]["serverInfo"]["name"] == "sightline"
    assert all(line["jsonrpc"] == "2.0" for line in lines)
    assert '"steps" had an unusable value' in done.stderr
    assert done.returncode == 0, "it ends when the other side closes"


@pytest.mark.parametrize("effect", [Approval.WRITE, Approval.SEND, Approval.EXECUTE])
def test_what_acts_is_offered_only_if_it_is_allowed_by_name(home: Path, effect: Approval):
    act, act_too = (FakeTool(name, Strict, ok(), approval=effect) for name in ("act", "act_too"))

    async def use(client: Client) -> tuple[list[str], bool, bool]:
        names = [tool.name for tool in (await client.list_tools()).tools]
        first, second = await client.call_tool("act", {}), await client.call_tool("act_too", {})
        return names, first.is_error, second.is_error

    wanted = McpRequest(allow=(f"{effect}:act",))
    assert served(with_tools(act, act_too), wanted, use) == (["act"], False, True)
    assert (len(act.calls), len(act_too.calls)) == (1, 0)
    with pytest.raises(UsageError):
        make_server(with_tools(act), McpRequest(allow=("read:act",)))


def test_the_policy_of_the_user_holds_here_too(home: Path):
    asks, denied = FakeTool("asks", Strict, ok()), FakeTool("denied", Strict, ok())
    policy = PolicySettings(tools={"asks": "ask", "denied": "deny"})

    async def use(client: Client) -> tuple[list[str], CallToolResult]:
        names = [tool.name for tool in (await client.list_tools()).tools]
        return names, await client.call_tool("asks", {})

    names, result = served(with_tools(asks, denied, policy=policy), McpRequest(), use)
    assert names == ["asks"]
    assert result.is_error
    assert "sightline mcp --allow compute:asks" in text_of(result)
    assert asks.calls == []
    allowed = McpRequest(allow=("compute:asks", "compute:denied"))
    names, result = served(with_tools(asks, denied, policy=policy), allowed, use)
    assert names == ["asks"], "what is refused cannot be allowed"
    assert not result.is_error


class Named(BaseModel):
    count: int


def test_wrong_arguments_and_failures_are_told_as_such(home: Path):
    tool = FakeTool("count", Named, ok("3 of them"))

    async def use(client: Client) -> CallToolResult:
        return await client.call_tool("count", {"count": "many"})

    result = served(with_tools(tool), McpRequest(), use)
    assert result.is_error
    assert "It takes: count (integer, required)" in text_of(result)


def picture(args: Any, context: ToolContext) -> ToolResult:
    path = context.out_dir / "made.png"
    Image.new("L", (8, 8), 90).save(path)
    return ToolResult("made", {}, {}, artifacts=(Artifact(path),))


@pytest.mark.parametrize(
    ("asked", "burnt_in", "expected"),
    [
        (McpRequest(), "NO", 0),
        (McpRequest(pictures=True), "NO", 1),
        (McpRequest(pictures=True), "YES", 0),
        (McpRequest(local=True), "YES", 1),
    ],
)
def test_pictures_are_handed_out_only_if_asked_for_and_not_if_they_may_show_the_patient(
    home: Path, study: Path, asked: McpRequest, burnt_in: str, expected: int
):
    data = dcmread(study)
    data.BurnedInAnnotation = burnt_in
    data.save_as(study)

    async def use(client: Client) -> CallToolResult:
        return await client.call_tool("draw", {})

    wanted = replace(asked, images=(study,))
    result = served(with_tools(FakeTool("draw", Strict, picture)), wanted, use)
    assert len(pictures_of(result)) == expected


def test_a_call_that_the_other_side_cancels_is_stopped(home: Path):
    stopped: list[bool] = []

    def wait(args: Any, context: ToolContext) -> ToolResult:
        stopped.append(context.cancel.wait(20))
        return ToolResult("", {}, {})

    async def use(client: Client) -> CallToolResult:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await client.call_tool("wait", {})
        return await client.call_tool("quick", {})

    program = with_tools(FakeTool("wait", Strict, wait), FakeTool("quick", Strict, ok("there")))
    assert "there" in text_of(served(program, McpRequest(), use))
    assert stopped == [True]


def test_an_image_that_is_not_there_is_told_before_the_protocol_begins(
    home: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["mcp", "--image", str(home / "missing.dcm")]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "missing.dcm" in printed.err


RECORD_TOOLS = (
    *("get_demographics", "get_patient_labs", "get_patient_conditions", "get_medication_list"),
    *("get_clinical_notes", "get_discharge_summary", "get_radiology_reports", "list_patients"),
)


def telling_parts(canary: str) -> list[str]:
    """The canary and its words and numbers that nobody else has, as the agent's own test."""
    words = [*re.findall(r"[A-Z][a-z]{6,}", canary), *re.findall(r"\d[\d-]{5,}\d", canary)]
    ordinary = ("Terrace", "Foundry", "Klinikum", "Station", "Subjective")
    return [canary, *(word for word in words if word not in ordinary)]


@pytest.mark.parametrize("local", [False, True])
def test_of_a_record_the_assistant_learns_nothing_that_identifies_the_patient(
    home: Path, local: bool
):
    bundle = write_bundle(home)

    async def use(client: Client) -> list[str]:
        told = [client.instructions or ""]
        for name in RECORD_TOOLS:
            result = await client.call_tool(name, {})
            assert not result.is_error, (name, text_of(result))
            told.append(result.model_dump_json())
        return told

    wanted = McpRequest(records=(str(bundle),), packs=("record",), local=local)
    told = "".join(served(Program(), wanted, use)).casefold()
    leaked = [
        field
        for field, canary in CANARIES.items()
        if any(part.casefold() in told for part in telling_parts(canary))
    ]
    assert "creatinine" in told
    if local:
        assert len(leaked) > 10, "they are there to be found"
    else:
        assert leaked == []
