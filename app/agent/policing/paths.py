r"""Paths in arguments: whatever a tool says it does, it is given none outside the run.

An argument is taken for a path by its name ("image_path", "files"), by the format that its schema
gives, or by what stands in it (/etc, ~/x, ../x, C:\x, \\server\share, file://), at any depth and in
the middle of a text. Nothing outside the run's folder is looked at, not even to see whether it
exists, except for the target of a write, whose links must be known before anybody is asked.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from app.agent.policing.data import Folders
from app.agent.policing.scope import Scope
from app.agent.policing.verdicts import ALLOWED, Judgement, Rule, Touch
from app.agent.policing.walk import Piece
from app.agent.privacy.key_words import is_path_key
from app.tools.api import Approval, PathUse, ToolSpec

_FORMATS = frozenset(("path", "file-path", "directory-path"))
_IMAGE_WORDS = frozenset(("image", "images", "dicom", "dicoms", "picture", "pictures"))
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LONGEST = 4_096  # characters of a path: PATH_MAX
_PARENT = re.compile(r"(?:^|[\\/\s\"'=(])\.\.(?:[\\/]|$)|[\\/]\.\.(?:[\\/]|$)")
_SHAPES = re.compile(
    r"""
    ^[A-Za-z]:[\\/] | ^\\                  # a drive, a share, a device
    | ^\s*file:                             # a URL
    | ^[$]\{?\w+\}?[\\/] | ^%\w+%[\\/]        # $HOME/x, %USERPROFILE%\x
    """,
    re.VERBOSE | re.IGNORECASE,
)
_INSIDE = re.compile(
    r"""
    (?<![\w:./\\*])/[^\s"'<>|;,)]+/?            # /etc/passwd in a sentence
    | (?<=:)/(?!/)[^\s"'<>|;,)]+                # name:/etc/passwd
    | (?<![\w])~[\w.-]*/[^\s"'<>|;,)]*          # ~/x
    | (?<![\w])[A-Za-z]:[\\/][^\s"'<>|;,)]+     # C:\x
    | (?<![\w\\])\\\\[\w.?-]+\\[^\s"'<>|;,)]*    # \\server\share
    | (?<![\w:/])//[\w.-]+/[^\s"'<>|;,)]*       # //server/share
    | (?<![\w])file:[^\s"'<>|;,)]+
    | [$]\{?HOME\}?/[^\s"'<>|;,)]* | %\w+%[\\/][^\s"'<>|;,)]*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ODD = re.compile(r"^\s*file:|[$][\w{]|%\w+%|%[0-9a-f]{2}", re.IGNORECASE)
"""What some programs would put something else for, when they write there."""
_HELD = "\ue000"  # stands for what the run may touch
_END = r"(?=$|[\s\"',;:)]|\.(?:\s|$))"


def judge(
    spec: ToolSpec, pieces: Sequence[Piece], scope: Scope, folders: Folders
) -> list[Judgement]:
    """A judgement for each argument with a path that is not simply allowed."""
    texts = ((piece, piece.value) for piece in pieces if isinstance(piece.value, str))
    judged = (_judge(spec, piece, text, scope, folders) for piece, text in texts)
    return [item for item in judged if item is not ALLOWED]


def use_of(spec: ToolSpec, piece: Piece) -> PathUse | None:
    """What the tool does with a path there; None where it is not known to be one."""
    declared = spec.paths.get(re.sub(r"\[\d+\]", "", piece.where)) or spec.paths.get(piece.argument)
    if declared == "text":
        return None
    if declared in ("read", "write"):
        return declared
    named = any(is_path_key(name) or _is_image_key(name) for name in piece.names)
    return "read" if named or piece.formats & _FORMATS else None


def looks_like(text: str) -> bool:
    """Whether a whole text has the shape of a path that leads somewhere else."""
    for form in _forms(text):
        # Longer than any path: data in base64 may begin with a slash too.
        rooted = (
            form.startswith("/") and len(form) <= _LONGEST and not re.search(r"\s", form.strip())
        )
        if (
            rooted
            or _at_spaced_root(form)
            or _SHAPES.search(form)
            or _PARENT.search(form)
            or _home(form)
        ):
            return True
    return False


def _judge(spec: ToolSpec, piece: Piece, text: str, scope: Scope, folders: Folders) -> Judgement:
    use = use_of(spec, piece)
    if not text.strip() or (piece.default and use != "write"):
        return ALLOWED  # nothing at all, or the tool's own choice of what it reads
    if "\0" in text:
        return _refused(spec, piece, scope, "holds a NUL character")
    if use == "write":
        return _target(spec, piece, text, scope, folders)
    if use == "read":
        if scope.holds(text) or _names_nothing(text, scope):
            return ALLOWED
        return _refused(spec, piece, scope, "names neither an open image nor a file of this run")
    if not (_leads_away(text, scope) or _is_here(text, scope)) or scope.holds(text):
        return ALLOWED
    return _refused(spec, piece, scope, "holds the path of a file that is not of this run")


def _target(spec: ToolSpec, piece: Piece, text: str, scope: Scope, folders: Folders) -> Judgement:
    """A file that would be written: in the run's folder, or after the user saw the whole path."""
    odd = _home(text) or _ODD.search(text) is not None
    remote = text.startswith(("\\\\", "//")) or (os.name != "nt" and bool(_drive(text)))
    path = None if odd or remote or text != text.strip() else scope.target(text)
    if path is None:
        return _refused(spec, piece, scope, "is no plain path to write to", _WHOLE)
    if scope.in_folder(path):
        return ALLOWED
    if not Path(text).is_absolute():
        return _refused(spec, piece, scope, "leads out of this run's folder", _WHOLE)
    if spec.approval in (Approval.READ, Approval.COMPUTE):
        reason = f"names a file to write, and {spec.name} is not declared to write"
        return _refused(spec, piece, scope, reason, "Leave it out.")
    if scope.is_protected(path):
        reason = "would overwrite an open image or a file of Sightline itself"
        return _refused(spec, piece, scope, reason, "Choose another folder.")
    if not folders.allow(path):
        reason = "names a folder that this installation lets no tool write to"
        return _refused(spec, piece, scope, reason, folders.offer())
    touch = Touch("writes", piece.where, str(path), _linked(text, path) + _replaces(path))
    return Judgement(Rule.ASK, f"It writes to {path}.", piece.where, touches=(touch,))


_WHOLE = "Write the whole path, without ~, .., variables or a file:// address."


def _linked(text: str, path: Path) -> str:
    return "" if Path(os.path.normpath(text)) == path else "a link leads there; "


def _replaces(path: Path) -> str:
    if path.is_dir():
        return "a folder that is there already"
    return "replaces the file that is there" if path.exists() else "a new file"


def _refused(spec: ToolSpec, piece: Piece, scope: Scope, why: str, remedy: str = "") -> Judgement:
    """The text itself is not repeated: it may be a patient's folder, or an instruction."""
    reason = f"{spec.name} was not run: its argument {piece.where} {why}."
    return Judgement(Rule.DENY, reason, piece.where, remedy or scope.offer())


def _leads_away(text: str, scope: Scope) -> bool:
    """Whether a path that is not of this run stands in a text, in any spelling of it."""
    unknown = _without_known(text, scope)
    if looks_like(unknown):
        return True
    tokens = (token for form in _forms(unknown) for token in _INSIDE.findall(form))
    return any(_is_somewhere(token.rstrip(".:!?]}")) for token in tokens)


def _without_known(text: str, scope: Scope) -> str:
    """The text without the paths that may stand in it, which may hold spaces."""
    known = [name for name in scope.paths if name in text]
    for name in sorted(known, key=len, reverse=True):
        text = re.sub(re.escape(name) + _END, _HELD, text)
    folder = str(scope.folder) if scope.folder is not None else ""
    if not folder or folder not in text:
        return text

    def held(found: re.Match[str]) -> str:
        path = found[0].rstrip(".:!?")
        return _HELD if path == folder or scope.inside(path) else found[0]

    below = re.escape(folder) + r"(?:[\\/][^\s\"']*|" + _END + ")"
    return re.sub(below, held, text)


def _is_somewhere(token: str) -> bool:
    """Whether a piece of a sentence that begins like a path is one on this computer.

    "/abnormal/unclear" in a sentence is none, since no such folder is at the root.
    """
    if not token.startswith("/") or token.startswith("//"):
        return not token.startswith("~") or _home(token)
    first = token.split("/")[1] if "/" in token else ""
    return first in ("..", ".") or (bool(first) and os.path.lexists(f"/{first}"))


def _names_nothing(text: str, scope: Scope) -> bool:
    """Whether a name is so plain that it leads to no file here: the tool itself says what there is.

    Whatever opens it finds nothing: neither where the program was started, nor in a folder above,
    nor by a link in the run's folder that leads out of it.
    """
    if len(text) > 255 or looks_like(text):
        return False
    forms = [form.strip() for form in _forms(text)]
    if any(re.search(r"[\\/:\n~$%]|^\.", form) for form in forms):
        return False
    try:
        return not any(os.path.lexists(folder / form) for form in forms for folder in _here(scope))
    except (OSError, ValueError):
        return False


def _is_here(text: str, scope: Scope) -> bool:
    """Whether a text is the name of a file where the program was started, or of a link out."""
    if len(text) > 3 * _LONGEST or "\n" in text.strip():
        return False
    for form in _forms(text):
        name = form.strip().replace("\\", "/").rstrip("/")
        if name in ("", ".") or len(name) > _LONGEST or not re.search(r"[./]", form):
            continue
        try:
            if any(os.path.lexists(folder / name) for folder in _here(scope)):
                return True
        except (OSError, ValueError):
            continue
    return False


def _here(scope: Scope) -> tuple[Path, ...]:
    """Where a relative path may begin."""
    return (Path(), scope.folder) if scope.folder is not None else (Path(),)


def _home(form: str) -> bool:
    """Whether a text begins with somebody's home folder; "~5 mm" does not."""
    head = re.match(r"~[\w.-]*(?=[\\/]|$)", form.strip())
    if head is None or head[0] == "~":
        return head is not None
    try:
        return str(Path(head[0]).expanduser()) != head[0]
    except RuntimeError:  # there is no such user
        return False


def _at_spaced_root(form: str) -> bool:
    """Whether a path stands in a text whose first folder has a blank in its name: /Patient Data."""
    if " " not in form or "/" not in form:
        return False
    names = spaced_at_root()
    return any(re.search(rf"(?<![\w.])/{re.escape(name)}(?!\w)", form) for name in names)


def spaced_at_root() -> list[str]:
    """The names of what lies at the root and has a blank in its name."""
    try:
        return [path.name for path in Path("/").iterdir() if " " in path.name]
    except OSError:
        return []


def _drive(text: str) -> re.Match[str] | None:
    return re.match(r"[A-Za-z]:", text)


def _is_image_key(name: str) -> bool:
    words = _WORDS.findall(name)
    return bool(words) and words[-1].lower() in _IMAGE_WORDS


def _forms(text: str) -> Iterator[str]:
    """The text as it is, and as it would be read: percent signs decoded, wide letters narrowed."""
    seen = {text}
    yield text
    form = text
    for _ in range(3):
        form = unicodedata.normalize("NFKC", unquote(form))
        if form in seen:
            return
        seen.add(form)
        yield form
