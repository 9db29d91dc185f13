"""Makes docs/images/audit.png: `python -m tests.gui.audit_picture [FOLDER]`; a run made up."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from app.audit import AuditLog
from app.views import startup_actions
from app.views.application import create_application, use_offscreen
from app.views.audit.audit_window import ACTION, AuditWindow
from tests.gui.settling import settled

HOST = "api.example.org"
MODEL = "gpt-4o at api.example.org"
RUN = {"run": "fece6d4c291b4fa49b60c0ba57242da2", "thread": "20261121T163647-acbb436b8da34763"}


def main(folder: Path) -> None:
    """Write the picture."""
    use_offscreen()
    create_application()
    with tempfile.TemporaryDirectory() as home:
        log = AuditLog(Path(home) / "audit", b"k" * 32)
        _fill(log)
        window = AuditWindow(log)
        window.resize(920, 640)
        window.show()
        settled(lambda: not window.model.rowCount())
        row = next(n for n in range(99) if window.model.index(n, ACTION).data() == "Sent")
        window.table.selectRow(row)
        window.verify()
        settled(lambda: not window.verdict.text().startswith("All"))
        startup_actions.save_window(window, folder / "audit.png")
        window.close()


def _fill(log: AuditLog) -> None:
    image, picture = log.name("image", "1.2.840.113619.2.5"), log.name("picture", "x")
    to: dict[str, Any] = {"host": HOST, "model": MODEL}
    shown = {"pictures": [picture], "images": [image]}
    segmentation = {"tool": "chest_xray_segmentation", "effect": "compute", "version": "0.1.0"}
    report = {"tool": "export_report", "effect": "write", "version": "0.1.0"}
    rules = {"changed": ["llm.kind", "policy.tools.export_report"], "host": HOST}
    entries: list[tuple[str, dict[str, Any]]] = [
        ("program_started", {"version": "0.6.0"}),
        ("settings_changed", {**rules, "rules": {"tools.export_report": "ask"}}),
        ("run_started", {"model": MODEL, "open_images": 2}),
        ("approval_asked", {"about": "conversation", **to}),
        ("approval_answered", {"about": "conversation", "host": HOST, "granted": True}),
        ("approval_asked", {"about": "pictures", **to, **shown}),
        ("approval_answered", {"about": "pictures", "host": HOST, "granted": True}),
        ("data_sent", {**to, "characters": 8123, **shown}),
        ("tool_started", segmentation),
        ("tool_finished", {**segmentation, "status": "ok", "seconds": 3.42, "findings": 3}),
        ("tool_started", report),
        ("approval_asked", {"about": "tool", **report}),
        ("approval_answered", {"about": "tool", "tool": "export_report", "granted": False}),
        ("tool_finished", {**report, "status": "not_run", "seconds": 4.1}),
        ("run_finished", {}),
        ("export_started", {"what": "conversation", "form": "html"}),
        ("exported", {"what": "conversation", "form": "html", "status": "ok"}),
    ]
    for action, facts in entries:
        own = {} if action in ("program_started", "settings_changed") else RUN
        log.record(action, {**own, **facts})


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
