"""The chat dock: puts the parts together and keeps them in step with the agent."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QDockWidget, QVBoxLayout, QWidget

from app.agent.events import RunEvent
from app.agent.sessions import PastRun, SessionStore, Thread, ThreadInfo, ThreadInUse
from app.errors import SightlineError
from app.imaging.space import projections
from app.tools.api import Artifact
from app.views import wording
from app.views.agent_thread import AgentThread, Question
from app.views.background import Background
from app.views.chat.card import CardTools, ToolCard
from app.views.chat.composer import Composer
from app.views.chat.conversation import Conversation
from app.views.chat.earlier import Earlier
from app.views.chat.empty import EmptyState
from app.views.chat.exporting import Exporter
from app.views.chat.header import Header
from app.views.chat.links import FindingLinks
from app.views.chat.message import Notice
from app.views.chat.pending import PendingList
from app.views.chat.replay import Replayer
from app.views.chat.run_view import RunActions, RunView
from app.views.chat.style import sheet
from app.views.chat.tab_order import step
from app.views.chat.threads import Opened, Threads
from app.views.chat.widgets import label
from app.views.pack_texts import PackTexts
from app.views.theme import SPACE
from app.workspace.workspace import Workspace


class ChatDock(QWidget):
    """The assistant.

    Args:
        agent: Runs the questions.
        workspace: What is open; findings are selected there.
        store: The threads on disk.
        model: Name of the language model, as `LanguageModel.name` says it.
        remote_host: Where it runs, or "" for this machine.
        texts: Titles and icons of the tools, and questions to suggest.
        parent: Qt parent.

    Attributes:
        run_ended: run_id and the kind of the terminal event, once it is shown.
        model_settings_wanted: The user clicked the model's badge.
        limits_wanted: The user wants to change the limits.
        models_wanted: The user wants to see the models, first of them the one of this name.
    """

    run_ended = Signal(str, str)
    model_settings_wanted = Signal()
    limits_wanted = Signal()
    models_wanted = Signal(str)

    def __init__(
        self,
        agent: AgentThread,
        workspace: Workspace,
        store: SessionStore,
        *,
        model: str = "offline",
        remote_host: str = "",
        texts: PackTexts | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("chatDock")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setMinimumWidth(300)
        self.texts = texts or PackTexts()
        self._agent = agent
        self._workspace = workspace
        self._waiting: list[str] = []  # asked before their thread was there
        self._live: RunView | None = None
        self._background = Background(1, self)  # files and thumbnails, one at a time
        self._threads = Threads(store, self._background, self)
        self._store = store
        self._links = FindingLinks(workspace)
        self._replayer = Replayer(self._links.of_call, self)
        self._actions = RunActions(
            agent.resolve,
            self.submit,
            self._branch,
            self.limits_wanted.emit,
            CardTools(
                self._links,
                self._background,
                self._open_artifact,
                self.models_wanted.emit,
                self.texts,
            ),
            self._result,
            self._show_result,
        )
        self._build()
        self.exporter = Exporter(self, self._background, self._told)
        self._earlier = Earlier(
            self.conversation,
            self._replayer,
            self._background,
            self._actions,
            lambda: self.thread,
            self._told,
        )
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
        if self.thread is None:
            self._waiting.append(text)
            self._threads.make()
        else:
            self._agent.ask(text, self.thread)

    def focus_composer(self) -> None:
        """Put the cursor into the question field."""
        self.composer.edit.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def is_idle(self) -> bool:
        """Whether nothing runs, waits, is being read or is still to be shown."""
        busy = self._threads.busy or self._waiting or self._replayer.busy
        return not busy and not self._background.pending and self._agent.is_idle()

    @property
    def thread(self) -> Thread | None:
        """The conversation that is shown; None before its first question."""
        return self._threads.current

    def set_model(self, name: str, remote_host: str = "") -> None:
        """Say which language model answers."""
        self.header.set_model(name, remote_host)

    def new_thread(self) -> None:
        """Start afresh: the run that goes on is stopped, the old thread stays in the history."""
        self._leave()
        self._threads.leave()
        self._show_state()
        self.focus_composer()

    def open_thread(self, thread_id: str) -> None:
        """Show an earlier thread; the next question goes on with it."""
        if self.thread is not None and self.thread.thread_id == thread_id:
            return
        self._leave()
        self._threads.open(thread_id)

    def close_models(self) -> None:
        """Let go of threads and of the workspace; before the window is destroyed. Idempotent."""
        self._links.close()
        for disconnect in self._disconnect:
            disconnect()
        self._disconnect.clear()
        self._replayer.clear()
        self._agent.close()
        self._background.close()
        if self.thread is not None:
            self.thread.close()  # the runner has ended: nothing more is written

    def showEvent(self, event: QShowEvent) -> None:
        # A dock that already says "Assistant" above needs no second title.
        above = self.parentWidget()
        titled = isinstance(above, QDockWidget) and above.titleBarWidget() is not None
        self.header.set_titled(not titled)
        super().showEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc stops the run from wherever the focus is in the dock, Shift+Esc after its tool."""
        if event.key() == Qt.Key.Key_Escape and self._agent.busy:
            gently = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._agent.stop(after_tool=gently)
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab goes down the conversation to the question field, and only then out of the dock."""
        field = step(self, forward=forward)
        if field is None:
            return super().focusNextPrevChild(forward)
        reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
        field.setFocus(reason)
        if self.conversation.isAncestorOf(field):
            self.conversation.ensureWidgetVisible(field)
        return True

    def _build(self) -> None:
        self.setStyleSheet(sheet())
        self.header = Header()
        self.empty = EmptyState(self.texts.suggestions)
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
        self.header.export_wanted.connect(self._export)
        self.empty.chosen.connect(self.submit)
        self.composer.submitted.connect(self.submit)
        self.composer.stop_wanted.connect(self._agent.stop)
        self.composer.stop_after_wanted.connect(lambda: self._agent.stop(after_tool=True))
        self.pending.removed.connect(self._agent.remove)
        self._agent.asked.connect(self._on_asked)
        self._agent.run_event.connect(self._on_event)
        self._agent.changed.connect(self._show_state)
        self._agent.run_ended.connect(self._on_run_ended)
        self._threads.opened.connect(self._on_opened)
        self._threads.failed.connect(self._on_not_opened)
        self._disconnect: list[Callable[[], None]] = [
            self._workspace.viewport.image_changed.connect(self._show_image)
        ]

    # -- runs

    def _on_asked(self, question: Question) -> None:
        self._live = None
        if question.thread is not self.thread:
            return  # asked before the user turned to another thread
        self._live = RunView(question.text, self._actions)
        self.conversation.add(self._live)

    def _on_event(self, event: RunEvent) -> None:
        if self._live is not None and self._live.running:
            self._live.handle(event)

    def _on_run_ended(self, run_id: str, kind: str) -> None:
        unsaved = self.thread.take_notice() if self.thread is not None else ""
        if unsaved:
            self.conversation.add_note(Notice(unsaved, tone="warning"))
        self.run_ended.emit(run_id, kind)

    def _show_state(self) -> None:
        self.composer.set_busy(self._agent.busy, self._agent.stopping)
        mine = [item for item in self._agent.pending if item.thread is self.thread]
        self.pending.show_questions(mine)
        self.header.set_has_thread(self.thread is not None)
        if self._agent.stopping and self._live is not None:
            self._live.stopping(self._agent.stopping)

    def _leave(self) -> None:
        self._agent.clear_pending()
        self._agent.stop()
        self._live = None
        self._waiting.clear()
        self._replayer.clear()
        self._earlier.forget()
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
            projections.projection_name(instance),
            instance.path.name,
        )
        about = " · ".join(text for text in map(wording.one_line, parts) if text)
        self.composer.set_about(about, "Ask about this image…")

    # -- threads

    def _on_opened(self, opened: Opened) -> None:
        thread = opened.thread
        if opened.branched:
            self._leave()
        self._earlier.show(opened.runs, thread)
        self.conversation.keep_all = thread.folder is None
        if thread.problems:
            lost = f"{len(thread.problems)} damaged entries of this conversation could not be read."
            self.conversation.add_note(Notice(lost, tone="warning"))
        if opened.draft and not self._waiting:
            self.composer.set_text(opened.draft)
        waiting, self._waiting = self._waiting, []
        for text in waiting:
            self._agent.ask(text, thread)
        if opened.runs or opened.draft:
            self.focus_composer()
        self._show_state()

    def _on_not_opened(self, error: SightlineError, thread_id: str) -> None:
        if not thread_id:
            # The question is answered all the same; only its thread cannot be kept.
            self._threads.current = Thread.in_memory()
            self._on_opened(Opened(self._threads.current))
            self.conversation.add_note(Notice(error.reason, error.remedy, tone="error"))
            return
        notice = Notice(error.reason, error.remedy, tone="error")
        if isinstance(error, ThreadInUse):
            notice.add_action("Go on in a copy", "git-branch", lambda: self._copy(thread_id))
        self.conversation.add_note(notice)
        if self._waiting:
            self._threads.make()

    def _copy(self, thread_id: str) -> None:
        self._threads.branch(thread_id, len, "")

    def _branch(self, view: RunView) -> None:
        """Go on in a new thread from before a question; the question is there to be changed."""
        thread = self.thread
        if thread is None or thread.folder is None:
            self._told(Notice("This conversation is kept in memory only and cannot be branched."))
            return
        run_id, text = view.run_id, view.question

        def find(runs: list[PastRun]) -> int:
            if view.past is not None:
                return view.place
            ids = [run.run_id for run in runs]
            return ids.index(run_id) if run_id in ids else len(runs)

        self._threads.branch(thread.thread_id, find, text)

    def _list_threads(self) -> None:
        self._background.submit(self._store.threads, self._show_threads, self._list_failed)

    def _show_threads(self, threads: tuple[ThreadInfo, ...]) -> None:
        self.header.show_threads(threads, self.thread.thread_id if self.thread else "")

    def _list_failed(self, _error: SightlineError) -> None:
        self.header.show_threads((), "")

    def _export(self) -> None:
        if self.thread is not None:
            self.exporter.export(self.thread)

    def _told(self, notice: Notice) -> None:
        self.conversation.follow()
        self.conversation.add_note(notice)

    def _result(self, number: int) -> ToolCard | None:
        """The card of a cited result, among the questions that are shown."""
        cards = (card for run in self.conversation.runs for card in run.cards.values())
        return next((card for card in cards if card.evidence == number), None)

    def _show_result(self, number: int) -> None:
        card = self._result(number)
        if card is None:  # of a question further up than what is shown
            self._earlier.more()
            return
        self._links.select_of(card.findings)
        self.conversation.reveal(card)
        card.point_out()
