"""The seed's four prompts, tiny models that answer them, and a scripted model that follows them.

The tiny models' words are known (see `tests.support.tiny`), so the answers can be held to them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from app.agent.llm.base import ModelEvent, ModelInfo, Text, ToolSchema
from app.agent.messages import Message
from app.tools.api import CancelToken, ModelHost
from app.tools.models.store import ModelStore
from tests.support.scripted_model import call

PROMPT_1 = """Run tools in this order:
1) dicom_processor on the uploaded DICOM path
2) chest_xray_classifier on the converted PNG image_path
3) chest_xray_segmentation on the converted PNG for organs ["Left Lung","Right Lung","Heart"]
4) chest_xray_report_generator on the converted PNG
5) image_visualizer on segmentation_image_path with title "Segmentation Overlay"
Then summarize all outputs."""
PROMPT_1_NATURAL = (
    "In this image, what type of disease do we have, and where is it located? "
    "Use all available tools for diagnosis and localization."
)
PROMPT_2 = """Run chest_xray_expert first with:
image_paths=[<uploaded image path>]
prompt="List the top abnormalities, then explain supporting visual signs."
Then run llava_med_qa on the same image with:
question="Do you agree with that interpretation? Point out any disagreement."
Finally compare both answers."""
PROMPT_3 = """Run xray_phrase_grounding with:
phrase="left pleural effusion"
max_new_tokens=300
Then run image_visualizer on the returned visualization_path with title "Grounded Finding".
Explain the box coordinates in plain language."""
PROMPT_4 = """Run chest_xray_generator with:
prompt="PA chest X-ray showing moderate cardiomegaly and mild bilateral pleural effusions"
height=512
width=512
num_inference_steps=75
guidance_scale=4.0
Then run image_visualizer on the generated image.
Then run chest_xray_classifier, chest_xray_segmentation, and chest_xray_report_generator on that \
same generated image.
Finish with a concise synthesis."""

ORGANS = ["Left Lung", "Right Lung", "Heart"]
ABNORMALITIES = "List the top abnormalities, then explain supporting visual signs."
AGREE = "Do you agree with that interpretation? Point out any disagreement."
PHRASE = "left pleural effusion"
DRAWN = {
    "prompt": "PA chest X-ray showing moderate cardiomegaly and mild bilateral pleural effusions",
    "height": 512,
    "width": 512,
    "num_inference_steps": 75,
    "guidance_scale": 4.0,
}
TOOLS: Mapping[int, tuple[str, ...]] = {
    1: (
        "dicom_processor",
        "chest_xray_classifier",
        "chest_xray_segmentation",
        "chest_xray_report_generator",
        "image_visualizer",
    ),
    2: ("chest_xray_expert", "llava_med_qa"),
    3: ("xray_phrase_grounding", "image_visualizer"),
    4: (
        "chest_xray_generator",
        "image_visualizer",
        "chest_xray_classifier",
        "chest_xray_segmentation",
        "chest_xray_report_generator",
    ),
}
"""The tools that run for each prompt, in the order of the seed document."""

MODELS: Mapping[str, tuple[str, ...]] = {
    "chest_xray_classifier": ("densenet121-res224-all",),
    "chest_xray_segmentation": ("pspnet-chestx-det",),
    "chest_xray_report_generator": (
        "chexpert-mimic-cxr-findings",
        "chexpert-mimic-cxr-impression",
    ),
    "chest_xray_expert": ("chexagent-2-3b",),
    "llava_med_qa": ("llava-med-v1.5-mistral-7b",),
    "xray_phrase_grounding": ("maira-2",),
    "chest_xray_generator": ("roentgen",),
}
"""The models of the four prompts, by the tool that uses them."""


def entry(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Make every model of `payload["places"]`: (tool, card, path). It runs in the model process."""
    for tool, card, path in payload["places"]:
        module = import_module(f"tests.support.tiny.{tool}")
        options = getattr(module, "CARDS", {}).get(card, {})
        module.build(Path(path), **options)
    return {}


def install(host: ModelHost, models: Path, *tools: str) -> ModelStore:
    """Install tiny models for the prompts' tools, by default all, with their terms accepted."""
    store = ModelStore(models)
    places = [
        (tool, card, str(store.paths_of(store.card(card)).path))
        for tool, cards in MODELS.items()
        for card in cards
        if not tools or tool in tools
    ]
    payload = {"places": places, "device": "cpu"}
    host.call(f"{__name__}:entry", payload, cancel=CancelToken(), timeout_s=240)
    for _, card, _ in places:
        store.accept(card)
    return store


Outputs = Mapping[str, Mapping[str, Any]]
Turn = Callable[[Outputs], Sequence[ModelEvent]]


class Following:
    """A scripted language model whose turns use the outputs of earlier tools.

    Args:
        turns: One for each request.
    """

    name = "scripted"
    remote_host = ""
    info = ModelInfo(own_tools=False, metered=False)

    def __init__(self, *turns: Turn) -> None:
        self._turns = list(turns)
        self.requests: list[list[Message]] = []

    @property
    def used_up(self) -> bool:
        """Return whether every turn was played."""
        return not self._turns

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncIterator[ModelEvent]:
        """Play the next turn."""
        del tools
        self.requests.append(list(messages))
        outputs = {
            message.tool: message.data.get("output", {})
            for message in messages
            if message.role == "tool" and message.ok
        }
        for event in self._turns.pop(0)(outputs):
            yield event


def _one(name: str, arguments: Callable[[Outputs], dict[str, Any]]) -> Turn:
    return lambda outputs: [call(name, **arguments(outputs))]


def _png(outputs: Outputs) -> str:
    return outputs["dicom_processor"]["image_path"]


def _drawn(outputs: Outputs) -> dict[str, Any]:
    return {"image_path": outputs["chest_xray_generator"]["image_path"]}


def script(number: int, image: str) -> Following:
    """Return the scripted model that makes a prompt's calls as the seed document lists them.

    Args:
        number: Of the prompt.
        image: How it names the image.
    """
    turns: dict[int, list[Turn]] = {
        1: [
            _one("dicom_processor", lambda _: {"dicom_path": image}),
            _one("chest_xray_classifier", lambda got: {"image_path": _png(got)}),
            _one(
                "chest_xray_segmentation", lambda got: {"image_path": _png(got), "organs": ORGANS}
            ),
            _one("chest_xray_report_generator", lambda got: {"image_path": _png(got)}),
            _one(
                "image_visualizer",
                lambda got: {
                    "image_path": got["chest_xray_segmentation"]["segmentation_image_path"],
                    "title": "Segmentation Overlay",
                },
            ),
        ],
        2: [
            _one("chest_xray_expert", lambda _: {"image_paths": [image], "prompt": ABNORMALITIES}),
            _one("llava_med_qa", lambda _: {"question": AGREE, "image_path": image}),
        ],
        3: [
            _one(
                "xray_phrase_grounding",
                lambda _: {"image_path": image, "phrase": PHRASE, "max_new_tokens": 300},
            ),
            _one(
                "image_visualizer",
                lambda got: {
                    "image_path": got["xray_phrase_grounding"]["visualization_path"],
                    "title": "Grounded Finding",
                },
            ),
        ],
        4: [
            _one("chest_xray_generator", lambda _: dict(DRAWN)),
            _one("image_visualizer", _drawn),
            lambda got: [
                call(name, **_drawn(got))
                for name in (
                    "chest_xray_classifier",
                    "chest_xray_segmentation",
                    "chest_xray_report_generator",
                )
            ],
        ],
    }
    return Following(*turns[number], lambda _: [Text("The synthesis of the scripted model.")])
