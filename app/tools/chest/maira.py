"""MAIRA-2, which finds a phrase on a frontal film, or drafts findings (model process only).

Our own code builds the network and reads the published weights (microsoft/maira-2). If their files
differ in structure, the program that comes with them is run instead, if the user allows it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn
from transformers import (
    AutoModelForCausalLM,
    AutoProcessor,
    Dinov2Backbone,
    Dinov2Config,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)
from transformers.activations import ACT2FN
from transformers.models.bit.image_processing_pil_bit import BitImageProcessorPil

from app.paths import resources_dir
from app.tools.api import Progress
from app.tools.chest import published_programs
from app.tools.chest.boxes import (
    GroundedPhrase,
    InputRectangle,
    ParsedText,
    centre_crop,
    read_maira,
    whole_image,
)
from app.tools.chest.decoding import (
    GeneratedTokens,
    SpecialIds,
    embedded_inputs,
    generate_tokens,
    rgb,
)
from app.tools.chest.published_programs import OWN, PUBLISHED
from app.tools.model_process.published_weights import (
    OtherLayout,
    check_weights,
    fill_parameters,
    read_config,
    uninitialised_modules,
)
from app.tools.model_process.serving import Work, serve

IMAGE = "<image>"
_BEFORE = "Given the current frontal image"
_ASK: dict[str, str] = tomllib.loads(
    (resources_dir() / "prompts" / "maira.toml").read_text("utf-8")
)
"""The published words that follow an image: "phrase", "report", "boxes" (in a report)."""
_NOT_CONFIG = ("architectures", "model_type", "torch_dtype", "dtype", "_name_or_path")
_RENAMED = (
    # Left: names of DINOv2's attention weights before transformers 5.
    (re.compile(r"\.attention\.attention\.query\."), ".attention.q_proj."),
    (re.compile(r"\.attention\.attention\.key\."), ".attention.k_proj."),
    (re.compile(r"\.attention\.attention\.value\."), ".attention.v_proj."),
    (re.compile(r"\.attention\.output\.dense\."), ".attention.o_proj."),
)


class Projector(nn.Module):
    """MAIRA-2's projection of image features to the language model's width, as linear layers."""

    def __init__(self, seen: int, width: int, count: int, activation: str) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Linear(seen, width)]
        for _ in range(count - 1):
            layers += [ACT2FN[activation], nn.Linear(width, width)]
        self.layers = nn.Sequential(*layers)

    def forward(self, features: Tensor) -> Tensor:
        """Map image features [images, patches, features] to [images, patches, text width]."""
        return self.layers(features)


@dataclass(slots=True)
class Maira:
    """The loaded MAIRA-2 with its tokenizer and image processor."""

    tokenizer: Any
    images: Any
    tower: Any
    projector: Projector
    language: Any
    image_token: int

    def preprocess(self, grey: NDArray[np.uint8]) -> Tensor:
        """Return a grey image [rows, columns] as the network's input, with stretched grey levels.

        Returns:
            float32 [1, 3, size, size].
        """
        picture = Image.fromarray(stretch_levels(grey))
        return self.images(picture, return_tensors="pt")["pixel_values"]

    def prompt(self, phrase: str, *, grounded: bool = False) -> str:
        """Return a prompt in the model's conversation format, with `<image>` for the image.

        It asks where `phrase` is. If `phrase` is "", it asks for the findings of a report; if also
        `grounded`, with their boxes. The wording is the published one for a single image.
        """
        before = _BEFORE if phrase else f"{_BEFORE} only"
        boxes = _ASK["boxes"] if grounded else ""
        after = _ASK["phrase" if phrase else "report"].format(phrase=phrase, boxes=boxes)
        content = [
            {"index": None, "text": before, "type": "text"},
            {"index": 0, "text": None, "type": "image"},
            {"index": None, "text": after, "type": "text"},
        ]
        return str(
            self.tokenizer.apply_chat_template(
                [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
            )
        )

    def embed(self, phrase: str, grey: NDArray[np.uint8], *, grounded: bool = False) -> Tensor:
        """Return the prompt's embeddings [1, tokens, width], `<image>` replaced by the image's."""
        device = self.language.device
        pixels = self.preprocess(grey).to(device, self.language.dtype)
        # The class token comes first and is not used.
        seen = self.projector(self.tower(pixels).feature_maps[-1][:, 1:])
        before, _, after = self.prompt(phrase, grounded=grounded).partition(IMAGE)
        text = before + IMAGE * seen.shape[1] + after
        ids = torch.tensor([self.tokenizer(text)["input_ids"]], device=device)
        found = self.language.get_input_embeddings()(ids)
        found[ids == self.image_token] = seen[0].to(found.dtype)
        return found

    def ask(
        self, grey: NDArray[np.uint8], phrase: str, most: int, work: Work, *, grounded: bool = False
    ) -> tuple[ParsedText, GeneratedTokens, list[int]]:
        """Return (parsed answer, its at most `most` tokens, network input's [rows, columns])."""
        with torch.inference_mode():
            inputs = embedded_inputs(self.embed(phrase, grey, grounded=grounded))
        end = SpecialIds.of(int(self.tokenizer.eos_token_id))
        written = generate_tokens(self.language, inputs, end, work, most=most)
        text = self.tokenizer.decode(written.ids, skip_special_tokens=True)
        crop = dict(self.images.crop_size)
        return read_maira(text), written, [int(crop["height"]), int(crop["width"])]

    def seen(self, rows: int, columns: int) -> InputRectangle:
        """Return the part of an image of `rows` x `columns` pixels that the model sees.

        Its sides are in pixel edges: (0, 0) is the image's outer corner at the top left.
        """
        return visible_part(self.images, rows, columns)


def stretch_levels(grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a grey image with levels stretched to 0..255 and rounded down, as MAIRA-2 expects.

    Raises:
        ValueError: All pixels are equal.
    """
    low, high = int(grey.min()), int(grey.max())
    if low == high:
        raise ValueError("all pixels of this image are alike")
    levels = (grey.astype(np.float64) - low) / (high - low) * 255
    return levels.astype(np.uint8)


def build_network(folder: Path, device: str, dtype: torch.dtype) -> dict[str, nn.Module]:
    """Return the network's modules, without weights, for the configuration in a model's folder.

    The key of each is the prefix of its weights' published names.

    Raises:
        OtherLayout: The folder's layout differs from that of the published model.
        ToolFailed: A file is missing or damaged.
    """
    config = read_config(folder)
    layers = config.get("projector_n_layers")
    if "Maira2ForConditionalGeneration" not in config.get("architectures", ()) or not layers:
        raise OtherLayout("config.json is not that of the published MAIRA-2")
    if config.get("vision_feature_select_strategy") != "default":
        raise OtherLayout("another choice of image features")
    vision = Dinov2Config(**_model_settings(config["vision_config"]))
    text = LlamaConfig(**_model_settings(config["text_config"]))
    act = str(config["projector_hidden_act"])
    with uninitialised_modules(device, dtype):
        return {
            "vision_tower.": Dinov2Backbone(vision),
            "multi_modal_projector.": Projector(
                vision.hidden_size, text.hidden_size, int(layers), act
            ),
            "language_model.": LlamaForCausalLM(text),
        }


def load(folder: Path, device: str, dtype: torch.dtype, tell: Callable[[float], None]) -> Maira:
    """Load the published model from its folder; `tell` receives the fraction loaded so far, 0..1.

    Raises:
        OtherLayout: The folder's layout differs from that of the published model.
        ToolFailed: A file is missing or damaged.
    """
    parts = build_network(folder, device, dtype)
    fill_parameters(parts, folder, rename=current_name, tell=tell)
    projector: Any = parts["multi_modal_projector."].eval()
    return Maira(
        tokenizer=_tokenizer(folder),
        images=BitImageProcessorPil.from_pretrained(str(folder), local_files_only=True),
        tower=parts["vision_tower."].eval(),
        projector=projector,
        language=parts["language_model."].eval(),
        image_token=int(read_config(folder)["image_token_index"]),
    )


def current_name(name: str) -> str:
    """Convert the published name of a weight to its current name in transformers."""
    for pattern, new in _RENAMED:
        name = pattern.sub(new, name)
    return name


def _model_settings(config: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in _NOT_CONFIG}


def _tokenizer(folder: Path) -> Any:
    """Return the tokenizer with its conversation format, which one of two files contains."""
    found = PreTrainedTokenizerFast.from_pretrained(str(folder), local_files_only=True)
    if not found.chat_template and (folder / "chat_template.json").is_file():
        found.chat_template = read_config(folder, "chat_template.json").get("chat_template")
    if not found.chat_template:
        raise OtherLayout("no file has the conversation format (chat_template)")
    return found


class Published:
    """MAIRA-2 run by the Python program in the model's folder instead of our own code."""

    def __init__(self, folder: Path, work: Work) -> None:
        self.processor = published_programs.load_with_program(AutoProcessor, folder, work)
        self.model = published_programs.load_model_with_program(AutoModelForCausalLM, folder, work)

    def ask(
        self, grey: NDArray[np.uint8], phrase: str, most: int, work: Work, *, grounded: bool = False
    ) -> tuple[ParsedText, GeneratedTokens, list[int]]:
        """Locate a phrase or write findings; arguments and result are as for `Maira.ask`."""
        if phrase:
            given = self.processor.format_and_preprocess_phrase_grounding_input(
                frontal_image=rgb(grey), phrase=phrase, return_tensors="pt"
            )
        else:
            lacking = ("current_lateral", "prior_frontal", "prior_report")
            told = ("indication", "technique", "comparison")
            given = self.processor.format_and_preprocess_reporting_input(
                current_frontal=rgb(grey),
                get_grounding=grounded,
                return_tensors="pt",
                **dict.fromkeys((*lacking, *told)),
            )
        given = {key: value.to(self.model.device) for key, value in given.items()}
        given["pixel_values"] = given["pixel_values"].to(self.model.dtype)
        end = SpecialIds.of(int(self.processor.tokenizer.eos_token_id))
        written = generate_tokens(self.model, given, end, work, most=most)
        text = self.processor.decode(written.ids, skip_special_tokens=True)
        return self._read(text), written, list(given["pixel_values"].shape[-2:])

    def seen(self, rows: int, columns: int) -> InputRectangle:
        """Return the part of a `rows` x `columns` image that the model sees; see `Maira.seen`."""
        images = getattr(self.processor, "image_processor", None)
        if images is not None and getattr(images, "size", None):
            return visible_part(images, rows, columns)
        left, top, right, bottom = self.processor.adjust_box_for_original_image_size(
            (0.0, 0.0, 1.0, 1.0), width=columns, height=rows
        )
        return InputRectangle(left * columns, top * rows, right * columns, bottom * rows)

    def _read(self, text: str) -> ParsedText:
        strict = read_maira(text)
        if strict.refused:
            return strict  # the published parser raises an error for these
        found = self.processor.convert_output_to_plaintext_or_grounded_sequence(text)
        if isinstance(found, str):
            return ParsedText((), found, ())
        groups = tuple(GroundedPhrase(phrase, _corners(boxes)) for phrase, boxes in found)
        return ParsedText(groups, strict.text, ())


def entry(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Locate a phrase on an image, or write the findings of a report on it.

    `payload` has "model" and "device" for `serve`; "grey" uint8 [rows, columns]; "phrase", left out
    to get findings; "grounded", True for findings with boxes; and "max_new_tokens".

    Returns:
        "seen", the part of the image that the model saw, as [left, top, right, bottom] in pixel
        edges; "groups", a list of [phrase, boxes] with boxes as fractions of that part; "text";
        "refused", one sentence for each unusable box; "input_size", the model's input as
        [rows, columns]; "cut", True if the answer was cut off; "engine", whether our own code or
        the model's program ran; and "device", "dtype" and "notes" of `serve`.
    """
    grey: NDArray[np.uint8] = payload["grey"]
    phrase, most = str(payload.get("phrase", "")), int(payload["max_new_tokens"])
    grounded = bool(payload.get("grounded"))

    def work_with(model: Maira | Published, work: Work) -> dict[str, Any]:
        work.progress(0.2, "Looking at the image")
        reading, written, size = model.ask(grey, phrase, most, work, grounded=grounded)
        seen = model.seen(*grey.shape)
        return {
            "groups": [
                [group.phrase, [list(box) for box in group.boxes]] for group in reading.groups
            ],
            "text": reading.text,
            "refused": list(reading.refused),
            "seen": [seen.left, seen.top, seen.right, seen.bottom],
            "input_size": size,
            "cut": not written.finished,
            "engine": PUBLISHED if isinstance(model, Published) else OWN,
        }

    return serve(payload, progress, load=_load, work=work_with)


def visible_part(images: Any, rows: int, columns: int) -> InputRectangle:
    """Return the part of an image that is left after the crop by `images`, in pixel edges."""
    shortest = dict(images.size).get("shortest_edge")
    if not shortest or not images.do_center_crop:  # a fixed size is reached without cropping
        return whole_image(rows, columns)
    crop = dict(images.crop_size)
    return centre_crop(rows, columns, int(shortest), int(crop["height"]), int(crop["width"]))


def _load(folder: Path, work: Work) -> Maira | Published:
    dtype = work.placement.torch_dtype
    return published_programs.load_either_way(load, Published, folder, work, dtype, "MAIRA-2")


def _corners(
    boxes: Sequence[Sequence[float]] | None,
) -> tuple[tuple[float, float, float, float], ...]:
    return tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in boxes or ())


def check(payload: dict[str, Any]) -> dict[str, Any]:
    """Check the headers of the weights in payload["weights"]; return {"parameters": their number}.

    Raises:
        ToolFailed: A file is missing, is damaged or does not fit.
    """
    return check_weights(payload, build_network, current_name)
