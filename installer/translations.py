"""Collects the texts of the program into Qt Linguist's files and compiles those.

    python installer/translations.py [--unwrapped]

Writes `resources/translations/sightline_*.ts`: new texts come in without a translation, and those
that the code no longer has go. Then compiles each to a `.qm` beside it, by Qt's own lrelease. Says
what is wrong with a translation, and how many texts of the window are not translatable yet.

Qt's lupdate is not used: it takes a class's name for the context, drops the second English form of
a countable text, and does not find texts in tables.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import re
import string
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

REPO = Path(__file__).resolve().parents[1]
FOLDER = REPO / "resources" / "translations"
CONTEXT = "Sightline"
TABLES = {
    "window.toml": ("gestures", "key_figures", "model_states"),
    "language_models.toml": ("providers",),
    "audit.toml": ("actions",),
    "dicom.toml": ("ct_presets",),
    "chest.toml": ("structures", "labels"),
}
"""Tables in `resources/tables` whose texts the window shows: all their values, and names that are
no identifiers."""

CONSTANTS = {
    "app/audit/entry_text.py": ("KINDS", "_OUTCOMES"),
    "app/imaging/deidentify/copying.py": (
        *("LIKELY", "FACE", "VIDEO", "HIDDEN_OVERLAY", "BLANKED", "HIGH_BITS", "_LEFT_OUT"),
    ),
    "app/imaging/deidentify/options.py": ("BURNT_IN",),
    "app/imaging/deidentify/process.py": ("_CRASHED",),
    "app/imaging/exports.py": ("reason_against", "OTHER_PIXELS"),
    "app/imaging/openable.py": ("CONTAINERS", "OPENABLE", "PATTERNS"),
    "app/imaging/pixels/windows.py": ("AUTO", "CT_WINDOW"),
    "app/imaging/reports/checks.py": (
        *("rewording_fault", "_ADDS", "_LEAVES_OUT", "_DIFFERS", "CONTRADICTS"),
    ),
    "app/imaging/studies/ordering.py": ("POSITION", "_KEYS", "display_order"),
    "app/imaging/types.py": ("Plane", "SpacingSource"),
    "app/tools/chest/compare.py": ("_PATIENT", "_REMEDY"),
    "app/tools/chest/image_suitability.py": ("_TITLE", "_REMEDY"),
    "app/tools/diagnosis/session.py": ("_REMEDY",),
    "app/tools/diagnosis/table.py": ("_REMEDY",),
    "app/workspace/drawing.py": ("LABELS",),
    "app/workspace/hanging.py": ("PRIOR_IS_OPEN",),
}
"""Constants, enumerations and functions of lower rooms whose texts the window shows."""

ERRORS = (
    *("SightlineError", "UsageError", "FileProblem", "WorkerDied", "ToolFailed"),
    *("ImpossibleEvidence", "WrongEvidence"),
    *("Problem", "problem", "Spacing", "NotAStackError", "_LeftOutError", "_LeftOut"),
)
"""What lower rooms report to the window by. A text with values becomes a pattern: "{0} frames"."""

REMARKS = {
    "app/user_files.py": (
        "{0} could not be read: the defaults are used. The old file is kept as {1}.",
        "{0} could not be read: the defaults are used. The file {1} could not be moved aside.",
        *("The settings", "The layout of the window", "The list of recent openings"),
        *("The settings of the display", "Your window presets", "Your keyboard shortcuts"),
        *("Your hanging protocols", "Your notes"),
    ),
    "app/settings.py": (
        '"{0}" had an unusable value ({1}): the default is used.',
        'The rule for "{0}" is unusable: it counts as "ask".',
        "Some rules for tools cannot be read: every tool asks.",
        "The rules for {0} are unusable: no tool may {1}.",
    ),
    "app/workspace/editing.py": (
        "a heatmap belongs to its image",
        "the images have other pixels, and a mask is made of pixels",
        "the images are shifted, and a mask is made of pixels",
        "the images do not lie in parallel planes",
        "its place in the patient is outside this image",
        "the images differ in size and are not parallel in one frame of reference",
        *("it has another size", "it has another scale", "it lies in another plane, or is turned"),
        "its place in the patient is not known, unlike that of the marks, or the reverse",
        "it belongs to another frame of reference",
    ),
    "app/wiring/assistant.py": (
        "Some settings were not as expected",
        "They hold until Sightline is closed. Make room on the disk, or ask this computer's "
        "administrator for the right to write into the settings folder.",
    ),
    "app/agent/policy/approvals.py": ("Allow {0}?",),
    "app/agent/policy/arguments.py": (
        *("writes", "sends to", "a link leads there", "a folder that is there already"),
        *("replaces the file that is there", "a new file"),
    ),
    "app/agent/privacy/consents.py": (
        "The connection is not encrypted (http, not https): whoever is on the network between this "
        "computer and {0} can read all of it, and can change the answers.",
        "Pictures are sent only if you allow that in a second question.",
        "Your question and the earlier ones of this conversation, with their answers",
        "The names and descriptions of the tools",
        "Your notes under Settings > Assistant memory, and your administrator's",
        "The tools' results, without names, ids, dates, institutions and file paths",
        "Send this conversation to {0}?",
        "{0} is outside this machine. {1} Write no patient data into the question. Your answer "
        "holds for this conversation and this model until Sightline is closed.",
        "Also send pictures to {0}?",
        "They are what the viewer shows, as PNG without the file's attributes. Text that is burnt "
        "into an image (a name, an id, a date) cannot be removed and would be sent with it: look "
        "at the pictures before you answer. With no, text alone is sent. Your answer holds for "
        "these images in this conversation until Sightline is closed; about others you are asked.",
        "They are what the viewer shows, as PNG without the file's attributes. Text that is burnt "
        "into an image (a name, an id, a date) cannot be removed and would be sent with it: look "
        "at the pictures before you answer. You are asked once more about those that say why. "
        "With no, text alone is sent. Your answer holds for these images in this conversation "
        "until Sightline is closed; about others you are asked.",
        "This picture may show who the patient is. Send it to {0}?",
        "These pictures may show who the patient is. Send them to {0}?",
        "{0}: {1} Enlarge the picture and look for a name, an id, a date or a face. With no, it "
        "stays here. Your answer holds for exactly this picture.",
        "{0} Enlarge each picture and look for a name, an id, a date or a face. With no, they stay "
        "here. Your answer holds for exactly these pictures.",
        "A picture, exactly as shown below",
        "{0} pictures, exactly as shown below",
        "The words beside each picture",
    ),
    "app/tools/chest/cardiothoracic.py": ("Heart width", "Thorax width"),
    "app/tools/chest/plan.py": (
        "Chest radiographs",
        "Where are the lungs, and is the heart enlarged?",
        "What is abnormal here, and where?",
    ),
    "app/tools/general/general_plan.py": (
        "When was this image taken, and what is its pixel spacing?",
    ),
    "app/tools/microscopy/plan.py": (
        *("Microscopy", "How many cells are there?", "Which cell states are there?"),
    ),
    "app/tools/notes/remember.py": ("Notes",),
    "app/tools/record/plan.py": ("Patient record",),
    "app/workspace/drawing.py": (
        *("Length", "Angle", "Box", "Point", "Point outside", "Difference"),
    ),
    "app/workspace/viewport.py": (
        *("Rotated 90° right", "Rotated 180°", "Rotated 90° left", "Flipped top-bottom"),
        *("Flipped left-right", "Flipped left-right, rotated 90° right"),
        "Flipped left-right, rotated 90° left",
    ),
    "app/agent/privacy/model_pictures.py": (
        "This file has no DICOM header, so nothing says whether text is burnt into it.",
        "The file says that there IS text burnt into this image.",
        "Ultrasound images usually show name and date in the image itself.",
        "This is a screen capture or scan, which may show anything that was on it.",
        'The file gives its modality as "other": it may show anything.',
        "This is a photograph: it may show the patient's face.",
        "The file does not say whether text is burnt into this image.",
    ),
    "app/imaging/deidentify/copying.py": (
        *("its header is damaged", "it is cut off", "its pixels are missing"),
        *("its pixels are cut off", "its content is damaged"),
        "it has no SOP Class UID or SOP Instance UID",
        "it is a link that leads out of the output folder",
        "this computer has too little free memory for it",
    ),
    "app/imaging/space/stacks.py": (
        "{0} slice is missing after slice {1}: {2} instead of {3} mm",
        "{0} slices are missing after slice {1}: {2} instead of {3} mm",
        "the slice distance varies between {0} and {1} mm",
        "the slice distance changes from {0} to {1} mm after slice {2}",
        "{0}, to {1} mm after slice {2}",
        "slices overlap after slice {0}: they are {1} mm thick and {2} mm apart",
        "the gantry was tilted by {0}°: each slice is shifted against the one before",
        "the slices are sheared by {0}°: each slice is shifted against the one before",
        "the slices are shifted against each other by differing amounts",
    ),
    "app/imaging/studies/catalogue.py": (
        "{0} image has the SOP Instance UID of another one",
        "{0} images have the SOP Instance UID of another one",
        "it has the SOP Instance UID as {0}, but is another image",
        "several images lie at the same position, and nothing distinguishes them",
        "another patient has the same Study Instance UID: check whose images these are",
        "another patient, with another name or date of birth, has the same Patient ID: check whose "
        "images these are",
    ),
}
"""Warnings of lower rooms that are put together there, by file; a test shows some in German."""

NOTES = (
    *("app/imaging/guards.py", "app/imaging/dicom", "app/imaging/files", "app/imaging/formats"),
    *("app/imaging/layers.py", "app/imaging/objects", "app/imaging/processes/futures.py"),
    *("app/imaging/processes/worker_process.py", "app/imaging/reading", "app/imaging/space"),
    *("app/imaging/scanning/copies.py", "app/imaging/scanning/listing.py"),
    *("app/imaging/scanning/scan.py", "app/imaging/studies/catalogue.py"),
    *("app/imaging/studies/splitting.py", "app/records"),
)
"""Files and folders all of whose phrases are notes for the user, wherever they stand."""

_SILENT = ("debug", "info", "warning", "error", "exception", "get", "compile", "ValueError")
"""Functions and errors whose texts no user reads."""

TITLES = ("ToolSpec", "RecordTool", "ResultWording", "viewer_tool")
"""Calls in packs whose `title`, or second argument, the window shows."""

_CALL = re.compile(rf"\b(tr|tr_n|translatable|progress|{'|'.join((*ERRORS, *TITLES))})\(")

SHOWING = frozenset(
    (
        *("Action", "Choice", "ElidedLabel", "EmptyState", "NameField", "PanelTitle", "QAction"),
        *("QCheckBox", "QDockWidget", "QLabel", "QMenu", "QPushButton", "QToolButton", "_action"),
        *("_button", "_page", "_say", "_show_text", "add", "addAction", "addItem"),
        *("addMenu", "add_heading", "add_note", "add_row", "add_section", "add_text_button"),
        *("confirm", "label", "make_action", "plain_tip", "push_button"),
        *("setAccessibleDescription", "setAccessibleName", "setHeaderLabels", "setIconText"),
        *("setPlaceholderText", "setPrefix", "setSpecialValueText", "setStatusTip", "setSuffix"),
        *("setText", "setTitle", "setToolTip", "setWindowTitle", "set_plain", "set_progress"),
        *("set_text", "show_notice", "tool_button", "wrapped_label"),
    )
)
"""Functions whose text arguments are read by users, for the count of texts without `tr`."""


@dataclass
class Text:
    """A text of the program: its English plural or only form, and the singular if it is counted."""

    source: str
    one: str = ""
    files: set[str] = field(default_factory=set[str])


def program_texts(repo: Path = REPO) -> dict[str, Text]:
    """Return all translatable texts by their source.

    Raises:
        ValueError: A text inside `tr` is put together in the code, or counted here and not there.
    """
    found: dict[str, Text] = {}

    def add(source: str, place: str, one: str = "") -> None:
        text = found.setdefault(source, Text(source, one))
        if text.one != one:
            raise ValueError(f"{place}: counted in one place and not in another: {source!r}")
        text.files.add(place)

    for path in sorted((repo / "app").rglob("*.py")):
        place = path.relative_to(repo).as_posix()
        code = path.read_text("utf-8")
        if not (_CALL.search(code) or place.startswith(NOTES)):
            continue
        tree = ast.parse(code)
        if place.startswith(NOTES):
            for text in _phrases(tree):
                if text not in found:
                    add(text, place)
        for call in _calls(tree):
            name, texts = _name(call), [_constant(argument) for argument in call.args]
            if name == "tr_n":
                if None in texts[:2] or "%n" not in str(texts[1]):
                    raise ValueError(f"{place}:{call.lineno}: tr_n needs two literals with %n")
                add(str(texts[1]), place, str(texts[0]))
            elif name in ("tr", "translatable") and texts[0] is not None:
                add(texts[0], place)
            elif name == "translatable" or (
                name == "tr" and isinstance(call.args[0], ast.JoinedStr | ast.BinOp)
            ):
                raise ValueError(f"{place}:{call.lineno}: a text to translate must be a literal")
            elif name == "progress" and place.startswith("app/tools/"):
                for text in (text for one in call.args[1:2] for text in _reported(one)):
                    if _is_text(text):
                        add(text, place)
            elif name in TITLES:
                named = [_constant(word.value) for word in call.keywords if word.arg == "title"]
                for text in (*named, *texts[1:2]):
                    if text:
                        add(text, place)
            elif name in ERRORS and not place.startswith("app/headless/"):
                given = [
                    word.value for word in call.keywords if word.arg in ("reason", "remedy", "note")
                ]
                reasons = [text for one in call.args[:3] for text in _reported(one)]
                remedies = [text for one in given for text in _reported(one)]
                for text in (*reasons, *remedies):
                    if _is_text(text):
                        add(text, place)
    for file, remarks in REMARKS.items():
        for text in remarks:
            add(text, file)
    for path in sorted((repo / "resources" / "hanging").glob("*.toml")):
        add(tomllib.loads(path.read_text("utf-8"))["title"], path.relative_to(repo).as_posix())
    for file, wanted in CONSTANTS.items():
        for text in _constants(repo / file, wanted):
            add(text, file)
    for file, names in TABLES.items():
        tables = tomllib.loads((repo / "resources" / "tables" / file).read_text("utf-8"))
        for name in names:
            for text in _table_texts(tables[name]):
                add(text, f"resources/tables/{file}")
    return found


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _name(call: ast.Call) -> str:
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _constant(node: ast.AST) -> str | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else None


def _constants(path: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield the texts in the named definitions of a file; of a dictionary of texts the values."""
    for node in ast.parse(path.read_text("utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        name = targets[0].id if targets and isinstance(targets[0], ast.Name) else ""
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            name = node.name
        if name in names:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                parts = node.body[1:]  # without the docstring
            else:
                parts = list(ast.iter_child_nodes(node))
            for part in parts:
                yield from _texts_below(part)


def _texts_below(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Dict):
        keyed = any(_constant(value) is None for value in node.values)
        for one in node.keys if keyed else node.values:
            yield from _texts_below(one) if one is not None else ()
        return
    text = _constant(node)
    if text is not None and _is_text(text) and not re.fullmatch(r"[A-Z][a-z]+[A-Z]\w+", text):
        yield text
    for below in ast.iter_child_nodes(node):
        yield from _texts_below(below)


def _phrases(node: ast.AST) -> Iterator[str]:
    """Yield the literals of three words and more below a node that are neither logged nor docs."""
    for below in ast.iter_child_nodes(node):
        if isinstance(below, ast.Constant | ast.JoinedStr):
            yield from (text for text in _reported(below) if _is_phrase(text))
        elif isinstance(below, ast.Call) and _name(below) in _SILENT:
            continue
        elif not (isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)):
            yield from _phrases(below)


def _is_phrase(text: str) -> bool:
    words = text.split()
    names = re.search(
        r"\b[A-Z]{2,} [A-Z]{2,}\b|\{\}|^\{0\} \{1\}|\b(SELECT|UPDATE|FROM) ", text
    ) or set(text) & set("_\\\n|^")
    plain = any(re.fullmatch(r"[a-z]{2,}[,.:;]?", word) for word in words)
    return len(words) >= 3 and plain and not names and (text[0].isalpha() or text[0] == "{")


def _reported(node: ast.AST) -> Iterator[str]:
    """Yield the texts that an argument of an error may be, values as "{0}", "{1}" and so on."""
    if isinstance(node, ast.IfExp):
        yield from (*_reported(node.body), *_reported(node.orelse))
    elif isinstance(node, ast.JoinedStr):
        parts, count = "", 0
        for part in node.values:
            text = _constant(part)
            parts += text.replace("{", "{{").replace("}", "}}") if text else f"{{{count}}}"
            count += not text
        if len(re.findall(r"[^\W\d_]", parts)) >= LEAST:
            yield parts
    elif text := _constant(node):
        yield text


LEAST = 8
"""Letters of a pattern below which it would fit too much."""


def _table_texts(value: object) -> Iterator[str]:
    """Yield the texts of a TOML value, and names of entries that are no identifiers."""
    if isinstance(value, str):
        if _is_text(value):
            yield value
    elif isinstance(value, list):
        for item in value:
            if not (isinstance(item, str) and re.fullmatch(r"[a-z-]+", item)):  # a tone, an icon
                yield from _table_texts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not re.fullmatch(r"[a-z0-9_.-]+", key):
                yield from _table_texts(key)
            yield from _table_texts(item)


def _is_text(text: str) -> bool:
    """Whether a constant is likely a text for people: two letters in a row outside of {names}."""
    return re.search(r"[^\W\d_]{2}", re.sub(r"\{[^}]*\}", "", text)) is not None


def unwrapped(path: Path) -> list[tuple[int, str]]:
    """Return line and text of the literals in a file that are shown without `tr`."""
    return [
        (call.lineno, text)
        for call in _calls(ast.parse(path.read_text("utf-8")))
        if _name(call) in SHOWING
        for argument in (*call.args, *(word.value for word in call.keywords))
        for text in _bare(argument)
    ]


def _bare(node: ast.AST) -> Iterator[str]:
    """Yield the texts in an argument that are literals, also as parts of a sum or choice."""
    if isinstance(node, ast.IfExp):
        yield from (*_bare(node.body), *_bare(node.orelse))
    elif isinstance(node, ast.BinOp):
        yield from (*_bare(node.left), *_bare(node.right))
    elif isinstance(node, ast.JoinedStr):
        parts = "".join(_constant(part) or "{}" for part in node.values)
        if _is_text(parts.replace("{}", "")):
            yield parts
    else:
        text = _constant(node) or ""
        # Roles, icons and keys are one word in small letters, or a key's name.
        shown = " " in text or text[:1].isupper() or text.endswith("…")
        if shown and _is_text(text) and not re.match(r"(Ctrl|Shift|Alt)\+", text):
            yield text


@dataclass
class Entry:
    """A translation: its forms, one for a text that is not counted, and whether it is finished."""

    forms: list[str]
    finished: bool = True


def read_ts(path: Path) -> dict[str, Entry]:
    """Return the translations in a file of Qt Linguist by their source."""
    found: dict[str, Entry] = {}
    for message in ET.parse(path).iter("message"):
        target = message.find("translation")
        if target is None:
            continue
        forms = [form.text or "" for form in target.findall("numerusform")]
        finished = target.get("type") is None
        found[message.findtext("source") or ""] = Entry(forms or [target.text or ""], finished)
    return found


def write_ts(
    path: Path, language: str, texts: dict[str, Text], translations: dict[str, Entry]
) -> None:
    """Write a file of Qt Linguist, with the texts in alphabetical order."""
    root = ET.Element("TS", version="2.1", language=language, sourcelanguage="en")
    context = ET.SubElement(root, "context")
    ET.SubElement(context, "name").text = CONTEXT
    for source, text in sorted(texts.items(), key=lambda item: (item[0].casefold(), item[0])):
        message = ET.SubElement(context, "message")
        for file in sorted(text.files):
            ET.SubElement(message, "location", filename=f"../../{file}")
        ET.SubElement(message, "source").text = source
        target = ET.Element("translation")
        entry = translations.get(source, Entry([""], finished=False))
        if text.one:
            message.set("numerus", "yes")
            ET.SubElement(message, "extracomment").text = f"Singular: {text.one}"
            for form in (entry.forms * 2)[:2] if len(entry.forms) < 2 else entry.forms:
                ET.SubElement(target, "numerusform").text = form
        else:
            target.text = entry.forms[0]
        if not entry.finished or not all(entry.forms):
            target.set("type", "unfinished")
        message.append(target)
    ET.indent(root, " " * 4)
    body = ET.tostring(root, encoding="unicode")
    path.write_text(
        f'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n{body}\n', "utf-8", newline="\n"
    )


def faults(source: str, entry: Entry) -> list[str]:
    """Return what is wrong with a translation: missing, or with other placeholders or marks."""
    found: list[str] = []
    for form in entry.forms:
        if not form or not entry.finished:
            found.append("no translation")
        elif sorted(_fields(form)) != sorted(_fields(source)):
            found.append("other {placeholders}")
        elif ("%n" in form) and "%n" not in source:
            found.append("a count where there is none")
        elif _has_key(form) != _has_key(source):
            found.append("a mnemonic (&) in only one of both")
        elif _edges(form) != _edges(source):
            found.append("other spaces or dots at its ends")
    return found


def _fields(text: str) -> list[str]:
    return [name for _, name, _, _ in string.Formatter().parse(text) if name]


def _has_key(text: str) -> bool:
    return "&" in text.replace("&&", "")


def _edges(text: str) -> tuple[str, str, bool]:
    space = len(text) - len(text.lstrip())
    return text[:space], text[len(text.rstrip()) :], text.rstrip().endswith("…")


def compile_qm(path: Path) -> None:
    """Compile a file of Qt Linguist to the `.qm` beside it."""
    found = importlib.util.find_spec("PySide6")
    if found is None or found.origin is None:
        raise SystemExit("translations.py: PySide6 is not installed: run it in its environment")
    program = Path(found.origin).parent / ("lrelease" + ".exe" * (sys.platform == "win32"))
    command = [str(program), "-silent", str(path), "-qm", str(path.with_suffix(".qm"))]
    subprocess.run(command, check=True)


def window_files(repo: Path = REPO) -> Iterable[Path]:
    """Return the files whose texts users read in the window."""
    return sorted((repo / "app" / "views").rglob("*.py"))


def main() -> int:
    """Write and compile the files of all languages, and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--unwrapped", action="store_true", help="list texts without tr")
    options = parser.parse_args()
    texts, wrong = program_texts(), 0
    for path in sorted(FOLDER.glob("sightline_*.ts")):
        known = read_ts(path)
        write_ts(path, path.stem.partition("_")[2], texts, known)
        compile_qm(path)
        for source, entry in read_ts(path).items():
            for fault in faults(source, entry):
                wrong += 1
                print(f"{path.name}: {fault}: {source!r}")
        print(f"{path.name}: {len(texts)} texts, {wrong} faults")
    bare = [(path, *one) for path in window_files() for one in unwrapped(path)]
    print(f"{len(bare)} texts of app/views without tr")
    if options.unwrapped:
        for path, line, text in bare:
            print(f"{path.relative_to(REPO)}:{line}: {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
