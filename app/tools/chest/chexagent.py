"""CheXagent-2 answers questions on chest radiographs, run in the model process (torch).

Two ways lead to an answer (`two_ways`): our own reader of the published weights, `chexagent_net`,
or the model's own program through the interface that its authors publish.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from PIL import Image
from transformers import AutoModelForCausalLM, AutoTokenizer

from app.tools.chest import chexagent_net, remote_code, two_ways
from app.tools.chest.chexagent_net import SYSTEM, CheXagent
from app.tools.chest.decoding import Ids, Tokens, embedded_inputs, write
from app.tools.chest.published_weights import checked
from app.tools.chest.two_ways import OWN, PUBLISHED
from app.tools.model_process.serving import Progress, Work, serve


class Published:
    """The model through its own program: the tokenizer is given image paths."""

    def __init__(self, folder: Path, work: Work) -> None:
        self.tokenizer = remote_code.loaded(AutoTokenizer, folder, work)
        self.model = remote_code.loaded_model(AutoModelForCausalLM, folder, work)
        self.context = int(getattr(self.model.config, "max_position_embeddings", 0) or 0)

    def ask(self, paths: list[str], prompt: str, most: int, work: Work) -> tuple[str, Tokens, int]:
        """The answer's text, its tokens, and the prompt's length."""
        parts = [*({"image": path} for path in paths), {"text": prompt}]
        talk = [
            {"from": "system", "value": SYSTEM},
            {"from": "human", "value": self.tokenizer.from_list_format(parts)},
        ]
        ids = self.tokenizer.apply_chat_template(
            talk, add_generation_prompt=True, return_tensors="pt"
        )
        # Since version 5 transformers answers with a mapping here, before with the tensor.
        ids = ids if isinstance(ids, torch.Tensor) else ids["input_ids"]
        ids = ids.to(self.model.device)
        end = Ids.of(int(self.tokenizer.eos_token_id))
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        written = write(self.model, inputs, end, work, most=most)
        return self.tokenizer.decode(written.ids), written, ids.shape[1]


def entry(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """An answer to a question on images.

    Args:
        payload: As of `InstalledModel.payload`, with "paths" of PNG files, "prompt" and
            "max_new_tokens".
        progress: Told each token.

    Returns:
        "text" with the model's marks in it, "cut", "tokens", "engine", "too_long", and what
        `serve` adds.
    """
    paths = [str(path) for path in payload["paths"]]
    prompt, most = str(payload["prompt"]), int(payload["max_new_tokens"])

    def work_with(model: CheXagent | Published, work: Work) -> dict[str, Any]:
        work.progress(0.2, "Looking at the image")
        if isinstance(model, Published):
            text, written, length = model.ask(paths, prompt, most, work)
        else:
            text, written, length = _own(model, paths, prompt, most, work)
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
    return two_ways.loaded(chexagent_net.load, Published, folder, work, dtype, "CheXagent-2")


def _own(
    model: CheXagent, paths: list[str], prompt: str, most: int, work: Work
) -> tuple[str, Tokens, int]:
    tokens = model.prompt(len(paths), prompt)
    images = [Image.open(path) for path in paths]
    with torch.inference_mode():
        embedded = model.embedded(tokens, images)
    inputs = embedded_inputs(embedded)
    written = write(model.language, inputs, Ids.of(model.end), work, most=most)
    return model.tokenizer.decode(written.ids), written, len(tokens)


def check(payload: dict[str, Any]) -> dict[str, Any]:
    """Whether the published reader can load a folder, without loading it: `models verify`.

    Raises:
        ToolFailed: A file is missing, damaged or does not fit.
    """
    return checked(payload, chexagent_net.made)
