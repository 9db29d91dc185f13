"""`python -m tests.conformance [--out FILE] [--only TEXT] [--sheet-only]`: docs/conformance.md.

The table lists each file that packages ship or `../shared/data` holds, with what became of it and
which witness agrees; the contact sheet shows one file of every kind, rendered by `render`. Exits
with 1 when a witness disagrees or a kind has no picture.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from app.imaging.decode import Decoder
from tests.conformance import page, sheet
from tests.conformance.files import REPO, Source, sources
from tests.conformance.kinds import KINDS
from tests.conformance.table import Row, rows
from tests.conformance.witness import Gdcm


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--out", type=Path, default=REPO / "docs" / "conformance.md")
    parser.add_argument("--only", default="", help="collections whose name holds this text")
    parser.add_argument("--sheet-only", action="store_true", help="leave the table as it is")
    options = parser.parse_args()
    failures = _sheet(options.out.parent / "images" / "conformance.png")
    if options.sheet_only:
        return 1 if failures else 0
    wanted = [source for source in sources() if options.only in source.name]
    table = _table(wanted)
    options.out.write_text(page.text(wanted, table), encoding="utf-8")
    disputed = [row for row in table if row.disputed]
    for row in disputed:
        verdicts = "; ".join(verdict.text for verdict in row.verdicts)
        print(f"DISPUTED {row.source}/{row.name}: {verdicts}")
    print(f"{len(table)} files, {len(disputed)} disputed; written to {options.out}")
    return 1 if disputed or failures else 0


def _sheet(out: Path) -> int:
    """Write the contact sheet; returns how many kinds have no picture."""
    with tempfile.TemporaryDirectory() as name:
        picture, failures = sheet.make(KINDS, Path(name))
    out.parent.mkdir(parents=True, exist_ok=True)
    picture.save(out, optimize=True)
    for title, reason in failures.items():
        print(f"NO PICTURE {title}: {reason}")
    return len(failures)


def _table(wanted: list[Source]) -> list[Row]:
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as name, Gdcm(Path(name)) as gdcm:
        decoder = Decoder(2)
        try:
            for source in wanted:
                found += rows(source, decoder, gdcm, Path(name))
                print(f"{source.name}: {len(source.files)} files", file=sys.stderr)
        finally:
            decoder.close()
    return found


if __name__ == "__main__":
    sys.exit(main())
