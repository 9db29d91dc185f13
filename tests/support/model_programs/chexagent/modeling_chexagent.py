from __future__ import annotations

from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import nn
from transformers import PhiForCausalLM

from .configuration_chexagent import CheXagentConfig  # noqa: TID252  (a folder, no package)
from .tokenization_chexagent import CheXagentTokenizer  # noqa: TID252  (a folder, no package)

PLACES = 8


class CheXagentForCausalLM(PhiForCausalLM):
    """Reads the images from the paths in its prompt, like the published program."""

    config_class = CheXagentConfig

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.visual = nn.Linear(PLACES * PLACES, config.hidden_size)
        self.tokenizer = CheXagentTokenizer.from_pretrained(config.name_or_path)
        self.post_init()

    def forward(self, input_ids: Any = None, **kwargs: Any) -> Any:
        begin, end = self.tokenizer.convert_tokens_to_ids(["<|img|>", "<|/img|>"])
        if input_ids is None or not (input_ids == begin).any():
            return super().forward(input_ids=input_ids, **kwargs)
        embedded = self.get_input_embeddings()(input_ids).clone()
        row = input_ids[0].tolist()
        for place, token in enumerate(row):
            if token == begin:
                path = self.tokenizer.decode(row[place + 1 : row.index(end, place)])
                with Image.open(path) as picture:
                    small = np.asarray(picture.convert("L").resize((PLACES, PLACES)), np.float32)
                seen = self.visual(torch.from_numpy(small.ravel() / 255).to(embedded))
                embedded[0, place] = seen
        kwargs.pop("inputs_embeds", None)
        return super().forward(inputs_embeds=embedded, **kwargs)
