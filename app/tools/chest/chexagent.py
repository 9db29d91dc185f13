"""CheXagent-2 answers questions on chest radiographs, run in the model process (torch).

Two ways lead to an answer. The published weights are read by our own `chexagent_net`, which runs no
program of theirs. Any other layout (a copy whose program was brought up to date) is run through the
interface that the model's authors publish, if the user has allowed its program.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from PIL import Image
from transformers import AutoModelForCausalLM, AutoTokenizer

from app.tools.chest import chexagent_net, remote_code
from app.tools.chest.chexagent_net import SYSTEM, CheXagent
from app.tools.chest.published_weights import OtherLayout, checked
from app.tools.chest.writing import Written, told, write
from app.tools.model_process.serving import Progress, Work, serve

OWN, PUBLISHED = "Sightline's reader of the published weights", "the model's own program"


class Published:
    """The model through its own program: the tokenizer is given image paths."""

    def __init__(self, folder: Path, work: Work) -> None:
        self.tokenizer = remote_code.loaded(AutoTokenizer, folder, work)
        self.model = remote_code.loaded_model(AutoModelForCausalLM, folder, work)
        self.context = int(getattr(self.model.config, "max_position_embeddings", 0) or 0)

    def ask(self, paths: list[str], prompt: str, most: int, work: Work) -> tuple[str, Written, int]:
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
        written = write(
            self.model,
            most,
            [self.tokenizer.eos_token_id],
            work,
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
        )
        return self.tokenizer.decode(written.tokens), written, ids.shape[1]


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
            "cut": written.cut,
            "tokens": len(written.tokens),
            "engine": PUBLISHED if isinstance(model, Published) else OWN,
            "too_long": bool(model.context) and length + len(written.tokens) > model.context,
            "context": model.context,
        }

    return serve(payload, progress, load=_load, work=work_with)


def _load(folder: Path, work: Work) -> CheXagent | Published:
    dtype = work.placement.torch_dtype
    if dtype == torch.float16:
        # Phi-2's attention overflows in half precision, as its published program says.
        dtype = torch.bfloat16
    try:
        return chexagent_net.load(
            folder, work.placement.device, dtype, told(work, 0.02, 0.18, "Loading CheXagent-2")
        )
    except OtherLayout as error:
        if not work.source.get("trust_remote_code"):
            work.notes.append(f"not the published layout: {error}")
        return Published(folder, work)


def _own(
    model: CheXagent, paths: list[str], prompt: str, most: int, work: Work
) -> tuple[str, Written, int]:
    tokens = model.prompt(len(paths), prompt)
    images = [Image.open(path) for path in paths]
    with torch.inference_mode():
        embedded = model.embedded(tokens, images)
    written = write(
        model.language,
        most,
        [model.end],
        work,
        inputs_embeds=embedded,
        attention_mask=torch.ones(embedded.shape[:2], dtype=torch.long, device=embedded.device),
    )
    return model.tokenizer.decode(written.tokens), written, len(tokens)


def check(payload: dict[str, Any]) -> dict[str, Any]:
    """Whether the published reader can load a folder, without loading it: `models verify`.

    Raises:
        ToolFailed: A file is missing, damaged or does not fit.
    """
    return checked(payload, chexagent_net.made)
