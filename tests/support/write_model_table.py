"""Write the table of models into docs/chest.md: `python -m tests.support.write_model_table`."""

from __future__ import annotations

import re
from pathlib import Path

from app.tools.models.cards import cards_table

DOCS = Path(__file__).resolve().parents[2] / "docs" / "chest.md"
_TABLE = re.compile(r"\| model \| tools \|.*?(?=\n\n)", re.DOTALL)

if __name__ == "__main__":
    text = DOCS.read_text(encoding="utf-8")
    DOCS.write_text(_TABLE.sub(lambda _: cards_table(), text, count=1), encoding="utf-8")
