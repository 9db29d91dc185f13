from __future__ import annotations

from transformers import LlavaConfig


class Maira2Config(LlavaConfig):
    model_type = "maira2"
