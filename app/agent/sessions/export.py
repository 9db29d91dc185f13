"""A thread as Markdown, HTML or JSON, for a person's records.

What is exported may hold patient data: the caller says so to the user. Everything from the thread
is text here: HTML has no script and loads nothing, pictures lie inside it.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from app.agent.events import RunEvent
from app.agent.json_forms import plain
from app.agent.sessions.parts import parts_of
from app.agent.sessions.reading import Content
from app.errors import FileProblem

Form = Literal["md", "html", "json"]
FORMS: tuple[Form, ...] = ("md", "html", "json")
DISCLAIMER = "AI results are not for diagnosis."
WARNING = "This file may contain patient data: names in paths, images and findings. Keep it safe."
_MOST_PICTURE = 8 * 1024**2  # bytes of one picture that is embedded


def export(content: Content, form: Form, target: Path) -> None:
    """Write the thread to `target`, at once or not at all.

    Args:
        content: The thread, read.
        form: "md", "html" or "json".
        target: A file; one that is there is replaced.

    Raises:
        FileProblem: It cannot be written.
    """
    match form:
        case "json":
            text = json.dumps(as_json(content), ensure_ascii=False, indent=1, allow_nan=False)
        case "html":
            text = as_html(content)
        case "md":
            text = as_markdown(content)
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.partial")
    try:
        with open(partial, "xb", opener=_private) as file:
            file.write(text.encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise FileProblem(
            f"the export cannot be written ({error.strerror or type(error).__name__})",
            subject=str(target),
            remedy="Choose a file in a folder with free space that you may write to.",
        ) from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def as_json(content: Content) -> dict[str, Any]:
    """Everything, as JSON: the runs with their events, the calls with whole results."""
    runs = [
        {
            "run_id": run.run_id,
            "question": run.question,
            "state": run.state,
            "rests_on": content.run_facts.get(run.run_id, {}),
            "events": [_event(event) for event in run.events],
        }
        for run in content.runs
    ]
    return plain(
        {
            "format": "sightline-export",
            "version": 1,
            "disclaimer": DISCLAIMER,
            "warning": WARNING,
            "header": content.header,
            "runs": runs,
            "messages": content.messages,
            "tool_calls": list(content.calls.values()),
            "problems": content.problems,
        }
    )


def _event(event: RunEvent) -> dict[str, Any]:
    return {"kind": event.kind, **plain({key: value for key, value in event if key != "kind"})}


def as_markdown(content: Content) -> str:
    """The thread as CommonMark. Text of the thread cannot make markup of its own."""
    return _lined(content, _marked)


def as_text(content: Content) -> str:
    """The thread for a terminal: as Markdown, with nothing escaped and without pictures."""
    return _lined(content, str, pictures=False)


def _lined(content: Content, marked: Callable[[str], str], *, pictures: bool = True) -> str:
    lines = [f"# {marked(_title(content))}", "", f"**{DISCLAIMER}** {WARNING}", ""]
    for part in parts_of(content):
        match part.kind:
            case "heading":
                lines += ["", f"## {marked(part.text)}", ""]
            case "question" | "answer":
                lines += ["", *(f"> {marked(line)}" for line in part.text.splitlines()), ""]
            case "line":
                lines.append(f"- {marked(' '.join(part.text.split()))}")
            case "code":
                fence = "`" * max(3, 1 + max(map(len, re.findall("`+", part.text)), default=0))
                lines += ["", f"{marked(part.label)}:", "", f"{fence}json", part.text, fence, ""]
            case "picture":
                uri = _data_uri(part.path) if pictures else ""
                lines += ["", f"![{marked(part.text)}]({uri})" if uri else marked(part.text), ""]
    return "\n".join(lines) + "\n"


def as_html(content: Content) -> str:
    """The thread as one HTML file: no script, nothing loaded from elsewhere."""
    title = html.escape(_title(content))
    body: list[str] = []
    for part in parts_of(content):
        text = html.escape(part.text)
        match part.kind:
            case "heading":
                body.append(f"<h2>{text}</h2>")
            case "question" | "answer":
                body.append(f'<p class="{part.kind}">{text}</p>')
            case "line":
                body.append(f'<p class="line">{text}</p>')
            case "code":
                label = html.escape(part.label)
                body.append(f"<details><summary>{label}</summary><pre>{text}</pre></details>")
            case "picture":
                uri = _data_uri(part.path)
                image = f'<img alt="{text}" src="{uri}">' if uri else ""
                body.append(f"<figure>{image}<figcaption>{text}</figcaption></figure>")
    return _PAGE.format(
        title=title, notice=html.escape(f"{DISCLAIMER} {WARNING}"), body="\n".join(body)
    )


def _title(content: Content) -> str:
    question = next((run.question for run in content.runs if run.question), "")
    return " ".join(question.split())[:120] or "Conversation"


def _data_uri(path: Path | None) -> str:
    """A picture of ours as a data URI; "" for anything that is none."""
    if path is None:
        return ""
    try:
        if path.stat().st_size > _MOST_PICTURE:
            return ""
        data = path.read_bytes()
    except (OSError, ValueError):  # also a name that no file can have
        return ""
    kinds = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg"}
    kind = next((name for magic, name in kinds.items() if data.startswith(magic)), "")
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}" if kind else ""


def _marked(text: str) -> str:
    """One line of text whose signs mean nothing to Markdown, nor to HTML inside it."""
    escaped = re.sub(r"([\\`*_\[\]#|~!])", r"\\\1", " ".join(text.splitlines()))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # A list or a rule begins a line; indented text would be code.
    return re.sub(r"^\s*(\d+(?=[.)])|(?=[-+=]))", r"\1\\", escaped)


_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em; }}
.notice {{ border: 1px solid #b58900; padding: .5em 1em; }}
.question {{ font-weight: 600; white-space: pre-wrap; }}
.answer {{ white-space: pre-wrap; border-left: 3px solid #888; padding-left: 1em; }}
.line {{ margin: .2em 0; color: #444; overflow-wrap: anywhere; }}
pre {{ overflow-x: auto; background: #f4f4f4; padding: .5em; }}
img {{ max-width: 100%; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p class="notice">{notice}</p>
{body}
</body>
</html>
"""
