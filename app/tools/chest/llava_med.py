"""The tool `llava_med_qa`: LLaVA-Med v1.5 answers a question, with or without an image."""

from __future__ import annotations

from pydantic import BaseModel, Field

from app.tools.api import Resource, ToolContext, ToolInput, ToolResult, ToolSpec, takes
from app.tools.chest.model_results import needs_of, required_model
from app.tools.chest.question_answering import (
    LONGEST_QUESTION,
    MOST_TOKENS,
    TIMEOUT_S,
    answer_question,
    model_picture,
)
from app.tools.models.cards import card
from app.tools.models.store import ModelStore

MODEL = "llava-med-v1.5-mistral-7b"
CONVERTED = "llava-med-v1.5-mistral-7b-hf"
"""The same weights in transformers' layout, used where the published ones are not installed."""
_FEATURE = "LLaVA-Med"
_PACKAGES = ("torch", "transformers", "sentencepiece")
_ENTRY = "app.tools.chest.llava_net:entry"


class LlavaMedInput(ToolInput):
    """Arguments of `llava_med_qa`."""

    question: str = Field(
        min_length=1, max_length=LONGEST_QUESTION, description="The question, in English."
    )
    image_path: str | None = takes(
        Resource.IMAGE,
        "The image that it is about: the app's image id or its path. Leave it out for "
        "a question of general medical knowledge.",
        default=None,
    )
    max_new_tokens: int = Field(
        default=500, ge=1, le=MOST_TOKENS, description="Length of the answer at most, in tokens."
    )


class LlavaMedOutput(BaseModel):
    """Output of `llava_med_qa`: the answer in the model's words."""

    answer: str


SPEC = ToolSpec(
    name="llava_med_qa",
    title="Ask LLaVA-Med",
    icon="message-square",
    description=(
        "LLaVA-Med v1.5 (7B) answers a question about a biomedical image, or a general medical "
        "question without one. It learned from figures of papers, and is less reliable on details "
        "of chest radiographs than chest_xray_expert: use it for a second opinion. It answers one "
        "question at a time and remembers none. Needs installed weights."
    ),
    Input=LlavaMedInput,
    Output=LlavaMedOutput,
    needs=needs_of(MODEL, _PACKAGES),
    timeout_s=TIMEOUT_S,
    pack="chest",
    phrases=("llava-med", "llava med"),
)


class LlavaMed:
    """The tool `llava_med_qa`: answers a question with LLaVA-Med."""

    spec = SPEC

    def run(self, args: LlavaMedInput, context: ToolContext) -> ToolResult:
        """Answer the question in `args`, with or without an image; see `app.tools.api.Tool.run`."""
        image = None
        if args.image_path is not None:
            context.progress(0.02, "Reading the image")
            image = model_picture(context.images.resolve(args.image_path), _FEATURE)
        store = ModelStore(context.models_dir)
        name = CONVERTED if not store.find(card(MODEL)) and store.find(card(CONVERTED)) else MODEL
        model = required_model(name, _FEATURE, _PACKAGES, context)
        images = {"pixels": None if image is None else image.pixels}
        warnings = () if image is None else image.warnings
        return answer_question(_ENTRY, model, args.model_dump(), images, warnings, context)
