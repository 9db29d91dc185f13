"""What a user chooses for de-identified copies, and what is told of them; without any parser."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from app.errors import UsageError

BURNT_IN = "text is burnt into its pixels (Burned In Annotation: YES)"


class Option(enum.StrEnum):
    """An option of the Basic Profile (PS3.15 E.3); the value is its name on the command line."""

    UIDS = "retain-uids"
    SAFE_PRIVATE = "retain-safe-private"
    DEVICE = "retain-device-identity"
    INSTITUTION = "retain-institution-identity"
    PATIENT = "retain-patient-characteristics"
    FULL_DATES = "retain-full-dates"
    MODIFIED_DATES = "retain-modified-dates"
    DESCRIPTORS = "clean-descriptors"
    STRUCTURED = "clean-structured-content"
    GRAPHICS = "clean-graphics"


@dataclass(frozen=True, slots=True)
class Blank:
    """A box that is overwritten in the pixels of a series' images (Clean Pixel Data Option).

    Attributes:
        series: Series Instance UID.
        rows: Rows of the images that it is on; `columns`: their columns.
        box: First column and row, and those after the last: (x0, y0, x1, y1).
    """

    series: str
    rows: int
    columns: int
    box: tuple[int, int, int, int]


def check_options(options: Collection[Option]) -> frozenset[Option]:
    """Return the options as a set.

    Raises:
        UsageError: Full and modified dates are both asked for (PS3.15 E.3.6).
    """
    if {Option.FULL_DATES, Option.MODIFIED_DATES} <= set(options):
        raise UsageError(
            f"{Option.FULL_DATES} and {Option.MODIFIED_DATES} exclude each other",
            remedy="Give one of them.",
        )
    return frozenset(options)


def check_folder(out: Path, originals: Iterable[Path]) -> None:
    """Raise UsageError if the output folder is, holds or lies in what is copied."""
    where = out.resolve()
    if where.exists() and not where.is_dir():
        raise UsageError(f"{out} is not a folder", remedy="Choose another.")
    for one in originals:
        source = one.resolve()
        inside = where.is_relative_to(source) if source.is_dir() else source.is_relative_to(where)
        if inside or source.is_relative_to(where):
            raise UsageError(
                "the copy must not be made among the originals",
                remedy="Choose a folder outside of the one that is copied.",
            )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file.

    Attributes:
        path: The source.
        copy: The copy's path below the output folder; "" if there is none.
        reason: Why there is no copy; "" otherwise.
        remedy: What the user can do about it; "" if nothing.
        warnings: What could not be removed from the copy.
        fault: Whether the file is damaged or unreadable, not left out by a rule.
    """

    path: Path
    copy: str = ""
    reason: str = ""
    remedy: str = ""
    warnings: tuple[str, ...] = ()
    fault: bool = False


@dataclass(slots=True)
class Summary:
    """The outcomes of copying files.

    Attributes:
        outcomes: One a file, in their order.
        cancelled: Whether the user stopped before the last file.
    """

    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    cancelled: bool = False

    @property
    def copied(self) -> list[Outcome]:
        """The files that were copied."""
        return [one for one in self.outcomes if one.copy]

    @property
    def left_out(self) -> list[Outcome]:
        """The files without a copy."""
        return [one for one in self.outcomes if not one.copy]

    @property
    def warnings(self) -> dict[str, int]:
        """Each warning with the number of copies that it holds for."""
        return dict(Counter(text for one in self.outcomes for text in one.warnings))
