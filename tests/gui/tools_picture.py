"""Makes docs/images/tools.png: `python -m tests.gui.tools_picture [FOLDER]`; the rules made up."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from app.agent.policy import Grants, Policy
from app.agent.privacy.consents import Consents
from app.settings import PolicySettings, Settings
from app.tools.api import Approval
from app.tools.registry import load_packs
from app.views import startup_actions
from app.views.application import create_application, use_offscreen
from app.views.settings.settings_dialog import SettingsDialog, SettingsSources
from tests.gui.settling import settled
from tests.gui.test_settings_window import FakeProbe, Keys


def main(folder: Path) -> None:
    """Write the picture."""
    use_offscreen()
    create_application()
    specs = [tool.spec for tool in load_packs(()).all()]
    send = replace(specs[0], name="send_report", approval=Approval.SEND)
    grants = Grants()
    grants.grant("thread", send, {})
    grants.refuse("thread", "export_report")
    site = Policy.from_data({"tools": {"send_report": "deny"}})
    sources = SettingsSources(
        Keys(), Consents(), grants, FakeProbe(), tools=(*specs, send), site_rules=(site,)
    )
    rules = PolicySettings(tools={"chest_xray_classifier": "ask"})
    dialog = SettingsDialog(Settings(policy=rules), sources, lambda _: None, lambda _: None)
    dialog.show_page("tools")
    dialog.resize(780, 1110)
    dialog.show()
    settled(lambda: not dialog.tools.isVisible())
    startup_actions.save_window(dialog, folder / "tools.png")
    dialog.close()


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    main(Path(sys.argv[1]) if sys.argv[1:] else root / "docs" / "images")
