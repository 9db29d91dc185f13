"""The page of a benchmark's results: figures, plots, and each case to look at."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from app.errors import FileProblem, printable
from app.headless.eval_runs import accuracy, file_name, read_results, spent_text
from app.user_files import write_atomic

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;
color:#1c2430}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse}
td,th{text-align:left;padding:.25rem .9rem .25rem 0;border-bottom:1px solid #e3e7ec;
vertical-align:top}
details{border:1px solid #e3e7ec;border-radius:6px;margin:.4rem 0;padding:.4rem .8rem}
summary{cursor:pointer}.correct{color:#1d7a46}.wrong,.failed,.protocol{color:#b3261e}
.said{margin:.3rem 0;white-space:pre-wrap}.role{color:#667}.note{color:#667}
@media(prefers-color-scheme:dark){body{background:#14181d;color:#dfe5ec}
td,th,details{border-color:#2c343d}.role,.note{color:#9aa6b2}.correct{color:#5bc98a}
.wrong,.failed,.protocol{color:#ff8a80}text{fill:#dfe5ec}}
"""
_WIDTH = 560
_STATES = (
    "Only correct counts as right. Declined: the doctor said that it cannot know. Undecided: the "
    "moderator said neither yes nor no. Protocol: the doctor broke it three times running. No "
    "diagnosis, no answer: none came to the end. Failed: a model or a file failed; --resume tries "
    "again."
)
PUBLISHED = (
    ("MedRAX", 0.631),
    ("Llama-3.2-90B", 0.579),
    ("GPT-4o", 0.564),
    ("CheXagent", 0.395),
)
"""Accuracy on ChestAgentBench as its authors give it: Fallahpour et al., arXiv:2502.02673."""


def write_page(folder: Path) -> Path:
    """Draw the page of the results in a folder; return its path.

    Raises:
        FileProblem: There are no results.
    """
    try:
        summary = json.loads((folder / "summary.json").read_text("utf-8"))
        title = _title(summary)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        reason = "there is no summary of a benchmark"
        raise FileProblem(
            reason, subject=str(folder), remedy="Run `sightline eval` first."
        ) from error
    rows = read_results(folder / "results.jsonl")
    parts = [
        f"<h1>{_shown(title)}</h1>",
        "<p class=note>Research only, not for diagnosis.</p>",
        _figures(summary),
        f"<h2>How the cases ended</h2>{_bars(Counter(str(row['state']) for row in rows))}",
        f"<p class=note>{escape(_STATES)}</p>",
    ]
    if summary["benchmark"] == "agentclinic":
        turns = Counter(f"{row['turns']:>2}" for row in rows)
        parts.append(f"<h2>Turns</h2>{_bars(dict(sorted(turns.items())))}")
    else:
        parts.append(_categories(rows))
    failed = [row for row in rows if row["state"] != "correct"]
    right = [row for row in rows if row["state"] == "correct"]
    for title, some in (("Not right", failed), ("Right", right)):
        parts.append(f"<h2>{title}: {len(some)}</h2>")
        parts += [_case(folder, row) for row in some]
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{_shown(title)}</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>"
    )
    path = folder / "report.html"
    write_atomic(path, page.encode())
    return path


def _shown(text: object) -> str:
    """Return a text as HTML; signs that turn the direction of writing are spelled out."""
    return escape(printable(str(text), lines=True))


def _title(summary: Mapping[str, Any]) -> str:
    names = {"agentclinic": "AgentClinic", "chestagentbench": "ChestAgentBench"}
    doctor = summary.get("doctor")
    model = summary.get("roles", {}).get("doctor") or summary.get("model", "")
    return f"{names[summary['benchmark']]}: {doctor or 'assistant'}, {model}"


def _share(part: Mapping[str, Any]) -> str:
    return f"{part['accuracy']:.1%} (95% {part['low']:.1%} to {part['high']:.1%})"


def _figures(summary: Mapping[str, Any]) -> str:
    rows = [("Right", f"{summary['correct']} of {summary['cases']}: {_share(summary)}")]
    base = summary.get("baseline")
    if base:
        states = summary["states"]
        named = sum(states.get(state, 0) for state in ("correct", "wrong", "undecided"))
        rows.append(("Of those in which a disease was named", f"{summary['correct']} of {named}"))
        share = f"{base['correct'] / base['cases']:.1%}" if base["cases"] else ""
        rows.append(
            (f"Always “{base['always']}”", f"{base['correct']} of {base['cases']}: {share}")
        )
    for role, used in summary.get("spent", {}).items():
        rows.append((f"{role} ({summary['roles'][role]})", spent_text(used)))
    asked = ("turns", "doctor_bias", "patient_bias")
    chosen = [f"{name.replace('_', ' ')} {summary[name]}" for name in asked if summary.get(name)]
    if chosen:
        rows.append(("Asked for", ", ".join(chosen)))
    quiet = [role for role, name in summary.get("roles", {}).items() if name == "rules"]
    if quiet:
        rows.append(("Played by rules, without a language model", ", ".join(quiet)))
    cells = "".join(f"<tr><td>{_shown(a)}</td><td>{_shown(b)}</td></tr>" for a, b in rows)
    return f"<table>{cells}</table>"


def _bars(counts: Mapping[str, int]) -> str:
    """Return a bar chart as SVG: a bar a name, with its count."""
    if not counts:
        return "<p class=note>No case has ended yet.</p>"
    most = max(counts.values())
    lines: list[str] = []
    for number, (name, count) in enumerate(counts.items()):
        y = number * 24
        width = round((_WIDTH - 220) * count / most)
        lines.append(
            f'<text x="0" y="{y + 16}" font-size="13">{_shown(name)}</text>'
            f'<rect x="140" y="{y + 4}" width="{width}" height="16" rx="2" fill="#4d8fd6"/>'
            f'<text x="{146 + width}" y="{y + 16}" font-size="13">{count}</text>'
        )
    height = 24 * len(counts)
    title = _shown(", ".join(f"{name}: {count}" for name, count in counts.items()))
    return (
        f'<svg role="img" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}">'
        f"<title>{title}</title>{''.join(lines)}</svg>"
    )


def _categories(rows: Sequence[Mapping[str, Any]]) -> str:
    names = sorted({name for row in rows for name in row.get("categories", ())})
    lines: list[str] = []
    for name in names:
        part = accuracy([row for row in rows if name in row.get("categories", ())])
        cells = (name, f"{part['correct']} of {part['cases']}", _share(part))
        lines.append(f"<tr>{''.join(f'<td>{_shown(cell)}</td>' for cell in cells)}</tr>")
    published = "".join(
        f"<tr><td>{_shown(name)}</td><td>{value:.1%}</td></tr>" for name, value in PUBLISHED
    )
    return (
        f"<h2>By category</h2><table>{''.join(lines)}</table>"
        f"<h2>Published, all 2,500 questions</h2><table>{published}</table>"
    )


def _case(folder: Path, row: Mapping[str, Any]) -> str:
    state = str(row["state"])
    said = row.get("diagnosis") or row.get("answer") or row.get("reason") or ""
    right = row.get("correct", "")
    head = f"{row['id']}: {state}. {said} (right: {right})"
    path = folder / "transcripts" / f"{file_name(str(row['id']))}.json"
    try:
        kept = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        kept = {"transcript": []}
    body = "".join(
        f"<p class=said><span class=role>{_shown(item['role'])}:</span> "
        f"{_shown(item['text'])}"
        f"{_shown(' [' + str(item['problem']) + ']') if item.get('problem') else ''}</p>"
        for item in kept["transcript"]
    )
    reason = f"<p class=note>{_shown(row['reason'])}</p>" if row.get("reason") else ""
    known = f"<p>{_shown(kept.get('objective', ''))}</p>"
    kind = state.replace(" ", "-")
    return (
        f'<details><summary class="{_shown(kind)}">{_shown(head)}</summary>'
        f"{known}{body}{reason}</details>"
    )
