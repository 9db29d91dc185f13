"""The fields of one provider."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QFileDialog,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.settings import AZURE_API_VERSION, Kind, ProviderSettings, bounds
from app.views.chat.widgets import row
from app.views.settings.key_field import KeyField
from app.views.settings.parts import Check, Choice, Count, Form, NameField, PriceField
from app.views.settings.words import TOOL_FORMS
from app.views.theme import SPACE
from app.views.widgets import label

_URL_EXAMPLES: dict[str, str] = {
    "openai": "http://127.0.0.1:11434/v1",
    "azure": "https://RESOURCE.openai.azure.com",
    "anthropic": "https://api.anthropic.com",
}


class ProviderForm(QWidget):
    """What there is to say about a provider, as fields.

    Args:
        kind: Which; any but the offline planner.
        fields: What is known.
        key: The field of its key; None for a model on this computer.

    Attributes:
        edited: A field changed.
        more: The fields that are rarely changed, to be shown further down.
    """

    edited = Signal()

    def __init__(self, kind: Kind, fields: ProviderSettings, key: KeyField | None) -> None:
        super().__init__()
        self._kind = kind
        self._kept = fields
        self.key = key
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE.s)
        self._form = Form()
        column.addLayout(self._form)
        if kind == "local":
            self._add_file()
        else:
            self._add_endpoint()
        self.more = QWidget()
        below = QVBoxLayout(self.more)
        below.setContentsMargins(0, 0, 0, 0)
        below.setSpacing(SPACE.s)
        below.addWidget(label("About this model", "section"))
        self._form = Form()
        below.addLayout(self._form)
        self._add_about()
        self._fill(fields)

    def fields(self) -> ProviderSettings:
        """What is entered. Prices that are none are left out; see `problem`."""
        entered: dict[str, object] = {"context_tokens": self.context.value()}
        if self._kind != "anthropic":
            entered["tool_form"] = self.tool_form.value
        if self._kind == "local":
            entered["path"] = self.path.text().strip()
        else:
            entered |= {"base_url": self.url.text().strip(), "model": self.model.text}
            entered["images"] = self.images.isChecked()
            prices = (("input_price", self.input_price), ("output_price", self.output_price))
            entered |= {name: _price(field) for name, field in prices}
        if self._kind == "azure":
            entered["api_version"] = self.api_version.text().strip()
        return self._kept.model_copy(update=entered)

    def missing(self) -> str:
        """What is still to be entered, or ""."""
        if self._kind == "local":
            return "" if self.path.text().strip() else "Choose the model's file or folder."
        if self._kind == "azure" and not self.url.text().strip():
            return "Enter the address of your resource in Azure."
        if not self.model.text:
            what = "deployment" if self._kind == "azure" else "model"
            return f"Enter the name of the {what}, or list what the endpoint has."
        return ""

    def problem(self) -> str:
        """What cannot be read in the fields themselves, or ""."""
        if self._kind == "local":
            return ""
        for field in (self.input_price, self.output_price):
            try:
                _ = field.price
            except ValueError:
                return "A price is a number of US dollars, e.g. 2.50; leave it empty if unknown."
        return self.key.problem() if self.key is not None else ""

    def choose_file(self, path: str) -> None:
        """Take a file or folder that was chosen."""
        if path:
            self.path.setText(path)
            self.edited.emit()

    def _add_endpoint(self) -> None:
        self.url = QLineEdit()
        self.url.setMaxLength(2_000)
        self.url.setPlaceholderText(_URL_EXAMPLES.get(self._kind, ""))
        self.url.textEdited.connect(lambda _text: self.edited.emit())
        self._form.put("Address", self.url)
        if self._kind == "azure":
            self.api_version = QLineEdit()
            self.api_version.setMaxLength(100)
            self.api_version.setPlaceholderText(AZURE_API_VERSION)
            self.api_version.textEdited.connect(lambda _text: self.edited.emit())
            self._form.put("API version", self.api_version)
        named = "Deployment" if self._kind == "azure" else "Model"
        self.model = NameField("name as the endpoint knows it")
        self.model.edited.connect(self.edited)
        self.list_button = QPushButton("List models")
        self.list_button.setToolTip("Ask the endpoint which models it has")
        self._form.put(named, self.model, _beside(self.model, self.list_button))
        if self.key is not None:
            self.key.edited.connect(self.edited)
            self._form.put("Key", self.key.edit, self.key)

    def _add_file(self) -> None:
        self.path = QLineEdit()
        self.path.setMaxLength(2_000)
        self.path.setPlaceholderText("a GGUF file, or a folder of transformers files")
        self.path.textEdited.connect(lambda _text: self.edited.emit())
        self.file_button = QPushButton("File…")
        self.folder_button = QPushButton("Folder…")
        self.file_button.setToolTip("Choose a GGUF file")
        self.folder_button.setToolTip("Choose a folder of transformers files")
        self.file_button.clicked.connect(lambda _checked=False: self._ask_file())
        self.folder_button.clicked.connect(lambda _checked=False: self._ask_folder())
        buttons = _beside(self.path, self.file_button, self.folder_button)
        self._form.put("Model file", self.path, buttons)
        self.file_note = self._form.note("")

    def _add_about(self) -> None:
        self.context = Count(*bounds(ProviderSettings, "context_tokens"), "tokens", step=1_024)
        self.context.valueChanged.connect(lambda _value: self.edited.emit())
        self._form.put("Context", self.context)
        self._form.note("The most it takes of a conversation at once.", self.context)
        if self._kind != "anthropic":  # whose models have one way to call tools
            self.tool_form = Choice(TOOL_FORMS)
            self.tool_form.currentIndexChanged.connect(lambda _index: self.edited.emit())
            self._form.put("Tool calls", self.tool_form)
        if self._kind == "local":
            return
        self.images = Check("Show it pictures of what the viewer shows")
        self.images.toggled.connect(lambda _on: self.edited.emit())
        self._form.put("Pictures", self.images)
        self._form.note("Only for models that can look at pictures.", self.images)
        _least, greatest = bounds(ProviderSettings, "input_price")
        self.input_price, self.output_price = PriceField(greatest), PriceField(greatest)
        for field in (self.input_price, self.output_price):
            field.textEdited.connect(lambda _text: self.edited.emit())
        self.output_price.setAccessibleName("Price of answers")
        beside = _beside(
            self.input_price,
            label("in, and", "caption"),
            self.output_price,
            label("out", "caption"),
        )
        self._form.put("Price", self.input_price, beside)
        self.input_price.setAccessibleName("Price of questions")
        self._form.note("US dollars for a million tokens; for the estimate of what a run costs.")

    def _fill(self, fields: ProviderSettings) -> None:
        self.context.setValue(fields.context_tokens)
        if self._kind != "anthropic":
            self.tool_form.choose(fields.tool_form)
        if self._kind == "local":
            self.path.setText(fields.path)
            return
        self.images.setChecked(fields.images)
        self.url.setText(fields.base_url)
        self.model.set_text(fields.model)
        self.input_price.show_price(fields.input_price)
        self.output_price.show_price(fields.output_price)
        if self._kind == "azure":
            self.api_version.setText(fields.api_version)

    def _ask_file(self) -> None:
        asked = QFileDialog(self, "Choose a model file", self.path.text())
        asked.setNameFilters(["GGUF models (*.gguf)", "All files (*)"])
        asked.setFileMode(QFileDialog.FileMode.ExistingFile)
        self._open(asked)

    def _ask_folder(self) -> None:
        asked = QFileDialog(self, "Choose a folder of transformers files", self.path.text())
        asked.setFileMode(QFileDialog.FileMode.Directory)
        self._open(asked)

    def _open(self, asked: QFileDialog) -> None:
        asked.fileSelected.connect(self.choose_file)
        asked.finished.connect(asked.deleteLater)
        asked.open()


def _price(field: PriceField) -> float | None:
    try:
        return field.price
    except ValueError:
        return None


def _beside(*parts: QWidget) -> QWidget:
    """Fields in one row of a form; the first takes the room."""
    box = QWidget()
    box.setLayout(row(*parts))
    box.setFocusProxy(parts[0])
    return box
