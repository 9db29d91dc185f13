# ruff: noqa: T201
"""What a language model of 1.5 billion parameters is let say: nothing that no tool made, unmarked.

It takes minutes a question on a processor, so it runs only where SIGHTLINE_TEST_CODER_GGUF names
the model (Qwen2.5-Coder-1.5B-Instruct, Q4_K_M). As a program it prints each answer whole:

    python -m tests.e2e.test_small_model_answers MODEL.gguf [QUESTION-NUMBER...]
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from app.agent.answers.evidence import MARK
from app.agent.loop.offline_model import IN_PLACE
from app.imaging.demo import demo_paths
from tests.conftest import REPO
from tests.support import four_prompts

VARIABLE = "SIGHTLINE_TEST_CODER_GGUF"
QUESTIONS = (
    four_prompts.PROMPT_1,
    four_prompts.PROMPT_2,
    four_prompts.PROMPT_3,
    four_prompts.PROMPT_4,
    "What can you do?",
    "Is the heart enlarged?",
    "only segment the lungs",
    four_prompts.PROMPT_1_NATURAL,
)
_CLINICAL = re.compile(
    r"\b(?:\w*cardi\w+|heart|lungs?|effusions?|pneumo\w+|nodules?|mass|opacit\w+|enlarged|normal|"
    r"abnormal\w*|consolidat\w+|fractures?|oedema|edema|disease|carcinoma)\b|\d",
    re.IGNORECASE,
)
_CITED = re.compile(r"\[\d[\d, ]*\]")
_HEDGED = re.compile(r"\b(?:not|no|cannot|without|needs?|unable|please|would|could)\b|\?", re.I)


def ask(model: Path, question: str, home: Path) -> list[dict[str, Any]]:
    """The events of a question on the demo film, asked by the command line."""
    command = ["ask", question, "--llm", f"local:{model}", "--image", str(demo_paths()[0])]
    done = subprocess.run(
        [sys.executable, "-m", "app", *command, "--json"],
        cwd=REPO,
        env={**os.environ, "SIGHTLINE_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def doubtful(end: Mapping[str, Any]) -> list[str]:
    """The sentences of an answer that speak of the image, with neither mark nor citation.

    A person has to read them: a name of a tool, or what was not done, is no statement.
    """
    answer = str(end.get("answer", ""))
    if end.get("by_rules") or answer.startswith(IN_PLACE):
        return []
    sentences = re.split(r"(?<=[.!?])\s+|\n+", answer)
    return [
        text
        for text in sentences
        if _CLINICAL.search(text)
        and not (MARK.search(text) or _CITED.search(text) or _HEDGED.search(text))
    ]


@pytest.mark.e2e
@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_it_says_nothing_that_no_tool_made_without_a_mark(number: int, tmp_path: Path):
    named = os.environ.get(VARIABLE, "")
    if not named:
        pytest.skip(f"{VARIABLE} names no model")
    events = ask(Path(named), QUESTIONS[number], tmp_path)
    end = events[-1]
    assert end["kind"] == "run_finished", end
    assert doubtful(end) == []
    # What it said before rules stood in for it is on the screen as well.
    streamed = "".join(item["text"] for item in events if item["kind"] == "text_delta")
    if end["answer"].startswith(IN_PLACE):
        before = doubtful({"answer": streamed.partition(IN_PLACE)[0]})
        assert [text for text in before if text.strip("- ") not in end["answer"]] == []


def main(arguments: list[str]) -> None:
    """Ask the questions, and print what came of each."""
    chosen = [int(item) for item in arguments[1:]] or range(len(QUESTIONS))
    for number in chosen:
        with tempfile.TemporaryDirectory() as home:
            began = time.monotonic()
            events = ask(Path(arguments[0]), QUESTIONS[number], Path(home))
        print(f"\n##### {number}: {QUESTIONS[number]!r} ({time.monotonic() - began:.0f} s)")
        streamed = "".join(item["text"] for item in events if item["kind"] == "text_delta")
        print(f"--- all that was streamed:\n{streamed[:6000]}")
        for event in events:
            match event["kind"]:
                case "tool_finished":
                    told = event["error"] or event["summary"]
                    print(f"--- {event['tool']}: {event['status']}: {told[:300]}")
                case "plan_updated" if event.get("goal"):
                    print(f"--- goal {event['goal']}: {event['goal_why']}")
                case "usage":
                    print(f"--- {event['input_tokens']} in, {event['output_tokens']} out")
                case "notice":
                    print(f"--- note: {event['text']}")
                case _:
                    pass
        print(json.dumps(events[-1], ensure_ascii=False)[:6000].replace("\\n", "\n"))
        print("doubtful:", doubtful(events[-1]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
