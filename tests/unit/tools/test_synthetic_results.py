"""An image that a model made is known as such wherever it goes, and so is what is found on it."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, PngImagePlugin
from pydantic import BaseModel

from app.imaging.attributes import AttributeRow
from app.imaging.files import synthetic
from app.imaging.findings import Box, Finding, new_id
from app.imaging.formats import picture_file
from app.imaging.reading.image_entries import read_instance
from app.tools.api import Artifact, ToolContext, ToolResult, ToolSpec
from app.tools.files import save_png
from app.tools.general.image_visualizer import ImageVisualizer
from app.tools.registry import RegisteredTool
from tests.unit.tools.support import Bench, gradient, write_dicom

GREYS = np.arange(48, dtype=np.uint8).reshape(6, 8)


def picture(folder: Path, model: str = "RoentGen", **more: str) -> Path:
    path = save_png(GREYS, folder, "generated_xray")
    synthetic.mark(path, model, more)
    return path


def test_the_mark_is_a_text_chunk_that_other_programs_read_and_the_pixels_stay(tmp_path: Path):
    path = picture(tmp_path, Model="RoentGen", Prompt="1f2e")
    with Image.open(path) as opened:
        assert opened.text == {  # type: ignore[attr-defined]
            "Sightline-Synthetic": "RoentGen",
            "Model": "RoentGen",
            "Prompt": "1f2e",
        }
        assert np.array_equal(np.asarray(opened), GREYS)
    assert synthetic.file_model_title(path) == "RoentGen"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_mark_that_another_program_wrote_is_found(tmp_path: Path):
    info = PngImagePlugin.PngInfo()
    info.add_text("Software", "elsewhere")
    info.add_text("Sightline-Synthetic", "RoentGen")
    Image.fromarray(GREYS).save(tmp_path / "a.png", pnginfo=info)
    assert synthetic.file_model_title(tmp_path / "a.png") == "RoentGen"


@pytest.mark.parametrize("kind", ["tEXt", "zTXt", "iTXt", "packed iTXt"])
def test_a_mark_that_was_written_anew_is_found_behind_the_pixels_too(tmp_path: Path, kind: str):
    """As image programs write texts when they save a picture."""
    data = save_png(GREYS, tmp_path, "x").read_bytes()
    texts = {
        "tEXt": b"RoentGen",
        "zTXt": b"\0" + zlib.compress(b"RoentGen"),
        "iTXt": b"\0\0en\0\0RoentGen",
        "packed iTXt": b"\1\0\0\0" + zlib.compress(b"RoentGen"),
    }
    name = kind.encode()[-4:]
    body = name + synthetic.KEYWORD.encode() + b"\0" + texts[kind]
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    end = data.rindex(b"IEND") - 4
    path = tmp_path / "again.png"
    path.write_bytes(data[:end] + chunk + data[end:])
    assert synthetic.file_model_title(path) == "RoentGen"
    assert read_instance(path).get("SyntheticBy") == "RoentGen"


def test_marking_twice_keeps_the_first_maker(tmp_path: Path):
    path = picture(tmp_path)
    synthetic.mark(path, "another")
    assert synthetic.file_model_title(path) == "RoentGen"


@pytest.mark.parametrize("cut", [0, 4, 20, 40, 60])
def test_half_a_file_and_other_files_have_no_mark_and_raise_nothing(tmp_path: Path, cut: int):
    whole = picture(tmp_path).read_bytes()
    assert synthetic.model_title(whole[:cut]) == ""
    stream = io.BytesIO()
    Image.fromarray(GREYS).save(stream, "JPEG")
    assert synthetic.model_title(stream.getvalue()) == ""
    assert synthetic.file_model_title(tmp_path / "gone.png") == ""
    (tmp_path / "a.png").write_bytes(stream.getvalue())
    with pytest.raises(ValueError, match="no PNG"):
        synthetic.mark(tmp_path / "a.png", "x")


def test_control_characters_in_a_mark_do_not_reach_the_screen():
    body = synthetic.KEYWORD.encode() + b"\0Ro\x1b[31mentGen\n"
    chunk = len(body).to_bytes(4) + b"tEXt" + body + b"\0\0\0\0"
    assert synthetic.model_title(b"\x89PNG\r\n\x1a\n" + chunk) == "Ro[31mentGen"


def test_a_marked_picture_is_known_when_it_is_opened_again(tmp_path: Path):
    path = picture(tmp_path)
    assert read_instance(path).get("SyntheticBy") == "RoentGen"
    assert AttributeRow("", "SyntheticBy", "", "RoentGen") in picture_file.read_rows(path)
    plain = save_png(GREYS, tmp_path, "plain")
    assert read_instance(plain).get("SyntheticBy") == ""


class _Input(BaseModel):
    image_path: str


class _Looks:
    """Looks at an image, finds something on it and draws a picture of it."""

    spec = ToolSpec("looks", "looks", _Input, _Input, pack="test")

    def run(self, args: _Input, context: ToolContext) -> ToolResult:
        snapshot = context.images.resolve(args.image_path)
        found = Finding(
            id=new_id(),
            image=snapshot.ref,
            geometry=Box(0, 0, 2, 2),
            label="Mass",
            score=None,
            units="",
            provenance=context.provenance(self.spec),
            description="A mass.",
        )
        drawn = save_png(snapshot.display, context.out_dir, "overlay")
        context.images.add_derived(drawn, snapshot)
        return ToolResult(
            "Found a mass.", {}, {"warnings": ["small"]}, (found,), (Artifact(drawn),)
        )


def test_whatever_a_tool_finds_on_a_synthetic_image_says_so(bench: Bench):
    """In summary, metadata, finding, artifact and the file that it wrote."""
    path = picture(bench.out)
    bench.images.add_derived(path, None)
    result = bench.run(RegisteredTool(_Looks()), image_path=str(path))
    said = "a synthetic image, made by RoentGen: this result says nothing of any patient"
    assert result.summary == f"Found a mass. Note: {said}."
    assert result.metadata["warnings"] == ["small", said]
    assert result.metadata["synthetic"] is True
    assert result.findings[0].description == (
        "Synthetic image, made by RoentGen: no patient. A mass."
    )
    assert result.artifacts[0].options == {"synthetic": True, "model": "RoentGen"}
    assert synthetic.file_model_title(result.artifacts[0].path) == "RoentGen"


def test_a_picture_made_of_a_synthetic_one_is_synthetic_to_the_next_tool(bench: Bench):
    path = picture(bench.out)
    bench.images.add_derived(path, None)
    first = bench.run(RegisteredTool(_Looks()), image_path=str(path))
    second = bench.run(RegisteredTool(_Looks()), image_path=str(first.artifacts[0].path))
    assert second.metadata["synthetic"] is True


class _Mixes(_Looks):
    """Draws a synthetic image into a picture of a patient's, as a comparison would."""

    def run(self, args: _Input, context: ToolContext) -> ToolResult:
        real = context.images.resolve("image-1")
        made = context.images.resolve(args.image_path)
        small = made.display[:8]
        for pixels, name, source in ((real.display, "mixed", real), (small, "alone", None)):
            path = save_png(pixels, context.out_dir, name)
            context.images.add_derived(path, source)
            self.paths = [*getattr(self, "paths", []), path]
        return ToolResult("Mixed.", {}, {}, artifacts=(Artifact(self.paths[0]),))


def test_a_synthetic_image_stays_synthetic_in_a_picture_of_a_patients(bench: Bench):
    bench.open(write_dicom(bench.folder / "a.dcm", gradient()))
    path = picture(bench.out)
    bench.images.add_derived(path, None)
    tool = _Mixes()
    bench.run(RegisteredTool(tool), image_path=str(path))
    for made in tool.paths:
        assert synthetic.file_model_title(made) == "RoentGen"
        assert (
            bench.run(RegisteredTool(_Looks()), image_path=str(made)).metadata["synthetic"] is True
        )
    assert "synthetic" not in bench.run(RegisteredTool(_Looks()), image_path="image-1").metadata


def test_what_was_drawn_on_a_synthetic_picture_is_there_for_the_next_question(bench: Bench):
    """The next question has images of its own and knows only what lies in the folder."""
    path = picture(bench.out)
    bench.images.add_derived(path, None)
    first = bench.run(RegisteredTool(_Looks()), image_path=str(path))
    bench._images = None  # pyright: ignore[reportPrivateUsage]
    again = bench.run(RegisteredTool(_Looks()), image_path=str(first.artifacts[0].path))
    assert again.metadata["synthetic"] is True


def test_a_synthetic_picture_that_the_user_opens_is_synthetic_to_every_tool(bench: Bench):
    bench.open(picture(bench.folder))
    shown = bench.run(RegisteredTool(ImageVisualizer()), image_path="image-1", cmap="bone")
    assert shown.artifacts[0].options["synthetic"] is True
    assert shown.artifacts[0].options["cmap"] == "bone"
    assert synthetic.file_model_title(shown.artifacts[0].path) == "RoentGen"


def test_a_patients_image_is_called_synthetic_by_nothing(bench: Bench):
    bench.open(write_dicom(bench.folder / "a.dcm", gradient()))
    result = bench.run(RegisteredTool(_Looks()), image_path="image-1")
    assert result.summary == "Found a mass."
    assert result.metadata == {"warnings": ["small"]}
    assert result.findings[0].description == "A mass."
    assert synthetic.file_model_title(result.artifacts[0].path) == ""


def test_a_language_model_is_told_that_an_open_image_is_synthetic(bench: Bench):
    bench.open(picture(bench.folder, "Mr. Smith's own model"))
    bench.open(write_dicom(bench.folder / "a.dcm", gradient()))
    made, real = bench.images.notes(remote=True)
    assert made["synthetic"] is True
    assert "Smith" not in str(made)
    assert "synthetic" not in real
