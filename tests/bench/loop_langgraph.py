"""LangGraph's side of `bench_loop`, run by an interpreter that has it: it imports nothing of ours.

Each line on stdin, `STEPS CHECKPOINTER`, runs the graph once; the answer is the milliseconds.
"""

from __future__ import annotations

import importlib
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MODES = ("memory", "sqlite", "sqlite, durability sync")


def build(steps: list[int]) -> Any:
    """The graph: `process` asks for one call of `look`, `execute` runs it, `steps` times."""
    graph: Any = importlib.import_module("langgraph.graph")
    messages: Any = importlib.import_module("langchain_core.messages")
    prebuilt: Any = importlib.import_module("langgraph.prebuilt")
    tools: Any = importlib.import_module("langchain_core.tools")

    @tools.tool
    def look(x: int) -> str:
        """Look."""
        return f"seen {x}"

    def process(state: dict[str, Any]) -> dict[str, Any]:
        done = sum(isinstance(item, messages.ToolMessage) for item in state["messages"])
        if done >= steps[0]:
            return {"messages": [messages.AIMessage("done")]}
        call = {"id": f"c{done}", "name": "look", "args": {"x": done}}
        return {"messages": [messages.AIMessage("", tool_calls=[call])]}

    def onward(state: dict[str, Any]) -> str:
        return "execute" if state["messages"][-1].tool_calls else graph.END

    made = graph.StateGraph(graph.MessagesState)
    made.add_node("process", process)
    made.add_node("execute", prebuilt.ToolNode([look]))
    made.add_edge(graph.START, "process")
    made.add_conditional_edges("process", onward)
    made.add_edge("execute", "process")
    return made


def main() -> None:
    """Answer until stdin ends."""
    steps = [0]
    graph = build(steps)
    human: Any = importlib.import_module("langchain_core.messages").HumanMessage
    memory: Any = importlib.import_module("langgraph.checkpoint.memory").InMemorySaver
    saver: Any = importlib.import_module("langgraph.checkpoint.sqlite").SqliteSaver
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "checkpoints.db", check_same_thread=False)
        kept = saver(connection)
        kept.setup()
        asked = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in PRAGMAS]
        print(", ".join(f"{name} {value}" for name, value in zip(PRAGMAS, asked, strict=True)))
        sys.stdout.flush()
        for number, line in enumerate(sys.stdin):
            count, _, mode = line.strip().partition(" ")
            steps[0] = int(count)
            app = graph.compile(checkpointer=memory() if mode == "memory" else kept)
            options = {"durability": "sync"} if mode.endswith("durability sync") else {}
            config = {"configurable": {"thread_id": str(number)}, "recursion_limit": 10**6}
            started = time.perf_counter()
            result = app.invoke({"messages": [human("q")]}, config, **options)
            took = time.perf_counter() - started
            assert len(result["messages"]) == 2 * steps[0] + 2
            print(took * 1e3, flush=True)
        connection.close()


PRAGMAS = ("journal_mode", "synchronous")

if __name__ == "__main__":
    main()
