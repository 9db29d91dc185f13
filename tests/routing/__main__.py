"""`python -m tests.routing [--part PART] [--failures]`: the table and its score.

Prints each phrasing with what should run, what the offline planner would run, and whether that is
right; then the score of each group and part. Exits with 1 when a part is below its minimum: 95%,
and 90% for the phrasings of strangers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.routing.table import PARTS, STRANGERS, Judged, Row, judge, rows, score


def minimum(part: str) -> float:
    """The share of a part that must be right, 0..1."""
    return 0.9 if part == STRANGERS else 0.95


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.routing", description=__doc__)
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all")
    parser.add_argument("--failures", action="store_true", help="only the rows that are wrong")
    options = parser.parse_args(arguments)
    parts = PARTS if options.part == "all" else (options.part,)
    judged = [judge(row) for row in rows(*parts)]
    for item in judged:
        if not (options.failures and item.right):
            print(_line(item))
    print()
    print("\n".join(_scores(judged)))
    by_part = {part: [item for item in judged if item.row.part == part] for part in parts}
    return 0 if all(score(items) >= minimum(part) for part, items in by_part.items()) else 1


def _line(item: Judged) -> str:
    row = item.row
    mark = "ok   " if item.right else "WRONG"
    got = _named(item.got.tools)
    if row.organs is not None and item.got.organs is not None:
        got += f" of {', '.join(sorted(item.got.organs))}"
    where = f"{row.scene}, {row.packs}"
    head = f"{mark} {row.id} [{where}] {row.text}"
    return f"{head}\n      expected {_expected(row)}\n      got      {got}"


def _expected(row: Row) -> str:
    text = " or ".join(_named(answer) for answer in row.answers)
    if row.any_order:
        text += " (any order)"
    return f"{text} of {', '.join(sorted(row.organs))}" if row.organs else text


def _named(tools: Sequence[str]) -> str:
    return " > ".join(tools) or "nothing"


def _scores(judged: Sequence[Judged]) -> list[str]:
    """A line a group and one a part: right, all, per cent."""
    lines = [f"{'group':24}" + "".join(f"{part:>20}" for part in PARTS)]
    groups = dict.fromkeys(item.row.group for item in judged)
    for group in (*groups, ""):
        cells = [
            [item for item in judged if item.row.part == part and group in ("", item.row.group)]
            for part in PARTS
        ]
        lines.append(f"{group or 'all':24}" + "".join(f"{_share(items):>20}" for items in cells))
    return lines


def _share(items: Sequence[Judged]) -> str:
    if not items:
        return "-"
    return f"{sum(item.right for item in items)} of {len(items)}, {100 * score(items):.1f}%"


if __name__ == "__main__":
    sys.exit(main())
