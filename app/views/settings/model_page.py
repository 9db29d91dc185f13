"""The settings page of the language model: its provider, address and key, and a test of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from PySide6.QtCore import QTimer, Signal, SignalInstance
from PySide6.QtWidgets import QCheckBox, QFileDialog, QLineEdit, QVBoxLayout, QWidget

from app.agent.llm.endpoint import is_loopback, place_of
from app.agent.llm.probe import Probe, Report
from app.agent.llm.providers import ModelChoice, check, endpoint_url
from app.errors import CancelToken, SightlineError, UsageError
from app.paths import shipped_table
from app.secrets import Secrets, key_name
from app.settings import AZURE_API_VERSION, Kind, ModelSettings, ProviderSettings, ToolForm, bounds
from app.views.background import DaemonTasks
from app.views.layouts import column, row
from app.views.settings.fields import (
    KEYRING_DELAY_MS,
    Amount,
    Choice,
    Form,
    KeyField,
    NameField,
    PriceField,
    SettingsPage,
    tab_fields,
)
from app.views.text_view import TextView
from app.views.theme import SPACE, restyle
from app.views.translation import tr, tr_n, translatable
from app.views.widgets import label, push_button
from app.views.wording import error_text

PROVIDERS: tuple[tuple[Kind, str], ...] = (
    ("offline", translatable("Offline planner")),
    ("local", translatable("Model on this computer")),
    ("openai", translatable("OpenAI-compatible endpoint")),
    ("azure", "Azure OpenAI"),
    ("anthropic", "Anthropic"),
)

ABOUT: dict[Kind, str] = shipped_table("language_models", "providers")

TOOL_FORMS = (
    ("auto", translatable("Automatic")),
    ("native", translatable("The endpoint's own tool calls")),
    ("json_schema", translatable("JSON schema")),
    ("text", translatable("JSON in the text")),
)


def host_of(kind: Kind, fields: ProviderSettings) -> str:
    """Return the host in a provider's address; "" if there is none."""
    try:
        return urlsplit(endpoint_url(kind, fields)).hostname or ""
    except ValueError:
        return ""


def where_it_runs(kind: Kind, fields: ProviderSettings) -> str:
    """Return sentences that say where the model runs and what is sent there."""
    if kind == "offline":
        return tr("Nothing leaves this computer.")
    if kind == "local":
        return tr("The model runs on this computer; nothing leaves it.")
    host = host_of(kind, fields)
    if not host:
        return tr("Enter an address to see where questions would be sent.")
    if is_loopback(host):
        return tr("The endpoint is on this computer; nothing leaves it.")
    pixels = (
        tr("Pictures are sent only after you are asked again.")
        if fields.images
        else tr("No pixels are sent.")
    )
    url = endpoint_url(kind, fields)
    text = (
        tr(
            "Questions and tool results, without identifying attributes, will be sent to {place}. "
            "You are asked once in each conversation before anything is sent."
        ).format(place=_place(url) or host)
        + f" {pixels}"
    )
    if url.startswith("http://"):
        text += " " + tr("http:// is not encrypted: use https:// if you can.")
    return text


def _place(url: str) -> str:
    """Return the host as the privacy mark shows it, with its port; "" for no address."""
    try:
        return place_of(url)
    except (UsageError, ValueError):
        return ""


_URL_EXAMPLES: dict[str, str] = {
    "openai": "http://127.0.0.1:11434/v1",
    "azure": "https://RESOURCE.openai.azure.com",
    "anthropic": "https://api.anthropic.com",
}


class ModelPage(SettingsPage):
    """The page on which the language model is chosen, described and tested.

    Attributes:
        edited: Emitted when a field changes; the result of `problem` may have changed too.
        provider_shown: Emitted when another provider's fields are shown.
    """

    edited = Signal()
    provider_shown = Signal()

    def __init__(
        self, settings: ModelSettings, keys: Secrets, probe: Probe, tasks: DaemonTasks
    ) -> None:
        super().__init__()
        self._settings = settings
        self._keys = keys
        self._probe = probe
        self._tasks = tasks
        self._question: CancelToken | None = None  # the test or list that is running
        self.forms: dict[str, ProviderForm] = {}
        self._build()
        self.provider.choose(settings.kind)
        self._facts = QTimer(self, singleShot=True, interval=KEYRING_DELAY_MS)
        self._facts.timeout.connect(self._read_file_facts)
        # No QTimer.singleShot: a pending one would keep the page alive for good.
        self._scroll_timer = QTimer(self, singleShot=True, interval=0)
        self._scroll_timer.timeout.connect(lambda: self.ensureWidgetVisible(self.outcome))
        self.provider.currentIndexChanged.connect(lambda _index: self._show_provider())
        self._show_provider()

    @property
    def kind(self) -> Kind:
        return next(kind for kind, _title in PROVIDERS if kind == self.provider.value)

    @property
    def form(self) -> ProviderForm | None:
        return self.forms.get(self.kind)

    def tab_fields(self) -> list[QWidget]:
        """Return the fields in the order in which the Tab key reaches them, as on the screen."""
        form = self.form
        upper, lower = (tab_fields(form), tab_fields(form.more)) if form else ([], [])
        tested = (self.privacy, self.test_button, self.steps, self.outcome)
        return [self.provider, *upper, *tested, *lower]

    def entered_model(self) -> ModelChoice:
        """Return the entered model, including the typed key if there is one."""
        form = self.form
        fields = form.fields() if form is not None else self._settings.of(self.kind)
        typed = form.key.typed if form is not None and form.key is not None else ""
        return ModelChoice(self.kind, fields, typed)

    def settings(self) -> ModelSettings:
        """Return the entered settings of all providers."""
        result = self._settings
        for kind, _title in PROVIDERS:
            if kind in self.forms:
                result = result.with_provider(kind, self.forms[kind].fields())
        return result.with_provider(self.kind)

    def typed_key(self) -> tuple[str, str]:
        """Return (name, value) of the key typed for the chosen provider, or ("", "")."""
        wanted = self.entered_model()
        return (_key_name(wanted), wanted.key) if wanted.key else ("", "")

    def problem(self) -> str:
        """Return why the entered model cannot be used; "" if it can."""
        wanted, form = self.entered_model(), self.form
        if form is None:
            return ""
        if form.missing():
            return form.missing()
        try:
            check(wanted.kind, wanted.fields)
        except SightlineError as error:
            return error_text(error)[:1].upper() + error_text(error)[1:]
        return form.problem()

    def test(self) -> None:
        if self.problem() or self.kind == "offline":
            return
        wanted = self.entered_model()
        starting = tr("Starting the model. This can take half a minute…")
        self._show_text(starting if wanted.kind == "local" else tr("Asking the endpoint…"), "")
        self._ask(
            lambda cancel: self._probe.diagnose(self._with_key(wanted), cancel), self._show_report
        )

    def list_models(self) -> None:
        """Ask the endpoint for the names of its models, and list them in the model field."""
        wanted = self.entered_model()
        self._show_text(tr("Asking the endpoint for its models…"), "")
        self._ask(
            lambda cancel: self._probe.models(self._with_key(wanted), cancel), self._offer_models
        )

    def _with_key(self, wanted: ModelChoice) -> ModelChoice:
        """Return the model with its stored key; slow, so it is called on a thread."""
        key = wanted.key or self._keys.get(_key_name(wanted), chosen=True)
        return ModelChoice(wanted.kind, wanted.fields, key)

    def _build(self) -> None:
        self.add_heading(tr("Which model answers in the assistant?"))
        form = Form()
        self.provider = Choice(tuple(PROVIDERS))
        form.add_row(tr("Provider"), self.provider)
        self.about = form.add_note("")
        self.column.addLayout(form)
        self.column.addSpacing(SPACE.xs)
        self._upper = QVBoxLayout()
        self.column.addLayout(self._upper)
        self.privacy = TextView()
        self.privacy.setAccessibleName(tr("Where the model runs"))
        self.privacy.setProperty("tone", "muted")
        self.column.addSpacing(SPACE.s)
        self.column.addWidget(self.privacy)
        self.test_button = push_button(tr("Test connection"), self.test)
        self.column.addLayout(row(self.test_button, 1))
        self.steps, self.outcome = TextView(), TextView()
        self.steps.setAccessibleName(tr("Steps of the test"))
        self.outcome.setAccessibleName(tr("Result of the test"))
        for view in (self.steps, self.outcome):
            view.hide()
            self.column.addWidget(view)
        self.column.addSpacing(SPACE.m)
        self._lower = QVBoxLayout()
        self.column.addLayout(self._lower)
        self.column.addStretch(1)

    def _make_form(self, kind: Kind) -> None:
        """Create the fields of a provider, on their first use: they take a few ms."""
        hint = tr("not needed by most local servers") if kind == "openai" else ""
        key = KeyField(self._keys, self._tasks, hint) if kind != "local" else None
        form = ProviderForm(kind, self._settings.of(kind), key, self.list_models)
        self.forms[kind] = form
        self._upper.addWidget(form)
        self._lower.addWidget(form.more)
        form.edited.connect(self._update)

    def _show_provider(self) -> None:
        if self.kind != "offline" and self.kind not in self.forms:
            self._make_form(self.kind)
        for kind, form in self.forms.items():
            form.setVisible(kind == self.kind)
            form.more.setVisible(kind == self.kind)
        self.about.setText(tr(ABOUT[self.kind]))
        self.provider.setAccessibleDescription(tr(ABOUT[self.kind]))
        self.test_button.setVisible(self.kind != "offline")
        self.test_button.setText(
            tr("Test model") if self.kind == "local" else tr("Test connection")
        )
        self._update()
        self.provider_shown.emit()

    def _update(self) -> None:
        """Adapt the page to changed fields, and drop the result of an earlier test."""
        if self._question is not None:
            self._question.cancel()
            self._question = None
        wanted, problem = self.entered_model(), self.problem()
        form = self.form
        if form is not None and form.key is not None:
            form.key.set_endpoint(_key_name(wanted), host_of(wanted.kind, wanted.fields))
            form.list_button.setEnabled(bool(_key_name(wanted)))
        if self.kind == "local":
            self._facts.start()
        self.test_button.setEnabled(not problem)
        self.privacy.set_plain(where_it_runs(wanted.kind, wanted.fields))
        self._show_text("", "")
        self.edited.emit()

    def _ask(self, work: Callable[[CancelToken], object], done: Callable[[Any], None]) -> None:
        if self._question is not None:
            self._question.cancel()
        pressed = self.test_button.hasFocus()
        if pressed:
            self.setFocus()  # else Qt gives it to some other field for good
        self.test_button.setEnabled(False)

        def finish(then: Callable[[], None]) -> None:
            self._question = None
            self.test_button.setEnabled(not self.problem())
            if pressed and self.hasFocus():
                self.test_button.setFocus()
            then()

        self._question = self._tasks.run(
            work,
            lambda result: finish(lambda: done(result)),
            lambda reason: finish(lambda: self._show_text(reason, "error")),
        )

    def _show_report(self, report: Report) -> None:
        steps = report.lines if report.ok else report.lines[:-1]
        if report.ok:
            self._show_text(tr("This model can be used."), "ok")
        else:
            self._show_text(report.lines[-1], "error")
        self.steps.set_plain("\n".join(steps))
        self.steps.setVisible(bool(steps))
        if self.form is not None and report.form != "auto":
            self.form.remember(report.form)
            self.edited.emit()

    def _offer_models(self, names: tuple[str, ...]) -> None:
        form = self.form
        if form is None:
            return
        form.model.set_suggestions(names)
        if not names:
            self._show_text(tr("The endpoint lists no models: type the name."), "error")
            return
        found = tr_n(
            "One model found: choose it in the list.",
            "%n models found: choose one in the list.",
            len(names),
        )
        self._show_text(found, "ok")
        form.model.setFocus()
        form.model.showPopup()

    def _read_file_facts(self) -> None:
        path = self.entered_model().fields.path
        self._tasks.run(
            lambda _cancel: self._probe.about_file(path),
            lambda report: self._show_file_report(path, report),
            lambda _reason: None,
        )

    def _show_file_report(self, path: str, report: Report) -> None:
        local = self.forms["local"]
        if path == local.fields().path:
            local.file_note.setText("\n".join(report.lines))
            local.file_note.setProperty("role", "caption" if report.ok else "warning")
            restyle(local.file_note)

    def _show_text(self, text: str, tone: str) -> None:
        self.steps.hide()
        self.outcome.setProperty("tone", tone or "muted")
        restyle(self.outcome)
        self.outcome.set_plain(text)
        self.outcome.setVisible(bool(text))
        if text:
            # The layout must have placed the answer before the page can scroll to it.
            self._scroll_timer.start()


def _key_name(wanted: ModelChoice) -> str:
    return key_name(wanted.kind, endpoint_url(wanted.kind, wanted.fields))


class ProviderForm(QWidget):
    """The fields of one provider other than the offline planner, which has no fields.

    Attributes:
        edited: Emitted when a field changes.
        key: The field for the provider's key; None for a model on this computer.
        more: The fields that are rarely changed, to be shown further down.
    """

    edited = Signal()

    def __init__(
        self,
        kind: Kind,
        fields: ProviderSettings,
        key: KeyField | None,
        list_models: Callable[[], object],
    ) -> None:
        super().__init__()
        self._kind = kind
        self._kept = fields
        self._readers: dict[str, Callable[[], object]] = {}
        self.key = key
        self._form = Form()
        column(self._form, parent=self)
        if kind == "local":
            self._add_file()
        else:
            self._add_endpoint(list_models)
        self.more = QWidget()
        self._form = Form()
        column(label(tr("About this model"), "section"), self._form, parent=self.more)
        self._add_about()

    def fields(self) -> ProviderSettings:
        """Return the entered settings; a price that is not a number counts as unknown."""
        entered = {name: read() for name, read in self._readers.items()}
        return self._kept.model_copy(update=entered)

    def remember(self, form: ToolForm) -> None:
        """Store, for saving, the form of tool calls (native or as text) that a test found best."""
        self._kept = self.fields().tested(form)

    def missing(self) -> str:
        """Return a sentence that says what is still to be entered; "" if nothing is."""
        if self._kind == "local":
            return "" if self.path.text().strip() else tr("Choose the model's file or folder.")
        if self._kind == "azure" and not self.url.text().strip():
            return tr("Enter the address of your resource in Azure.")
        if not self.model.text:
            if self._kind == "azure":
                return tr("Enter the name of the deployment, or list what the endpoint has.")
            return tr("Enter the name of the model, or list what the endpoint has.")
        return ""

    def problem(self) -> str:
        """Return a sentence that says what is wrong with a field's text; "" if nothing is."""
        if self._kind == "local":
            return ""
        if not (self.input_price.valid and self.output_price.valid):
            return tr("A price is a number of US dollars, e.g. 2.50; leave it empty if unknown.")
        return self.key.problem() if self.key is not None else ""

    def choose_file(self, path: str) -> None:
        if path:
            self.path.setText(path)
            self.edited.emit()

    def _bind(
        self,
        name: str,
        show: Callable[[Any], object],
        read: Callable[[], object],
        changed: SignalInstance,
    ) -> None:
        show(getattr(self._kept, name))
        self._readers[name] = read
        changed.connect(lambda *_: self.edited.emit())

    def _text_field(self, name: str, placeholder: str, longest: int = 2_000) -> QLineEdit:
        field = QLineEdit()
        field.setMaxLength(longest)
        field.setPlaceholderText(placeholder)
        self._bind(name, field.setText, lambda: field.text().strip(), field.textEdited)
        return field

    def _add_endpoint(self, list_models: Callable[[], object]) -> None:
        self.url = self._text_field("base_url", _URL_EXAMPLES.get(self._kind, ""))
        self._form.add_row(tr("Address"), self.url)
        if self._kind == "azure":
            self.api_version = self._text_field("api_version", AZURE_API_VERSION, 100)
            self._form.add_row(tr("API version"), self.api_version)
        named = tr("Deployment") if self._kind == "azure" else tr("Model")
        self.model = NameField(tr("name as the endpoint knows it"))
        self._bind("model", self.model.setEditText, lambda: self.model.text, self.model.edited)
        self.list_button = push_button(tr("List models"), list_models)
        self.list_button.setToolTip(tr("Ask the endpoint which models it has"))
        self._form.add_row(named, self.model, _side_by_side(self.model, self.list_button))
        if self.key is not None:
            self.key.edited.connect(self.edited)
            self._form.add_row(tr("Key"), self.key.edit, self.key)

    def _add_file(self) -> None:
        self.path = self._text_field("path", tr("a GGUF file, or a folder of transformers files"))
        self.file_button = push_button(tr("File…"), self._ask_file)
        self.folder_button = push_button(tr("Folder…"), self._ask_folder)
        self.file_button.setToolTip(tr("Choose a GGUF file"))
        self.folder_button.setToolTip(tr("Choose a folder of transformers files"))
        buttons = _side_by_side(self.path, self.file_button, self.folder_button)
        self._form.add_row(tr("Model file"), self.path, buttons)
        self.file_note = self._form.add_note()

    def _add_about(self) -> None:
        limits = bounds(ProviderSettings, "context_tokens")
        context = self.context = Amount(*limits, suffix=tr(" tokens"), step=1_024, decimals=0)
        changed = context.valueChanged
        self._bind("context_tokens", context.setValue, lambda: int(context.value()), changed)
        note = tr("The longest conversation that it can read at once.")
        self._form.add_row(tr("Context"), self.context, note=note)
        if self._kind != "anthropic":  # whose models have one way to call tools
            form = self.tool_form = Choice(TOOL_FORMS)
            self._bind("tool_form", form.choose, lambda: form.value, form.currentIndexChanged)
            self._form.add_row(tr("Tool calls"), form)
        if self._kind == "local":
            return
        self.images = QCheckBox(tr("Show it pictures of what the viewer shows"))
        self._bind("images", self.images.setChecked, self.images.isChecked, self.images.toggled)
        note = tr("Only for models that can look at pictures.")
        self._form.add_row(tr("Pictures"), self.images, note=note)
        self.input_price = self._price_field("input_price")
        self.output_price = self._price_field("output_price")
        self.output_price.setAccessibleName(tr("Price of answers"))
        prices = _side_by_side(
            self.input_price,
            label(tr("in, and"), "caption"),
            self.output_price,
            label(tr("out"), "caption"),
        )
        self._form.add_row(tr("Price"), self.input_price, prices)
        self.input_price.setAccessibleName(tr("Price of questions"))
        self._form.add_note(
            tr("US dollars for a million tokens; for the estimate of what a run costs.")
        )

    def _price_field(self, name: str) -> PriceField:
        field = PriceField(bounds(ProviderSettings, name)[1])
        self._bind(name, field.show_price, lambda: field.price, field.textEdited)
        return field

    def _ask_file(self) -> None:
        dialog = QFileDialog(self, tr("Choose a model file"), self.path.text())
        dialog.setNameFilters([tr("GGUF models (*.gguf)"), tr("All files (*)")])
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        self._open(dialog)

    def _ask_folder(self) -> None:
        dialog = QFileDialog(self, tr("Choose a folder of transformers files"), self.path.text())
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        self._open(dialog)

    def _open(self, dialog: QFileDialog) -> None:
        dialog.fileSelected.connect(self.choose_file)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()


def _side_by_side(*parts: QWidget) -> QWidget:
    """Return a widget with fields side by side, of which the first takes the free room."""
    box = QWidget()
    row(*parts, parent=box)
    box.setFocusProxy(parts[0])
    return box
