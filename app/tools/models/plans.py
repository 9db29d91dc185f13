"""What an installation would do, and what the user has to agree to before it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.errors import SightlineError
from app.tools.models.cards import ModelCard
from app.tools.models.places import is_program
from app.tools.models.sources import Source
from app.tools.needs import command

_MARGIN = 1 << 26


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file that would be installed.

    Attributes:
        inside: Its name in the source.
        name: Its name in the model.
        size: Bytes.
        sha256: What a manifest or hub says that it is; "" where nothing does.
        code: It is a program.
    """

    inside: str
    name: str
    size: int
    sha256: str = ""
    code: bool = False


@dataclass(frozen=True, slots=True)
class PlannedModel:
    """A model that would be installed.

    Attributes:
        card: Its card.
        files: Its files.
        revision: Commit of its repository; "" where that cannot be told.
        left_out: Files in the source that are not taken.
        problems: Why it cannot be installed; empty where it can.
        other: Why it is not the published one, as far as can be seen without reading it: then it
            is taken only if asked for ("--other").
        terms: Text that the user must accept; "" where there is none, or it is accepted already.
        replaces: Another installation of it is there.
    """

    card: ModelCard
    files: tuple[PlannedFile, ...]
    revision: str = ""
    left_out: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    other: str = ""
    terms: str = ""
    replaces: bool = False

    @property
    def bytes(self) -> int:
        """Bytes of its files."""
        return sum(file.size for file in self.files)

    @property
    def code(self) -> tuple[PlannedFile, ...]:
        """Programs among its files, which run only after the user's yes."""
        return tuple(file for file in self.files if file.code)


@dataclass(frozen=True, slots=True)
class InstallPlan:
    """What an installation would do.

    Attributes:
        path: What it is made from.
        models: The models in it.
        source: What is read.
    """

    path: Path
    models: tuple[PlannedModel, ...]
    source: Source = field(repr=False)

    @property
    def bytes(self) -> int:
        """Bytes that are copied."""
        return sum(model.bytes for model in self.models)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why it cannot be installed."""
        return tuple(f"{m.card.title}: {text}" for m in self.models for text in m.problems)

    @property
    def terms(self) -> tuple[tuple[str, str], ...]:
        """(title, text) of each model whose terms the user has to accept."""
        return tuple((model.card.title, model.terms) for model in self.models if model.terms)

    @property
    def code(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """(title, names of programs) of each model that brings code."""
        named = ((m.card.title, tuple(file.name for file in m.code)) for m in self.models)
        return tuple((title, names) for title, names in named if names)

    @property
    def other(self) -> tuple[str, ...]:
        """Why models in it are not the published ones, as far as can be seen."""
        return tuple(f"{model.card.title}: {model.other}" for model in self.models if model.other)


@dataclass(frozen=True, slots=True)
class Agreed:
    """What the user has said yes to.

    Attributes:
        terms: Every model's terms.
        code: Running the code that comes with models.
        other: Taking files that are not the published ones.
    """

    terms: bool = False
    code: bool = False
    other: bool = False


def check_agreed(model: PlannedModel, agreed: Agreed) -> PlannedModel:
    """The model as it may be installed: without its code where that is not allowed.

    Raises:
        SightlineError: Terms are not accepted, or it cannot do without its code.
    """
    run = f"{command()} models"
    if model.terms and not agreed.terms:
        raise SightlineError(
            f"the terms of {model.card.title} are not accepted",
            remedy=f"Read them (`{run} show {model.card.name}`), then add --accept-terms.",
        )
    if not model.code or agreed.code:
        return model
    needed = [f for f in model.card.files if not f.optional and is_program(f.name)]
    if needed:
        raise SightlineError(
            f"{model.card.title} brings code that is run with it, which is not allowed yet: "
            f"{', '.join(file.name for file in model.code)}",
            remedy="Look at these files, or trust their publisher; then add --allow-code.",
        )
    without = tuple(file for file in model.files if not file.code)
    return replace(model, files=without)


def check_space(folder: Path, needed: int) -> None:
    """Whether there is room.

    Raises:
        SightlineError: There is not.
    """
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return  # whoever writes says what is wrong
    if free < needed + _MARGIN:
        raise SightlineError(
            f"there is not enough space: {needed / 1e9:.1f} GB are needed, "
            f"{free / 1e9:.1f} GB are free",
            subject=str(folder),
            remedy="Make space there, or set SIGHTLINE_MODELS to a folder with space.",
        )
