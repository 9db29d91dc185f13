"""What test_llava_med.py compares with, called in the model process.

The original is rebuilt from the parts it consists of, read under the original's names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import sentencepiece
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import CLIPVisionConfig, CLIPVisionModel, MistralConfig, MistralForCausalLM

from app.tools.chest import llava_net
from app.tools.model_process.published_weights import cpu_work
from tests.support.tiny import llava_med_qa

_TOWER = "model.vision_tower.vision_tower.vision_model."
_MEAN = (0.48145466, 0.4578275, 0.40821073)
_STD = (0.26862954, 0.26130258, 0.27577711)


def ours(payload: dict[str, Any]) -> dict[str, Any]:
    """Prompt, pixels, and the scores of the first token of the answer."""
    llava = llava_net.load(Path(payload["path"]), cpu_work())
    pixels = payload.get("pixels")
    ids = llava_net.prompt_tokens(llava, payload["question"], image=pixels is not None)
    with torch.inference_mode():
        values = None if pixels is None else llava_net.preprocess(llava, pixels)
        read = llava_net.embed_prompt(llava, ids, values)
        scores = llava.model(inputs_embeds=read).logits[0, -1]
    return {
        "before": ids[0],
        "after": ids[1],
        "values": np.zeros(0) if values is None else values.numpy(),
        "scores": scores.numpy(),
        "rope_theta": llava.model.config.text_config.rope_parameters["rope_theta"],
    }


def theirs(payload: dict[str, Any]) -> dict[str, Any]:
    """The same as the original does it."""
    path = Path(payload["path"])
    about = json.loads((path / "config.json").read_text())
    state: dict[str, torch.Tensor] = {}
    for file in path.glob("*.safetensors"):
        state |= load_file(file)
    language = MistralForCausalLM(MistralConfig(**_mistral(about))).eval()
    language.load_state_dict(
        {k: v for k, v in state.items() if ".vision_tower." not in k and ".mm_projector." not in k}
    )
    tower: Any = CLIPVisionModel(CLIPVisionConfig(**payload["tower"])).eval()
    own = {k.removeprefix(_TOWER): v for k, v in state.items() if k.startswith(_TOWER)}
    tower.load_state_dict(own)
    projector = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 128))
    projector.load_state_dict(
        {k.removeprefix("model.mm_projector."): v for k, v in state.items() if "mm_projector" in k}
    )
    before, after = _prompt(path, payload["question"], image=True)
    values = _pixels(payload["pixels"], payload["tower"]["image_size"])
    with torch.inference_mode():
        hidden = tower(torch.from_numpy(values), output_hidden_states=True).hidden_states[-2]
        seen = projector(hidden[:, 1:])[0]
        table: Any = language.get_input_embeddings()
        parts = [table(torch.tensor(before)), seen, table(torch.tensor(after))]
        scores = cast("Any", language)(inputs_embeds=torch.cat(parts)[None]).logits[0, -1]
    return {"before": before, "after": after, "values": values, "scores": scores.numpy()}


def _mistral(about: dict[str, Any]) -> dict[str, Any]:
    kept = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers")
    more = ("num_attention_heads", "num_key_value_heads", "rope_theta", "rms_norm_eps")
    return {key: about[key] for key in (*kept, *more, "tie_word_embeddings", "sliding_window")}


def _prompt(path: Path, question: str, *, image: bool) -> tuple[list[int], list[int]]:
    """tokenizer_image_token: each part by itself with <s>, which is kept of the first only."""
    model = (path / "tokenizer.model").read_bytes()
    pieces: Any = cast("Any", sentencepiece).SentencePieceProcessor(model_proto=model)
    text = f"[INST] {'<image>' + chr(10) if image else ''}{question} [/INST]"
    parts = [[1, *pieces.encode(part)] for part in text.split("<image>")]
    return parts[0], [token for part in parts[1:] for token in part[1:]]


def _pixels(pixels: np.ndarray, side: int) -> np.ndarray:
    """Padded to a square of CLIP's mean, resampled by PIL (bicubic), normalised."""
    rows, columns = pixels.shape[:2]
    longest = max(rows, columns)
    if pixels.ndim == 2:
        square = np.full((longest, longest), int(255 * sum(_MEAN) / 3), np.uint8)
    else:
        colour = [int(255 * part) for part in _MEAN]
        square = np.tile(np.array(colour, np.uint8), (longest, longest, 1))
    top, left = (longest - rows) // 2, (longest - columns) // 2
    square[top : top + rows, left : left + columns] = pixels
    image = Image.fromarray(square).convert("RGB")
    small = np.asarray(image.resize((side, side), Image.Resampling.BICUBIC), np.float32) / 255
    normal = (small - np.array(_MEAN, np.float32)) / np.array(_STD, np.float32)
    return normal.transpose(2, 0, 1)[None].astype(np.float32)


def full_size(payload: dict[str, Any]) -> dict[str, Any]:
    """Bytes of all weights at full size and two bytes each; nothing is allocated for them."""
    del payload
    with torch.device("meta"):
        state = llava_med_qa.weights(32000, full=True)
    return {"bytes": sum(2 * tensor.numel() for tensor in state.values()), "count": len(state)}


def spoil(payload: dict[str, Any]) -> dict[str, Any]:
    """Take away every weight whose name has a part, or the key of a configuration."""
    path = Path(payload["path"])
    if "change" in payload:
        about = json.loads((path / "config.json").read_text())
        (path / "config.json").write_text(json.dumps(about | payload["change"]))
        return {}
    for file in path.glob("*.safetensors"):
        state = load_file(file)
        save_file(
            {k: v for k, v in state.items() if payload["part"] not in k}, file, {"format": "pt"}
        )
    return {}
