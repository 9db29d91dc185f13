"""The chat dock: puts the parts together and keeps them in step with the agent."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QDockWidget, QVBoxLayout, QWidget

from app.agent.events import RunEvent
from app.agent.sessions import SessionStore, Thread, ThreadInfo
from app.errors import SightlineError
from app.tools.api import Artifact
from app.views import wording
from app.views.agent_thread import AgentThread, Question
from app.views.background import Background
from app.views.chat.card import CardTools
from app.views.chat.composer import Composer
from app.views.chat.conversation import Conversation
from app.views.chat.empty import EmptyState
from app.views.chat.header import Header
from app.views.chat.history import PastRun, events, past_runs
from app.views.chat.links import FindingLinks
from app.views.chat.message import Notice
from app.views.chat.pending import PendingList
from app.views.chat.run_view import RunActions, RunView
from app.views.chat.style import sheet
from app.views.chat.widgets import label
from app.views.theme import SPACE
from app.workspace.workspace import Workspace

BATCH = 20  # earlier questions shown at once


class ChatDock(QWidget):
    """The assistant.

    Args:
        agent: Runs the questions.
        workspace: What is open; findings are selected there.
        store: The threads on disk.
        model: Name of the language model, as `LanguageModel.name` says it.
        remote_host: Where it runs, or "" for this machine.
        parent: Qt parent.

    Attributes:
        run_ended: run_id and the kind of the terminal event, once it is shown.
        model_settings_wanted: The user clicked the model's badge.
    """

    run_ended = Signal(str, str)
    model_settings_wanted = Signal()

    def __init__(
        self,
        agent: AgentThread,
        workspace: Workspace,
        store: SessionStore,
        *,
        model: str = "offline",
        remote_host: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("chatDock")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setMinimumWidth(300)
        self._agent = agent
        self._workspace = workspace
        self._store = store
        self._thread: Thread | None = None
        self._opening = False  # a thread is being made or read
        self._waiting: list[str] = []  # asked before their thread was there
        self._older = 0  # earlier questions of the thread that are not shown
        self._loading: deque[tuple[RunView, PastRun]] = deque()
        self._live: RunView | None = None
        self._background = Background(1, self)  # files and thumbnails, one at a time
        self._links = FindingLinks(workspace)
        self._actions = RunActions(
            agent.resolve,
            self.submit,
            CardTools(self._links, self._background, self._open_artifact),
        )
        self._build()
        self.set_model(model, remote_host)
        self._connect()
        self._show_state()
        self._show_image()
        application = QCoreApplication.instance()
        if application is not None:  # a window that forgets `close_models` must not hang the exit
            application.aboutToQuit.connect(self.close_models)

    def submit(self, text: str) -> None:
        """Ask a question, as if it were typed; queued while another one runs."""
        if not text.strip():
            return
        self.composer.remember(text)
        self.conversation.follow()
        if self._thread is None:
            self._waiting.append(text)
            self._make_thread()
        else:
            self._agent.ask(text, self._thread)

    def focus_composer(self) -> None:
        """Put the cursor into the question field."""
        self.composer.edit.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def is_idle(self) -> bool:
        """Whether nothing runs, waits, is being read or is still to be shown."""
        busy = self._opening or self._waiting or self._loading or self._background.pending
        return not busy and self._agent.is_idle()

    @property
    def thread(self) -> Thread | None:
        """The conversation that is shown; None before its first question."""
        return self._thread

    def set_model(self, name: str, remote_host: str = "") -> None:
        """Say which language model answers."""
        self.header.set_model(name, remote_host)

    def new_thread(self) -> None:
        """Start afresh: the run that goes on is stopped, the old thread stays in the history."""
        self._leave()
        self._thread = None
        self.focus_composer()

    def open_thread(self, thread_id: str) -> None:
        """Show an earlier thread; the next question goes on with it."""
        if self._thread is not None and self._thread.thread_id == thread_id:
            return
        self._leave()
        self._thread = None
        self._opening = True
        self._background.submit(
            lambda: self._store.open(thread_id), self._show_thread, self._opening_failed
        )

    def close_models(self) -> None:
        """Let go of threads and of the workspace; before the window is destroyed. Idempotent."""
        self._links.close()
        for disconnect in self._disconnect:
            disconnect()
        self._disconnect.clear()
        self._agent.close()
        self._background.close()

    def showEvent(self, event: QShowEvent) -> None:
        # A dock that already says "Assistant" above needs no second title.
        above = self.parentWidget()
        titled = isinstance(above, QDockWidget) and above.titleBarWidget() is not None
        self.header.set_titled(not titled)
        super().showEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc stops the run from wherever the focus is in the dock."""
        if event.key() == Qt.Key.Key_Escape and self._agent.busy:
            self._agent.stop()
        else:
            super().keyPressEvent(event)

    def _build(self) -> None:
        self.setStyleSheet(sheet())
        self.header = Header()
        self.empty = EmptyState()
        self.conversation = Conversation(self.empty)
        self.pending = PendingList()
        self.composer = Composer()
        self.setFocusProxy(self.composer.edit)
        foot = QWidget()
        foot.setObjectName("chatFooter")
        foot.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        inner = QVBoxLayout(foot)
        inner.setContentsMargins(SPACE.m, SPACE.xs, SPACE.m, SPACE.s)
        inner.setSpacing(6)
        inner.addWidget(self.pending)
        inner.addWidget(self.composer)
        note = label("AI results are not for diagnosis.", "faint")
        note.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        inner.addWidget(note)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.header)
        layout.addWidget(self.conversation, 1)
        layout.addWidget(foot)

    def _connect(self) -> None:
        self.header.new_wanted.connect(self.new_thread)
        self.header.history_wanted.connect(self._list_threads)
        self.header.thread_chosen.connect(self.open_thread)
        self.header.model_wanted.connect(self.model_settings_wanted)
        self.empty.chosen.connect(self.submit)
        self.composer.submitted.connect(self.submit)
        self.composer.stop_wanted.connect(self._agent.stop)
        self.conversation.older_wanted.connect(self._show_older)
        self.conversation.trimmed.connect(self._on_trimmed)
        self.pending.removed.connect(self._agent.remove)
        self._agent.asked.connect(self._on_asked)
        self._agent.run_event.connect(self._on_event)
        self._agent.changed.connect(self._show_state)
        self._agent.run_ended.connect(self.run_ended)
        self._disconnect: list[Callable[[], None]] = [
            self._workspace.viewport.image_changed.connect(self._show_image)
        ]

    # -- runs

    def _on_asked(self, question: Question) -> None:
        self._live = None
        if question.thread is not self._thread:
            return  # asked before the user turned to another thread
        self._load(everything=True)
        self._live = RunView(question.text, self._actions)
        self.conversation.add(self._live)

    def _on_event(self, event: RunEvent) -> None:
        if self._live is not None and self._live.running:
            self._live.handle(event)

    def _show_state(self) -> None:
        self.composer.set_busy(self._agent.busy, self._agent.stopping == "now")
        mine = [item for item in self._agent.pending if item.thread is self._thread]
        self.pending.show_questions(mine)
        if self._agent.stopping and self._live is not None:
            self._live.stopping()

    def _leave(self) -> None:
        self._agent.clear_pending()
        self._agent.stop()
        self._live = None
        self._waiting.clear()
        self._loading.clear()
        self._older = 0
        self.conversation.clear()

    def _open_artifact(self, artifact: Artifact, tool: str) -> None:
        self._workspace.open_artifact(tool, artifact)

    def _show_image(self) -> None:
        instance = self._workspace.acquired  # what a question is about
        self.empty.set_open(instance is not None)
        if instance is None:
            self.composer.set_about("No image open", "Ask a question…")
            return
        parts = (
            instance.get("Modality"),
            instance.get("BodyPartExamined").title(),
            instance.get("ViewPosition"),
            instance.path.name,
        )
        about = " · ".join(text for text in map(wording.one_line, parts) if text)
        self.composer.set_about(about, "Ask about this image…")

    # -- threads

    def _make_thread(self) -> None:
        if self._opening:
            return
        self._opening = True
        self._background.submit(self._store.new_thread, self._got_thread, self._no_folder)

    def _got_thread(self, thread: Thread) -> None:
        self._opening = False
        self._thread = thread
        waiting, self._waiting = self._waiting, []
        for text in waiting:
            self._agent.ask(text, thread)

    def _no_folder(self, error: SightlineError) -> None:
        """The question is answered all the same; only its thread cannot be kept."""
        self._got_thread(Thread.in_memory())
        self.conversation.add_note(Notice(error.reason, error.remedy, error=True))

    def _list_threads(self) -> None:
        self._background.submit(self._store.threads, self._show_threads, self._list_failed)

    def _show_threads(self, threads: tuple[ThreadInfo, ...]) -> None:
        self.header.show_threads(threads, self._thread.thread_id if self._thread else "")

    def _list_failed(self, _error: SightlineError) -> None:
        self.header.show_threads((), "")

    def _show_thread(self, thread: Thread) -> None:
        self._opening = False
        self._thread = thread
        runs = past_runs(thread.history)
        self._older = max(0, len(runs) - BATCH)
        for run in runs[self._older :]:
            self._loading.append((RunView(run.question, self._actions, live=False), run))
        if thread.problems:
            lost = f"{len(thread.problems)} damaged entries of this thread could not be read."
            self.conversation.add_note(Notice(lost, error=True))
        self._load()
        waiting, self._waiting = self._waiting, []
        for text in waiting:
            self._agent.ask(text, thread)
        self.focus_composer()

    def _opening_failed(self, error: SightlineError) -> None:
        self._opening = False
        self.conversation.add_note(Notice(error.text, error=True))
        if self._waiting:
            self._make_thread()

    def _load(self, *, everything: bool = False) -> None:
        """Show earlier runs, one a turn of the event loop: none of them may stall the window."""
        while self._loading:
            view, run = self._loading.popleft()
            self.conversation.add(view)
            self._replay(view, run)
            if not everything and self._loading:
                QTimer.singleShot(0, self, self._load)
                return
        self.conversation.set_older(self._older > 0)

    def _replay(self, view: RunView, run: PastRun) -> None:
        folder = self._thread.folder if self._thread is not None else None
        for event in events(run, folder, self._links.of_call):
            view.handle(event)

    def _on_trimmed(self, run: RunView) -> None:
        if run.run_id:  # only what the runner got is in the thread's file
            self._older += 1
        self.conversation.set_older(self._older > 0)

    def _show_older(self) -> None:
        if self._thread is None or not self._older:
            return
        runs = past_runs(self._thread.history)[: self._older]
        chosen = runs[-BATCH // 4 :]
        self._older -= len(chosen)
        for run in reversed(chosen):
            view = RunView(run.question, self._actions, live=False)
            self.conversation.prepend(view)
            self._replay(view, run)
        self.conversation.set_older(self._older > 0)
