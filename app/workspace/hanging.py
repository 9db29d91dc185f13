"""Hanging protocols: which layout a study opens in, and what each viewport shows.

A protocol is a TOML file; `resources/hanging/README.md` explains its keys.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.errors import FileProblem
from app.imaging.pixels.windows import PROTOCOL
from app.imaging.space.projections import KEYWORD, BeamDirection, coded_projection
from app.imaging.types import Content, Instance, Series, Study, Window
from app.paths import resources_dir
from app.user_files import read_regular, set_aside, write_atomic
from app.workspace.layout import LAYOUTS, MOST, Slot

_RADIOGRAPHS = ("CR", "DX", "MG", "RG", "DR")
"""Modalities whose series may hold several views, so that images and not series are hung."""

_FRONTAL = (BeamDirection.PA, BeamDirection.AP, BeamDirection.FRONTAL)
_LATERAL = ("LATERAL", "LAT", "LL", "RL", "LLAT", "RLAT")
_FOR_PROCESSING = frozenset(f"1.2.840.10008.5.1.4.1.1.1.{number}.1" for number in (1, 2, 3))
"""SOP Classes of digital X-ray, mammography and intra-oral images that are not for viewing."""

_LOCALIZERS = frozenset("localizer localiser scout topogram surview scanogram".split())  # noqa: SIM905
_BREAST_VIEWS = {"399162004": "CC", "R-10242": "CC", "399368009": "MLO", "R-10226": "MLO"}
"""Code (SNOMED CT, and the former one; CID 4014) -> View Position of a mammogram."""

_LARGEST = 64 * 1024  # bytes of a protocol's file
_REMEDY = "Mend or delete the file; resources/hanging/README.md explains its keys"


Number = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Match(_Strict):
    """The conditions on a study, all of which must hold; an empty one holds always.

    Attributes:
        words: Of these, one must be in the body part or in a description.
        series: Least number of image series.
        prior: Whether an earlier study of the patient with the same modality must be open.
    """

    modality: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    series: int = Field(default=0, ge=0, le=1000)
    prior: bool = False

    @property
    def conditions(self) -> int:
        """The number of conditions: of two protocols the one with more is the more specific."""
        return sum(map(bool, (self.modality, self.words, self.series, self.prior)))


class ViewportRule(_Strict):
    """What one viewport shows: the first series, or radiograph, that fulfils the conditions.

    Attributes:
        prior: Whether it comes from the latest earlier study.
        same_as: Number (from 1) of the viewport whose series is shown; 0 for none.
        window: (centre, width); None for the image's own.
        facing: Whether a mammogram is flipped so that the chest wall is in the middle.
        optional: Whether the viewport may stay empty.
        empty: Whether it is meant to be.
        without: Words that the series must not have.
        description: The whole Series Description; "" for any.
    """

    prior: bool = False
    modality: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    description: str = ""
    view: tuple[str, ...] = ()
    laterality: str = Field(default="", pattern="^[LR]?$")
    same_as: int = Field(default=0, alias="as", ge=0, le=MOST)
    window: tuple[Number, Annotated[Number, Field(gt=0)]] | None = None
    facing: bool = False
    optional: bool = False
    empty: bool = False


Share = Annotated[float, Field(ge=0, le=1)]
Length = Annotated[float, Field(ge=0.05, le=1)]


class _ProtocolFile(_Strict):
    enabled: bool = True
    title: str = Field(min_length=1, max_length=100)
    layout: str | tuple[tuple[Share, Share, Length, Length], ...]
    match: Match = Match()
    viewport: tuple[ViewportRule, ...] = Field(min_length=1, max_length=MOST)


@dataclass(frozen=True, slots=True)
class Protocol:
    """A hanging protocol.

    Attributes:
        name: Name of its file, without the ending.
        rules: One for each slot, in the same order.
        own: Whether it is the user's own, which goes before those that are shipped.
        enabled: Whether it is used; if not, it is only listed.
    """

    name: str
    title: str
    slots: tuple[Slot, ...]
    match: Match
    rules: tuple[ViewportRule, ...]
    own: bool = False
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Hung:
    """What a viewport shows: an image, and how; `instance` None for nothing.

    Attributes:
        shown_so: Whether the protocol says how: if not, it is shown as its series was last.
    """

    instance: Instance | None
    window: Window | None = None
    flip: bool = False
    shown_so: bool = False


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A protocol that suits a study, with what each of its viewports shows.

    Attributes:
        why: The reason for the choice, as a clause: "CT, chest".
    """

    protocol: Protocol
    hung: tuple[Hung, ...]
    why: str


def parse_protocol(text: str, name: str, *, own: bool = False) -> Protocol:
    """Return the protocol that a TOML text contains.

    Raises:
        ValueError: The text is not a valid protocol; says why.
    """
    try:
        file = _ProtocolFile.model_validate(tomllib.loads(text))
    except ValidationError as error:
        wrong = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise ValueError("; ".join(wrong)) from error
    if isinstance(file.layout, str):
        if file.layout not in LAYOUTS:
            raise ValueError(f"layout: {file.layout!r} is not known")
        slots = LAYOUTS[file.layout]
    else:
        slots = tuple(Slot(*one) for one in file.layout)
        if any(max(one.right, one.bottom) > 1 + 1e-6 for one in slots):
            raise ValueError("layout: a viewport lies outside the window")
    if len(slots) != len(file.viewport):
        raise ValueError(f"the layout has {len(slots)} viewports, not {len(file.viewport)}")
    for number, rule in enumerate(file.viewport, 1):
        if rule.same_as >= number:
            raise ValueError(f"viewport {number}: `as` must name an earlier viewport")
    return Protocol(name, file.title, slots, file.match, file.viewport, own, file.enabled)


@dataclass(slots=True)
class Protocols:
    """The protocols of a folder of the user's own, and the shipped ones.

    Attributes:
        all: Those that are used: of two with the same name, the user's own.
        listed: Also those that are switched off.
        problems: A problem for each file that was set aside because it cannot be used.
    """

    folder: Path | None = None
    listed: list[Protocol] = field(default_factory=list[Protocol])
    problems: list[FileProblem] = field(default_factory=list[FileProblem])

    @property
    def all(self) -> list[Protocol]:
        """The protocols that are used."""
        return [one for one in self.listed if one.enabled]

    def load(self) -> None:
        """Read all files; a broken one of the user's own is renamed, so that it is told once."""
        self.listed, self.problems = [], []
        folder = self.folder
        if folder is not None and os.path.lexists(folder) and not folder.is_dir():
            reason = set_aside(folder, "Your hanging protocols")
            self.problems.append(FileProblem(reason, subject=str(folder), remedy=_REMEDY))
        for file in _files_in(folder):
            self._read(file, own=True)
        own = {one.name for one in self.listed}
        for file in _files_in(_SHIPPED):
            if file.stem not in own:
                self._read(file, own=False)

    def _read(self, file: Path, *, own: bool) -> None:
        try:
            data = read_regular(file, _LARGEST)
            self.listed.append(parse_protocol(data.decode("utf-8"), file.stem, own=own))
        except (OSError, ValueError, RecursionError) as error:
            reason = " ".join(str(error).split())[:300]
            self.problems.append(
                FileProblem(f"not a hanging protocol: {reason}", subject=str(file), remedy=_REMEDY)
            )
            if own:
                set_aside(file, file.name)

    def save(self, name: str, text: str) -> Path:
        """Write a protocol of the user's own and load it; returns the file.

        Raises:
            ValueError: The text is not a valid protocol.
            OSError: The file cannot be written.
        """
        parse_protocol(text, name)
        file = self._own_file(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, text.encode("utf-8"))
        self.load()
        return file

    def delete(self, name: str) -> None:
        """Delete a protocol of the user's own; one that is shipped with this name is used again.

        Raises:
            OSError: The file cannot be deleted.
        """
        self._own_file(name).unlink(missing_ok=True)
        self.load()

    def enable(self, protocol: Protocol, on: bool) -> None:
        """Use a protocol, or no longer; one that is shipped is switched off by a file of its name.

        Raises:
            ValueError: The protocol's file is not valid any more.
            OSError: A file cannot be read, written or deleted.
        """
        shipped = _SHIPPED / f"{protocol.name}.toml"
        file = self._own_file(protocol.name) if protocol.own else shipped
        text = _ENABLED.sub("", read_regular(file, _LARGEST).decode("utf-8"), count=1)
        if on and shipped.is_file() and shipped.read_text("utf-8") == text:
            self.delete(protocol.name)  # the file was there to switch it off only
        else:
            self.save(protocol.name, text if on else f"enabled = false\n{text}")

    def is_shipped(self, name: str) -> bool:
        """Return whether a protocol with this name is shipped."""
        return (_SHIPPED / f"{name}.toml").is_file()

    def free_name(self, title: str) -> str:
        """Return a name for a new file of a title."""
        stem = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "protocol"
        taken = {one.name for one in self.listed}
        names = (f"own-{stem}{'' if number == 1 else f'-{number}'}" for number in range(1, 10_000))
        return next(name for name in names if name not in taken)

    def _own_file(self, name: str) -> Path:
        if self.folder is None:
            raise OSError("there is no folder for hanging protocols")
        return self.folder / f"{name}.toml"


_SHIPPED = resources_dir() / "hanging"
_ENABLED = re.compile(r"^enabled *= *(true|false)[ \t]*\n", re.MULTILINE)


def _files_in(folder: Path | None) -> list[Path]:
    try:
        return sorted(folder.glob("*.toml")) if folder is not None else []
    except OSError:
        return []


def choose(
    protocols: Iterable[Protocol], study: Study, priors: Sequence[Study]
) -> Arrangement | None:
    """Return the arrangement for a study by the most specific protocol, or None if none suits.

    A user's own protocol goes before a shipped one. `priors` are earlier studies of the patient,
    the latest first.
    """
    suited = [one for one in protocols if _suits(one.match, study, priors)]
    suited.sort(key=lambda one: (not one.own, -one.match.conditions))
    for protocol in suited:
        hung = hang(protocol, study, priors)
        if hung is not None:
            return Arrangement(protocol, hung, _why(protocol.match, study))
    return None


def hang(protocol: Protocol, study: Study, priors: Sequence[Study]) -> tuple[Hung, ...] | None:
    """Return what each viewport of a protocol shows; None if one that must not stays empty."""
    found: list[Hung] = []
    for rule in protocol.rules:
        taken = [one.instance for one in found if one.instance is not None]
        if rule.same_as:
            instance = found[rule.same_as - 1].instance
        elif rule.empty:
            instance = None
        elif rule.prior:
            alike = (one for one in priors if _is_alike(study, one, protocol.match.words))
            fitting = (_first(rule, one, taken) for one in alike)
            instance = next((one for one in fitting if one is not None), None)
        else:
            instance = _first(rule, study, taken)
        if instance is None and not rule.optional:
            return None
        window = None
        if rule.window and instance is not None:
            window = Window(*rule.window, explanation=PROTOCOL)
        flip = instance is not None and rule.facing and _faces_away(instance)
        found.append(Hung(instance, window, flip, window is not None or rule.facing))
    return tuple(found)


def _suits(match: Match, study: Study, priors: Sequence[Study]) -> bool:
    images = list(_image_series(study))
    if not images or len(images) < match.series:
        return False
    if match.modality and not any(one.modality in match.modality for one in images):
        return False
    if match.words and not _has_word(match.words, _texts_of(study)):
        return False
    return not match.prior or any(_is_alike(study, one, match.words) for one in priors)


def _image_series(study: Study) -> Iterator[Series]:
    return (one for one in study.series if one.content is Content.IMAGE and one.instances)


def _texts_of(study: Study) -> Iterator[str]:
    yield study.title
    for series in _image_series(study):
        yield series.description
        yield series.instances[0].get("BodyPartExamined")


def _has_word(words: Iterable[str], texts: Iterable[str]) -> bool:
    """Return whether one of the words is a whole word of a text, in upper or lower case."""
    said = {word for text in texts for word in _words_in(text)}
    return any(word.lower() in said for word in words)


def _words_in(text: str) -> set[str]:
    """Return the words of a text in small letters; "dark-fluid" is three."""
    whole = {word for word in re.split(r"[^\w-]+|_", text.lower()) if word}
    return whole | {part for word in whole for part in word.split("-") if part}


def _is_alike(study: Study, prior: Study, words: Sequence[str]) -> bool:
    """Return whether a prior has the study's first modality and shows the same part of the body.

    That is one with one of the protocol's `words`; without these, one with the study's body part
    in its texts. A part that is unknown is never the same.
    """
    modality = next((one.modality for one in _image_series(study)), "")
    if not any(one.modality == modality for one in _image_series(prior)):
        return False
    parts = words or [
        word
        for one in _image_series(study)
        for word in _words_in(one.instances[0].get("BodyPartExamined"))
    ]
    return _has_word(parts, _texts_of(prior))


def _first(rule: ViewportRule, study: Study, taken: Sequence[Instance]) -> Instance | None:
    candidates = [(series, item) for series in _image_series(study) for item in _candidates(series)]
    fitting = [item for series, item in candidates if _fits(rule, series, item)]
    return next((item for item in fitting if not any(item is one for one in taken)), None)


def _candidates(series: Series) -> Sequence[Instance]:
    """Return the images of a series of which one may be hung; none of a localizer."""
    first = series.instances[0]
    if series.modality in _RADIOGRAPHS:
        return [one for one in series.instances if one.get("SOPClassUID") not in _FOR_PROCESSING]
    told = _words_in(series.description) & _LOCALIZERS
    is_localizer = told or "LOCALIZER" in first.get("ImageType").upper()
    return () if is_localizer else series.instances[:1]


def _fits(rule: ViewportRule, series: Series, instance: Instance) -> bool:
    if rule.modality and series.modality not in rule.modality:
        return False
    texts = (series.description, instance.get("ProtocolName"))
    if rule.description and rule.description.casefold() != series.description.casefold():
        return False
    if rule.without and _has_word(rule.without, texts):
        return False
    if rule.words and not _has_word(rule.words, texts):
        return False
    if rule.view and not _views_of(instance).intersection(rule.view):
        return False
    return not rule.laterality or _laterality(instance) == rule.laterality


def _views_of(instance: Instance) -> set[str]:
    """Return the names in protocols for an image's view; empty if it is unknown."""
    said = instance.get("ViewPosition").strip().upper()
    views = {said} - {""}
    projection = coded_projection(instance)
    if said in ("PA", "AP") or (projection is not None and projection.direction in _FRONTAL):
        views.add("FRONTAL")
    if said in _LATERAL or (
        projection is not None and projection.direction is BeamDirection.LATERAL
    ):
        views.add("LATERAL")
    if projection is not None and projection.direction in (BeamDirection.PA, BeamDirection.AP):
        views.add(projection.direction.value)
    code = instance.get(KEYWORD).rpartition(" ")[2]
    return views | {_BREAST_VIEWS[code]} if code in _BREAST_VIEWS else views


def _laterality(instance: Instance) -> str:
    side = instance.get("ImageLaterality") or instance.get("Laterality")
    return side.strip().upper()[:1]


def _faces_away(instance: Instance) -> bool:
    """Return whether a mammogram's chest wall would be at the outer edge of the window.

    The right breast hangs on the left, so its columns must run to the back of the patient (P); the
    left breast's to the front (A); PatientOrientation, PS3.3 C.7.6.1.1.1.
    """
    across = instance.get("PatientOrientation").partition("\\")[0].strip().upper()[:1]
    wanted = {"R": "P", "L": "A"}.get(_laterality(instance), "")
    return bool(wanted) and across in ("A", "P") and across != wanted


PRIOR_IS_OPEN = "an earlier study of the patient is open"


def _why(match: Match, study: Study) -> str:
    modality = next((one.modality for one in _image_series(study)), "")
    parts = [modality if match.modality else ""]
    if match.words:
        texts = list(_texts_of(study))
        parts.append(next((word for word in match.words if _has_word((word,), texts)), ""))
    parts.append(PRIOR_IS_OPEN if match.prior else "")
    return ", ".join(part for part in parts if part)


def write_protocol(
    title: str, slots: Sequence[Slot], match: dict[str, Any], rules: Sequence[dict[str, Any]]
) -> str:
    """Return a protocol as TOML: `match` and `rules` by their keys, empty values left out."""
    name = next((name for name, known in LAYOUTS.items() if known == tuple(slots)), None)
    shares = [[round(v, 6) for v in (one.x, one.y, one.width, one.height)] for one in slots]
    lines = [f"title = {_toml(title)}", f"layout = {_toml(name or shares)}", "", "[match]"]
    lines += [f"{key} = {_toml(value)}" for key, value in match.items() if value]
    for rule in rules:
        lines += ["", "[[viewport]]"]
        lines += [f"{key} = {_toml(value)}" for key, value in rule.items() if value]
    return "\n".join([*lines, ""])


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        plain = "".join(one for one in value if one.isprintable())
        return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list | tuple):
        items: Any = value
        return f"[{', '.join(_toml(one) for one in items)}]"
    return repr(value)
