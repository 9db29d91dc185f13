"""Makes docs/images/mcp.png and mcp-consent.png: `python -m tests.gui.mcp_picture [FOLDER]`."""

from __future__ import annotations

import sys
from pathlib import Path

from app.agent.policy import Grants
from app.agent.privacy.consents import Consents
from app.settings import McpServer, Settings
from app.tools.mcp.offers import Listing, OfferedTool
from app.tools.mcp.servers import McpServers
from app.views import startup_actions
from app.views.application import create_application, use_offscreen
from app.views.settings.mcp_page import McpConsentDialog
from app.views.settings.settings_dialog import SettingsDialog, SettingsSources
from tests.gui.settling import settled
from tests.gui.test_settings_window import FakeProbe, Keys

CLINIC = McpServer(name="clinic", kind="rpc", url="https://mcp.example.org")
LITERATURE = McpServer(
    name="literature", kind="stdio", command="uvx", args=["pubmed-mcp", "--limit", "20"]
)
ANALYZE = OfferedTool(
    "analyze_medical_document",
    "Analyse the text of a medical document, briefly or in several steps.",
    {
        "type": "object",
        "properties": {
            "document_content": {"type": "string"},
            "analysis_type": {"type": "string", "enum": ["basic", "comprehensive"]},
        },
        "required": ["document_content"],
    },
)
CODES = OfferedTool(
    "suggest_codes",
    "Suggest ICD-10 codes for a text.",
    {"type": "object", "properties": {"text": {"type": "string"}}},
)


def main(folder: Path) -> None:
    """Write the pictures."""
    use_offscreen()
    create_application()
    settings = Settings(mcp_servers=[CLINIC, LITERATURE])
    servers = McpServers(lambda: settings.mcp_servers, lambda _name: "")
    before = Listing((ANALYZE,), (), "before")
    servers.allow(CLINIC, before)
    sources = SettingsSources(Keys(), Consents(), Grants(), FakeProbe(), mcp=servers)
    dialog = SettingsDialog(settings, sources, lambda _: None, lambda _: None)
    dialog.show_page("mcp")
    dialog.show()
    settled(lambda: not dialog.mcp.isVisible())
    startup_actions.save_window(dialog, folder / "mcp.png")
    question = McpConsentDialog(CLINIC, Listing((ANALYZE, CODES), (), "now"), before, dialog.mcp)
    question.show()
    settled(lambda: not question.isVisible())
    startup_actions.save_window(question, folder / "mcp-consent.png")
    dialog.close()


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    main(Path(sys.argv[1]) if sys.argv[1:] else root / "docs" / "images")
