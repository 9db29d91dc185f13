"""The main window: menus, toolbar, panels, canvas, chat and status bar."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QByteArray,
    QPoint,
    QRect,
    QSettings,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QCloseEvent,
    QCursor,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QFileDialog,
    QMainWindow,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from app import paths
from app.audit.log import AuditLog
from app.errors import SightlineError
from app.imaging.decode import Decoder
from app.imaging.findings import Finding
from app.imaging.layers import NOT_LABELS
from app.imaging.openable import PATTERNS
from app.records.record_library import RecordLibrary
from app.user_files import read_regular, set_aside
from app.views import deidentify_dialog, dicom_export_dialog, help_dialogs, wording
from app.views.application import freeze_startup_objects, show_theme
from app.views.background import Background, create_qt_types
from app.views.browser.attributes import AttributesPanel
from app.views.browser.findings_list import FindingsList
from app.views.browser.layers_panel import LayersPanel
from app.views.browser.problem_list import problems_text
from app.views.browser.study_list import StudyList
from app.views.canvas.canvas import Canvas
from app.views.canvas.drawing_tool import ENDING, HINTS
from app.views.canvas.plane_switch import PlaneSwitch
from app.views.command_palette import CommandPalette, commands_of
from app.views.diagnosis.diagnosis_panel import DiagnosisPanel
from app.views.documents.document_pages import DocumentStack
from app.views.documents.report_marks import take_marks
from app.views.file_opening import FileDrops, FileOpening
from app.views.icons import icon
from app.views.key_image_signs import KeyImageSigns
from app.views.layer_loading import LayerLoading
from app.views.layouts import column
from app.views.loader import Loader
from app.views.mark_keeping import MarkKeeping, MarkReading, SavedMarksDialog
from app.views.menu_bar import MainActions
from app.views.notices import Action, Notices, Placeholder
from app.views.pictures.export_dialog import PictureCommands
from app.views.preset_dialog import PresetDialog
from app.views.record.record_opening import RecordOpening
from app.views.record.record_panel import RecordPanel
from app.views.record.source_dialog import RecordServer, RecordSourceDialog
from app.views.report.report_files import ReportFiles
from app.views.report.report_panel import ReportPanel
from app.views.results.exporting import ResultCommands
from app.views.shortcuts import ShortcutsDialog
from app.views.theme import SPACE, THEME, restyle
from app.views.translation import LanguageSetting, tr, tr_n, tr_report
from app.views.viewports.linking import ViewportLinks
from app.views.viewports.study_hanging import StudyHanging
from app.views.viewports.viewport_area import SecondWindow, ViewportArea
from app.views.viewports.viewport_frame import ViewportFrame, ViewportServices
from app.views.widgets import EmptyState, confirm, label, plain_tip
from app.views.window_docks import WindowDocks
from app.workspace import drawing
from app.workspace.display_settings import DisplaySettings
from app.workspace.mark_store import MarkStore
from app.workspace.recent import RecentOpenings, Session
from app.workspace.report import OpenReport, ReportStore
from app.workspace.studies import StudyUids, key_of
from app.workspace.window_presets import WindowPresets
from app.workspace.workspace import Workspace

if TYPE_CHECKING:
    from app.agent.events import RunEvent
    from app.views.chat.dock import ChatDock

TITLE = "Sightline"  # without the patient's name: titles are seen in task lists and recordings
_PAINT_MS = 50  # after which a window that is shown has been painted
_SLICE_S = 0.01  # of work on the GUI thread before other events get their turn
_RECENT_SHOWN = 3  # on the start page; the menu has more


class MainWindow(QMainWindow):
    """The program's main window, which shows a workspace.

    Args:
        decoder: Reads images in worker processes; the window does not close it.
        layout_file: File that stores the window layout. None for the default: a file in the user's
            settings folder, or no file if Qt draws into memory.
        marks_file: Database that keeps what is marked and found; None to keep nothing.
        record_library: Reads patients' records; None for a window that opens none.
        finish: Makes the rest of the program, and calls `set_chat`, once the window is shown or
            needs the chat; None if there is no rest.
    """

    closing = Signal()
    shown = Signal()  # once, when the window has been painted
    theme_chosen = Signal(str)  # "system", "dark" or "light", to be kept in the settings

    def __init__(
        self,
        workspace: Workspace,
        decoder: Decoder,
        chat: QWidget | None = None,
        *,
        open_demo: Callable[[], object] | None = None,
        open_settings: Callable[[], object] | None = None,
        open_audit: Callable[[], object] | None = None,
        open_models: Callable[[], object] | None = None,
        language: LanguageSetting | None = None,
        layout_file: Path | None = None,
        marks_file: Path | None = None,
        record_library: RecordLibrary | None = None,
        finish: Callable[[], object] | None = None,
    ) -> None:
        super().__init__()
        self.workspace = workspace
        self.decoder = decoder
        offscreen = QGuiApplication.platformName() == "offscreen"
        own = None if offscreen else paths.config_dir() / "window.ini"
        self._layout_file = layout_file or own
        self.open_demo = open_demo
        self.open_settings = open_settings
        self.open_audit = open_audit
        self.open_models = open_models
        self.language = language
        self.record_server: RecordServer | None = None  # how a FHIR server is asked
        self.audit_log: AuditLog | None = None  # where exports are recorded
        self._closed = self._may_quit = self._had_record = self._was_shown = False
        self._opened_paths: list[Path] = []
        self._restored: Session | None = None  # whose files are being opened
        self.second: SecondWindow | None = None
        self._second_geometry = QByteArray()
        self.background = Background(parent=self)
        self.loader = Loader(
            workspace.viewport, decoder, self.background, workspace.studies.place_of
        )
        self.setWindowTitle(TITLE)
        self.setDockNestingEnabled(True)
        self.setMinimumSize(820, 420)
        self.resize(1440, 900)
        if not offscreen:
            # Room for the frame, which is not known yet.
            room = self.screen().availableGeometry().adjusted(10, 40, -10, -10)
            frame = QRect(QPoint(), self.size().boundedTo(room.size()))
            frame.moveCenter(room.center())
            self.setGeometry(frame)
        in_memory = offscreen and layout_file is None
        self.recent = RecentOpenings(None if in_memory else paths.config_dir() / "recent.json")
        presets = None if in_memory else paths.config_dir() / "presets.json"
        workspace.window_presets = WindowPresets(presets)
        self.shortcuts_file = None if in_memory else paths.config_dir() / "shortcuts.json"
        self.display_settings = DisplaySettings(
            None if in_memory else paths.config_dir() / "display.json"
        )
        self._make_center(decoder)
        self._finish = finish
        self._chat = chat
        self._assistant: ChatDock | None = None
        self.study_list = StudyList(workspace, self.loader, self.close_studies, self.close_all)
        self.findings_list = FindingsList(workspace)
        self.attributes = AttributesPanel(workspace, self.loader)
        self.layers_panel = LayersPanel(workspace, lambda: self.layer_loading)
        self.record_panel = RecordPanel(workspace.record, self.background)
        self.diagnosis_panel = DiagnosisPanel(
            workspace.diagnosis, workspace.record, self.background
        )
        self.report = OpenReport(workspace, ReportStore(paths.data_dir() / "reports"))
        self.report_panel = ReportPanel(self.report, workspace, self.background, decoder)
        self.viewports.first_of = self.study_list.first_of
        self.arrangement = self._make_docks()
        self.docks = self.arrangement.by_name
        self.study_list.series_clicked.connect(lambda: self.documents.focus_page())
        self.study_list.over_images.connect(lambda item: self.layer_loading.open_object(item))
        self.layers_panel.needed_changed.connect(self.arrangement.show_layers)
        self.opening = FileOpening(workspace, self.loader, self.notices)
        self.record_opening: RecordOpening | None = None
        if record_library is not None:
            self.record_opening = RecordOpening(
                workspace, record_library, self.background, self.notices
            )
            self.record_opening.files_opened.connect(self._keep_recent)
        self.opening.over_images.connect(lambda item: self.layer_loading.open_object(item))
        self.hanging = StudyHanging(
            workspace,
            self.background,
            self.notices,
            None if in_memory else paths.config_dir() / "hanging",
            lambda: self.opening.untouched,
        )
        self.opening.studies_opened.connect(self._keep_recent)
        self.opening.opened.connect(lambda _result: self._place_opened())
        self._make_status()
        if chat is not None:
            from app.views.chat.dock import ChatDock

            if isinstance(chat, ChatDock):
                self.set_chat(chat)
        self.marks: MarkKeeping | None = None
        if marks_file is not None:
            self.marks = MarkKeeping(workspace, MarkStore(marks_file), self.notices, self)
        self.key_image_signs = KeyImageSigns(workspace, self.loader, self)
        MarkReading(workspace.scales, decoder, self.background, self)
        self.pictures = PictureCommands(self, decoder)
        self.results = ResultCommands(self)
        self.report_files = ReportFiles(self)
        self.report_panel.export_wanted.connect(self.report_files.export)
        self.viewports.panes.export_wanted.connect(self.results.export)
        self.actions_ = MainActions(self)
        self.hanging.undo_key = partial(self.actions_.shortcuts_.key_of, "undo")
        self.findings_list.shown.connect(self._show_finding)
        self.findings_list.removed.connect(self._offer_undo)
        workspace.annotations.found_again.connect(self._tell_found_again)
        workspace.studies.changed.connect(self._update_status)
        workspace.closed.connect(self.loader.forget)
        self._update_status()
        FileDrops(self, self._center, self.open_paths, self.lay_dropped)
        self._tell_set_aside()
        workspace.layout.changed.connect(self._follow_second)
        if self._layout_file is not None:
            restore_layout(self, self._layout_file, self._tell_broken)
            self.arrangement.restore(self._layout_file)
            self._second_geometry = saved_bytes(self._layout_file, "second")

    def _tell_broken(self, problem: str) -> None:
        title = tr("A file of your settings could not be used")
        self.notices.show_notice("warning", title, tr_report(problem))

    def _tell_set_aside(self) -> None:
        """Tell which of the user's files could not be used."""
        problems = (
            self.recent.problem,
            self.actions_.shortcuts_.problem,
            self.workspace.window_presets.problem,
            self.display_settings.problem,
        )
        if text := " ".join(tr_report(problem) for problem in problems if problem):
            self._tell_broken(text)

    # Parts

    def _make_center(self, decoder: Decoder) -> None:
        buttons: list[Action] = [
            (tr("Open files…"), self.choose_files),
            (tr("Open folder…"), self.choose_folder),
        ]
        if self.open_demo is not None:
            buttons.append((tr("Open the demo"), self.open_demo))
        self.viewports = ViewportArea(
            ViewportServices(
                self.workspace,
                decoder,
                self.loader,
                self.background,
                lambda: self.docks["Attributes"].show(),
                lambda error: self.notices.show_error(error),
                Background(1, self),
                tuple(buttons),
                self._start_offers(),
                self.display_settings,
            )
        )
        self.links = ViewportLinks(self.viewports, self.workspace)
        # The area would take notices that are placed over it for viewports.
        center = self._center = QWidget()
        column(self.viewports, parent=center)
        self.setCentralWidget(center)
        self.notices = Notices(center)

    def _start_offers(self) -> tuple[Action, ...]:
        """Return what the start page offers to open again."""
        offers: list[Action] = []
        if self.recent.session is not None:
            offers.append((tr("The last session"), self.open_session))
        recent = self.recent.all()[:_RECENT_SHOWN]
        return (
            *offers,
            *((wording.opening_text(one), partial(self.open_paths, one)) for one in recent),
        )

    @property
    def canvas(self) -> Canvas:
        return self.viewports.active.canvas

    @property
    def planes(self) -> PlaneSwitch:
        return self.viewports.active.planes

    @property
    def documents(self) -> DocumentStack:
        return self.viewports.active.documents

    @property
    def layer_loading(self) -> LayerLoading:
        return self.viewports.active.layer_loading

    @property
    def placeholder(self) -> Placeholder:
        return self.viewports.active.placeholder

    def _take_frame(self, frame: ViewportFrame) -> None:
        """Show the progress and failures of a viewport's plane switch in the window."""
        frame.canvas.leave_keys_to_menus()
        frame.documents.marks_wanted.connect(self.take_report_marks)
        self.statusBar().addWidget(frame.planes.progress)
        frame.planes.failed.connect(
            lambda title, reason: self.notices.show_notice("warning", title, reason)
        )

    def _make_docks(self) -> WindowDocks:
        panels: dict[str, QWidget] = {
            "Studies": self.study_list,
            "Attributes": self.attributes,
            "Findings": self.findings_list,
            "Layers": self.layers_panel,
            "Record": self.record_panel,
            "Diagnosis": self.diagnosis_panel,
            "Report": self.report_panel,
        }
        if self._chat is not None:
            panels["Assistant"] = self._chat
        elif self._finish is not None:
            panels["Assistant"] = starting = EmptyState("message-square", tr("Starting…"), "")
            starting.setProperty("surface", "panel")
            starting.setMinimumWidth(300)  # as the chat has
        made = WindowDocks(self, self.viewports, panels)
        for shown in (made.titles["Findings"], made.rail.buttons["Findings"]):
            self.findings_list.count_changed.connect(shown.set_count)
        layers = made.rail.buttons["Layers"]
        self.workspace.layers_changed.connect(
            lambda: layers.set_count(len(self.workspace.layers.entries))
        )
        self.workspace.record.changed.connect(self._follow_record)
        self.workspace.record.entry_wanted.connect(lambda _entry: self._show_record())
        self.record_panel.study_wanted.connect(self._show_study)
        self.workspace.diagnosis.filled.connect(made.show_diagnosis)
        self.diagnosis_panel.entry_wanted.connect(self.workspace.record.entry_wanted.emit)
        self.diagnosis_panel.finding_wanted.connect(self._select_finding)
        self.report_panel.finding_wanted.connect(self._select_finding)
        return made

    @property
    def chat(self) -> QWidget | None:
        """Return the widget in the assistant's dock, once the rest of the program is made."""
        self.finish()
        return self._chat

    @property
    def assistant(self) -> ChatDock | None:
        """The chat, if the window has one; made first if it is not yet."""
        self.finish()
        return self._assistant

    def finish(self) -> None:
        """Make the rest of the program now, unless that is done."""
        finish, self._finish = self._finish, None
        if finish is None:
            return
        create_qt_types()  # threads begin that may use them
        try:
            finish()
        except BaseException:
            self._finish = finish
            raise
        if self._was_shown:
            QTimer.singleShot(0, self, freeze_startup_objects)  # a turn of its own: 0.1 s

    def set_chat(self, chat: ChatDock) -> None:
        """Put the chat in its dock, and connect it."""
        self._chat = self._assistant = chat
        if (before := self.docks["Assistant"].widget()) is not chat:
            self.docks["Assistant"].setWidget(chat)
            before.deleteLater()
        chat.attention_wanted.connect(self.arrangement.mark_assistant)
        chat.elsewhere.connect(self._tell_elsewhere)
        self.record_panel.mention_wanted.connect(self._show_mention)
        self.model_host.show()
        chat.attachments.is_opening = lambda: (
            self.opening.busy or (self.record_opening is not None and self.record_opening.busy)
        )
        chat.attachments.is_open = self._is_open
        chat.file_wanted.connect(self._attach_files)
        chat.image_closed.connect(self._tell_closed_image)
        chat.region_wanted.connect(self._take_box)

    def _take_box(self) -> None:
        """Take the box tool in hand, with which a region is drawn for the chat."""
        box = self.actions_.mark_box
        if not box.isChecked():  # triggered once more it would be put away
            box.trigger()

    def _attach_files(self) -> None:
        """Ask for files, open them as always, and name them in the next question."""
        names, _ = QFileDialog.getOpenFileNames(self, tr("Attach files"), "", _file_filter())
        paths = [Path(name) for name in names]
        if paths and self.assistant is not None:
            self.open_paths(paths)
            self.assistant.attachments.add_files(paths)

    def _is_open(self, path: Path) -> bool:
        """Return whether a file is open; of an archive, whether anything in it is."""
        records = self.record_opening.open_files if self.record_opening is not None else ()
        files = (*self.workspace.opened_files(), *map(Path, records))
        return any(path == file or path in file.parents for file in files)

    def _follow_record(self) -> None:
        """Show the record panel when a record is opened, and hide it when the last is closed."""
        is_open = self.workspace.record.is_open
        if is_open != self._had_record:
            self._had_record = is_open
            self.arrangement.show_record(is_open)

    def _select_finding(self, finding_id: str) -> None:
        self.workspace.annotations.select(finding_id)
        self._show_finding(finding_id)

    def _show_record(self) -> None:
        dock = self.docks["Record"]
        dock.show()
        dock.raise_()

    def _tell_elsewhere(self, what: str, sop_instance_uid: str, show: Callable[[], object]) -> None:
        """Tell that a run about a study that is not shown has ended, or asks something."""
        image = self.workspace.instance_of(sop_instance_uid)
        study = self.workspace.studies.study_of(image) if image is not None else None
        title = {
            "asks": tr("The assistant asks something"),
            "run_failed": tr("The assistant could not finish"),
        }.get(what, tr("The assistant has finished"))
        about = tr("The question was about the study “{study}”.")
        self.notices.show_notice(
            "done" if what == "run_finished" else "warning",
            title,
            about.format(study=wording.one_line(study.title)) if study is not None else "",
            (tr("Show"), partial(self._show_asked_about, sop_instance_uid, show)),
        )

    def _show_asked_about(self, sop_instance_uid: str, show: Callable[[], object]) -> None:
        """Show the image that a question was about, and by `show` its answer."""
        image = self.workspace.instance_of(sop_instance_uid)
        if image is not None:
            self.workspace.viewport.show(image)
        self.docks["Assistant"].show()
        self.docks["Assistant"].raise_()
        show()

    def _show_study(self, study_uid: str) -> None:
        """Show the first image of an open study that an entry of the record names."""
        for study in self.workspace.studies.all:
            first = next((one for series in study.series for one in series.instances), None)
            if study.uid == study_uid and first is not None:
                self.workspace.viewport.show(first)
                return
        self.notices.show_notice(
            "info",
            tr("The study is not open"),
            tr("Open its files, and the record shows it from its imaging entry."),
        )

    def _tell_closed_image(self) -> None:
        self.notices.show_notice(
            "info",
            tr("The image of this finding is closed"),
            tr("Open its files again, and the link shows it."),
        )

    def _show_mention(self, entry_id: str) -> None:
        """Show the latest answer that cites an entry of the record."""
        if self.assistant is not None:
            if self.assistant.show_citation(entry_id):
                self.docks["Assistant"].show()
            else:
                self.notices.show_notice("info", tr("No answer of this conversation mentions it"))

    def _make_status(self) -> None:
        bar = self.statusBar()
        bar.setSizeGripEnabled(False)
        self._status = label("", "caption")
        self._status.setContentsMargins(SPACE.s, 0, 0, 0)
        bar.addWidget(self._status)
        self.tool_hint = label("", "caption")
        bar.addWidget(self.tool_hint)
        self.viewports.tool_changed.connect(self._show_hint)
        bar.addWidget(self.opening.progress)
        if self.record_opening is not None:
            bar.addWidget(self.record_opening.progress)
        for frame in self.viewports.frames:
            self._take_frame(frame)
        self.viewports.frame_made.connect(self._take_frame)
        self.model_host = ModelHostButton()
        bar.addPermanentWidget(self.model_host)
        self.model_host.setHidden(self._finish is not None)  # until it is known
        note = label(tr("Not for diagnosis"), "caption")
        note.setContentsMargins(0, 0, SPACE.s, 0)
        bar.addPermanentWidget(note)

    def _show_hint(self, tool: str) -> None:
        """Tell in the status line what to do with the tool in hand."""
        hint = tr(HINTS[tool]) if tool in HINTS else ""
        several = drawing.POINTS.get(tool, 1) != 1
        self.tool_hint.setText(wording.DOT.join((hint, tr(ENDING))) if hint and several else hint)

    # Commands

    @property
    def busy(self) -> bool:
        parts = (self.opening, self.viewports, self.record_opening)
        busy = any(part is not None and part.busy for part in parts)
        return busy or self._finish is not None or self.background.pending > 0

    def open_paths(self, files: Sequence[Path]) -> None:
        """Start to open files and folders, images and records; problems are shown in the window."""
        self._restored = None
        paths = [Path(file) for file in files]
        # An archive may hold either.
        kinds = (ends for kind, ends in PATTERNS.items() if kind != "Archives")
        images = tuple(chain.from_iterable(kinds))
        known = all(any(path.match(one) for one in images) for path in paths)
        if known or self.record_opening is None:
            self.opening.open_paths(paths)
        else:
            self.record_opening.split(paths, self.opening.open_paths)

    def open_record(self) -> None:
        if self.record_opening is not None:
            RecordSourceDialog(self.record_opening, self.record_server, self).open()

    def close_record(self) -> None:
        if self.record_opening is not None:
            self.record_opening.close_records()

    def open_session(self) -> None:
        """Open what was open when the program was closed last, in the same layout."""
        session = self.recent.session
        if session is None:
            self.notices.show_notice("info", tr("No session is kept on this computer"))
            return
        if session.paths:
            self.opening.open_paths(session.paths)
            self._restored = session
        if session.records and self.record_opening is not None:
            self.record_opening.open_paths(session.records)

    def _place_opened(self) -> None:
        """Show what was opened as it was in the session, or as a hanging protocol says."""
        session, self._restored = self._restored, None
        if session is None or not self.workspace.restore(session):
            self.hanging.study_opened()

    def _session(self) -> Session:
        files = self.workspace.opened_files()  # there may be 100,000, in few folders
        folders = {file.parent for file in files}
        there = {*files, *folders, *(above for folder in folders for above in folder.parents)}
        paths = tuple(path for path in dict.fromkeys(self._opened_paths) if path in there)
        screen = self.workspace.layout.main
        slots = tuple((one.x, one.y, one.width, one.height) for one in screen.slots)
        shown = (one.acquired for one in screen.viewports)
        uids = tuple(one.sop_instance_uid if one else "" for one in shown)
        records = self.record_opening.open_files if self.record_opening is not None else ()
        return Session(paths, slots, uids, tuple(records))

    def _keep_recent(self, files: Sequence[Path]) -> None:
        self._opened_paths += [file.absolute() for file in files]
        self.background.submit(partial(self.recent.add, files), lambda _none: None)

    def choose_files(self) -> None:
        names, _ = QFileDialog.getOpenFileNames(self, tr("Open files"), "", _file_filter())
        self.open_paths([Path(name) for name in names])

    def choose_labels(self) -> None:
        """Ask for a label volume (NRRD, NIfTI or MetaImage) and lay it over the shown image."""
        name, _ = QFileDialog.getOpenFileName(
            self, tr("Overlay labels on the image"), "", _volume_filter()
        )
        if name:
            self.layer_loading.lay_file(Path(name))

    def lay_dropped(
        self, files: Sequence[Path], place: QPoint | None = None, window: QWidget | None = None
    ) -> None:
        """Lay a label volume over the image on which it was dropped; open any other files.

        `place` is where on the screen they were dropped (px), None for on the active viewport;
        `window` the window on which, by default this one.
        """
        names = [file.name.lower() for file in files]
        endings = tuple(pattern.removeprefix("*") for pattern in PATTERNS["Volumes"])
        active = self.viewports.active
        frame = self.viewports.frame_at(place, window or self) if place is not None else active
        if len(names) != 1 or not names[0].endswith(endings) or frame.canvas.picture is None:
            self.open_paths(files)
            return

        def failed(error: SightlineError) -> None:
            self.open_paths(files)
            if NOT_LABELS not in error.reason:
                self.notices.show_error(error)

        frame.layer_loading.lay_file(files[0], failed)

    def choose_folder(self) -> None:
        name = QFileDialog.getExistingDirectory(self, tr("Open a folder of images"))
        if name:
            self.open_paths([Path(name)])

    def show_shortcuts(self) -> None:
        help_dialogs.shortcuts(self, self.actions_.shortcuts_.key_of).open()

    def edit_presets(self) -> None:
        shown = self.workspace.acquired
        modality = shown.get("Modality").strip().upper() if shown is not None else ""
        if modality:
            window = self.canvas.shown_window
            PresetDialog(self.workspace.window_presets, modality, window, self).open()

    def edit_shortcuts(self) -> None:
        shortcuts = self.actions_.shortcuts_
        names = {action: name for name, action in shortcuts.actions.items()}
        titles = {names[one]: text for text, one in commands_of(self) if one in names}
        ShortcutsDialog(shortcuts, titles, self).open()

    def find_command(self) -> None:
        CommandPalette(self).open()

    def choose_language(self, code: str) -> None:
        if self.language is None:
            return

        def saved(done: bool) -> None:
            if done:
                text = tr("It is used from the next start of Sightline on.")
                self.notices.show_notice("info", tr("Language chosen"), text)
            else:
                self.notices.show_notice("warning", tr("The settings could not be saved"))

        self.background.submit(partial(self.language.choose, code), saved)

    def toggle_full_screen(self) -> None:
        second = self.second is not None and self.second.isActiveWindow()
        window = self.second if second and self.second is not None else self
        window.setWindowState(window.windowState() ^ Qt.WindowState.WindowFullScreen)

    def _follow_second(self) -> None:
        """Open or close the second window, as the layout has one or not."""
        screen = self.workspace.layout.second
        if screen is not None and self.second is None:
            actions = [
                action
                for _name, action in commands_of(self)
                if isinstance(action.parent(), MainWindow)
            ]
            area = self.viewports.add_area(screen)
            second = SecondWindow(self, area, actions, self._second_geometry)
            FileDrops(
                second,
                area,
                self.open_paths,
                lambda files, place: self.lay_dropped(files, place, second),
            )
            second.close_wanted.connect(self.workspace.layout.close_second)
            self.second = second
            # Opened again at the start, it must not take the keys from the main window.
            used = self.workspace.viewport in screen.viewports
            second.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating, not used)
            second.show()
            if not used:
                self.activateWindow()
        elif screen is None and self.second is not None:
            self._end_second()

    def _end_second(self) -> None:
        second, self.second = self.second, None
        if second is not None:
            self._second_geometry = second.saveGeometry()
            self.viewports.remove_area(second.area)
            second.hide()
            second.deleteLater()

    def toggle_panels(self) -> None:
        self.arrangement.toggle_all()

    def choose_theme(self, scheme: str) -> None:
        show_theme(scheme)
        self.theme_chosen.emit(scheme)

    def show_about(self) -> None:
        help_dialogs.about(self).open()

    @property
    def has_assistant(self) -> bool:
        """Whether the window has a chat with the assistant."""
        return self._finish is not None or self._assistant is not None

    def show_claims(self) -> None:
        """Open a menu of the sentences in the chat that cite the selected finding."""
        selected = self.workspace.annotations.selected
        if self.assistant is not None and selected:
            from app.views.chat.region_claims import claims_menu

            self.docks["Assistant"].show()
            menu = claims_menu(self.assistant, selected, self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.popup(QCursor.pos())

    def segment_marked(self) -> None:
        if self.workspace.marked and self.assistant is not None:
            self.docks["Assistant"].show()
            self.assistant.submit(self.assistant.texts.marked_question)

    def export_dicom(self) -> None:
        dicom_export_dialog.open_dialog(self)

    def take_report_marks(self) -> None:
        take_marks(self)

    def export_deidentified(self) -> None:
        deidentify_dialog.open_dialog(self)

    def close_study(self) -> None:
        """Close the shown study, or the last one if none is shown."""
        studies, shown = self.workspace.studies, self.workspace.acquired
        study = studies.study_of(shown) if shown else None
        if study is None and studies.all:
            study = studies.all[-1]
        if study is not None:
            self.close_studies(key_of(study))

    def close_studies(self, *keys: str) -> None:
        studies = [study for study in self.workspace.studies.all if key_of(study) in keys]
        uids = [StudyUids(study) for study in studies]
        measured = [
            finding
            for finding in self._measured()
            if any(finding.image.sop_instance_uid in one for one in uids)
        ]
        if not measured:
            self.workspace.close_study(*keys)
            return
        confirm(
            self,
            tr("Close"),
            tr_n(
                "Close %n study with {measurements}?",
                "Close %n studies with {measurements}?",
                len(studies),
            ).format(measurements=_measurements(measured)),
            tr(
                "Measurements are not saved. They reappear only if you reopen the images before "
                "you quit Sightline."
            ),
            tr("Close"),
            lambda: self.workspace.close_study(*keys),
        )

    def show_saved_marks(self) -> None:
        if self.marks is not None:
            SavedMarksDialog(self.marks, self.workspace, self).open()

    def _measured(self) -> list[Finding]:
        if self.marks is not None and not self.marks.failing:
            return []
        findings = (item.finding for item in self.workspace.annotations.all())
        return [finding for finding in findings if drawing.holds_measurement(finding)]

    def close_all(self) -> None:
        self.opening.cancel()
        self.close_studies(*(key_of(study) for study in self.workspace.studies.all))

    def _show_finding(self, finding_id: str) -> None:
        annotation = self.workspace.annotations.get(finding_id)
        if annotation is None:
            point = self.workspace.layers.place_of_label(finding_id)
            if point is not None:
                self.planes.look_at(point)
            return
        shown = self.canvas.frame
        if shown is None or not shown.shows(annotation.finding.image):
            self.workspace.show_image(annotation.finding.image)
        self.workspace.annotations.region_wanted.emit(finding_id)

    def _tell_found_again(self, decided: Sequence[Finding]) -> None:
        """Say that a tool has found what the user had accepted or rejected before."""
        names = ", ".join(
            f"{wording.label_text(one)} ({wording.state_name(one.state)})" for one in decided[:5]
        )
        more = f" +{len(decided) - 5}" if len(decided) > 5 else ""
        self.notices.show_notice(
            "info",
            tr("A tool found again what you had decided on"),
            tr(
                "{names}. Your decisions stand. A result that differs is proposed beside them, one "
                "that is the same is not listed again."
            ).format(names=names + more),
        )

    def _offer_undo(self, count: int) -> None:
        text = tr_n("%n finding removed", "%n findings removed", count)
        self.notices.show_notice("info", text, action=(tr("Undo"), self.workspace.commands.undo))

    def _update_status(self) -> None:
        studies = self.workspace.studies
        count = len(studies.all)
        parts = [tr_n("%n study open", "%n studies open", count) if count else tr("No study open")]
        if studies.problems:
            parts.append(problems_text(studies.problems))
        self._status.setText("  ·  ".join(parts))

    # Qt events

    def showEvent(self, event: QShowEvent) -> None:
        self.arrangement.follow_width()
        super().showEvent(event)
        if not event.spontaneous():  # as it is when a minimised window comes back
            new = self._layout_file is None or not self._layout_file.exists()
            QTimer.singleShot(0, self, lambda: self.arrangement.start(default=new))
            if self._layout_file is not None and saved_bytes(self._layout_file, "second-open"):
                open_second = self.workspace.layout.open_second
                QTimer.singleShot(0, self, lambda: open_second(activate=False))
            self.canvas.setFocus()
        if not self._was_shown:
            self._was_shown = True
            QTimer.singleShot(_PAINT_MS, self, self._after_painting)
        if self._finish is None:
            freeze_startup_objects()

    def _after_painting(self) -> None:
        """Do what threads need that are used from now on, then tell that the window is shown."""
        if create_qt_types(_SLICE_S):
            self.shown.emit()
        else:
            QTimer.singleShot(0, self, self._after_painting)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.isVisible():
            self.arrangement.follow_width()
        self.arrangement.widen()

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002 (Qt's name)
        """Move the focus to the next or previous widget, or from a hidden widget to the image.

        Qt would choose the next button, which may close a panel, and Space would press it. On the
        image, Tab hides the panels or shows them again.
        """
        focus = self.focusWidget()
        if next and isinstance(focus, Canvas) and focus.isVisible():
            self.toggle_panels()
            return True
        if focus is not None and not focus.isVisible() and self.documents.isVisible():
            self.documents.focus_page()
            return True
        return super().focusNextPrevChild(next)

    def quit(self) -> None:
        """Close the window without asking the user to confirm."""
        self._may_quit = True
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self.marks is not None and not (self._closed or self._may_quit):
            self.marks.flush()
        if not (self._closed or self._may_quit) and (measured := self._measured()):
            event.ignore()
            text = tr("Quit and discard {measurements}?").format(
                measurements=_measurements(measured)
            )
            confirm(
                self, tr("Quit"), text, tr("Measurements are not saved."), tr("Quit"), self.quit
            )
            return
        if not self._closed:
            if self._layout_file is not None:
                save_layout(self, self._layout_file, self._second_values())
                self.arrangement.save(self._layout_file)
            if self.recent.kept:
                self.recent.keep_session(self._session())
            self.shut_down()
        super().closeEvent(event)

    def _second_values(self) -> dict[str, QByteArray]:
        """Return what to save of the second window: where it was, and whether it is open."""
        second = self.second
        geometry = second.saveGeometry() if second is not None else self._second_geometry
        return {"second": geometry, "second-open": QByteArray(b"yes" if second else b"")}

    def shut_down(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._finish = None
        self.closing.emit()
        if self.marks is not None:
            self.marks.close()
        self.workspace.close()
        self._end_second()
        self.opening.cancel()
        if self.record_opening is not None:
            self.record_opening.cancel()
        self.loader.close()
        lists = (self.study_list, self.findings_list, self.attributes, self.record_panel)
        for part in (self.viewports, *lists, self.diagnosis_panel, self.report_panel):
            part.close_models()
        if self._assistant is not None:
            self._assistant.close_models()
        self.background.close()


def _file_filter() -> str:
    every = " ".join(chain.from_iterable(PATTERNS.values()))
    kinds = [f"{tr(name)} ({' '.join(patterns)})" for name, patterns in PATTERNS.items()]
    return ";;".join([f"{tr('All supported files')} ({every})", *kinds, tr("All files (*)")])


def _volume_filter() -> str:
    return f"{tr('Label volumes')} ({' '.join(PATTERNS['Volumes'])});;{tr('All files (*)')}"


def _measurements(findings: Sequence[Finding]) -> str:
    return tr_n(
        "%n measurement made or corrected by hand",
        "%n measurements made or corrected by hand",
        len(findings),
    )


LEAST_SENDING_MS = 900  # shortest time that sending is shown, so that it is seen
_HOST_WIDTH = 300  # px for the name of a host
_NO_ANSWER = ("notice", "plan_updated")  # events that do not mean that the host has answered


class ModelHostButton(QPushButton):
    """A status button that shows "Local" or the host that questions are sent to.

    A click opens the privacy settings. While a request is being sent, the button names the host it
    goes to, even if the user has selected another model in the meantime.
    """

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("whereMark")
        self.setIconSize(QSize(13, 13))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._model = ""
        self._host = ""
        self._sending = ""  # the host that a request is on its way to
        self._answered = False
        self._least = QTimer(self, singleShot=True, interval=LEAST_SENDING_MS)
        self._least.timeout.connect(self._settle)
        self._show()

    def set_model(self, name: str, remote_host: str) -> None:
        """Set the model that answers the next question, and its host ("" for this machine)."""
        self._model, self._host = name, remote_host
        self._show()

    def follow(self, event: RunEvent) -> None:
        """Update the button when an event reports that data was sent or the host has answered."""
        if event.kind == "data_sent":
            self._sending, self._answered = event.host, False
            self._least.start()
            self._show()
        elif self._sending and event.kind not in _NO_ANSWER:
            self._answered = True
            if not self._least.isActive():
                self._settle()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Treat Enter as a click, in the same way as Space."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def _settle(self) -> None:
        if self._answered:
            self._sending = ""
            self._show()

    def _show(self) -> None:
        host = self._sending or self._host
        state = "sending" if self._sending else "remote" if host else "local"
        says = {
            "local": tr("Local"),
            "remote": host,
            "sending": tr("Sending to {host}…").format(host=host),
        }[state]
        model = self._model.rpartition(" at ")[0] or self._model  # which names its host as well
        tells = {
            "local": tr(
                "The language model runs on this computer: nothing leaves it. A tool that "
                "would send data asks you first."
            ),
            "remote": tr(
                "Questions go to {model} at {host}. You are asked in each conversation "
                "before anything is sent."
            ).format(model=model, host=host),
            "sending": tr("A request is on its way to {host}, as you allowed.").format(host=host),
        }[state]
        elide = Qt.TextElideMode.ElideMiddle
        shown = QFontMetrics(self.font()).elidedText(says, elide, _HOST_WIDTH)
        self.setText(f" {shown}".replace("&", "&&"))  # Qt sets the icon too close to the text
        tint = {"local": THEME.ok, "remote": THEME.warning, "sending": THEME.accent_text}[state]
        self.setIcon(icon("cpu" if state == "local" else "cloud", tint))
        click = tr("Click to see what is sent and what is never sent.")
        self.setToolTip(plain_tip(f"{tells}\n{click}"))
        self.setAccessibleName(tr("Where the language model runs: {says}").format(says=says))
        self.setAccessibleDescription(f"{tells} {tr('Opens the privacy settings.')}")
        if self.property("state") != state:
            self.setProperty("state", state)
            restyle(self)


_STATE_MARK = b"\0\0\0\xff"  # what a saved state begins with
_LARGEST_LAYOUT = 2**20  # bytes of its file
LAYOUT_VERSION = 4  # raised when docks are added, renamed or moved: older layouts are then ignored


def save_layout(
    window: QMainWindow, path: Path, others: Mapping[str, QByteArray] = MappingProxyType({})
) -> None:
    """Write a window's geometry, docks and `others`, if possible, to an INI file."""
    if path.exists() and not path.is_file():
        return  # Qt would wait for ever for a pipe
    settings = QSettings(str(path), QSettings.Format.IniFormat)
    settings.setValue("window/geometry", window.saveGeometry().toBase64().toStdString())
    settings.setValue("window/state", window.saveState(LAYOUT_VERSION).toBase64().toStdString())
    for name, value in others.items():
        settings.setValue(f"window/{name}", value.toBase64().toStdString())
    settings.sync()


def restore_layout(
    window: QMainWindow, path: Path, tell: Callable[[str], object] = lambda _problem: None
) -> bool:
    """Restore a saved layout, False if unusable; a damaged file is set aside and told."""
    try:
        read_regular(path, _LARGEST_LAYOUT).decode("utf-8")
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        tell(set_aside(path, "The layout of the window"))
        return False
    geometry, state = (saved_bytes(path, name) for name in ("geometry", "state"))
    if window.restoreGeometry(geometry) and window.restoreState(state, LAYOUT_VERSION):
        return True
    mark, version = state.data()[:4], state.data()[4:8]  # as Qt writes them
    if mark != _STATE_MARK or version == LAYOUT_VERSION.to_bytes(4, "big"):
        tell(set_aside(path, "The layout of the window"))
    return False


def saved_bytes(path: Path, name: str) -> QByteArray:
    """Return a value that `save_layout` wrote; empty if it is missing or damaged."""
    if not path.is_file():
        return QByteArray()
    settings = QSettings(str(path), QSettings.Format.IniFormat)
    return QByteArray.fromBase64(str(settings.value(f"window/{name}", "")).encode())
