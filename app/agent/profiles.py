"""Agent profiles: a model, its tools and its prompt, as a file.

Profiles are TOML files in resources/profiles and in `profiles` of the settings folder, where one
with the name of a shipped profile replaces it.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.errors import FileProblem, UsageError
from app.paths import config_dir, resources_dir


class AgentProfile(BaseModel):
    """The settings of one kind of run.

    Attributes:
        title: Its name for people.
        model: The language model, as for `ask --llm`; "" for the one chosen otherwise.
        synthesis_model: The model that tools ask (`ToolContext.model`); "" for the same model.
        tools: The only tools that the model is offered; None for all.
        terminal_tools: Tools that end the run: their text is the answer.
        max_turns: Turns of the model, each with one call; after the last, the text of its tool is
            the answer. What the model writes without a call is the answer as it stands: no rule
            answers in its place, and nothing is added. 0 for the usual run.
        prompt: The instructions for the model.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = ""
    model: str = ""
    synthesis_model: str = ""
    tools: tuple[str, ...] | None = None
    terminal_tools: tuple[str, ...] = ()
    max_turns: int = Field(default=0, ge=0, le=100)
    prompt: str = Field(min_length=1)


def profile_files() -> dict[str, Path]:
    """Return the files of all profiles by name, a user's in place of a shipped one."""
    folders = (resources_dir() / "profiles", config_dir() / "profiles")
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.toml"))}


def load_profile(name: str) -> AgentProfile:
    """Return a profile by its name or by the path of its file.

    Raises:
        UsageError: There is no such profile.
        FileProblem: Its file cannot be read, or is no profile.
    """
    files = profile_files()
    path = files.get(name) or Path(name)
    if name not in files and path.suffix != ".toml":
        there = ", ".join(files)
        raise UsageError(f"there is no profile {name!r}", remedy=f"There are: {there}.")
    try:
        return AgentProfile.model_validate(tomllib.loads(path.read_text("utf-8")))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
        raise _broken(path, f"it cannot be read as TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _broken(path, f"{where}: {first['msg']}") from error


def _broken(path: Path, reason: str) -> FileProblem:
    remedy = "Correct the file; the shipped profiles show the form."
    return FileProblem(f"this is no agent profile: {reason}", subject=str(path), remedy=remedy)
