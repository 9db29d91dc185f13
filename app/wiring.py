"""The one place that builds the program's objects and knows every room.

Nothing here starts a process, a thread or a window before it is used: a command that only lists
tools stays quick, and `view` alone imports Qt.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from app import paths, settings
from app.agent.approvals import Consents
from app.agent.context import system_prompt
from app.agent.llm.base import LanguageModel
from app.agent.llm.offline import OfflineModel
from app.agent.loop import AgentLoop, Approve, RunRequest
from app.agent.sessions import SessionStore, Thread
from app.errors import UsageError
from app.imaging.decode import Decoder
from app.imaging.types import Instance
from app.secrets import Secrets
from app.settings import ModelSettings, Settings
from app.tools.api import CancelToken
from app.tools.host import ProcessHost
from app.tools.images import OpenImage, RunImages
from app.tools.registry import Registry, load_packs
from app.tools.weights import WeightStore

IDENTIFYING = ("PatientName", "PatientID", "PatientBirthDate", "AccessionNumber", "StudyDate")


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """What the command line asks of the window."""

    paths: tuple[Path, ...] = ()
    demo: bool = False
    ask: str = ""
    screenshot: Path | None = None
    llm: str | None = None


@dataclass
class Program:
    """The objects of one process, each built when it is first needed."""

    secrets: Secrets = field(default_factory=Secrets)
    consents: Consents = field(default_factory=Consents)

    @cached_property
    def settings(self) -> Settings:
        """The user's settings."""
        return settings.load(self.settings_path)

    @property
    def settings_path(self) -> Path:
        """Where they are kept."""
        return paths.config_dir() / "settings.json"

    @cached_property
    def decoder(self) -> Decoder:
        """The decode workers."""
        return Decoder()

    @cached_property
    def registry(self) -> Registry:
        """All tools."""
        return load_packs()

    @cached_property
    def host(self) -> ProcessHost:
        """The model process."""
        return ProcessHost()

    @cached_property
    def weights(self) -> WeightStore:
        """The models folder."""
        return WeightStore(paths.models_dir())

    @cached_property
    def sessions(self) -> SessionStore:
        """The chat threads on disk."""
        return SessionStore(paths.sessions_dir())

    def language_model(self, name: str | None = None) -> LanguageModel:
        """The language model called `name` ("offline", "openai", "openai:MODEL").

        Args:
            name: None for the one in the settings.

        Raises:
            UsageError: There is no such model, or it is not configured.
        """
        chosen = self.settings.llm
        kind, _, model = (name or chosen.kind).partition(":")
        if kind == "offline":
            return OfflineModel()
        if kind == "openai":
            return self._openai(chosen.model_copy(update={"model": model or chosen.model}))
        raise UsageError(f"there is no language model {kind!r}", remedy="Use offline or openai.")

    def _openai(self, chosen: ModelSettings) -> LanguageModel:
        if not chosen.model:
            raise UsageError(
                "no model name is set for the OpenAI-compatible endpoint",
                remedy="Use --llm openai:MODEL, or choose a model in the viewer's settings.",
            )
        from app.agent.llm.openai_model import OpenAIModel

        return OpenAIModel(chosen.base_url, chosen.model, self.secrets.get("openai"))

    def loop(self, model: LanguageModel) -> AgentLoop:
        """An agent loop with that model and all tools."""
        return AgentLoop(model, self.registry, system=system_prompt(), consents=self.consents)

    def request(
        self,
        question: str,
        images: Sequence[OpenImage],
        *,
        thread: Thread,
        out_dir: Path,
        approve: Approve,
        run_id: str | None = None,
        cancel: CancelToken | None = None,
    ) -> RunRequest:
        """A question frozen with the images that are open now, the shown one first."""
        run_images = RunImages(images, out_dir, self.decoder)
        return RunRequest(
            run_id=run_id or new_run_id(),
            thread=thread,
            question=question,
            images=run_images,
            image_notes=run_images.notes(remote=False),
            out_dir=out_dir,
            host=self.host,
            models_dir=paths.models_dir(),
            device=self.settings.device,
            cancel=cancel or CancelToken(),
            approve=approve,
            identifiers=identifiers(image.instance for image in images),
        )

    def close(self) -> None:
        """Stop the processes that were started."""
        for name in ("host", "decoder"):
            if name in self.__dict__:
                self.__dict__[name].close()


def new_run_id() -> str:
    """A fresh run id; says nothing about the patient."""
    return uuid.uuid4().hex


def identifiers(instances: Sequence[Instance] | object) -> tuple[str, ...]:
    """Texts that identify the patients of `instances`, to be cut from what leaves the machine."""
    found: set[str] = set()
    for instance in instances:  # type: ignore[union-attr]
        found.update(instance.get(keyword) for keyword in IDENTIFYING)
    return tuple(sorted(found - {""}))


def view(request: ViewRequest) -> int:
    """Open the window; returns the exit code when it was closed."""
    from app.views.start import start

    return start(Program(), request)
