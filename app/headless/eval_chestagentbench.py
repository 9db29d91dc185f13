"""The command `eval chestagentbench`: six-choice questions on chest radiographs.

The benchmark: Fallahpour A, et al. MedRAX: medical reasoning agent for chest X-ray.
arXiv:2502.02673; data: huggingface.co/datasets/wanglab/chest-agent-bench
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from app.agent.llm.base import LanguageModel
from app.agent.sessions import Thread
from app.errors import FileProblem, SightlineError, UsageError
from app.headless.common import open_program, print_json
from app.headless.eval_page import write_page
from app.headless.eval_runs import Results, Role, exit_code, file_name, run_cases, summary_of
from app.headless.runs import open_images
from app.paths import data_dir
from app.user_files import write_atomic
from app.wiring import Program, new_run_id

FORCE = "Answer with the letter of the best choice only: one of A, B, C, D, E, F."
"""The follow-up, in the same conversation, after an answer without a letter."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question; `images` are files, some of which may be missing."""

    id: str
    text: str
    answer: str
    categories: tuple[str, ...]
    images: tuple[Path, ...]


def read_questions(folder: Path) -> list[Question]:
    """Return the questions of a folder with metadata.jsonl.

    Raises:
        FileProblem: There is no such file, or a line is no question; the text says which.
    """
    path = folder / "metadata.jsonl"
    remedy = "Download the data set wanglab/chest-agent-bench, and unpack its figures.zip there."
    try:
        lines = path.read_text("utf-8").split("\n")  # splitlines parts at U+2028, too
    except (OSError, UnicodeError) as error:
        reason = "there is no metadata.jsonl"
        raise FileProblem(reason, subject=str(folder), remedy=remedy) from error
    found: list[Question] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                found.append(_question(folder, json.loads(line)))
            except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
                reason = f"line {number} is no question of ChestAgentBench"
                raise FileProblem(reason, subject=str(path), detail=repr(error)) from error
    if not found:
        raise FileProblem("there is no question in it", subject=str(path), remedy=remedy)
    ids = [question.id for question in found]
    if twice := {name for name in ids if ids.count(name) > 1}:
        raise FileProblem(f"two questions have the id {min(twice)}", subject=str(path))
    return found


def _question(folder: Path, data: dict[str, Any]) -> Question:
    name = data.get("full_question_id") or f"{data.get('case_id', '')}_{data['question_id']}"
    more: dict[str, Any] = data.get("metadata") or {}
    categories = data.get("categories") or more.get("categories") or data.get("category") or ()
    if isinstance(categories, str):
        categories = [part.strip() for part in categories.split(",")]
    letter = re.match(r"\W*([A-F])\b", str(data["answer"]), re.IGNORECASE)
    if letter is None:
        raise ValueError("the answer is no letter from A to F")
    images = tuple(folder / text for text in _strings(data.get("images")))
    if any(".." in path.parts or not path.is_relative_to(folder) for path in images):
        raise ValueError("an image lies outside the folder")
    return Question(
        str(name).strip("_"), data["question"], letter[1].upper(), tuple(categories), images
    )


def _strings(part: object) -> list[str]:
    if isinstance(part, list):
        return [text for item in cast("list[object]", part) for text in _strings(item)]
    return [part] if isinstance(part, str) and part else []


_MARKED = r"[\s\"'\u201c\u2018*_`(\[{<]*([A-F])[\s\"'\u201d\u2019*_`)\]}>]*"
_ALONE = re.compile(rf"{_MARKED}[.:,)]?\s*", re.IGNORECASE)
_HEAD = re.compile(r"\s*[\"'*_`(\[]*([A-F])[\"'*_`)\]]*\s*(?:[):]|\.(?=\s*$|\s+[^a-z\s])|-\s)")
_SAID = re.compile(
    r"\b(?:answer|choice|option|choose|select|pick|selected|chosen)\b\s*"
    r"(?:is|would be|letter|:|=)*\s*(?:the\s+)?"
    rf"(?:answer|choice|option|letter)?\s*:?{_MARKED}(?![a-z'-])",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:not|isn't|never|nor|neither|exclude|eliminate|rule out)\b[^.]*$", re.I)
_WRONG = re.compile(
    r"[\W_]*(?:is|are|was|seems|looks|would be)\s+"
    r"(?:not|incorrect|wrong|false|excluded|ruled|less|un\w+)\b"
    r"|\.\s*[a-z]"  # "E. coli"
)
_OR = re.compile(r"\W*(?:(?:or|and|[/&+])\W*[A-F]\b|,\W*[A-F]\b(?!\s+[a-z]))")


def read_letter(text: str) -> str | None:
    """Return the letter that an answer chooses; None if it chooses none or several.

    Strict: a letter alone, also on the last or the first line, at the head of the answer
    ("C) ..."), or after "answer", "option" and the like. The article "A", "E. coli" and letters
    in words or lists of choices are none.
    """
    text = re.sub(r"\\boxed\{(?:\\text\{)?([A-F])\}|<answer>\s*([A-F])\b", r"answer: \1\2 ", text)
    if alone := _ALONE.fullmatch(text):
        return alone[1].upper()
    said: list[str] = []
    for match in _SAID.finditer(text):
        sentence = re.split(r"[.\n]", text[: match.start()])[-1]
        letter = match[1]
        article = letter == "a" or (letter == "A" and re.match(r"\s*[a-z]", text[match.end() :]))
        wrong = article or not letter.isupper() or _WRONG.match(text[match.end(1) :])
        if not wrong and not _NOT.search(sentence + match[0][:-1]):
            if _OR.match(text[match.end(1) :]):
                return None
            said.append(letter)
    if said:
        return said[-1] if len(set(said[-2:])) == 1 or _is_final(text) else None
    lines = text.strip().splitlines()
    for line in (lines[-1], lines[0]) if lines else ():
        if (alone := _ALONE.fullmatch(line)) and alone[1].isupper():
            return alone[1]
    head = _HEAD.match(text)
    if head and not _HEAD.match("\n".join(text.splitlines()[1:])):
        return head[1]
    return None


def _is_final(text: str) -> bool:
    """Return whether the last choice is called the final one."""
    return bool(re.search(r"(?i)\bfinal (?:answer|choice)\b|\btherefore\b|\bso the answer\b", text))


def run(
    *,
    data: Path,
    llm: str,
    base_url: str = "",
    out: Path | None = None,
    ids: Sequence[str] = (),
    limit: int = 0,
    jobs: int = 1,
    resume: bool = False,
    as_json: bool = False,
    model: LanguageModel | None = None,
) -> int:
    """Ask the questions; print the summary, and return 0, or 1 if --resume has something to do.

    Args:
        data: The folder with metadata.jsonl and figures.
        llm: The language model's name; "" for that of the settings.
        base_url: The endpoint's address.
        out: Folder for results, transcripts and the page; None for a new one.
        ids: Only these questions.
        limit: At most so many; 0 for all.
        jobs: Questions at the same time.
        resume: Whether to go on with the results in `out`.
        as_json: Whether to print each result as a JSON object.
        model: The language model, in tests.
    """
    questions = read_questions(data)
    if unknown := set(ids) - {one.id for one in questions}:
        raise UsageError(f"there is no question {min(unknown)!r}")
    questions = [one for one in questions if not ids or one.id in ids][: limit or None]
    folder = out or data_dir() / "eval" / f"chestagentbench-{new_run_id()[:8]}"
    facts = {"benchmark": "chestagentbench", "data": str(data), "llm": llm, "base_url": base_url}
    with open_program() as program:
        used = model or program.language_model(llm or None, base_url)
        if used.name == "offline":
            reason = "the benchmark needs a language model"
            raise UsageError(reason, remedy="Name one with --llm, or choose one in the settings.")
        results = Results(folder, facts, resume=resume)
        todo = [one for one in questions if one.id not in results.done]
        work = partial(_ask, program, used, folder)
        asyncio.run(run_cases(todo, work, results, jobs, None if as_json else _line))
        name = used.name
    wanted = {one.id for one in questions}
    rows = [row for row in results.rows if row["id"] in wanted]
    summary = {**facts, **summary_of(rows), "model": name, "roles": {"assistant": name}}
    write_atomic(folder / "summary.json", json.dumps(summary, indent=1).encode())
    write_page(folder)
    if as_json:
        print_json(summary)
    else:
        share = f"{summary['accuracy']:.1%} (95% {summary['low']:.1%} to {summary['high']:.1%})"
        print(f"{summary['correct']} of {summary['cases']} right: {share}")
        print(folder / "report.html")
    return exit_code(rows, len(questions))


def _line(row: dict[str, Any]) -> str:
    return f"{row['id']}: {row['state']} ({row['answer'] or row['reason']})"


async def _ask(
    program: Program, model: LanguageModel, folder: Path, question: Question
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Ask one question in a conversation of its own; return its row and what was said."""
    files = folder / "files" / file_name(question.id)
    files.mkdir(parents=True, exist_ok=True)
    role = Role(program, model, files, "")
    transcript: list[dict[str, Any]] = []
    letter, reason = None, ""
    try:
        there = [path for path in question.images if path.exists()]
        if len(there) < len(question.images) or not there:
            raise FileProblem("its image is missing", subject=question.id)
        images = await asyncio.to_thread(open_images, program.decoder, there)
        thread = Thread.in_memory()
        for text in (question.text, FORCE):
            said, _ = await role.ask(None, text, images, thread)
            transcript += [{"role": "question", "text": text}, {"role": "assistant", "text": said}]
            last = thread.history[-1]
            # The answer as shown has marks and a footer of ours: read what the model wrote.
            letter = read_letter(last.text if last.role == "assistant" else said)
            if letter:
                break
        reason = "" if letter else "no letter was named"
    except SightlineError as error:
        reason = error.reason
    state = "no answer" if letter is None else "correct" if letter == question.answer else "wrong"
    if reason and not transcript:
        state = "failed"
    row = {
        "id": question.id,
        "state": state,
        "answer": letter or "",
        "correct": question.answer,
        "categories": list(question.categories),
        "reason": reason,
        "spent": {"assistant": asdict(role.spent)},
    }
    return row, {"objective": question.text, "transcript": transcript}
