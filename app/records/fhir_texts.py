"""Texts of notes and reports: attachments in base64, narratives and HTML as plain text."""

from __future__ import annotations

import base64
import binascii
import re
from html.parser import HTMLParser
from typing import Any, cast

from app.records.fhir_fields import Json


def read_attachment(attachment: Json, fields: Json) -> str:
    """Return an attachment's text; what is no text is named in the details."""
    kind = str(attachment.get("contentType", "")) or "text/plain"
    data = attachment.get("data")
    if not data:
        url = str(attachment.get("url", ""))
        if url:
            fields["details"]["attachment"] = url
            fields.setdefault("binaries", []).append(url)
        return ""
    text = attachment_text(str(data), kind)
    if text is None:
        fields["details"]["attachment"] = f"{kind}, cannot be shown as text"
        return ""
    return text


def attachment_text(data: str, content_type: str) -> str | None:
    """Return the text of base64 `data`; None if it is no text."""
    kind, _, rest = content_type.lower().partition(";")
    kind = kind.strip()
    if not (kind.startswith("text/") or kind in ("application/xhtml+xml", "application/json")):
        return None
    charset = rest.partition("charset=")[2].strip().strip('"') or "utf-8"
    try:
        raw = base64.b64decode(data, validate=False)
        text = raw.decode(charset)
    except (binascii.Error, UnicodeDecodeError, LookupError, ValueError):
        return None
    return html_text(text) if kind in ("text/html", "application/xhtml+xml") else text


def narrative(resource: Json) -> str:
    """Return a resource's narrative as plain text, "" for none."""
    text = resource.get("text")
    if not isinstance(text, dict):
        return ""
    return html_text(str(cast("Json", text).get("div", "")))


class _HtmlText(HTMLParser):
    """Collects the text of HTML, with a line for each block."""

    _BREAKS = frozenset(("br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "table"))

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        del attrs
        self._hidden += tag in ("script", "style")
        if tag in self._BREAKS:
            self.parts.append("\n")
        elif tag in ("td", "th"):
            self.parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._hidden = max(self._hidden - 1, 0)

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(re.sub(r"\s+", " ", data))


def html_text(html: str) -> str:
    """Return the text of HTML, a line for each block."""
    parser = _HtmlText()
    parser.feed(html)
    parser.close()
    lines = ("".join(parser.parts)).split("\n")
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))
