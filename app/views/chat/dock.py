"""The chat dock: puts the parts of the assistant together and connects them to the agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from PySide6.QtCore import QCoreApplication, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QFontMetrics, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QInputDialog,
    QLayout,
    QLineEdit,
    QMenu,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QWidget,
    QWidgetAction,
)

from app.agent.events import ApprovalRequested, RunEvent
from app.agent.sessions import PastRun, SessionStore, Thread, ThreadInfo, ThreadInUse
from app.agent.sessions.export import conversation_text
from app.audit.exports import record_deletion
from app.errors import SightlineError
from app.imaging.findings import Provenance
from app.imaging.space import projections
from app.views import wording
from app.views.agent_thread import AgentThread, Question
from app.views.background import Background
from app.views.chat.attachments import Attachments
from app.views.chat.composer import Composer, PendingList
from app.views.chat.conversation import Conversation, Invitation
from app.views.chat.crops import FindingCrops
from app.views.chat.finding_links import FindingLinks
from app.views.chat.markdown import plain_text
from app.views.chat.message import Notice, copy_text
from app.views.chat.run_view import RunView
from app.views.chat.run_wording import model_title, total_usage
from app.views.chat.threads import EarlierRuns, OpenedThread, ThreadExporter, Threads
from app.views.chat.tool_card import ChatServices, ToolCard, call_text
from app.views.chat.versions import VersionsAndPins
from app.views.icons import icon
from app.views.layouts import column, row
from app.views.plain_text import menu_text, one_line
from app.views.text_view import ENTRY_SCHEME, LINK_SCHEME, RESULT_SCHEME
from app.views.theme import SPACE, THEME, part_sheet
from app.views.translation import tr, tr_n, tr_report, translatable
from app.views.widgets import confirm, plain_tip, tool_button
from app.views.wording import PackTexts
from app.workspace import drawing
from app.workspace.workspace import Workspace

_LISTED = 20  # threads in the menu
_TITLE_CHARS = 46
_HIT_CHARS = 64
_PAUSE_MS = 150  # of typing, before it is searched for
_DELETED = translatable(
    "Its questions, answers, results and pictures, also those of its earlier versions, are removed "
    "from this computer, the log of what was done is not. Files that you exported stay where you "
    "saved them."
)


class ChatDock(QWidget):
    """The chat with the assistant, docked in the main window."""

    run_ended = Signal(str, str)  # run id, kind of its last event; once its end is shown
    attention_wanted = Signal()  # a question to the user, or an answer
    elsewhere = Signal(str, str, object)
    """A run about a study not shown: "asks" or its last event, its image's UID, what shows it."""
    model_settings_wanted = Signal()
    limits_wanted = Signal()
    models_wanted = Signal(str)  # name of the model to choose there
    file_wanted = Signal()  # to be opened, then given to `attachments`
    region_wanted = Signal()  # a box is to be drawn
    image_closed = Signal()  # that of a finding that a link leads to

    def __init__(
        self,
        agent: AgentThread,
        workspace: Workspace,
        store: SessionStore,
        *,
        model: str = "offline",  # LanguageModel.name
        remote_host: str = "",  # "" for this machine
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
        self._waiting: list[str] = []  # questions asked before their thread was made
        self._live: RunView | None = None
        self._about = ""  # SOP Instance UID of the image that the run is about
        self._background = Background(1, self)  # files and thumbnails, one at a time
        self._threads = Threads(store, self._background, self)
        self._store = store
        self._links = FindingLinks(workspace, self.image_closed.emit)
        self._services = ChatServices(
            self._links,
            self._background,
            self.texts,
            open_artifact=lambda artifact, tool: workspace.open_artifact(tool, artifact),
            open_models=self.models_wanted.emit,
            open_limits=self.limits_wanted.emit,
            answer=agent.resolve,
            edit_plan=agent.edit_plan,
            ask_again=self.submit,
            branch=self._branch,
            edit=self._edit,
            step=lambda view, step: self._marks.step(view, step),
            pin=lambda view, pinned: self._marks.pin(view.run_id, pinned),
            dress=lambda view: self._marks.dress(view),
            crops=FindingCrops(workspace, self._background, self._links.select).row,
            result=self._result,
            follow=self._follow_link,
            point_at=self._point_at,
        )
        self._build()
        self.exporter = ThreadExporter(self, self._background, self._show_notice)
        self._earlier = EarlierRuns(
            self.conversation, self._services, lambda: self.thread, self._show_notice
        )
        self._marks = VersionsAndPins(
            self.conversation, self._background, store, lambda: self.thread, self.open_thread
        )
        self._marks.pinned = self.header.set_pinned
        self.set_model(model, remote_host)
        self._connect()
        self._show_state()
        self._show_image()
        application = QCoreApplication.instance()
        if application is not None:  # so that a thread left running cannot hang the exit
            application.aboutToQuit.connect(self.close_models)

    def submit(self, text: str) -> None:
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
        self.composer.edit.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def is_idle(self) -> bool:
        """Return whether nothing is running, queued, being read from files or still to be shown."""
        busy = self._threads.busy or self._waiting or self._earlier.busy
        return not busy and not self._background.pending and self._agent.is_idle()

    @property
    def thread(self) -> Thread | None:
        return self._threads.current

    def set_model(self, name: str, remote_host: str = "") -> None:
        self.header.set_model(name, remote_host)

    def new_thread(self) -> None:
        """Stop the current run and show an empty conversation; the old one stays in the history."""
        self._leave()
        self._threads.leave()
        self._show_state()
        self.focus_composer()

    def open_thread(self, thread_id: str, run_id: str = "") -> None:
        """Show a conversation, and scroll to one of its runs unless `run_id` is ""."""
        if self.thread is not None and self.thread.thread_id == thread_id:
            run = next((one for one in self.conversation.runs if one.run_id == run_id), None)
            if run is not None or not run_id:
                if run is not None:
                    self.conversation.hold(run)
                return
        self._leave()
        self._threads.open(thread_id, run_id)

    def show_citation(self, entry_id: str) -> bool:
        """Scroll to the latest answer that cites an entry of the record; False if none does."""
        for run in reversed(self.conversation.runs):
            for answer in reversed(run.answers):
                if f"[{entry_id}]" in answer.text:
                    self.conversation.reveal(answer)
                    return True
        return False

    def close_models(self) -> None:
        """Stop all work and disconnect from the workspace; call before the window is destroyed."""
        self._links.close()
        for disconnect in self._disconnect:
            disconnect()
        self._disconnect.clear()
        self._earlier.clear()
        self._agent.close()
        self._background.close()
        if self.thread is not None:
            self.thread.close()  # the runner has ended, so nothing more is written

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Stop the run at once on Esc, or after its current tool on Shift+Esc."""
        if event.key() == Qt.Key.Key_Escape and self._agent.busy:
            gently = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._agent.stop(after_tool=gently)
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Focus the next field below (`forward`) or above; after the last, leave the dock."""
        field = _next_field(self, forward=forward)
        if field is None and self.isWindow():  # Qt would begin at the dock's proxy, the question
            field = self.header.badge if forward else self.composer.edit
        if field is None:
            return super().focusNextPrevChild(forward)
        reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
        field.setFocus(reason)
        if self.conversation.isAncestorOf(field):
            self.conversation.ensureWidgetVisible(field)
        return True

    def _build(self) -> None:
        self.setStyleSheet(part_sheet("chat"))
        self.header = Header()
        self.empty = Invitation(self.texts.suggestions)
        self.conversation = Conversation(self.empty)
        self.pending = PendingList()
        self.attachments = Attachments(self._workspace)
        self.composer = Composer(self.attachments)
        self.setFocusProxy(self.composer.edit)
        foot = QWidget()
        foot.setObjectName("chatFooter")
        foot.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        margins = (SPACE.m, SPACE.xs, SPACE.m, SPACE.s)
        column(self.pending, self.composer, spacing=6, margins=margins, parent=foot)
        column(self.header, (self.conversation, 1), foot, spacing=0, parent=self)

    def _connect(self) -> None:
        self.header.new_wanted.connect(self.new_thread)
        self.header.history_wanted.connect(self._list_threads)
        self.header.thread_chosen.connect(self.open_thread)
        self.header.model_wanted.connect(self.model_settings_wanted)
        self.header.export_wanted.connect(self._export)
        self.header.copy_wanted.connect(self._copy)
        self.header.pin_wanted.connect(lambda pinned: self._marks.pin("", pinned))
        self.header.usage_wanted.connect(self._show_usage)
        self.header.rename_wanted.connect(self._rename)
        self.header.delete_wanted.connect(self._delete)
        self.empty.chosen.connect(self.submit)
        self.composer.submitted.connect(self.submit)
        self.composer.file_wanted.connect(self.file_wanted)
        self.composer.region_wanted.connect(self._want_region)
        self.attachments.marked.connect(self.focus_composer)
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
            self.attachments.disconnect_workspace,
            self._workspace.image_changed.connect(self._show_image),
            self._workspace.record.changed.connect(self._show_image),
        ]

    # -- runs

    def _on_asked(self, question: Question) -> None:
        self._live, self._about = None, question.about
        if question.thread is not self.thread:
            return  # it was queued before the user opened another thread
        self._live = RunView(question.text, self._services)
        self.conversation.add(self._live)

    def _on_event(self, event: RunEvent) -> None:
        if self._live is not None and self._live.running:
            self._live.handle(event)
        if isinstance(event, ApprovalRequested):
            self.attention_wanted.emit()
            self._tell_elsewhere("asks")

    def _is_elsewhere(self) -> bool:
        """Return whether the run is about a study that no viewport shows."""
        workspace = self._workspace
        about = workspace.study_key_at(self._about) if self._about else ""
        images = [one.acquired for one in workspace.layout.visible]
        here = {workspace.study_key_at(one.sop_instance_uid) for one in images if one is not None}
        return bool(about) and about not in here

    def _tell_elsewhere(self, what: str) -> None:
        if self._live is not None and self.thread is not None and self._is_elsewhere():
            show = partial(self._show_run, self.thread.thread_id, self._live.run_id)
            self.elsewhere.emit(what, self._about, show)

    def _show_run(self, thread_id: str, run_id: str) -> None:
        """Scroll to a run's answer, or to what it asks; open its conversation if it is another."""
        run = next((one for one in self.conversation.runs if one.run_id == run_id), None)
        if run is None:
            self.open_thread(thread_id, run_id)
            return
        asked = [card for card in run.approvals.values() if not card.answered]
        self.conversation.reveal(asked[-1] if asked else run.open_answer or run)

    def _on_run_ended(self, run_id: str, kind: str) -> None:
        unsaved = self.thread.take_notice() if self.thread is not None else ""
        if unsaved:
            self.conversation.add_note(Notice(unsaved, tone="warning"))
        self.run_ended.emit(run_id, kind)
        self.attention_wanted.emit()
        if kind != "run_cancelled":  # the user knows
            self._tell_elsewhere(kind)

    def _show_state(self) -> None:
        self.composer.set_busy(self._agent.busy, self._agent.stopping)
        mine = [item for item in self._agent.pending if item.thread is self.thread]
        self.pending.show_questions(mine, elsewhere=self._agent.busy and self._is_elsewhere())
        self.header.set_has_thread(self.thread is not None)
        if self._agent.stopping and self._live is not None:
            self._live.stopping(self._agent.stopping)

    def _leave(self) -> None:
        self._agent.clear_pending()
        self._agent.stop()
        self._live = None
        self._waiting.clear()
        self._earlier.clear()
        self.conversation.clear()

    def _want_region(self) -> None:
        self.attachments.ask_for_region()
        self.region_wanted.emit()

    def _show_image(self) -> None:
        instance = self._workspace.acquired  # the image that a question is about
        self.pending.tell(elsewhere=self._agent.busy and self._is_elsewhere())
        self.composer.set_can_mark(instance is not None)
        record = self._workspace.record.is_open
        self.empty.set_image(instance, record=record)
        if instance is None:
            about = tr("A record is open, no image") if record else tr("No image open")
            self.composer.set_about(about, tr("Ask a question…"))
            return
        parts = (
            instance.get("Modality"),
            instance.get("BodyPartExamined").title(),
            projections.projection_name(instance),
            instance.path.name,
        )
        about = " · ".join(text for text in map(wording.one_line, parts) if text)
        self.composer.set_about(about, tr("Ask about this image…"))

    # -- threads

    def _on_opened(self, opened: OpenedThread) -> None:
        thread = opened.thread
        if opened.branched:
            self._leave()
        self._marks.refresh(thread)
        self._earlier.show(opened.runs, thread, opened.run_id)
        self.conversation.keep_all = thread.folder is None
        if thread.problems:
            lost = tr_n(
                "%n damaged entry of this conversation could not be read.",
                "%n damaged entries of this conversation could not be read.",
                len(thread.problems),
            )
            self.conversation.add_note(Notice(lost, tone="warning"))
        if opened.draft and not self._waiting:
            self.composer.set_text(opened.draft)
        waiting, self._waiting = [*filter(None, [opened.ask]), *self._waiting], []
        for text in waiting:
            self._agent.ask(text, thread)
        if opened.runs or opened.draft:
            self.focus_composer()
        self._show_state()

    def _on_not_opened(self, error: SightlineError, thread_id: str) -> None:
        if not thread_id:
            # The question is answered nevertheless; only its thread cannot be saved.
            self._threads.current = Thread.in_memory()
            self._on_opened(OpenedThread(self._threads.current))
            self.conversation.add_note(
                Notice(tr_report(error.reason), tr_report(error.remedy), tone="error")
            )
            return
        notice = Notice(tr_report(error.reason), tr_report(error.remedy), tone="error")
        if isinstance(error, ThreadInUse):
            # A copy is a branch that leaves out no run.
            notice.add_action(
                tr("Continue in a copy"),
                "git-branch",
                lambda: self._threads.branch(thread_id, len, ""),
            )
        self.conversation.add_note(notice)
        if self._waiting:
            self._threads.make()

    def _branch(self, view: RunView) -> None:
        self._branch_before(view, draft=view.question)

    def _edit(self, view: RunView, text: str) -> None:
        """Ask `text` in place of a run's question, in a newer version of the conversation."""
        self._branch_before(view, ask=text)

    def _branch_before(self, view: RunView, draft: str = "", ask: str = "") -> None:
        thread = self.thread
        if thread is None or thread.folder is None:
            text = tr("This conversation is kept in memory only and cannot be branched.")
            self._show_notice(Notice(text))
            return

        def find(runs: list[PastRun]) -> int:
            if view.past is not None:
                return view.place
            ids = [run.run_id for run in runs]
            return ids.index(view.run_id) if view.run_id in ids else len(runs)

        if ask:
            self.composer.remember(ask)
        self._threads.branch(thread.thread_id, find, draft, ask)

    def _list_threads(self, words: str) -> None:
        def show(threads: tuple[ThreadInfo, ...]) -> None:
            if words == self.header.finder.text():  # else more was typed meanwhile
                self.header.show_threads(threads, self.thread.thread_id if self.thread else "")

        self._background.submit(lambda: self._store.threads(words), show, lambda _error: show(()))

    def _export(self) -> None:
        if self.thread is not None:
            self.exporter.export(self.thread)

    def _copy(self, plain: bool) -> None:
        thread = self.thread
        if thread is not None:
            form = plain_text if plain else str

            def work() -> str:
                return form(conversation_text(thread.content))

            self._background.submit(work, copy_text, lambda _error: None)

    def _show_usage(self) -> None:
        thread = self.thread
        if thread is not None:
            self._background.submit(thread.runs, self.header.set_usage, lambda _error: None)

    def _rename(self) -> None:
        thread = self.thread
        if thread is not None and thread.folder is not None:
            dialog = QInputDialog(self)
            dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            dialog.setWindowTitle(tr("Rename the conversation"))
            dialog.setLabelText(tr("Name, or nothing for its first question:"))
            dialog.textValueSelected.connect(
                lambda name: self._manage(lambda: self._store.rename(thread.thread_id, name))
            )
            dialog.open()

    def _delete(self) -> None:
        thread = self.thread
        if thread is None or thread.folder is None or self._agent.busy:
            text = tr("This conversation is still being answered, or is kept in memory only.")
            self._show_notice(Notice(text, tr("Stop the answer first.")))
            return
        thread_id, audit = thread.thread_id, self.exporter.audit

        def work() -> None:
            with record_deletion(audit, *self._store.version_ids(thread_id)):
                self._store.delete(thread_id)

        def agreed() -> None:
            if self.thread is thread and not self._agent.busy:
                self.new_thread()
                self._manage(work)

        title, text = (
            tr("Delete the conversation"),
            tr("This conversation will be deleted for good."),
        )
        confirm(self, title, text, tr(_DELETED), tr("Delete"), agreed)

    def _manage(self, work: Callable[[], None]) -> None:
        """Change what is kept of conversations, in the background; say so if it fails."""

        def failed(error: SightlineError) -> None:
            self._show_notice(
                Notice(tr_report(error.reason), tr_report(error.remedy), tone="error")
            )

        self._background.submit(work, lambda _none: None, failed)

    def _show_notice(self, notice: Notice) -> None:
        self.conversation.follow()
        self.conversation.add_note(notice)

    def _result(self, number: int) -> ToolCard | None:
        """Return the card of a cited result among the runs that are shown."""
        cards = (card for run in self.conversation.runs for card in run.cards.values())
        return next((card for card in cards if card.evidence == number), None)

    def _follow_link(self, target: str) -> None:
        """Show what a link of an answer leads to: a finding, a record's entry, or a tool's card."""
        scheme, _, key = target.partition(":")
        number, _, place = key.partition(".")
        if f"{scheme}:" == LINK_SCHEME:
            self._links.show(key)
        elif f"{scheme}:" == ENTRY_SCHEME:
            self._links.show_entry(key)
        elif (card := self._result(int(number))) is None:
            # It belongs to an earlier run that is not shown.
            self._earlier.show_until(
                lambda: self._result(int(number)) is not None, lambda: self._follow_link(target)
            )
        elif not place:
            self._links.show_next(card.findings)
            self.show_card(card)
        else:
            item = card.item(int(place))
            own = [one for one in card.findings if item is not None and one.id in item.findings]
            if self._links.show_next(own):
                return
            if item is not None and item.entry:
                self._links.show_entry(item.entry)
            else:
                self.show_card(card)

    def show_card(self, card: ToolCard, *, details: bool = False) -> None:
        """Scroll to the card of a tool call, and make it stand out for a moment."""
        if details:
            card.open_details()
        self.conversation.reveal(card)
        card.point_out()

    def card_of(self, finding_id: str) -> ToolCard | None:
        """Return the card of the tool call that made a finding, among the runs that are shown."""
        cards = [card for run in self.conversation.runs for card in run.cards.values()]
        is_same = self._links.is_same
        made = (c for c in cards if any(is_same(one.id, finding_id) for one in c.findings))
        return next(made, None)

    def maker_of(self, finding_id: str) -> Provenance | None:
        """Return the origin of a finding; None for what the user drew, and for no finding."""
        item = self._workspace.annotations.get(finding_id)
        by_tool = item is not None and not drawing.by_hand(item.finding)
        return item.finding.provenance if item is not None and by_tool else None

    def show_maker(self, made: Provenance) -> None:
        """Show tool, model, weights and arguments of a call whose conversation is not shown."""

        def show(found: tuple[str, dict[str, Any]] | None) -> None:
            text = call_text(made.tool, found[1] if found else None, [made])
            if found is None:
                lost = tr("Its conversation isn't kept, so its arguments are not known.")
                self._show_notice(Notice(text, lost))
                return
            notice = Notice(text, tr("It was called in a conversation that isn't open."))
            go = partial(self.open_thread, found[0], made.run_id)
            notice.add_action(tr("Open its conversation"), "history", go)
            self._show_notice(notice)

        def work() -> tuple[str, dict[str, Any]] | None:
            return self._store.find_call(made.run_id, made.call_id)

        self._background.submit(work, show, lambda _error: show(None))

    def leads_to(self, target: str, finding_id: str) -> bool:
        """Return whether a link of an answer leads to a finding, alone or with others."""
        return any(self._links.is_same(key, finding_id) for key in self._findings_at(target))

    def _point_at(self, target: str) -> None:
        """Highlight what the link under the pointer leads to; nothing if `target` is ""."""
        self._links.point_at(self._findings_at(target))

    def _findings_at(self, target: str) -> list[str]:
        scheme, _, key = target.partition(":")
        if f"{scheme}:" == LINK_SCHEME:
            return [key]
        if f"{scheme}:" != RESULT_SCHEME:
            return []
        number, _, place = key.partition(".")
        card = self._result(int(number))
        if card is None:
            return []
        item = card.item(int(place)) if place else None
        if item is not None:
            return list(item.findings)
        return [finding.id for finding in card.findings]


class Header(QWidget):
    """The top row of the dock: model badge, and buttons for threads and actions."""

    new_wanted = Signal()
    history_wanted = Signal(str)  # words to find; answered by `show_threads`
    thread_chosen = Signal(str, str)  # thread id, id of the run to scroll to or ""
    model_wanted = Signal()
    usage_wanted = Signal()  # answered by `set_usage`
    copy_wanted = Signal(bool)  # as plain text instead of as Markdown
    pin_wanted = Signal(bool)
    export_wanted = Signal()
    rename_wanted = Signal()
    delete_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("chatHeader")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._model = ""
        self.badge = QPushButton()
        self.badge.setObjectName("chatBadge")
        self.badge.setIconSize(QSize(13, 13))
        self.badge.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.badge.setMinimumWidth(56)
        self.badge.setCursor(Qt.CursorShape.PointingHandCursor)
        self.badge.clicked.connect(lambda _checked=False: self.model_wanted.emit())
        self.new = tool_button("message-square-plus", tr("New thread"), self.new_wanted.emit)
        self.history = tool_button("history", tr("Earlier conversations"), self._open_history)
        self.more = tool_button(
            "ellipsis", tr("What can be done with this conversation"), self._open_more
        )
        parts = (self.badge, 1, self.new, self.history, self.more)
        row(*parts, spacing=SPACE.xs, margins=(SPACE.m, 7, SPACE.s, 7), parent=self)
        self.menu = QMenu(self)
        self.menu.setToolTipsVisible(True)
        self.finder = QLineEdit()
        self.finder.setPlaceholderText(tr("Find in conversations"))
        self.finder.setAccessibleName(tr("Find in conversations"))
        # Every search reads all conversations: one is made once the typing pauses.
        self._typed = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._typed.timeout.connect(lambda: self.history_wanted.emit(self.finder.text()))
        self.finder.textEdited.connect(lambda _words: self._typed.start())
        field = QWidgetAction(self.menu)
        field.setDefaultWidget(self.finder)
        self.menu.addAction(field)
        self.more_menu = QMenu(self)
        add = self.more_menu.addAction
        self.usage = add("")
        self.usage.setEnabled(False)
        self.usage.setVisible(False)
        self.copy_plain = add(
            icon("copy"), tr("Copy as plain text"), lambda: self.copy_wanted.emit(True)
        )
        self.copy_marked = add(
            icon("copy"), tr("Copy as Markdown"), lambda: self.copy_wanted.emit(False)
        )
        self.pin = add(icon("pin"), tr("Pin the conversation"))
        self.pin.setCheckable(True)
        self.pin.triggered.connect(self.pin_wanted)
        self.export = add(icon("download"), tr("Export…"), self.export_wanted.emit)
        self.rename = add(icon("pen-line"), tr("Rename…"), self.rename_wanted.emit)
        self.delete = add(icon("trash-2"), tr("Delete…"), self.delete_wanted.emit)

    def set_model(self, name: str, remote_host: str) -> None:
        self._model = one_line(model_title(name), 80)
        if remote_host:
            text = tr(
                "{model}\nA language model at {remote_host}. Before anything is sent "
                "there, you are asked. Click to change."
            ).format(model=self._model, remote_host=one_line(remote_host, 80))
        elif name == "offline":
            text = tr(
                "Offline planner: fixed rules choose the tools and put their results into words. "
                "It is not a language model. Nothing leaves this computer. Click to change."
            )
        else:
            text = tr("{model}\nRuns on this computer; nothing leaves it. Click to change.").format(
                model=self._model
            )
        self.badge.setIcon(icon("cloud" if remote_host else "cpu", THEME.text_muted))
        self.badge.setToolTip(plain_tip(text))
        self.badge.setAccessibleName(tr("Language model: {model}").format(model=self._model))
        self.badge.setAccessibleDescription(text)
        self._fit_badge()

    def show_threads(self, threads: Sequence[ThreadInfo], current: str) -> None:
        for action in self.menu.actions()[1:]:  # behind the field in which words are typed
            self.menu.removeAction(action)
        for info in threads[:_LISTED]:
            action = self._add_thread(info, info.title, "", _time_text(info.updated))
            action.setCheckable(True)
            action.setChecked(info.thread_id == current)
            if info.pinned:
                action.setIcon(icon("pin", THEME.accent))
            if info.hit:
                self._add_thread(info, info.hit, info.hit_run)
            for run_id, question in info.answers if not self.finder.text() else ():
                pinned = self._add_thread(info, question, run_id)
                pinned.setIcon(icon("pin"))
        if not threads:
            none = (
                tr("None with these words")
                if self.finder.text()
                else tr("No earlier conversations yet")
            )
            self.menu.addAction(none).setEnabled(False)
        if not self.menu.isVisible():
            _popup(self.menu, self.history)
            self.finder.setFocus()

    def _add_thread(self, info: ThreadInfo, text: str, run_id: str, when: str = "") -> QAction:
        """Add a line that opens a thread; one that leads to a run stands below the title."""
        words = menu_text(one_line(text, _TITLE_CHARS if not run_id else _HIT_CHARS))
        indent = "" if when else "      "
        action = self.menu.addAction(f"{indent}{words}" + (f"\t{when}" if when else ""))
        action.setToolTip(plain_tip(text))
        action.triggered.connect(lambda: self.thread_chosen.emit(info.thread_id, run_id))
        return action

    def set_usage(self, runs: Sequence[PastRun]) -> None:
        self.usage.setText(menu_text(total_usage(runs)))
        self.usage.setVisible(True)

    def set_pinned(self, pinned: bool) -> None:
        self.pin.setChecked(pinned)

    def set_has_thread(self, has: bool) -> None:
        self.more.setEnabled(has)
        self.export.setEnabled(has)

    def _open_history(self) -> None:
        self.finder.clear()
        self.history_wanted.emit("")

    def _open_more(self) -> None:
        self.usage_wanted.emit()
        _popup(self.more_menu, self.more)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_badge()

    def _fit_badge(self) -> None:
        """In a narrow dock, elide the middle of the model's name."""
        room = max(40, self.width() - 192)
        metrics = QFontMetrics(self.badge.font())
        text = metrics.elidedText(self._model, Qt.TextElideMode.ElideMiddle, room)
        self.badge.setText(" " + text.replace("&", "&&"))


def _popup(menu: QMenu, button: QWidget) -> None:
    """Open a menu below a button, with their right edges aligned."""
    below = button.mapToGlobal(button.rect().bottomRight())
    below.setX(below.x() - menu.sizeHint().width())
    menu.popup(below)


def _time_text(stamp: str) -> str:
    """Return a time for a list: "14:03" today, else the date."""
    try:
        then = datetime.fromisoformat(stamp).astimezone()
    except ValueError:
        return ""
    today = datetime.now(UTC).astimezone().date()
    return f"{then:%H:%M}" if then.date() == today else f"{then:%Y-%m-%d}"


def _tab_order(part: QWidget | QLayout | None) -> Iterator[QWidget]:
    """Yield a part's widgets for Tab top down; Qt's order, of creation, has run cards last."""
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    if isinstance(part, QLayout):
        # Not by `itemAt`; see `Notices.all`.
        placed: list[tuple[int, QWidget | QLayout]] = [
            (part.indexOf(one), one) for one in part.findChildren(QLayout, options=direct)
        ]
        if (owner := part.parentWidget()) is not None:
            widgets = owner.findChildren(QWidget, options=direct)
            placed += [(part.indexOf(one), one) for one in widgets]
        for place, inside in sorted(placed, key=lambda one: one[0]):
            if place >= 0:
                yield from _tab_order(inside)
    elif part is not None and part.isVisible() and part.isEnabled():
        if part.focusPolicy() & Qt.FocusPolicy.TabFocus and part.focusProxy() is None:
            yield part
        yield from _tab_order(part.layout())
        if isinstance(part, QScrollArea) and part.layout() is None:
            yield from _tab_order(part.widget())
            for button in part.findChildren(QPushButton, options=direct):
                yield from _tab_order(button)


def _next_field(box: QWidget, *, forward: bool) -> QWidget | None:
    """Return the field after the focused one, or before it; None at the end of `box`."""
    fields = list(_tab_order(box))
    focused = box.window().focusWidget()
    if focused not in fields:
        return None
    at = fields.index(focused) + (1 if forward else -1)
    return fields[at] if 0 <= at < len(fields) else None
