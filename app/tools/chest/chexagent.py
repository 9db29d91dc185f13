"""CheXagent-2, which answers questions on chest radiographs (torch; model process only).

Our own code builds the network and reads the published weights (StanfordAIMI/CheXagent-2-3b). If
files differ in structure, the program that comes with them is run instead, if the user allows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    CodeGenTokenizer,
    PhiConfig,
    PhiForCausalLM,
    SiglipVisionConfig,
    SiglipVisionModel,
)

from app.paths import shipped_table
from app.tools.api import Progress
from app.tools.chest import published_programs
from app.tools.chest.decoding import GeneratedTokens, SpecialIds, embedded_inputs, generate_tokens
from app.tools.chest.published_programs import OWN, PUBLISHED
from app.tools.model_process.published_weights import (
    OtherLayout,
    check_weights,
    fill_parameters,
    read_config,
    uninitialised_modules,
)
from app.tools.model_process.serving import Work, serve

SYSTEM = "You are a helpful assistant."
IMAGE, IMAGE_END, IMAGE_PAD = "<|img|>", "<|/img|>", "<|imgpad|>"
_BRACKETS = ("<|ref|>", "<|/ref|>", "<|box|>", "<|/box|>", "<|quad|>", "<|/quad|>")
_SPECIAL = (IMAGE, IMAGE_END, IMAGE_PAD, *_BRACKETS, *(f"<|coord_{n}|>" for n in range(10)))
_PHI_KEYS: tuple[str, ...] = tuple(shipped_table("chest", "chexagent")["phi_keys"])


class Visual(nn.Module):
    """CheXagent-2's image encoder and the projection of its features to the language model's width.

    Parameters have their published names without the prefix "model.visual.".
    """

    def __init__(self, config: Any, width: int) -> None:
        super().__init__()
        hidden = config.hidden_size
        places = (config.image_size // config.patch_size) ** 2
        self.model = SiglipVisionModel(config)
        self.pos_embed = nn.Parameter(torch.empty(places, hidden), requires_grad=False)
        self.attn_pool = nn.Sequential(
            nn.Linear(hidden, width * 4), nn.GELU(), nn.Linear(width * 4, width)
        )
        self.ln_post = nn.LayerNorm(width, eps=1e-6)
        self.proj = nn.Parameter(torch.empty(width, width))

    def forward(self, pixels: Tensor) -> Tensor:
        """Return the features [images, patches, width] of images [images, 3, size, size].

        They come from the output of the SigLIP encoder before its final layer norm, because the
        published model does not apply that norm.
        """
        seen = self.model.encoder(inputs_embeds=self.model.embeddings(pixels)).last_hidden_state
        return self.ln_post(self.attn_pool(seen + self.pos_embed)) @ self.proj


@dataclass(slots=True)
class CheXagent:
    """The loaded CheXagent-2 with its tokenizer and image settings."""

    tokenizer: Any
    language: Any
    visual: Visual
    size: int
    mean: Tensor
    std: Tensor
    context: int

    def preprocess(self, image: Image.Image) -> Tensor:
        """Return the image as a normalised RGB square (bicubic): float32 [3, size, size]."""
        square = image.convert("RGB").resize((self.size, self.size), Image.Resampling.BICUBIC)
        levels = torch.from_numpy(np.asarray(square, np.float32) / 255).permute(2, 0, 1)
        return (levels - self.mean) / self.std

    def prompt(self, count: int, text: str) -> list[int]:
        """Return the prompt's tokens for a question about `count` images.

        Each image is represented by one placeholder token per patch.
        """
        places = self.visual.pos_embed.shape[0]
        end = str(self.tokenizer.eos_token)
        tokens = self._tokens(f"<|system|>\n{SYSTEM}{end}\n<|user|>\n")
        for number in range(1, count + 1):
            tokens += self._tokens(f"Picture {number}:")
            tokens += self._ids(IMAGE, *[IMAGE_PAD] * places, IMAGE_END)
            tokens += self._tokens("\n")
        return tokens + self._tokens(f"{text}{end}\n<|assistant|>\n")

    def embed(self, tokens: Sequence[int], images: Sequence[Image.Image]) -> Tensor:
        """Return the prompt as embeddings [1, tokens, width], with the images' features in it.

        The features replace the placeholder tokens that `prompt` put into `tokens`.
        """
        device = self.visual.proj.device
        ids = torch.tensor([list(tokens)], device=device)
        found = self.language.get_input_embeddings()(ids)
        if images:
            pixels = torch.stack([self.preprocess(image) for image in images])
            seen = self.visual(pixels.to(device, self.visual.proj.dtype))
            pads = ids == self._ids(IMAGE_PAD)[0]
            found[pads] = seen.flatten(0, 1).to(found.dtype)
        return found

    def ask(
        self, paths: list[str], prompt: str, most: int, work: Work
    ) -> tuple[str, GeneratedTokens, int]:
        """Return (answer to `prompt`, its at most `most` tokens, number of prompt tokens)."""
        tokens = self.prompt(len(paths), prompt)
        images = [Image.open(path) for path in paths]
        with torch.inference_mode():
            inputs = embedded_inputs(self.embed(tokens, images))
        end = SpecialIds.of(int(self.tokenizer.eos_token_id))
        written = generate_tokens(self.language, inputs, end, work, most=most)
        return self.tokenizer.decode(written.ids), written, len(tokens)

    def _tokens(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def _ids(self, *tokens: str) -> list[int]:
        return list(self.tokenizer.convert_tokens_to_ids(list(tokens)))


def build_network(folder: Path, device: str, dtype: torch.dtype) -> dict[str, nn.Module]:
    """Return the network's modules, without weights, for the configuration in a model's folder.

    The key of each is the prefix of its weights' published names.

    Raises:
        OtherLayout: The folder's layout differs from that of the published model.
        ToolFailed: A file is missing or damaged.
    """
    config = read_config(folder)
    visual = config.get("visual")
    if "CheXagentForCausalLM" not in config.get("architectures", ()) or not isinstance(
        visual, dict
    ):
        raise OtherLayout("config.json is not that of the published CheXagent-2")
    if not (folder / "vision" / "config.json").is_file():
        raise OtherLayout("vision/config.json is missing")
    seen = read_config(folder, "vision/config.json")
    siglip = SiglipVisionConfig(
        **{**seen.get("vision_config", seen), "image_size": visual["image_size"]}
    )
    phi = PhiConfig(**{key: config[key] for key in _PHI_KEYS if key in config})
    if visual["output_dim"] != phi.hidden_size:
        raise OtherLayout("the projection does not fit the decoder")
    with uninitialised_modules(device, dtype):
        tower = Visual(siglip, int(visual["output_dim"]))
        return {"model.visual.": tower, "": PhiForCausalLM(phi)}


def load(folder: Path, device: str, dtype: torch.dtype, tell: Callable[[float], None]) -> CheXagent:
    """Load the published model from its folder; `tell` receives the fraction loaded so far, 0..1.

    Raises:
        OtherLayout: The folder's layout differs from that of the published model.
        ToolFailed: A file is missing or damaged.
    """
    parts = build_network(folder, device, dtype)
    fill_parameters(parts, folder, tell=tell)
    image_settings = read_config(folder, "vision/preprocessor_config.json")
    mean, std = (
        torch.tensor(image_settings[key]).view(3, 1, 1) for key in ("image_mean", "image_std")
    )
    tower: Any = parts["model.visual."].eval()
    language: Any = parts[""].eval()
    return CheXagent(
        tokenizer=_tokenizer(folder),
        language=language,
        visual=tower,
        size=int(tower.model.config.image_size),
        mean=mean,
        std=std,
        context=int(language.config.max_position_embeddings),
    )


def _tokenizer(folder: Path) -> Any:
    """Return CodeGen's byte-level BPE with the model's marks, numbered like the published one."""
    found = CodeGenTokenizer.from_pretrained(str(folder), local_files_only=True)
    known = found.get_vocab()
    for mark in _SPECIAL:
        if mark not in known:
            found.add_tokens([mark], special_tokens=True)
    return found


class Published:
    """CheXagent-2 run by the Python program in the model's folder instead of our own code."""

    def __init__(self, folder: Path, work: Work) -> None:
        self.tokenizer = published_programs.load_with_program(AutoTokenizer, folder, work)
        self.model = published_programs.load_model_with_program(AutoModelForCausalLM, folder, work)
        self.context = int(getattr(self.model.config, "max_position_embeddings", 0) or 0)

    def ask(
        self, paths: list[str], prompt: str, most: int, work: Work
    ) -> tuple[str, GeneratedTokens, int]:
        """Answer a question about image files; arguments and result are as for `CheXagent.ask`."""
        parts = [*({"image": path} for path in paths), {"text": prompt}]
        talk = [
            {"from": "system", "value": SYSTEM},
            {"from": "human", "value": self.tokenizer.from_list_format(parts)},
        ]
        ids = self.tokenizer.apply_chat_template(
            talk, add_generation_prompt=True, return_tensors="pt"
        )
        # transformers returns a mapping since version 5, and the tensor itself before.
        ids = ids if isinstance(ids, torch.Tensor) else ids["input_ids"]
        ids = ids.to(self.model.device)
        end = SpecialIds.of(int(self.tokenizer.eos_token_id))
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        written = generate_tokens(self.model, inputs, end, work, most=most)
        return self.tokenizer.decode(written.ids), written, ids.shape[1]


def entry(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Answer a question about images.

    `payload` has "model" and "device" for `serve`; "paths" (PNG files); "prompt"; and
    "max_new_tokens".

    Returns:
        "text" with the model's box markup; "cut", True if the answer was cut off; "tokens", the
        number of tokens in the answer; "engine", whether our own code or the model's program ran;
        "too_long", True if prompt and answer exceed the model's context; "context", the length of
        that context in tokens; and "device", "dtype" and "notes" of `serve`.
    """
    paths = [str(path) for path in payload["paths"]]
    prompt, most = str(payload["prompt"]), int(payload["max_new_tokens"])

    def work_with(model: CheXagent | Published, work: Work) -> dict[str, Any]:
        work.progress(0.2, "Looking at the image")
        text, written, length = model.ask(paths, prompt, most, work)
        return {
            "text": text,
            "cut": not written.finished,
            "tokens": len(written.ids),
            "engine": PUBLISHED if isinstance(model, Published) else OWN,
            "too_long": bool(model.context) and length + len(written.ids) > model.context,
            "context": model.context,
        }

    return serve(payload, progress, load=_load, work=work_with)


def _load(folder: Path, work: Work) -> CheXagent | Published:
    dtype = work.placement.torch_dtype
    if dtype == torch.float16:
        # Phi-2's attention overflows in half precision, as its published program says.
        dtype = torch.bfloat16
    return published_programs.load_either_way(load, Published, folder, work, dtype, "CheXagent-2")


def check(payload: dict[str, Any]) -> dict[str, Any]:
    """Check the headers of the weights in payload["weights"]; return {"parameters": their number}.

    Raises:
        ToolFailed: A file is missing, is damaged or does not fit.
    """
    return check_weights(payload, build_network)
