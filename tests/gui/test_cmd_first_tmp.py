"""First shot: right / nothing / other / not undoable."""
import sys, json, tomllib
sys.path.insert(0,'/work/trees/cmd')
from pathlib import Path
import pytest
import tests.gui.test_viewer_commands as t
from tests.gui.viewer_scenes import Room
from dataclasses import replace
F = Path(__import__('os').environ.get('BLIND','/tmp/cmd_blind.toml'))
CMDS = tomllib.loads(F.read_text())["command"]
SC = tuple(dict.fromkeys(c["context"] for c in CMDS))
OUT = Path(__import__('os').environ.get('OUTF','/tmp/cmd_first.txt'))
pytestmark = pytest.mark.gui
@pytest.mark.timeout(900)
@pytest.mark.parametrize("scene", SC)
def test_first(scene, qapp, tmp_path, wait_until, monkeypatch):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    room = Room(scene, tmp_path, wait_until)
    try:
        for c in (c for c in CMDS if c["context"] == scene):
            room.begin(c.get("start", {}))
            before = t.look(room)
            sel = room.workspace.annotations.selected
            room.ask(c["text"])
            now = t.look(room)
            p = t.wrong(room, before, c["expect"])
            if c["id"].startswith("no-") and now != before and not p: p=[f"changed {[(k,getattr(before,k),getattr(now,k)) for k in before.__dict__ if getattr(before,k)!=getattr(now,k)]}"]
            kind = "right"
            if p:
                if now == before and not room.asked: kind = "nothing"
                else:
                    room.workspace.commands.undo(); room.settle()
                    b = t.look(room)
                    diff=[(k,getattr(before,k),getattr(b,k)) for k in before.__dict__ if getattr(before,k)!=getattr(b,k) and k!="zoom"]
                    kind = "other" if not diff else f"NOT-UNDONE {diff}"
            with OUT.open("a") as f: f.write(f"{c['id']} {kind} | {c['text']} | {p if p else ''} | said {room.said[:200]!r}\n")
    finally:
        room.close()
