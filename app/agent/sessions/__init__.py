"""Conversations on disk: a folder each, with an append-only, versioned JSONL file.

A crash at any byte loses at most the line that was being written. `session_file` defines the
format, `thread` decides what is written when, `content` reads a file, `store` lists and branches
conversations, `export` writes them for people, `replay` makes their calls again.
"""

from app.agent.sessions.content import PastRun, RunState
from app.agent.sessions.store import SessionStore, ThreadInfo, Version
from app.agent.sessions.thread import Thread
from app.agent.sessions.writer import ThreadInUse

__all__ = ["PastRun", "RunState", "SessionStore", "Thread", "ThreadInUse", "ThreadInfo", "Version"]
