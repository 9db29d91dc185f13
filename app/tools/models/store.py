"""The store of models: looks up, checks, installs, downloads and removes them.

Nothing here imports torch, and nothing is downloaded except by `ModelStore.get`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from app import paths
from app.errors import FileProblem, SightlineError, UsageError
from app.tools.api import CancelToken, ModelHost, Progress, ToolFailed
from app.tools.models.cards import ModelCard, cards
from app.tools.models.downloads import (
    ModelDownload,
    delete_downloads,
    fetch_self_check_file,
)
from app.tools.models.folder_changes import ChangeLock, delete, is_aside, recover, sweep
from app.tools.models.install_plan import NO_CONSENT, Consent, InstallPlan, plan_install
from app.tools.models.installation import Installation, self_check, verify
from app.tools.models.places import ModelPaths
from app.tools.models.records import ByteProgress, write_record
from app.tools.models.sources import Manifest, write_pack
from app.tools.models.status import (
    InstalledModel,
    ModelStatus,
    accepted_record,
    how_to_get,
    installed_model,
    quick_status,
)
from app.tools.needs import command


class ModelStore:
    """The user's models folder together with the models shipped with the program. Thread-safe.

    Long operations call `progress` with a fraction from 0 to 1 and a status text, and raise
    `Cancelled` once their `cancel` is set. `host` is the model process; it tries to load files that
    are not known to be the published ones.

    Args:
        folder: The models folder; by default `paths.models_dir()`.
        shipped: The folder that contains the embedded models; by default `resources/models`.
        known: The cards of all known models; by default the shipped cards.
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
        """Return the card with that name, or the card of the single-file model with that file name.

        Raises:
            UsageError: There is no such card; the message lists the known names.
        """
        for known in self.cards.values():
            single = () if known.folder else (known.files[0].name,)
            if name in (known.name, *single):
                return known
        raise UsageError(
            f"no model is called {name!r}", remedy=f"There are: {', '.join(self.cards)}."
        )

    def paths_of(self, wanted: ModelCard) -> ModelPaths:
        """Return where the files of the model `wanted` are on the disk, or would be."""
        return ModelPaths(wanted, self.folder, self._shipped)

    def has(self, name: str) -> bool:
        """Return True if all required files of a model exist; their contents are not checked.

        Where the user may not look, it counts as there: who uses it is told why that fails.
        """
        known = self.cards.get(name)
        try:
            return known is not None and not self._recovered_place(known).missing()
        except FileProblem:
            return True

    def find(self, wanted: ModelCard) -> InstalledModel | None:
        """Return the installed model `wanted`, or None if a required file is missing.

        Files that have changed since they were last read are read again; large ones take long.
        """
        return installed_model(self._recovered_place(wanted))

    def require(self, name: str, feature: str) -> InstalledModel:
        """Return the installed model with that name.

        `feature` is the feature that needs it, named in the message ("The report generator").

        Raises:
            ToolFailed: The model is not installed, or its terms are not accepted.
        """
        wanted = self.card(name)
        found = self.find(wanted)
        if found is None:
            called = wanted.title if wanted.folder else f"{wanted.title} ({wanted.files[0].name})"
            raise ToolFailed(
                f"{feature} needs a model that is not installed: {called}",
                remedy=self.how_to_get(wanted),
            )
        if not found.accepted:
            raise ToolFailed(
                f"{feature} needs a model whose terms are not accepted: {wanted.title}",
                remedy=f"Read and accept them: `{command()} models accept {wanted.name}`.",
            )
        return found

    def how_to_get(self, wanted: ModelCard) -> str:
        """Return instructions for the user to install the model `wanted`."""
        return how_to_get(self.paths_of(wanted))

    def overview(self) -> tuple[ModelStatus, ...]:
        """Return the status of every known model, without reading their weights."""
        return tuple(self.status(known) for known in self.cards.values())

    def status(self, wanted: ModelCard) -> ModelStatus:
        """Return the status of the model `wanted`, without reading its weights."""
        return quick_status(self._recovered_place(wanted))

    def verify(
        self,
        name: str = "",
        *,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
        host: ModelHost | None = None,
    ) -> tuple[ModelStatus, ...]:
        """Read all files and run the self-checks of a model, or of all for ""; return their status.

        Raises:
            UsageError: There is no model with that name.
            SightlineError: A file cannot be read.
        """
        wanted = [self.card(name)] if name else list(self.cards.values())
        total = sum(self.status(one).bytes for one in wanted if self.has(one.name))
        counter = ByteProgress(total, progress, cancel)
        try:
            found = [verify(self._recovered_place(one), counter, host) for one in wanted]
            return tuple(self._self_checked(status, host, cancel) for status in found)
        except OSError as error:
            raise SightlineError(
                f"a model's file cannot be read ({error.strerror or error})",
                subject=str(error.filename or self.folder),
                remedy="Ask this computer's administrator for the right to read it, or "
                "install the model again.",
            ) from error

    def accept(
        self, name: str, *, code: bool = False, cancel: CancelToken | None = None
    ) -> ModelStatus:
        """Record that the user accepts an installed model's terms and its files as they are.

        This also makes a record for a folder that was copied into place by hand. `code` says
        whether the user also allows the programs among its files to run.

        Raises:
            UsageError: There is no such model, it is not installed, or `code` is True although its
                card has no `trust_remote_code`.
            SightlineError: The record cannot be written.
        """
        wanted = self.card(name)
        place = self.paths_of(wanted)
        if wanted.embedded or place.missing():
            reason = "it comes with Sightline" if wanted.embedded else "it is not installed"
            raise UsageError(reason, subject=wanted.name, remedy=self.how_to_get(wanted))
        if code and not wanted.trust_remote_code:
            raise UsageError("its card does not allow code", subject=wanted.name)
        with self._changing.held():
            record = accepted_record(place, code=code, cancel=cancel)
            try:
                write_record(place.record_path, record)
            except OSError as error:
                raise SightlineError(
                    f"it cannot be recorded ({error.strerror or error})",
                    subject=str(place.record_path),
                    remedy="Set SIGHTLINE_MODELS to a folder that you may write to.",
                ) from error
        return self.status(wanted)

    def remove(self, name: str) -> ModelStatus:
        """Delete a model's files and those of its unfinished downloads.

        Raises:
            UsageError: There is no such model, or it is shipped with Sightline.
            SightlineError: The files cannot be deleted.
        """
        wanted = self.card(name)
        if wanted.embedded:
            raise UsageError(f"{wanted.name} comes with Sightline and cannot be removed")
        place = self.paths_of(wanted)
        try:
            with self._swept():
                delete(place)
                delete_downloads(place)
        except OSError as error:
            raise SightlineError(
                f"it cannot be deleted ({error.strerror or error})",
                subject=str(place.path),
                remedy="Close what uses it, or ask this computer's administrator.",
            ) from error
        return self.status(wanted)

    def plan_install(self, path: Path, name: str | None = None) -> InstallPlan:
        """Return the plan to install the models at a path, with what the user must agree to.

        Raises:
            UsageError: There is nothing at the path, or the model cannot be identified.
            UnsafeFileError: The path contains files that are refused; see `durable_files`.
            SightlineError: The path cannot be read.
        """
        called = self.card(name).name if name is not None else None
        return plan_install(self._places(), path, called)

    def install(
        self,
        plan: InstallPlan,
        consent: Consent = NO_CONSENT,
        *,
        host: ModelHost | None = None,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> tuple[ModelStatus, ...]:
        """Copy the planned models into the models folder and verify them: all of them or none.

        `consent` must cover `plan.terms` and `plan.unpublished`. If it does not cover `plan.code`,
        the programs are left out, provided that the models work without them. Returns each model's
        status.

        Raises:
            SightlineError: The plan has problems, a consent of the user is missing, or a file is
                damaged or cannot be copied. Models that were installed before remain unchanged.
        """
        if plan.problems:
            raise SightlineError("; ".join(plan.problems), subject=str(plan.path))
        if plan.unpublished and not consent.unpublished:
            raise SightlineError(
                f"this is not the published file: {'; '.join(plan.unpublished)}",
                subject=str(plan.path),
                remedy="Download it again. Weights of your own that the model can load are taken "
                "with --other; results then carry a warning.",
            )
        with self._swept() as places:
            installation = Installation(self.folder, places, progress, cancel, host)
            installation.install(plan.source, plan.models, consent)
        statuses = [self.status(model.card) for model in plan.models]
        return tuple(self._self_checked(status, host, cancel) for status in statuses)

    def get(
        self,
        name: str,
        consent: Consent = NO_CONSENT,
        *,
        host: ModelHost | None = None,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> ModelStatus:
        """Download a model, install it and return its status.

        A download that was interrupted or cancelled before is resumed.

        Raises:
            UsageError: There is no such model, or it is embedded.
            SightlineError: The terms are not accepted, there is no network or disk space, or the
                received files are not the expected ones.
        """
        wanted = self.card(name)
        if wanted.embedded:
            raise UsageError(
                f"{wanted.name} comes with Sightline", remedy="There is nothing to download."
            )
        status = self.status(wanted)
        agreed_already = status.accepted and (status.code == "allowed" or not consent.code)
        # No host is asked for anything if the installed files are the published ones.
        if status.state == "installed" and wanted.pinned and agreed_already:
            fetch_self_check_file(self.paths_of(wanted), cancel)
            (status,) = self.verify(wanted.name, host=host)
            if status.state == "intact":
                return status
        consent = replace(consent, terms=consent.terms or status.accepted, unpublished=False)
        place = self.paths_of(wanted)
        download = ModelDownload(place, progress, cancel)
        with self._swept() as places:
            staging, model = download.run(consent)
            source = wanted.repository or wanted.files[0].url
            installation = Installation(self.folder, places, cancel=cancel)
            installation.finish(staging, model, source, consent)
            delete_downloads(place)
        fetch_self_check_file(place, cancel)
        # Read once more, from the disk that the model will be loaded from.
        return self.verify(wanted.name, host=host)[0]

    def pack(
        self,
        names: Sequence[str],
        out: Path,
        *,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> Manifest:
        """Write installed models into the pack `out`; return its manifest. See `write_pack`."""
        places = [self.paths_of(self.card(name)) for name in dict.fromkeys(names)]
        with self._changing.held():  # a pack is of one version of each
            return write_pack(places, out, progress=progress, cancel=cancel)

    @contextmanager
    def _swept(self) -> Generator[Mapping[str, ModelPaths]]:
        """Lock the models folder and delete what killed installations left; yield all places."""
        with self._changing.held():
            places = self._places()
            sweep(self.folder, places.values())
            yield places

    def _recovered_place(self, wanted: ModelCard) -> ModelPaths:
        """Return a model's place, after undoing a replacement that a kill cut off.

        Raises:
            FileProblem: The user may not read the models folder.
        """
        place = self.paths_of(wanted)
        try:
            aside = not wanted.embedded and is_aside(place) and bool(place.missing())
        except PermissionError as error:
            raise FileProblem(
                "you may not read the folder of the models",
                subject=str(self.folder),
                remedy=f"Ask who made it to run `chmod -R a+rX {self.folder}`.",
            ) from error
        if aside:
            with self._changing.held_if_free() as held:
                if held:
                    recover(place)
        return place

    def _self_checked(
        self, status: ModelStatus, host: ModelHost | None, cancel: CancelToken | None
    ) -> ModelStatus:
        """Run a usable model's self-check, if it has one, and keep the outcome in its record."""
        place = self.paths_of(status.card)
        outcome = self_check(place, host, cancel) if status.usable and status.accepted else ""
        record = place.record()
        if outcome and record is not None:
            with self._changing.held_if_free() as held, suppress(OSError):
                if held:
                    write_record(place.record_path, replace(record, self_check=outcome))
        return replace(status, self_check=outcome or status.self_check)

    def _places(self) -> dict[str, ModelPaths]:
        return {known.name: self.paths_of(known) for known in self.cards.values()}
