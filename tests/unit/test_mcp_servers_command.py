"""`sightline mcp-servers`: a server is looked at, allowed, used by `ask` and withdrawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.cli import main
from tests.support.mcp_addresses import json_rpc


@pytest.mark.slow
def test_document_003_from_the_environment_to_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    question = 'analyze_medical_document note_text="Fever, pulse 130" analysis_type=complicated'
    with json_rpc("/rpc") as seen:
        monkeypatch.setenv("MCP_SERVER_URL", seen.url)
        monkeypatch.setenv("MCP_API_KEY", "key-3")
        allowed = ["--llm", "offline", "--allow", "send:analyze_medical_document"]
        main(["ask", question, *allowed])
        printed = capsys.readouterr()
        assert "environment is set up, but its tools are not allowed" in printed.out + printed.err
        assert seen.bodies == [], "nothing was asked before the consent"
        assert main(["mcp-servers", "allow", "environment"]) == 1
        printed = capsys.readouterr()
        assert "nobody said yes" in printed.err
        digest = printed.out.rpartition("Digest: ")[2].strip()
        assert main(["mcp-servers", "allow", "environment", "--digest", "0" * 64]) == 1
        assert main(["mcp-servers", "allow", "environment", "--digest", digest]) == 0
        capsys.readouterr()
        assert main(["mcp-servers", "list", "--json"]) == 0
        (row,) = json.loads(capsys.readouterr().out)
        assert row["tools"] == ["analyze_medical_document"]
        assert main(["ask", question, *allowed]) == 0
        assert "sepsis is likely" in capsys.readouterr().out
        (sent,) = [body for body in seen.bodies if body["method"] == "tools/call"]
        assert sent["params"]["arguments"] == {
            "note_text": "Fever, pulse 130",
            "analysis_type": "comprehensive",
        }
        assert set(seen.keys) == {"Bearer key-3"}
        assert main(["mcp-servers", "withdraw", "environment"]) == 0
        assert main(["mcp-servers"]) == 0
        assert "not allowed yet" in capsys.readouterr().out
    assert main(["mcp-servers", "look", "nobody"]) == 2
