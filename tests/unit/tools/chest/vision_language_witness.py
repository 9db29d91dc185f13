"""What other code makes of the same weights and images; runs in the model process."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import nn
from torchvision import transforms
from torchvision.transforms import InterpolationMode
from transformers import LlavaConfig
from transformers.initialization import no_init_weights
from transformers.models.llava.modeling_llava import LlavaModel

from app.tools.chest import chexagent, maira
from app.tools.chest.maira import visible_part

Payload = dict[str, Any]


def _quiet(fraction: float) -> None:
    del fraction


def _maira(payload: Payload) -> maira.Maira:
    return maira.load(Path(payload["folder"]), "cpu", torch.float32, _quiet)


def _chexagent(payload: Payload) -> chexagent.CheXagent:
    return chexagent.load(Path(payload["folder"]), "cpu", torch.float32, _quiet)


def maira_planted(payload: Payload) -> Payload:
    """Corners of a bright block, read off the model's own input and carried back."""
    model = _maira(payload)
    found: list[list[float]] = []
    for image in payload["images"]:
        pixels = model.preprocess(image)[0, 0].numpy()
        across = _edges(pixels[_middle(pixels, 1)])
        down = _edges(pixels[:, _middle(pixels, 0)])
        rows, columns = pixels.shape
        fractions = (across[0] / columns, down[0] / rows, across[1] / columns, down[1] / rows)
        found.append(list(visible_part(model.images, *image.shape).original(fractions)))
    return {"found": found}


def _middle(pixels: Any, axis: int) -> int:
    """A row (axis 1) or column (axis 0) through the block."""
    bright = np.flatnonzero(pixels.max(axis=axis) > (pixels.max() + pixels.min()) / 2)
    return int(bright[len(bright) // 2])


def _edges(line: Any) -> tuple[float, float]:
    """Where a line crosses half the height, in pixel edges."""
    half = (line.max() + line.min()) / 2
    above = np.flatnonzero(line > half)
    first, last = int(above[0]), int(above[-1])

    def crossing(low: int, high: int) -> float:
        if not 0 <= low < len(line) or not 0 <= high < len(line):
            return float(max(low, high))
        return low + (half - line[low]) / (line[high] - line[low]) + 0.5

    return crossing(first - 1, first), crossing(last, last + 1)


def maira_input(payload: Payload) -> Payload:
    """The model's input, and the same by Pillow from the published settings."""
    model = _maira(payload)
    image = payload["image"].astype(float)
    image = image - image.min()
    grey = Image.fromarray((image / image.max() * 255).astype(np.uint8))
    width, height = grey.size
    size = (518, int(518 * height / width)) if width <= height else (int(518 * width / height), 518)
    big = grey.convert("RGB").resize(size, Image.Resampling.BICUBIC)
    left, top = (size[0] - 518) // 2, (size[1] - 518) // 2
    square = np.asarray(big.crop((left, top, left + 518, top + 518)), np.float32) / 255
    return {
        "ours": model.preprocess(payload["image"])[0].numpy(),
        "witness": ((square - 0.5307) / 0.2583).transpose(2, 0, 1),
        "prompt": model.prompt("small effusion"),
        "report": model.prompt(""),
        "grounded": model.prompt("", grounded=True),
    }


class _Witness(LlavaModel):
    """MAIRA-2 as transformers' LLaVA, which merges image and text by itself."""

    def __init__(self, config: Any, model: maira.Maira) -> None:
        nn.Module.__init__(self)
        self.config = config
        self.language_model = model.language.model
        self.multi_modal_projector = model.projector
        self.tower = model.tower

    def get_image_features(self, pixel_values: Any, **_: Any) -> Any:
        embedded = self.tower.embeddings(pixel_values)
        for layer in self.tower.encoder.layer:
            out = layer(embedded)
            embedded = out[0] if isinstance(out, tuple) else out
        patches = self.tower.layernorm(embedded)[:, 1:]
        return type("Seen", (), {"pooler_output": list(self.multi_modal_projector(patches))})()

    def get_input_embeddings(self) -> Any:
        return self.language_model.embed_tokens


def maira_logits(payload: Payload) -> Payload:
    """The first answer token's scores, by our reader and by transformers' LLaVA."""
    model = _maira(payload)
    image, phrase = payload["image"], payload["phrase"]
    config = LlavaConfig(
        text_config=model.language.config,
        vision_config=model.tower.config,
        image_token_index=model.image_token,
    )
    places = (518 // int(model.tower.config.patch_size)) ** 2
    text = model.prompt(phrase).replace("<image>", "<image>" * places)
    with torch.inference_mode():
        ours = model.language(inputs_embeds=model.embed(phrase, image)).logits[0, -1]
        witness: Any = _Witness(config, model)
        hidden = witness(
            input_ids=torch.tensor([model.tokenizer(text)["input_ids"]]),
            pixel_values=model.preprocess(image),
        )
        theirs = model.language.lm_head(hidden.last_hidden_state)[0, -1]
    return {"ours": ours.numpy(), "witness": theirs.numpy()}


def maira_names(payload: Payload) -> Payload:
    """Names of the published files as transformers has them now."""
    del payload
    return {
        "name": maira.current_name("vision_tower.encoder.layer.3.attention.attention.query.weight"),
        "out": maira.current_name("vision_tower.encoder.layer.3.attention.output.dense.bias"),
    }


def chexagent_input(payload: Payload) -> Payload:
    """The model's input, and the same by torchvision as the published transform has it."""
    model = _chexagent(payload)
    image = Image.fromarray(payload["image"])
    published = transforms.Compose(
        [
            transforms.Resize((512, 512), interpolation=InterpolationMode.BICUBIC),
            transforms.ToTensor(),
            transforms.Normalize(mean=[0.5] * 3, std=[0.5] * 3),
        ]
    )
    witness: Any = published(image.convert("RGB"))
    return {"ours": model.preprocess(image).numpy(), "witness": witness.numpy()}


def chexagent_visual(payload: Payload) -> Payload:
    """What is put into the prompt, and the same by the published steps."""
    model = _chexagent(payload)
    pixels = model.preprocess(Image.fromarray(payload["image"]))[None]
    visual = model.visual
    with torch.inference_mode():
        ours = visual(pixels)
        tower: Any = visual.model
        seen = tower(pixels, output_hidden_states=True).hidden_states[-1]
        witness = visual.ln_post(visual.attn_pool(seen + visual.pos_embed[None])) @ visual.proj
        embedded = model.embed(model.prompt(1, "a?"), [Image.fromarray(payload["image"])])
    return {"ours": ours[0].numpy(), "witness": witness[0].numpy(), "prompt": embedded[0].numpy()}


_TEMPLATE = (
    "{% for message in messages %}\n{% if message['from'] == 'human' %}\n"
    "{{ '<|user|>\n' + message['value'] + eos_token }}\n"
    "{% elif message['from'] == 'system' %}\n"
    "{{ '<|system|>\n' + message['value'] + eos_token }}\n{% endif %}\n"
    "{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n"
    "{% endfor %}"
)
"""CheXagent-2's conversation format."""


def chexagent_prompt(payload: Payload) -> Payload:
    """Our tokens of a prompt, and those of the whole text as the published program renders it."""
    model = _chexagent(payload)
    tokenizer = model.tokenizer
    places = int(model.visual.pos_embed.shape[0])
    pictures = "".join(f"Picture {n}:<|img|>{'<|imgpad|>' * places}<|/img|>\n" for n in range(1, 3))
    talk = [
        {"from": "system", "value": "You are a helpful assistant."},
        {"from": "human", "value": pictures + payload["text"]},
    ]
    text = tokenizer.apply_chat_template(
        talk, chat_template=_TEMPLATE, add_generation_prompt=True, tokenize=False
    )
    return {
        "ours": model.prompt(2, payload["text"]),
        "witness": list(tokenizer.encode(text, add_special_tokens=False)),
        "text": text,
        "places": places,
    }


def chexagent_far(payload: Payload) -> Payload:
    """What comes next after two images, and the same read around the end of the context."""
    model = _chexagent(payload)
    image = Image.fromarray(payload["image"])
    with torch.inference_mode():
        found = model.embed(model.prompt(2, "What has changed?"), [image, image])
        count = found.shape[1]
        near, far = (
            model.language(inputs_embeds=found, position_ids=torch.arange(at, at + count)[None])
            for at in (0, model.context - count // 2)
        )
    return {
        "near": near.logits[0, -1].numpy(),
        "far": far.logits[0, -1].numpy(),
        "context": model.context,
    }


def maira_sizes(payload: Payload) -> Payload:
    """Parameters and tensors of both models at the published size; nothing is held in memory."""
    del payload
    tiny_maira: Any = import_module("tests.support.tiny.xray_phrase_grounding")
    tiny_chexagent: Any = import_module("tests.support.tiny.chest_xray_expert")
    with torch.device("meta"), no_init_weights():
        maira = tiny_maira.network(full=True)
        chexagent = tiny_chexagent.network(full=True)
    return {
        name: {
            "parameters": sum(p.numel() for part in parts for p in part.parameters()),
            "tensors": sum(len(part.state_dict()) for part in parts),
        }
        for name, parts in {"maira": maira.values(), "chexagent": chexagent.values()}.items()
    }
