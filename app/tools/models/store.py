"""The models that are installed: looked up by their cards, checked, installed, removed.

Nothing here imports torch, and nothing is fetched unless `ModelStore.get` is called for it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from app import paths
from app.errors import SightlineError, UsageError
from app.tools.api import CancelToken, ModelHost, ToolFailed
from app.tools.models import planning, states
from app.tools.models.accepting import accepted_record, now_text
from app.tools.models.cards import ModelCard, cards
from app.tools.models.getting import Getting, forget
from app.tools.models.install import Installation
from app.tools.models.locking import ChangeLock
from app.tools.models.looking import BeingReplaced, steadily
from app.tools.models.packs import Manifest, write_pack
from app.tools.models.places import Place
from app.tools.models.plans import Agreed, InstallPlan
from app.tools.models.records import Record, write_record
from app.tools.models.seeing import being_replaced, found, quick_status
from app.tools.models.states import InstalledModel, ModelStatus
from app.tools.models.swap import delete, forget_aside, is_aside, recover, sweep
from app.tools.models.verifying import Verifying, check_loads
from app.tools.needs import command

__all__ = ["InstallPlan", "InstalledModel", "ModelStatus", "ModelStore"]

Progress = Callable[[float, str], None]

_ABANDONED_S = 86_400.0
_SWAP_S = 60.0  # longer than any swap: what was moved aside before that was left behind

Seen = TypeVar("Seen")


class ModelStore:
    """The user's models folder together with the shipped models. Thread-safe.

    Args:
        folder: By default `paths.models_dir()`.
        shipped: Where embedded models lie; by default `resources/models`.
        known: The cards; by default the shipped ones.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        shipped: Path | None = None,
        known: Mapping[str, ModelCard] | None = None,
    ) -> None:
        self.folder = folder if folder is not None else paths.models_dir()
        self._shipped = shipped if shipped is not None else paths.resources_dir() / "models"
        self.cards: Mapping[str, ModelCard] = known if known is not None else cards()
        self._changing = ChangeLock(self.folder)

    def card(self, name: str) -> ModelCard:
        """The card of that name.

        Raises:
            UsageError: There is none; lists those that are.
        """
        for known in self.cards.values():
            single = () if known.folder else (known.files[0].name,)
            if name in (known.name, *single):
                return known
        raise UsageError(
            f"no model is called {name!r}", remedy=f"There are: {', '.join(self.cards)}."
        )

    def place(self, wanted: ModelCard) -> Place:
        """Where its files lie."""
        return Place(wanted, self.folder, self._shipped)

    def has(self, name: str) -> bool:
        """Whether the model of that name is there; quick, nothing is read."""
        known = self.cards.get(name)
        if known is None:
            return False
        place = self.place(known)
        # One that is being replaced is there: missing, aside, or again in place.
        return not place.missing() or is_aside(place) or not place.missing()

    def find(self, wanted: ModelCard) -> InstalledModel | None:
        """The installed model, or None where a file of its card that is not optional is missing.

        Files that changed since they were last read are read, which takes long for large ones.

        Raises:
            BeingReplaced: Another Sightline does not end replacing it.
        """
        return self._seen(wanted, found)

    def require(self, name: str, feature: str) -> InstalledModel:
        """The installed model of that name.

        Args:
            name: Its card's.
            feature: What needs it, for the message ("The report generator").

        Raises:
            ToolFailed: It is not installed, or its terms are not accepted; says what to do.
        """
        wanted = self.card(name)
        found = self.find(wanted)
        if found is None:
            raise ToolFailed(
                f"{feature} needs a model that is not installed: {_called(wanted)}",
                remedy=self.how_to_get(wanted),
            )
        if not found.accepted:
            raise ToolFailed(
                f"{feature} needs a model whose terms are not accepted: {wanted.title}",
                remedy=f"Read and accept them: `{command()} models accept {wanted.name}`.",
            )
        return found

    def how_to_get(self, wanted: ModelCard) -> str:
        """Which files, where they go and how to get them."""
        return states.how_to_get(self.place(wanted))

    def overview(self) -> tuple[ModelStatus, ...]:
        """Of each model, quickly: no file of weights is read."""
        return tuple(self.status(known) for known in self.cards.values())

    def status(self, wanted: ModelCard) -> ModelStatus:
        """Of one model, quickly: no file of weights is read."""
        try:
            return self._seen(wanted, quick_status)
        except BeingReplaced as error:
            return being_replaced(self.place(wanted), error.reason)

    def verify(
        self,
        name: str = "",
        *,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
        host: ModelHost | None = None,
    ) -> tuple[ModelStatus, ...]:
        """As `overview`, with every file read, whatever is remembered of it.

        Args:
            name: One model; "" for all.
            progress: Called with a fraction 0..1 and a text.
            cancel: Stops it.
            host: Used for files that are not the published ones: can they be loaded?

        Raises:
            UsageError: There is no model of that name.
            BeingReplaced: Another Sightline does not end replacing it.
            SightlineError: A file cannot be read.
            Cancelled: `cancel` was set.
        """
        wanted = [self.card(name)] if name else list(self.cards.values())
        total = sum(self.status(one).bytes for one in wanted if self.has(one.name))
        verifying = Verifying(total, progress, cancel, host)
        try:
            return tuple(self._seen(one, verifying.verified) for one in wanted)
        except OSError as error:
            raise SightlineError(
                f"a model's file cannot be read ({error.strerror or error})",
                subject=str(error.filename or self.folder),
                remedy="Ask whoever looks after this computer for the right to read it, or "
                "install the model again.",
            ) from error

    def accept(
        self, name: str, *, code: bool = False, cancel: CancelToken | None = None
    ) -> ModelStatus:
        """Note that the user accepts the terms of a model that is there, and its files as they are.

        A folder that was copied into place by hand is written down by this too.

        Args:
            name: The model.
            code: The user also allows the code among its files to run.
            cancel: Stops it; files that nobody has read yet are read.

        Raises:
            UsageError: No such model, it is not there, or nothing about it is to be accepted.
            SightlineError: It cannot be written down.
        """
        wanted = self.card(name)
        place = self.place(wanted)
        if wanted.embedded or place.missing():
            reason = "it comes with Sightline" if wanted.embedded else "it is not installed"
            raise UsageError(reason, subject=wanted.name, remedy=self.how_to_get(wanted))
        if code and not wanted.trust_remote_code:
            raise UsageError("its card does not provide for code", subject=wanted.name)
        with self._changing.held():
            self._write(place, accepted_record(place, code=code, cancel=cancel))
        return self.status(wanted)

    def remove(self, name: str) -> ModelStatus:
        """Delete a model's files, those of a download that broke off too.

        Raises:
            UsageError: No such model, or it comes with Sightline.
            SightlineError: They cannot be deleted.
        """
        wanted = self.card(name)
        if wanted.embedded:
            raise UsageError(f"{wanted.name} comes with Sightline and stays")
        place = self.place(wanted)
        try:
            with self._changing.held() as alone:
                self._sweep(alone)
                delete(place)
                forget(place)
        except OSError as error:
            raise SightlineError(
                f"it cannot be deleted ({error.strerror or error})",
                subject=str(place.path),
                remedy="Close what uses it, or ask whoever looks after this computer.",
            ) from error
        return self.status(wanted)

    def plan_install(self, path: Path, name: str | None = None) -> InstallPlan:
        """Look at what is to be installed; nothing is written.

        Args:
            path: A file, folder, archive or model pack.
            name: Which model it is; None to tell by what is there.

        Raises:
            UsageError: There is nothing, or what it is cannot be told.
            Hostile: It holds what no pack may hold.
            SightlineError: It cannot be read.
        """
        called = self.card(name).name if name is not None else None
        return planning.plan(self._places(), path, called, cards=self.cards)

    def install(
        self,
        plan: InstallPlan,
        *,
        accepted: bool = False,
        code_allowed: bool = False,
        other: bool = False,
        host: ModelHost | None = None,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> tuple[ModelStatus, ...]:
        """Copy what was planned into the models folder, verified; all of it or nothing.

        Args:
            plan: Of `plan_install`.
            accepted: The user accepts `plan.terms`.
            code_allowed: The user allows `plan.code` to run; else it is left out where it can be.
            other: Files are taken that are not the published ones, if the model can load them.
            host: For the check that it can.
            progress: Called with a fraction 0..1 and a text.
            cancel: Stops it.

        Raises:
            Cancelled: `cancel` was set.
            SightlineError: The plan has problems, something is not agreed to, a file is not what it
                should be, or it cannot be copied. What was installed before is untouched.
        """
        if plan.problems:
            raise SightlineError("; ".join(plan.problems), subject=str(plan.path))
        if plan.other and not other:
            raise SightlineError(
                f"this is not the published file: {'; '.join(plan.other)}",
                subject=str(plan.path),
                remedy="Download it again. Weights of your own that the model can load are taken "
                "with --other; results then carry a warning.",
            )
        agreed = Agreed(accepted, code_allowed, other)
        with self._changing.held() as alone:
            self._sweep(alone)
            self._installation(progress, cancel, host).run(plan.source, plan.models, agreed)
        return tuple(self.status(model.card) for model in plan.models)

    def get(
        self,
        name: str,
        *,
        accepted: bool = False,
        code_allowed: bool = False,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> ModelStatus:
        """Download a model into the models folder; goes on where an earlier try broke off.

        Args:
            name: Its card's.
            accepted: The user accepts its terms.
            code_allowed: The user allows the code that lies with its weights to run.
            progress: Called with a fraction 0..1 and a text.
            cancel: Stops it.

        Raises:
            UsageError: No such name, or it is embedded.
            Cancelled: `cancel` was set; what came stays for the next try.
            SightlineError: Terms are not accepted, no network, no space, or other files came.
        """
        wanted = self.card(name)
        if wanted.embedded:
            raise UsageError(f"{wanted.name} comes with Sightline", remedy="Nothing is to be got.")
        status = self.status(wanted)
        agreed_already = status.accepted and (status.code == "allowed" or not code_allowed)
        if status.state == "installed" and wanted.pinned and agreed_already:
            (status,) = self.verify(wanted.name)
            if status.state == "intact":
                return status
        agreed = Agreed(accepted or status.accepted, code_allowed)
        place = self.place(wanted)
        getting = Getting(place, self.how_to_get(wanted), progress, cancel)
        with self._changing.held() as alone:
            self._sweep(alone)
            staging, model = getting.fetch(agreed)
            source = wanted.repository or wanted.files[0].url
            self._installation(None, cancel, None).finish(staging, model, source, agreed)
            forget(place)
        return self.verify(wanted.name)[0]

    def pack(
        self,
        names: Sequence[str],
        out: Path,
        *,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> Manifest:
        """Write installed models into a model pack; see `packs.write_pack`."""
        places = [self.place(self.card(name)) for name in dict.fromkeys(names)]
        with self._changing.held():  # a pack is of one version of each
            return write_pack(places, out, progress=progress, cancel=cancel)

    def _recovered(self, wanted: ModelCard) -> Place:
        place = self.place(wanted)
        if not wanted.embedded and is_aside(place) and place.missing():
            with self._changing.held_if_free() as free:
                if free:  # else it may be moved aside for a moment only
                    recover([place], math.inf if self._changing.sure else time.time() - _SWAP_S)
        return place

    def _seen(self, wanted: ModelCard, look: Callable[[Place], Seen]) -> Seen:
        """What a look shows, also while another program replaces the model."""
        return steadily(lambda: self._recovered(wanted), look)

    def _sweep(self, alone: bool) -> None:
        """Delete what was left by installations that were killed: gigabytes that nobody sees."""
        sweep(self.folder, math.inf if alone else time.time() - _ABANDONED_S)
        for place in self._places().values() if alone else ():
            forget_aside(place)

    def _places(self) -> dict[str, Place]:
        return {known.name: self._recovered(known) for known in self.cards.values()}

    def _installation(
        self, progress: Progress | None, cancel: CancelToken | None, host: ModelHost | None
    ) -> Installation:
        return Installation(
            self.folder, self._places(), check_loads, now_text(), progress, cancel, host
        )

    def _write(self, place: Place, record: Record) -> None:
        try:
            write_record(place.record_path, record)
        except OSError as error:
            raise SightlineError(
                f"it cannot be written down ({error.strerror or error})",
                subject=str(place.record_path),
                remedy="Set SIGHTLINE_MODELS to a folder that you may write to.",
            ) from error


def _called(wanted: ModelCard) -> str:
    """Its title, and of one file the name under which it is looked for."""
    return wanted.title if wanted.folder else f"{wanted.title} ({wanted.files[0].name})"
