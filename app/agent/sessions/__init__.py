"""Chat threads on disk: one folder a thread, with an append-only, versioned JSONL file.

A crash at any byte loses at most the line that was being written; the thread opens again and goes
on. See `lines` for the format, `thread` for what is written when, `reading` for how it is read.
"""

from app.agent.sessions.reading import PastRun, RunState
from app.agent.sessions.store import SessionStore, ThreadInfo
from app.agent.sessions.thread import Thread
from app.agent.sessions.writer import ThreadInUse

__all__ = ["PastRun", "RunState", "SessionStore", "Thread", "ThreadInUse", "ThreadInfo"]
