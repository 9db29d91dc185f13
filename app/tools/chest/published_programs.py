"""Runs the Python program in a model's folder, which needs the user's consent (torch)."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
from transformers import dynamic_module_utils

from app.tools.api import ToolFailed
from app.tools.model_process import memory
from app.tools.model_process.published_weights import (
    FractionCallback,
    OtherLayout,
    altered_weights,
    marked_memory,
    unset_buffers,
)
from app.tools.model_process.serving import Work
from app.tools.models.places import are_allowed
from app.tools.needs import command

Read = TypeVar("Read")
Run = TypeVar("Run")

OWN, PUBLISHED = "Sightline's reader of the published weights", "the model's own program"
_START, _END = 0.02, 0.18  # part of the call's progress that loading takes


def load_either_way(
    read: Callable[[Path, str, torch.dtype, FractionCallback], Read],
    run: Callable[[Path, Work], Run],
    folder: Path,
    work: Work,
    dtype: torch.dtype,
    title: str,
) -> Read | Run:
    """Load a model with our own code (`read`) or, if its folder has another layout, with `run`.

    `run` uses the Python program in the folder. `read` raises `OtherLayout` if the files are not
    structured like the published ones. `title` is shown with the progress.

    Raises:
        ToolFailed: Neither way can load the model.
    """
    told = -1

    def tell(fraction: float) -> None:
        """Report the loaded fraction in whole percents."""
        nonlocal told
        whole = _START + (_END - _START) * fraction
        if int(whole * 100) > told:
            told = int(whole * 100)
            work.progress(whole, f"Loading {title}")

    try:
        return read(folder, work.placement.device, dtype, tell)
    except OtherLayout as error:
        if not work.source.get("trust_remote_code"):
            work.notes.append(f"not the published layout: {error}")
        return run(folder, work)


_code_folders: list[str] = []
_REMEDY = (
    "Install the revision that the model's card names, or a copy of the model whose program was "
    "written for the installed version of transformers."
)


def load_with_program(auto: Any, folder: Path, work: Work, **how: Any) -> Any:
    """Return `auto.from_pretrained(folder, **how)`, which may run the Python code in the folder.

    `auto` is a class of transformers such as AutoTokenizer.

    Raises:
        ToolFailed: The user has not allowed the code, or it fails.
    """
    require_consent(work, folder)
    if not _code_folders:
        _code_folders.append(tempfile.mkdtemp(prefix="sightline-model-code-"))
        atexit.register(shutil.rmtree, _code_folders[0], ignore_errors=True)
    setattr(dynamic_module_utils, "HF_MODULES_CACHE", _code_folders[0])  # noqa: B010
    try:
        return auto.from_pretrained(
            str(folder), trust_remote_code=True, local_files_only=True, **how
        )
    except Exception as error:  # a foreign program may raise any exception
        if memory.is_exhausted(error):
            raise
        first_line = (str(error).strip().splitlines() or [""])[0][:160]
        raise ToolFailed(
            "the program that comes with this model does not run here: "
            f"{type(error).__name__}: {first_line}",
            subject=_name(work),
            remedy=_REMEDY,
            detail=f"{type(error).__name__}: {error}",
        ) from error


def load_model_with_program(auto: Any, folder: Path, work: Work) -> Any:
    """Return the model in a folder, loaded with the program in that folder.

    Its device and precision are those in `work.placement`. It is refused if the files lack one of
    its parameters, which transformers would fill with random numbers; if a buffer got no value (see
    `marked_memory`); or if a loaded weight was changed.

    Raises:
        ToolFailed: The user has not allowed the program, it fails, or the weights do not fit it.
    """
    with marked_memory():
        model, report = load_with_program(
            auto, folder, work, dtype=work.placement.torch_dtype, output_loading_info=True
        )
    lacking = sorted(str(name) for name in report["missing_keys"])
    lacking += [str(name) for name in report["mismatched_keys"]]
    if lacking:
        raise ToolFailed(
            f"the program that comes with this model does not fit its weights: {len(lacking)} of "
            "its parameters are in no file",
            subject=_name(work),
            remedy=_REMEDY,
            detail=", ".join(lacking[:10]),
        )
    chance = unset_buffers(model) + altered_weights(model, folder)
    if chance:
        raise ToolFailed(
            "the program that comes with this model does not run correctly with the installed "
            f"version of transformers: {len(chance)} of its tables would hold chance values",
            subject=_name(work),
            remedy=_REMEDY,
            detail=", ".join(chance[:10]),
        )
    return model.to(work.placement.device).eval()


def require_consent(work: Work, folder: Path) -> None:
    """Raise an error unless the user has allowed this model's program and its files are unchanged.

    This repeats a check by the viewer, because the files may have changed while the call waited and
    the weights were loaded.

    Raises:
        ToolFailed: The program is not allowed or has changed; the message says how to allow it.
    """
    if not work.source.get("trust_remote_code"):
        raise ToolFailed(
            "this copy of the model needs the program in its folder, and running it has "
            "not been allowed",
            subject=_name(work),
            remedy="Read the program's files first. To allow them, install the model with "
            f"`{command()} models install PATH --allow-code`, or say yes in the model panel.",
        )
    if not are_allowed(folder, work.source.get("programs") or {}):
        raise ToolFailed(
            "the program that comes with this model has changed since it was allowed, and is not "
            "run",
            subject=_name(work),
            remedy="Install the model again, from a source that you trust.",
        )


def _name(work: Work) -> str:
    return str(work.source.get("name", ""))
