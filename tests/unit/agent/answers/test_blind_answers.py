"""Scripted answers and true sentences, written by people who knew none of the rules.

`python -m tests.unit.agent.answers.test_blind_answers` prints what is checked wrongly.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import pytest

from app.agent.answers.claims import Claims, without_tricks
from app.agent.answers.evidence import MARK, UNKNOWN, UNKNOWN_ITEM, Evidence, sentences
from app.agent.answers.items import Item
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.agent_loop import _Run as Run  # pyright: ignore[reportPrivateUsage]
from app.tools.registry import load_packs
from app.views.chat.markdown import CitedResult, Linker, Style
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, collect, ok, request
from tests.support.scripted_model import ScriptedModel, Turn, call, says

SETS = {
    path.stem: tomllib.loads(path.read_text("utf-8"))
    for path in sorted(Path(__file__).parent.glob("blind_answers*.toml"))
}
REAL = {
    name: json.loads((Path(__file__).parent / f"{file}.json").read_text("utf-8"))
    for name, file in (("real", "real_results"), ("real_record", "real_record"))
}
"""What tools gave, with the texts of their items: on the demo film, and on a made record."""
_OFTEN = ("blind_answers", *(f"blind_answers_{number}" for number in (2, 5, 13, 18, 24, 27, 28)))
EACH = [
    pytest.param(name, marks=() if name in _OFTEN else pytest.mark.slow)
    for name, data in SETS.items()
    if data["answer"]
]
"""The sets; those that taught little that others do not are checked with `--all` only."""
FILM = {"id": "image-1", "path": "/a/current.dcm", "kind": "dicom", "modality": "DX", "view": "PA"}
FILMS = (
    FILM | {"rows": 1024, "columns": 1024, "study_date": "2024-05-14"},
    FILM
    | {"id": "image-2", "path": "/a/prior.dcm", "study_date": "2022-03-02"}
    | {"spacing_mm": [0.143, 0.143]},
)
IMAGES = {"current": "image-1", "other": "image-2"}
KINDS = {
    "wrong_id": r"no such (?:result|item)|^[\d.]+ is |cannot show this",
    "number": r"in no result|not in result|says [^:]*-?\d|^[\d.]+ is .*\d|this date",
    "unit": r"no result gives this in",
    "side": r"says (?:left|right)|^[\d.]+ is .*(?:left|right)",
    "negation": r"says: ",
    "no_evidence": r"no evidence in this session|cannot show this|this was not done",
    "order": r"\d[^;]*; .*\d| is a (?:fall|rise)",
    "other_image": r" is of ",
}


def told(item: Mapping[str, Any]) -> str:
    """The text of an item, as `items_of` writes those of real results: its fields."""
    named = ("id", "unit")
    texts = [f"{key} {value}" if key not in ("name", "text", "phrase") else str(value)
             for key, value in item.items() if key not in named]  # fmt: skip
    return (
        f"{', '.join(texts)} {item.get('unit', '')}".strip()
        .replace("True", "yes")
        .replace("False", "no")
    )


@lru_cache
def session(name: str) -> tuple[Claims, Evidence]:
    """The checks of a run in which the made-up tools of a set gave their results.

    Last come the tools of the viewer that a set names as `done`: its true sentences tell of them.
    """
    data = (SETS | REAL)[name]
    results: list[dict[str, Any]] = data["result"]
    turns: list[Turn] = []
    fakes: list[FakeTool] = []
    for result in results:
        if "output" in result:
            fakes.append(
                FakeTool(result["tool"], ImageInput, ok(result["summary"], result["output"]))
            )
            turns.append([call(result["tool"], image_path="current")])
            continue
        tool = f"{result['tool'].replace(' ', '_')}_{result['number']}"
        rows = [{k: v for k, v in item.items() if k != "id"} for item in result["items"]]
        note = {"note": result["note"]} if "note" in result else {}
        fakes.append(FakeTool(tool, ImageInput, ok("", {"entries": rows, **note})))
        where = IMAGES.get(result.get("image", ""), "record")
        turns.append([call(tool, image_path=where)])
    for tool in data.get("done", ()):
        fakes.append(FakeTool(tool, ImageInput, ok("", {})))
        turns.append([call(tool, image_path="current")])
    model = ScriptedModel(*turns, says("Done."))
    loop = AgentLoop(model, FakeRegistry(*fakes), plans=load_packs([]).plans)
    made: list[Run] = []
    real = Run.__init__

    def kept(self: Run, *arguments: Any) -> None:
        real(self, *arguments)
        made.append(self)

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(Run, "__init__", kept)
        question = "What does image-1 show?"
        asyncio.run(collect(loop, request(Path(folder), question, notes=data.get("film", FILMS))))
    run = made[0]
    for item in run.director.record.all()[: len(results)]:
        own = results[item.message.evidence - 1]
        texts = own.get("told") or {one["id"]: told(one) for one in own["items"]}
        item.message.data["items"] = texts
    history = run.request.thread.history
    told_results = [item.message for item in run.director.record.all()]
    return Claims(run.director, history, load_packs([]).plans), Evidence(told_results)


@cache  # several tests look at the same answers
def checked(name: str, text: str) -> str:
    claims, evidence = session(name)
    return evidence.marked(claims.marked(text))


def marks_in(told: str) -> Iterator[tuple[int, str]]:
    """The marks of an answer: the place in the text without marks, and what each says."""
    removed = 0
    pattern = rf" ?{MARK.pattern}|{UNKNOWN}|{UNKNOWN_ITEM}"
    for found in re.finditer(pattern, told):
        yield found.start() - removed, found[0].strip().removeprefix("[check: ").rstrip("]")
        removed += len(found[0])


def wrong(name: str, row: Mapping[str, Any]) -> str:
    """What is checked wrongly in an answer; "" if every mark is as it should be, and no other."""
    text, told_ = without_tricks(row["text"]), checked(name, row["text"])
    left = list(marks_in(told_))
    used: list[tuple[int, str]] = []
    missing: list[str] = []
    for mark in row.get("marks", ()):
        kinds = [mark["mark"]] if isinstance(mark["mark"], str) else mark["mark"]
        pattern = "|".join(KINDS[kind] for kind in kinds)
        quote = without_tricks(mark["quote"])
        start = text.index(quote)
        end = start + len(quote)
        low, high = clause(text, start, end)
        around = [one for one in left if low <= one[0] <= high and re.search(pattern, one[1])]
        # That on the quote itself, or else the nearest in its sentence.
        own = sorted(around, key=lambda one: (not start <= one[0] <= end, abs(one[0] - end)))[:1]
        # One mark says of a whole sentence that it rests on nothing, or on another image.
        of_sentence = re.compile("|".join(KINDS[one] for one in ("no_evidence", "other_image")))
        again = [one for one in used if low <= one[0] <= high and re.search(pattern, one[1])]
        if not own and not any(of_sentence.search(one[1]) for one in again):
            missing.append(f"{mark['mark']}: {mark['quote']}")
        own += [one for one in around if start <= one[0] <= end]  # "40 mm by 42 mm" has two
        there = own + [one for one in left if own and one[0] == own[0][0]]
        used += there
        left = [one for one in left if one not in there]
    if missing or left:
        return f"{row['id']}\n   {told_}\n   missing {missing}\n   extra {left}"
    return ""


def clause(text: str, low: int, high: int) -> tuple[int, int]:
    """The sentence around a part of a text."""
    before = max((m.end() for m in re.finditer(r"[.!?]\s|\n", text[:low])), default=0)
    after = re.search(r"[.!?](?=\s|$)|\n|$", text[high:])
    assert after is not None
    return before, high + after.end()


def answers_checked_wrongly(name: str) -> list[str]:
    return [found for row in SETS[name]["answer"] if (found := wrong(name, row))]


def true_sentences_marked(name: str) -> list[str]:
    told_ = {row["text"]: checked(name, row["text"]) for row in SETS[name]["true_sentence"]}
    return [marked for text, marked in told_.items() if marked != text]


@pytest.mark.parametrize("name", EACH)
def test_scripted_answers_are_marked_as_they_should_be(name: str):
    failed = answers_checked_wrongly(name)
    assert len(failed) <= len(SETS[name]["answer"]) // 40, "\n".join(failed)


@pytest.mark.parametrize("name", EACH)
def test_true_sentences_have_no_mark(name: str):
    failed = true_sentences_marked(name)
    assert len(failed) <= 3 * len(SETS[name]["true_sentence"]) // 100, failed


SENTENCES: dict[str, dict[str, list[str]]] = tomllib.loads(
    (Path(__file__).parent / "blind_sentences.toml").read_text("utf-8")
)


@pytest.mark.parametrize("name", SENTENCES)
def test_false_sentences_are_marked_and_true_ones_not(name: str):
    missed = [one for one in SENTENCES[name]["false"] if checked(name, one) == one]
    marked = [one for one in SENTENCES[name]["true"] if checked(name, one) != one]
    assert len(missed) <= 1, missed
    assert len(marked) <= 1, marked


def linker(name: str) -> tuple[Linker, dict[str, str]]:
    """What links the answers' citations and the findings' names, and the image of each finding."""
    images: dict[str, str] = {}
    results: dict[int, CitedResult] = {}
    names: dict[str, str] = {}
    for result in SETS[name]["result"]:
        found: list[tuple[str, str]] = []
        items: list[Item] = []
        for item in result["items"]:
            where = result.get("image", "")
            items.append(Item(told(item), item["id"] if where else ""))
            if where:
                label = str(item.get("name") or item.get("phrase") or item.get("text"))
                images[item["id"]] = where
                found.append((label, item["id"]))
                names.setdefault(label, item["id"])
        images[str(result["number"])] = result.get("image", "")
        results[result["number"]] = CitedResult(result["tool"], items, found)

    def same(one: str, other: str) -> bool:
        return images[one] == images[other]

    return Linker(names, results, same_image=same), images


@pytest.mark.parametrize("name", EACH)
def test_no_link_leads_to_an_image_that_is_not_the_findings(name: str):
    made, images = linker(name)
    for row in SETS[name]["answer"]:
        text = re.sub(r"(?ms)^```.*?^```", "", checked(name, row["text"]))  # code has no links
        spans = [span for line in text.split("\n") for span in made.spans(line)]
        cited = {span.target for span in spans if span.style is Style.CITATION}
        assert cited >= set(row.get("links", ())), row["id"]
        for target in row.get("no_links", ()):
            assert all(target not in span.target for span in spans), row["id"]
        for line in row["text"].split("\n"):
            for start, end in sentences(line):
                part = [*made.spans(line[start:end])]
                own = {images.get(span.target) for span in part if span.style is Style.CITATION}
                linked = {images[span.target] for span in part if span.style is Style.LINK}
                # What a record says is of no image.
                assert own <= {None} or linked <= own, row["id"]


if __name__ == "__main__":
    for name, data in SETS.items():
        bad, marked = answers_checked_wrongly(name), true_sentences_marked(name)
        sys.stdout.write("\n".join([*bad, "", *marked, ""]))
        right = len(data["answer"]) - len(bad)
        sys.stdout.write(f"{name}: {right} of {len(data['answer'])} right; ")
        sys.stdout.write(f"{len(marked)} of {len(data['true_sentence'])} true ones marked\n")
