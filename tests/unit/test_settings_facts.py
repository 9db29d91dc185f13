"""What the audit log is told of changed settings: names and rules, no address, path or key."""

from __future__ import annotations

from app.settings import (
    FolderSettings,
    LimitSettings,
    ModelSettings,
    PolicySettings,
    ProviderSettings,
    Settings,
)
from app.wiring.program import settings_facts


def test_changed_settings_are_told_without_addresses_paths_or_keys():
    before = Settings()
    secret = "https://user:password@cloud.example:8443/v1/Jane?key=sk-1"
    provider = ProviderSettings(base_url=secret, model="gpt-x", path="/home/jane/model")
    after = Settings(
        llm=ModelSettings(kind="openai", openai=provider),
        policy=PolicySettings(tools={"save_report": "deny"}),
        limits=LimitSettings(steps=7),
    )
    facts = settings_facts(before, after)
    assert facts["model"] == "openai gpt-x"
    assert facts["host"] == "cloud.example:8443"
    assert facts["rules"] == {"tools.save_report": "deny"}
    assert facts["limits"] == {"steps": 7}
    assert "llm.kind" in facts["changed"]
    for text in ("password", "Jane", "jane", "sk-1"):
        assert text not in str(facts)
    assert settings_facts(before, before) == {"changed": []}
    back = settings_facts(after, before)
    assert back["rules"] == {"tools.save_report": "(none)"}


def test_folders_in_the_rules_are_not_written_into_the_log():
    folders = FolderSettings(allow=["/data/DOE_JANE"])
    facts = settings_facts(Settings(), Settings(policy=PolicySettings(folders=folders)))
    assert facts["changed"] == ["policy.folders.allow"]
    assert "JANE" not in str(facts)
